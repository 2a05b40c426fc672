"""The `auth` scenarios of the official conformance suite for clients, through the bridge: `conformance.py [SCENARIO…]`.

The suite is the npm package @modelcontextprotocol/conformance, which is made ready under `.interop/` on first use; that
needs npm. `CONFORMANCE` may name its `index.js` and `NODE` its Node, where they are installed already.
Each scenario runs at each revision that has it. Exit code 1 when one fails that is not in `BEYOND`.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from environments import NODE, Skipped, npm

HERE = Path(__file__).parent
SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
EXTENSIONS = ("auth/client-credentials-jwt", "auth/client-credentials-basic")
BEYOND = {
    "auth/enterprise-managed-authorization": "token exchange at an identity provider",
    "auth/dpop": "tokens that are bound to a key",
    "auth/dpop-nonce": "tokens that are bound to a key",
    "auth/wif-jwt-bearer": "workload identity",
}
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
LIMIT = 120.0  # seconds for one scenario


def suite() -> list[str]:
    """The words that start the suite."""
    given = os.environ.get("CONFORMANCE")
    if given:
        return [os.environ.get("NODE", "node"), given]
    node, folder = npm(SUITE, NODE)
    return [node, str(folder / "node_modules" / "@modelcontextprotocol/conformance/dist/index.js")]


def scenarios(words: Sequence[str], revision: str) -> list[str]:
    """The names of the scenarios that are for clients at this revision."""
    told = subprocess.run(
        [*words, "list", "--client", "--spec-version", revision], capture_output=True, text=True, timeout=60, check=True
    )
    return [line.split()[1] for line in told.stdout.splitlines() if line.strip().startswith("- auth/")]


def passes(words: Sequence[str], name: str, revision: str) -> tuple[bool, str]:
    """Whether one scenario passes, and what the suite counted, or the checks that failed."""
    client = shlex.join([sys.executable, str(HERE / "conformance_client.py")])
    whole = [*words, "client", "--command", client, "--scenario", name, "--spec-version", revision, "--force"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*whole, "--timeout", "60000", "-o", folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
            cwd=folder,
        )
    lines = COLOURS.sub("", done.stdout).splitlines()
    counts = next((line for line in lines if line.startswith("Passed: ")), "no result")
    if done.returncode == 0 and any(line.endswith("OVERALL: PASSED") for line in lines):
        return True, counts
    return False, "; ".join([counts, *(line.strip() for line in lines if "FAILURE" in line)])


def main(names: Sequence[str]) -> int:
    try:
        words = suite()
    except Skipped as reason:
        print(f"SKIPPED: {reason}")
        return 0
    runs = [
        (name, revision)
        for revision in REVISIONS
        for name in (*scenarios(words, revision), *(EXTENSIONS if revision == REVISIONS[-1] else ()))
        if name not in BEYOND and (not names or name in names)
    ]
    failed = 0
    for name, revision in runs:
        fine, said = passes(words, name, revision)
        failed += not fine
        print(f"{revision} {name:44} {'passed' if fine else 'FAILED'} {said}", flush=True)
    print(f"{len(runs) - failed} of {len(runs)} passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
