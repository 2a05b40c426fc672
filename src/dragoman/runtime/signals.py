"""The signals that ask a process to end, while there is something to end."""

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

EXIT_FINE, EXIT_LOST = 0, 1


class Signals:
    """While it is entered, the signals that ask a process to end are an end of the conversation.

    With `reload`, SIGHUP asks for that instead.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, end: Callable[[], None], reload: Callable[[], None] | None = None
    ) -> None:
        self._loop = loop
        self._end = end
        self._reload = reload
        names = ("SIGINT", "SIGTERM", "SIGBREAK") if sys.platform == "win32" else ("SIGINT", "SIGTERM", "SIGHUP")
        self._numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]

    def __enter__(self) -> None:
        for number in self._numbers:
            try:
                self._loop.add_signal_handler(number, self._meant_by(number))
            except (NotImplementedError, RuntimeError):
                signal.signal(number, self._from_thread)

    def _meant_by(self, number: int) -> Callable[[], None]:
        is_reload = self._reload is not None and number == getattr(signal, "SIGHUP", None)
        return self._reload if is_reload and self._reload is not None else self._end

    def _from_thread(self, number: int, frame: object) -> None:
        self._loop.call_soon_threadsafe(self._meant_by(number))

    def __exit__(self, *_: object) -> None:
        for number in self._numbers:
            with suppress(NotImplementedError, RuntimeError):
                self._loop.remove_signal_handler(number)
