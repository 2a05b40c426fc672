"""Log lines about requests that strangers can send: of each kind one in a while, and how many there were besides."""

import asyncio
from collections.abc import Callable

PAUSE = 10.0
"""Seconds between two lines of one kind."""


class RateLimitedNotes:
    """`write` takes the lines that are written."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._last: dict[str, float] = {}
        self._held: dict[str, int] = {}

    def note(self, kind: str, text: str) -> None:
        """Write a line, unless one of its kind was written just now."""
        now = asyncio.get_running_loop().time()
        last = self._last.get(kind)
        if last is not None and now - last < PAUSE:
            self._held[kind] = self._held.get(kind, 0) + 1
            return
        held = self._held.pop(kind, 0)
        self._last[kind] = now
        self._write(f"{text}; {held} more like it before" if held else text)
