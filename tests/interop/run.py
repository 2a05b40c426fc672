"""Peers that are not ours, through the bridge: `run.py [PEER…]`.

* Clients with a driver of their own, at servers that have all there is (`python1`, `typescript1`, `typescript2`).
* Sign-in to servers that are their own authorization servers (`sign-in-…`).
* Agent frameworks and clients in their default mode (`frameworks.py`), and published servers (`published_servers.py`).

Every peer has an environment of its own under `.interop/`, which is made on first use and kept. What failed is printed,
and last a line with the count. Exit code 1 on a failure.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import environments
import sign_ins
from environments import Skipped
from frameworks import FRAMEWORKS, Framework, visits
from published_servers import SERVERS as PUBLISHED
from published_servers import Published, compared

HERE = Path(__file__).parent
BRIDGE = (sys.executable, "-m", "dragoman", "--")
SERVERS = {
    "Python SDK 2.3.0": (sys.executable, str(HERE / "sdk_server.py")),
    "demo-server": (sys.executable, "-m", "dragoman", "demo-server"),
}
PYTHON1 = "mcp==1.30.0"
TYPESCRIPT = (
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/server@2.4.0",
)
SIGN_INS = {"mcp1": "mcp==1.30.0", "mcp2": "mcp==2.3.0", "fastmcp": "fastmcp==4.2.3"}
LIMIT = 120.0  # seconds for one peer with one server


@dataclass(frozen=True)
class Verdict:
    """One check: with what it was done, and what is wrong, or nothing."""

    server: str
    check: str
    wrong: str = ""


Visit = Callable[[], list[Verdict]]


def python1() -> list[Verdict]:
    """The Python SDK 1.x."""
    driver = [environments.python(PYTHON1), str(HERE / "peers" / "python1.py")]
    return [verdict for server in SERVERS for verdict in driven(driver, HERE, server)]


def typescript(generation: str) -> list[Verdict]:
    """One of the TypeScript SDKs."""
    node, folder = environments.npm(*TYPESCRIPT)
    driver = [node, str(HERE / "peers" / "typescript.mjs"), generation]
    return [verdict for server in SERVERS for verdict in driven(driver, folder, server)]


def driven(driver: list[str], folder: Path, server: str) -> list[Verdict]:
    """What a driver with checks of its own finds at one server, through the bridge."""
    whole = [*driver, *BRIDGE, *SERVERS[server]]
    try:
        done = subprocess.run(whole, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return [Verdict(server, "the whole visit", f"not in {LIMIT:g} s")]
    lines: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    verdicts = [
        Verdict(server, line["check"], "" if line["ok"] else line.get("detail") or "it failed") for line in lines
    ]
    if done.returncode or not verdicts:
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        verdicts.append(Verdict(server, "the end", f"exit code {done.returncode}: {last}"))
    return verdicts


def sign_in_to(kind: str) -> list[Verdict]:
    """Sign in to a server whose framework is its own authorization server."""
    python = environments.python(SIGN_INS[kind])
    return [Verdict(kind, check, detail) for check, detail in sign_ins.scenes(python, kind)]


def sign_in_to_two() -> list[Verdict]:
    """Two such servers in one client at the same moment."""
    one, other = ((environments.python(SIGN_INS[kind]), kind) for kind in ("mcp1", "fastmcp"))
    return [Verdict("mcp1, fastmcp", "two bridges at once", sign_ins.both(one, other))]


def framework(one: Framework) -> list[Verdict]:
    return [Verdict(server, "tools and a call", wrong) for server, wrong in visits(one)]


def published(server: Published) -> list[Verdict]:
    if server.group.is_npm:
        node, folder = environments.npm(*server.group.packages)
        program = [node, str(folder / "node_modules" / server.program)]
    else:
        program = [str(Path(environments.python(*server.group.packages)).with_name(server.program))]
    return [Verdict(server.name, check, wrong) for check, wrong in compared(server, program, BRIDGE)]


PEERS: dict[str, Visit] = {
    "python1": python1,
    "typescript1": partial(typescript, "1"),
    "typescript2": partial(typescript, "2"),
    **{f"sign-in-{kind}": partial(sign_in_to, kind) for kind in SIGN_INS},
    "sign-in-two": sign_in_to_two,
    **{f"client-{one.name}": partial(framework, one) for one in FRAMEWORKS},
    **{f"server-{one.name}": partial(published, one) for one in PUBLISHED},
}


def main(names: Sequence[str]) -> int:
    unknown = set(names) - set(PEERS)
    if unknown:
        print(f"{', '.join(sorted(unknown))}: peers are {', '.join(PEERS)}", file=sys.stderr)
        return 2
    verdicts: list[Verdict] = []
    skipped = 0
    for peer in names or PEERS:
        try:
            found = PEERS[peer]()
        except Skipped as reason:
            skipped += 1
            print(f"{peer:24} SKIPPED: {reason}", flush=True)
            continue
        print(f"{peer:24} {sum(not verdict.wrong for verdict in found):3} of {len(found)}", flush=True)
        for verdict in found:
            if verdict.wrong:
                print(f"{'':24} FAILED {verdict.check}, {verdict.server}: {verdict.wrong}", flush=True)
        verdicts += found
    failed = sum(bool(verdict.wrong) for verdict in verdicts)
    print(f"{len(verdicts) - failed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
