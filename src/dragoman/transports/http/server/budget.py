"""What all streams of a listener keep together, in bounds.

Each stream has a bound of its own, but many that nobody reads would fill the memory together. Past the bound of all of
them the one that keeps the most ends.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.transports.http.server.stream import Stream


class Budget:
    """`most` is in bytes. `used` is what is kept now."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0
        self._streams: dict[int, Stream] = {}

    def add(self, stream: "Stream", size: int) -> None:
        """A stream keeps so much more; the largest of all ends when that is too much."""
        self.used += size
        self._streams[id(stream)] = stream
        while self.used > self.most and self._streams:
            largest = max(self._streams.values(), key=lambda each: each.size)
            self._streams.pop(id(largest))
            largest.exceed()

    def remove(self, stream: "Stream", size: int) -> None:
        """A stream keeps so much less."""
        self.used -= size
        if stream.size == 0:
            self._streams.pop(id(stream), None)
