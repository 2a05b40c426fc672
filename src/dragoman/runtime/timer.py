"""One timer for everything that a listener waits for: it fires at the first due moment, and never in between."""

import asyncio
from collections.abc import Callable

from dragoman.core.inflight import NEVER


class Timer:
    """`work` is called on the event loop with the loop's time when something is due, and gives the next due moment."""

    def __init__(self, work: Callable[[float], float]) -> None:
        self._work = work
        self._handle: asyncio.TimerHandle | None = None
        self._due = NEVER

    @property
    def due(self) -> float:
        """When it fires, in the loop's time."""
        return self._due

    def by(self, due: float) -> None:
        """Fire no later than this."""
        if due >= self._due:
            return
        if self._handle is not None:
            self._handle.cancel()
        self._due = due
        self._handle = asyncio.get_running_loop().call_at(due, self._fire)

    def cancel(self) -> None:
        """Do not fire any more, until something is due again."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle, self._due = None, NEVER

    def _fire(self) -> None:
        self._handle, self._due = None, NEVER
        self.by(self._work(asyncio.get_running_loop().time()))
