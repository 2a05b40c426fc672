"""The exchanges of one front on HTTP: an outlet that writes each frame to the exchange that its lane names."""

from abc import abstractmethod

from dragoman.exchange.events import ServerError
from dragoman.faults import Fault
from dragoman.runtime.tap import Tap
from dragoman.transports.http.server.exchange import Exchange
from dragoman.transports.http.server.status import status_of


class Lanes:
    """`is_modern` tells which statuses its answers have."""

    def __init__(self, is_modern: bool, tap: Tap | None) -> None:
        self.exchanges: dict[int, Exchange] = {}
        self._is_modern = is_modern
        self._tap = tap

    @abstractmethod
    def tell_anywhere(self, frame: bytes) -> None:
        """Something for the client that belongs to no exchange that is open."""

    def tell(self, lane: int, frame: bytes, /) -> None:
        if self._tap is not None:
            self._tap.record("client", ">", frame, [], f"{lane}")
        exchange = self.exchanges.get(lane)
        if exchange is None or not exchange.tell(frame):
            self.tell_anywhere(frame)

    def answer(self, lane: int, frame: bytes, why: Fault | ServerError | None = None, /) -> None:
        if self._tap is not None:
            self._tap.record("client", ">", frame, [], f"{lane}")
        exchange = self.exchanges.get(lane)
        if exchange is None:
            self.tell_anywhere(frame)
            return
        exchange.answer(frame, status_of(why, self._is_modern) if why is not None else 200)
        if exchange.is_over:
            del self.exchanges[lane]

    def drop(self, lane: int, /) -> None:
        exchange = self.exchanges.get(lane)
        if exchange is not None:
            exchange.drop()
            if exchange.is_over:
                del self.exchanges[lane]
