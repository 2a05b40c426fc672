"""Environments of peers, each with pinned packages of its own, made on first use below `.interop/` and kept.

One is known by its packages, so peers that need the same ones share it. Making it needs the package registries of
Python and npm.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

NODE = "node@22.23.3"
"""For packages that need a newer Node than this machine may have."""

HOME = Path(__file__).resolve().parents[2] / ".interop"
LEAST_NODE = 20
NO_NAME = re.compile(r"[^A-Za-z0-9.]+")
SETUP_LIMIT = 600.0  # seconds


class Skipped(Exception):
    """A peer that cannot run here, with the reason."""


def python(*packages: str) -> str:
    """The Python of a virtual environment with these packages.

    Raises:
        Skipped: it could not be made.
    """
    folder = _folder(packages)
    program = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not _is_made(folder, packages):
        _run([sys.executable, "-m", "venv", str(folder)])
        _run([str(program), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *packages])
        _made(folder, packages)
    return str(program)


def npm(*packages: str) -> tuple[str, Path]:
    """Node and a project with these packages; the Node is theirs if `node` is one of them.

    Raises:
        Skipped: it could not be made.
    """
    node, program = shutil.which("node"), shutil.which("npm")
    if node is None or program is None:
        raise Skipped("node and npm are not installed")
    folder = _folder(packages)
    if not _is_made(folder, packages):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n')
        _run([program, "install", "--silent", "--no-audit", "--no-fund", "--save-exact", *packages], folder)
        _made(folder, packages)
    own = folder / "node_modules" / "node" / "bin" / "node"
    if own.exists():
        return str(own), folder
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    if int(version.lstrip("v").partition(".")[0]) < LEAST_NODE:
        raise Skipped(f"node {LEAST_NODE} is needed, this is {version.strip()}")
    return node, folder


def _folder(packages: Sequence[str]) -> Path:
    return HOME / NO_NAME.sub("-", packages[0]).strip("-")


def _is_made(folder: Path, packages: Sequence[str]) -> bool:
    mark = folder / "made.txt"
    return mark.exists() and mark.read_text().split("\n")[:-1] == list(packages)


def _made(folder: Path, packages: Sequence[str]) -> None:
    (folder / "made.txt").write_text("".join(f"{package}\n" for package in packages))


def _run(words: Sequence[str], folder: Path | None = None) -> None:
    HOME.mkdir(exist_ok=True)
    print(f"setting up: {' '.join(words[-4:])}", file=sys.stderr)
    try:
        subprocess.run(words, cwd=folder, check=True, timeout=SETUP_LIMIT, stdout=sys.stderr)
    except (OSError, subprocess.SubprocessError) as error:
        raise Skipped(f"it could not be set up: {type(error).__name__}") from None
