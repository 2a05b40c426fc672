"""A browser for tests: a program that `BROWSER` names, which leaves what it was started with and then signs in."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.signing_in import KEY

SCRIPT = """#!{python}
import json, os, sys, time
sys.path[:0] = {path!r}
opened = {{"argv": sys.argv[1:], "environment": dict(os.environ), "stdin": sys.stdin.read()}}
with open({record!r}, "a") as file:
    file.write(json.dumps(opened) + "\\n")
if {ca!r}:
    os.environ["SSL_CERT_FILE"] = {ca!r}
if {visits}:
    from support.authorization import visit
    with open({record!r} + ".pages", "a") as file:
        file.write(json.dumps(visit(sys.argv[1])) + "\\n")
sys.exit({code})
"""


@dataclass
class Browser:
    """`environment` is that of a bridge whose user has this browser."""

    folder: Path
    program: Path

    @property
    def environment(self) -> dict[str, str]:
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if name not in ("BROWSER", "SANDBOX_RUNTIME")}
        own = {"BROWSER": str(self.program), "HOME": str(home), "TOKEN_KEY": KEY.hex()}
        return {**kept, **own, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}

    @property
    def opened(self) -> list[dict[str, Any]]:
        return _lines(self.folder / "opened")

    @property
    def pages(self) -> list[Any]:
        return _lines(self.folder / "opened.pages")


def browser(folder: Path, *, visits: bool = True, code: int = 0, ca: str = "") -> Browser:
    program = folder / "browser"
    record = str(folder / "opened")
    parts = {"python": sys.executable, "path": sys.path, "record": record, "visits": visits, "code": code, "ca": ca}
    program.write_text(SCRIPT.format(**parts))
    program.chmod(0o700)
    return Browser(folder, program)


def _lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
