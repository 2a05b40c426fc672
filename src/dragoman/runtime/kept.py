"""Modern clients at a listener before a server that keeps state: one conversation for each caller.

A caller is a principal with what it declared that it can do; nobody else uses its server (translation 4.2). Callers
without a name that declare the same share one conversation (decisions T19). A conversation in which nobody waits for
anything ends after a while, and the next request begins another.
"""

from collections.abc import Callable

from dragoman.core.mediator import Mediator
from dragoman.exchange.events import Reason
from dragoman.fronts.stateful import Stateful
from dragoman.runtime.lanes import Lanes
from dragoman.runtime.shared import Shared
from dragoman.transports.http.server.exchange import Exchange
from dragoman.transports.http.server.stream import Stream
from dragoman.wire.frame import Parsed


class Kept(Lanes):
    """The outlet of its own front. `seen` is when its client last said something."""

    def __init__(self, shared: Shared, rouse: Callable[["Kept"], None], now: float) -> None:
        super().__init__(True, shared.tap)
        self.seen = now
        self._shared = shared
        self._rouse = rouse
        limits, log = shared.limits, shared.log
        self.mediator = Mediator(shared.profile, limits, log)
        self.front = Stateful(
            self.mediator, limits, log, self, limits.reception.exchanges, shared.seal, shared.identity
        )
        self.mediator.front = self.mediator.timed = self.front
        self.back, self._link = shared.connect(self, self.mediator)

    @property
    def is_idle(self) -> bool:
        """Whether no client waits for anything."""
        return self.front.is_idle and not self.exchanges

    def receive(self, exchange: Exchange, data: bytes, frame: Parsed, principal: str | None, now: float) -> None:
        """Take one message that came by POST."""
        self.seen = now
        if self._tap is not None:
            self._tap.record("client", "<", data, [], f"{exchange.lane}")
        self.exchanges[exchange.lane] = exchange
        self.front.receive_on(exchange.lane, data, frame, now, principal)
        if not exchange.wants:
            self.exchanges.pop(exchange.lane, None)
        self.settle()

    def open_stream(self, lane: int) -> Stream:
        """The stream that an answer becomes: without ids, as nothing can be resumed."""
        return Stream(None, 0, self._shared.limits.reception.waiting)

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

    def end(self, now: float) -> None:
        """The conversation is over."""
        self.front.leave(Reason.CLIENT_LEFT, now)
        self.settle()
        self._link.part()
