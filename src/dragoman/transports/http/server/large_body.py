"""A response body that is too large for the buffer of its connection.

It is written in pieces, each when the client has taken the one before, and counts among what all streams keep until the
last of it is written.
"""

from collections.abc import Callable, Iterator
from typing import Self

from dragoman.transports.http.server.budget import Budget

PIECE = 256 << 10  # bytes that are written at one time


class LargeBody:
    """Use it as a context manager: it counts until the block is left.

    Args:
        data: the whole body; nobody else should keep it.
        budget: what it is counted in; past its bound the largest response ends, which may be this one.
        abort: ends the connection; called once, when this one has to end and a part of it was written.
    """

    def __init__(self, data: bytes, budget: Budget, abort: Callable[[], None]) -> None:
        self._data = data
        self._budget = budget
        self._abort = abort
        self.size = len(data)
        self.has_exceeded = False
        self._is_begun = False

    def __enter__(self) -> Self:
        self._budget.add(self, self.size)
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    def exceed(self) -> None:
        """All that is kept is too much, and this is the most of it."""
        self.has_exceeded = True
        self._release()
        if self._is_begun:
            self._abort()

    def pieces(self) -> Iterator[bytes]:
        """The body in its order; it stops early when the body was given up."""
        self._is_begun = True
        for begin in range(0, len(self._data), PIECE):
            if self.has_exceeded:
                return
            yield self._data[begin : begin + PIECE]

    def _release(self) -> None:
        size, self.size, self._data = self.size, 0, b""
        self._budget.remove(self, size)
