"""A server's standard error while it is asked `server/discover`, which it may not know (A8).

Servers of older revisions complain about that question at each start, some in a hundred lines. They are asked nothing
wrong, so what names the question is held back. If the server turns out to be one of those, it is never shown, unless
the log is at debug level. If it turns out to be anything else, or cannot be used at all, it is shown.
"""

import re
from collections.abc import Callable

from dragoman.backs.probe import Probe
from dragoman.exchange.notes import Level
from dragoman.revisions import Era
from dragoman.runtime.link import AnyBack
from dragoman.runtime.log import Log

QUESTION = b"server/discover"
MOST = 256 << 10  # bytes that are held
_COMPLAINT = re.compile(rb"^.*(?:server/discover|\d validation errors? for )", re.MULTILINE)
"""Where a complaint begins: the older Python SDK names the question in the third line of a hundred."""


class ProbeStderr:
    """Passes bytes of standard error on to `show`. What was found out, `back` knows."""

    def __init__(self, log: Log, show: Callable[[bytes], None]) -> None:
        self._log = log
        self._show = show
        self._held: list[bytes] = []
        self._size = 0
        self._has_noted = False

    @property
    def is_holding(self) -> bool:
        return bool(self._held)

    def write(self, data: bytes, back: AnyBack) -> None:
        """Show what the server wrote, now or when `settle` is called."""
        if QUESTION not in data or self._log.debugs or not _may_be_of_no_use(back):
            self._show(data)
            return
        begin = _COMPLAINT.search(data)
        if begin is not None and begin.start():
            self._show(data[: begin.start()])
            data = data[begin.start() :]
        if self._size < MOST:
            self._held.append(data)
        self._size += len(data)
        self.settle(back)

    def settle(self, back: AnyBack) -> None:
        """Decide about what is held, if it is known what the server is."""
        if not self._held or (isinstance(back, Probe) and back.is_searching):
            return
        if not _may_be_of_no_use(back):
            self.end()
            return
        if not self._has_noted:
            self._has_noted = True
            text = "what the server wrote about server/discover to its standard error is not shown"
            self._log.note(Level.INFO, "upstream", f"{text}; --log-level debug shows it")
        self._held.clear()
        self._size = 0

    def end(self) -> None:
        """Show what is held: there was no outcome, or it is one that this may explain."""
        for data in self._held:
            self._show(data)
        self._held.clear()
        self._size = 0


def _may_be_of_no_use(back: AnyBack) -> bool:
    return isinstance(back, Probe) and (back.is_searching or back.era is Era.LEGACY)
