"""Modern clients at a listener: each request stands alone on its exchange, whatever kind of server is behind."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from dragoman.core.mediator import Mediator
from dragoman.fronts.modern import Modern
from dragoman.runtime.lanes import Lanes
from dragoman.runtime.shared import Shared
from dragoman.transports.http.server.exchange import Exchange
from dragoman.transports.http.server.stream import Stream
from dragoman.wire.frame import Parsed

F = TypeVar("F", bound=Modern)


class Alone(Lanes, Generic[F]):
    """A party of its server, and the outlet of its own front.

    `make` gives the front, which may be one with waits of its own; `rouse` is told of this object whenever something of
    it may be due.
    """

    def __init__(self, shared: Shared, rouse: Callable[[Any], None], make: Callable[[Mediator, "Alone[F]"], F]) -> None:
        super().__init__(True, shared.tap)
        self._shared = shared
        self._rouse = rouse
        self.mediator = Mediator(shared.profile, shared.limits, shared.log)
        self.mediator.front = self.front = make(self.mediator, self)
        self.back, self._link = shared.connect(self, self.mediator)

    def receive(self, exchange: Exchange, data: bytes, frame: Parsed, principal: str | None, now: float) -> None:
        """Take one message that came by POST."""
        if self._tap is not None:
            self._tap.record("client", "<", data, [], f"{exchange.lane}")
        self.exchanges[exchange.lane] = exchange
        self.front.receive_on(exchange.lane, data, frame, now, principal)
        if not exchange.wants:
            self.exchanges.pop(exchange.lane, None)
        self.settle()

    def open_stream(self, lane: int) -> Stream:
        """The stream that an answer becomes: without ids, as nothing can be resumed."""
        return Stream(None, 0, self._shared.limits.reception.waiting, budget=self._shared.budget)

    def lane_closed(self, lane: int, now: float) -> None:
        """The client has gone away: that is its cancellation (THTTP-04)."""
        self.exchanges.pop(lane, None)
        self.front.lane_closed(lane, now)
        self.settle()

    def tell_anywhere(self, frame: bytes) -> None:
        """There is no other place than the exchange itself."""

    def settle(self) -> None:
        if self.mediator.stop_wanted:
            self.mediator.stop_wanted = False
            self._link.stop()
        if self.back.out:
            self._link.send()
        self._rouse(self)

    @property
    def wake(self) -> float:
        """The first moment at which `tick` may have something to do."""
        return self.mediator.wake()

    def tick(self, now: float) -> None:
        self.mediator.tick(now)
        self.settle()
