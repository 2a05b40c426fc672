"""Where a front writes: each frame with the lane that it belongs to."""

from typing import Protocol

from dragoman.exchange.events import ServerError
from dragoman.faults import Fault


class Outlet(Protocol):
    """Where a front writes, each frame without a line end and with its lane."""

    def tell(self, lane: int, frame: bytes, /) -> None:
        """A request or notification: more follows on its lane."""
        ...

    def answer(self, lane: int, frame: bytes, why: Fault | ServerError | None = None, /) -> None:
        """The response to a request of that lane; `why` tells what an error is made of."""
        ...

    def drop(self, lane: int, /) -> None:
        """A request of that lane gets no response."""
        ...


class Pipe(list[bytes]):
    """An outlet with the one lane; whoever reads it empties it."""

    def tell(self, lane: int, frame: bytes, /) -> None:
        self.append(frame)

    def answer(self, lane: int, frame: bytes, why: Fault | ServerError | None = None, /) -> None:
        self.append(frame)

    def drop(self, lane: int, /) -> None:
        """On a pipe nothing waits for it."""
