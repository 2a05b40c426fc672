"""What a machine has to say to the person who reads the log.

A machine never formats for a level that is off: it asks `debugs` first (decisions L9). Texts hold methods, ids and
figures, never the content of a message (LOGL-05).
"""

from enum import IntEnum
from typing import Protocol


class Level(IntEnum):
    ERR = 0
    WARN = 1
    INFO = 2
    DEBUG = 3


class Notes(Protocol):
    @property
    def debugs(self) -> bool:
        """Whether notes at debug level are kept at all."""
        ...

    def note(self, level: Level, scope: str, text: str) -> None: ...


class NoNotes:
    """Keeps nothing; for machines that run without a log."""

    debugs = False

    def note(self, level: Level, scope: str, text: str) -> None:
        pass
