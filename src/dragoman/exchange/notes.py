"""What a machine has to say to the person who reads the log.

A machine never formats for a level that is off: it asks `debugs` first (decisions L9). Texts hold methods, ids and
figures, never the content of a message (LOGL-05).
"""

from enum import IntEnum
from pathlib import PurePath
from typing import Protocol

from dragoman.wire.members import Members, text_of

SHOWN = 120  # characters of a reason that a peer gave


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


def internal_error(error: BaseException) -> str:
    """The line for a fault of ours: its kind and its place, and not its text, which may hold what a peer said."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {PurePath(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
    return f"internal error: {type(error).__name__}{place}; please report it"


def note_cancelled(notes: Notes, params: Members) -> None:
    """Note a cancel of either side, with its id and reason (SDKCXL-05); the reason changes nothing (SDKCXL-04)."""
    if notes.debugs:
        id, reason = params.get("requestId"), text_of(params.get("reason"))
        shown = bytes(id).decode(errors="replace")[:SHOWN] if id is not None else "none"
        why = f": {reason[:SHOWN]!a}" if reason is not None else ""
        notes.note(Level.DEBUG, "mcp_cancel", f"id {shown}{why}")
