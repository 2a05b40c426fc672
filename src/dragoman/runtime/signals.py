"""The signals that ask a process to end, while there is something to end."""

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

EXIT_FINE, EXIT_LOST = 0, 1


class Signals:
    """While it is entered, the signals that ask a process to end are an end of the conversation."""

    def __init__(self, loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
        self._loop = loop
        self._end = end
        names = ("SIGINT", "SIGTERM", "SIGBREAK") if sys.platform == "win32" else ("SIGINT", "SIGTERM", "SIGHUP")
        self._numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]

    def __enter__(self) -> None:
        for number in self._numbers:
            try:
                self._loop.add_signal_handler(number, self._end)
            except (NotImplementedError, RuntimeError):
                signal.signal(number, self._from_thread)

    def _from_thread(self, number: int, frame: object) -> None:
        self._loop.call_soon_threadsafe(self._end)

    def __exit__(self, *_: object) -> None:
        for number in self._numbers:
            with suppress(NotImplementedError, RuntimeError):
                self._loop.remove_signal_handler(number)
