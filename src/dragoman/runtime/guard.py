"""What runs work for one party of many: a fault of ours costs that party, and nobody else (B1)."""

from collections.abc import Callable
from typing import ParamSpec

from dragoman.exchange.notes import Level, internal_error
from dragoman.faults import Cause, Fault
from dragoman.runtime.log import Log

P = ParamSpec("P")
BROKEN = Fault(Cause.INTERNAL, "this call only; the listener goes on")


class Guard:
    """Turns what the work raises into one line of the log."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def __call__(self, work: Callable[P, object], *args: P.args, **named: P.kwargs) -> bool:
        """Whether the work was done without an exception."""
        try:
            work(*args, **named)
        except Exception as error:
            self._log.note(Level.ERR, "bridge", internal_error(error))
            return False
        return True
