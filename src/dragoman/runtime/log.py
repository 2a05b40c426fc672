"""Log lines: `<profile name>: <scope>: <level>: <text>`, and nothing else begins like that (LOGL-01)."""

from collections.abc import Callable

from dragoman.exchange.notes import Level
from dragoman.redact import masked

NAMES = {Level.ERR: "error", Level.WARN: "warning", Level.INFO: "info", Level.DEBUG: "debug"}
CHOICES = {"err": Level.ERR, "warn": Level.WARN, "info": Level.INFO, "debug": Level.DEBUG}


class Log:
    def __init__(self, name: str, level: Level, write: Callable[[bytes], None]) -> None:
        self._name = name
        self._level = level
        self._write = write
        self.debugs = level is Level.DEBUG

    def note(self, level: Level, scope: str, text: str) -> None:
        if level <= self._level:
            line = f"{self._name}: {scope}: {NAMES[level]}: {masked(text)}"
            self._write(line.replace("\n", " ").encode("utf-8", "backslashreplace") + b"\n")
