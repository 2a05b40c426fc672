"""Clients that are not ours, through the bridge, to servers that are, and the other way round for sign-in:
`run.py [PEER…]`.

Every peer has an environment of its own under `.interop/`, which is made on first use and kept; that needs the package
registries of Python and npm. A table of checks is printed, and last a line with the count. Exit code 1 on a failure.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HOME = HERE.parents[1] / ".interop"
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
FRAMEWORKS = {
    "sign-in-mcp1": ("mcp==1.30.0",),
    "sign-in-mcp2": ("mcp==2.3.0",),
    "sign-in-fastmcp": ("fastmcp==4.2.3",),
}
LEAST_NODE = 20
LIMIT = 120.0  # seconds for one peer with one server
SETUP_LIMIT = 600.0


class Skipped(Exception):
    """A peer that cannot run here, with the reason."""


@dataclass(frozen=True)
class Verdict:
    peer: str
    server: str
    check: str
    ok: bool
    detail: str = ""


def python1() -> tuple[list[str], Path]:
    """A virtual environment with the Python SDK 1.x; gives the driver's command and its folder."""
    folder = HOME / "python1"
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not is_made(folder, PYTHON1):
        set_up([sys.executable, "-m", "venv", str(folder)])
        set_up([str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", PYTHON1])
        made(folder, PYTHON1)
    return [str(python), str(HERE / "peers" / "python1.py")], folder


def typescript(generation: str) -> tuple[list[str], Path]:
    """A node project with both TypeScript SDKs; gives the driver's command and its folder."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise Skipped("node and npm are not installed")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    if int(version.lstrip("v").partition(".")[0]) < LEAST_NODE:
        raise Skipped(f"node {LEAST_NODE} is needed, this is {version.strip()}")
    folder = HOME / "typescript"
    if not is_made(folder, *TYPESCRIPT):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n')
        set_up([npm, "install", "--silent", "--no-audit", "--no-fund", "--save-exact", *TYPESCRIPT], folder)
        made(folder, *TYPESCRIPT)
    return [node, str(HERE / "peers" / "typescript.mjs"), generation], folder


def framework(name: str) -> str:
    """An environment with a framework for servers; gives its Python."""
    folder = HOME / name
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not is_made(folder, *FRAMEWORKS[name]):
        set_up([sys.executable, "-m", "venv", str(folder)])
        set_up([str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *FRAMEWORKS[name]])
        made(folder, *FRAMEWORKS[name])
    return str(python)


def sign_in_to(name: str) -> list[Verdict]:
    """Sign in to a server whose framework is its own authorization server."""
    import sign_ins

    kind = name.removeprefix("sign-in-")
    found = sign_ins.scenes(framework(name), kind)
    return [Verdict(name, kind, check, not detail, detail) for check, detail in found]


def sign_in_to_two() -> list[Verdict]:
    """Two such servers in one client at the same moment."""
    import sign_ins

    names = ("sign-in-mcp1", "sign-in-fastmcp")
    one, other = ((framework(name), name.removeprefix("sign-in-")) for name in names)
    detail = sign_ins.both(one, other)
    return [Verdict("sign-in-two", "mcp1, fastmcp", "two bridges at once", not detail, detail)]


SIGN_INS: dict[str, Callable[[], list[Verdict]]] = {
    **{name: partial(sign_in_to, name) for name in FRAMEWORKS},
    "sign-in-two": sign_in_to_two,
}

PEERS = {
    "python1": python1,
    "typescript1": lambda: typescript("1"),
    "typescript2": lambda: typescript("2"),
}


def is_made(folder: Path, *packages: str) -> bool:
    mark = folder / "made.txt"
    return mark.exists() and mark.read_text().split() == list(packages)


def made(folder: Path, *packages: str) -> None:
    (folder / "made.txt").write_text("\n".join(packages) + "\n")


def set_up(words: Sequence[str], folder: Path | None = None) -> None:
    HOME.mkdir(exist_ok=True)
    print(f"setting up: {' '.join(words[-4:])}", file=sys.stderr)
    try:
        subprocess.run(words, cwd=folder, check=True, timeout=SETUP_LIMIT, stdout=sys.stderr)
    except (OSError, subprocess.SubprocessError) as error:
        raise Skipped(f"it could not be set up: {type(error).__name__}") from None


def visit(peer: str, words: list[str], folder: Path, server: str) -> list[Verdict]:
    """Let one peer do its checks with one server, through the bridge."""
    whole = [*words, *BRIDGE, *SERVERS[server]]
    try:
        done = subprocess.run(whole, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return [Verdict(peer, server, "the whole visit", ok=False, detail=f"not in {LIMIT:g} s")]
    lines: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    verdicts = [Verdict(peer, server, line["check"], line["ok"], line.get("detail", "")) for line in lines]
    if done.returncode or not verdicts:
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        verdicts.append(Verdict(peer, server, "the end", ok=False, detail=f"exit code {done.returncode}: {last}"))
    return verdicts


def shown(found: list[Verdict]) -> list[Verdict]:
    """Print what a peer did at one server."""
    good = sum(verdict.ok for verdict in found)
    print(f"{found[0].peer:12} {found[0].server:18} {good:3} of {len(found)}", flush=True)
    for verdict in found:
        if not verdict.ok:
            print(f"{'':12} FAILED {verdict.check}: {verdict.detail}")
    return found


def main(names: Sequence[str]) -> int:
    unknown = set(names) - set(PEERS) - set(SIGN_INS)
    if unknown:
        print(f"peers are: {', '.join((*PEERS, *SIGN_INS))}", file=sys.stderr)
        return 2
    verdicts: list[Verdict] = []
    skipped = 0
    for peer in names or (*PEERS, *SIGN_INS):
        if peer in SIGN_INS:
            try:
                verdicts += shown(SIGN_INS[peer]())
            except Skipped as reason:
                skipped += 1
                print(f"{peer:12} SKIPPED: {reason}")
            continue
        try:
            words, folder = PEERS[peer]()
        except Skipped as reason:
            skipped += len(SERVERS)
            print(f"{peer:12} SKIPPED: {reason}")
            continue
        for server in SERVERS:
            verdicts += shown(visit(peer, words, folder, server))
    failed = sum(not verdict.ok for verdict in verdicts)
    print(f"{len(verdicts) - failed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
