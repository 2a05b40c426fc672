"""One client with a handshake on HTTP: a session of Streamable HTTP, or a connection of HTTP+SSE.

* Answers and what belongs to a request go to the exchange of that request, everything else to the standalone stream,
  which waits for its reader in bounds.
* A stream whose connection is lost can be taken up again for a while by the session that it belongs to, and by no
  other (B133). When nobody does, its request is cancelled: no answer can reach anyone any more.
* Over HTTP+SSE there is one stream for everything. Its loss is the end of the session.
"""

import secrets
from collections.abc import Callable

from dragoman.core.mediator import Mediator
from dragoman.exchange.events import Reason, ServerError
from dragoman.faults import Fault
from dragoman.fronts.legacy import Legacy
from dragoman.fronts.lifecycle import State
from dragoman.revisions import Revision, Trait
from dragoman.runtime.lanes import Lanes
from dragoman.runtime.shared import Shared
from dragoman.transports.http.server.exchange import Exchange
from dragoman.transports.http.server.stream import Stream
from dragoman.wire.frame import Parsed


class Session(Lanes):
    """`id` names it to its client, `principal` is who opened it. `seen` is when the client last said something."""

    def __init__(
        self,
        id: str,
        principal: str | None,
        shared: Shared,
        rouse: Callable[["Session"], None],
        now: float,
        is_sse: bool = False,
    ) -> None:
        super().__init__(False, shared.tap)
        self.id = id
        self.principal = principal
        self.seen = now
        self.is_sse = is_sse
        self.is_over = False
        self._shared = shared
        self._rouse = rouse
        self._token = secrets.token_hex(6)
        limits, log = shared.limits, shared.log
        self.mediator = Mediator(shared.profile, limits, log)
        self.mediator.front = self.front = Legacy(self.mediator, shared.profile, limits, log, shared.identity, self)
        self.back, self._link = shared.connect(self, self.mediator)
        bounds = limits.reception
        self.standalone = (
            Stream(None, 0, bounds.waiting, budget=shared.budget, changed=self._look)
            if is_sse
            else Stream(self._name(0), bounds.kept, bounds.kept, drops=True, budget=shared.budget)
        )
        self.streams: dict[bytes, tuple[int, Stream]] = {}
        self._orphans: dict[int, float] = {}
        self._must_look = False  # a stream has lost its reader, or is stuck

    @property
    def is_open(self) -> bool:
        """Whether its `initialize` was answered with a result."""
        return self.front.state is State.READY

    @property
    def takes_batches(self) -> bool:
        return self.is_open and self.revision is not None and self.revision.has(Trait.BATCHES)

    @property
    def is_useless(self) -> bool:
        """Whether it is of no use any more: its `initialize` was answered with an error, or its server is gone.

        On a stream for everything, another `initialize` may follow the one that failed.
        """
        gone = self.front.state is State.SERVER_GONE
        refused = self.front.state is State.AWAITING_INITIALIZE and not self.is_sse
        return (gone or refused) and not self.is_busy

    @property
    def is_busy(self) -> bool:
        """Whether a request of the client waits for its answer."""
        return bool(len(self.mediator.inflight)) or bool(self.exchanges)

    @property
    def is_held(self) -> bool:
        """Whether the client holds a stream of it open."""
        return self.standalone.is_read or any(stream.is_read for _, stream in self.streams.values())

    @property
    def revision(self) -> Revision | None:
        return self.front.revision

    # ------------------------------------------------------------------ from the client

    def receive(self, exchange: Exchange, data: bytes, frame: Parsed, now: float) -> None:
        """Take one message that came by POST."""
        self.seen = now
        if self._tap is not None:
            self._tap.record("client", "<", data, [], f"{exchange.lane}")
        self.exchanges[exchange.lane] = exchange
        self.front.receive_on(exchange.lane, data, frame, now)
        if exchange.is_batch:
            exchange.expect(self.front.waiting_on(exchange.lane))
        if exchange.is_over:
            self.exchanges.pop(exchange.lane, None)
        self.settle()

    def receive_posted(self, data: bytes, now: float) -> None:
        """Take one message of a client that hears everything on its one stream (HTTP+SSE)."""
        self.seen = now
        if self._tap is not None:
            self._tap.record("client", "<", data, [], "sse")
        self.front.receive([data], now)
        self.settle()

    def open_stream(self, lane: int) -> Stream:
        """The stream that the answer on a lane becomes."""
        bounds = self._shared.limits.reception
        primed = self.revision is not None and self.revision.has(Trait.PRIMED_STREAMS)
        name = self._name(lane)
        stream = Stream(name, bounds.kept, bounds.waiting, primed, budget=self._shared.budget, changed=self._look)
        self.streams[name] = lane, stream
        return stream

    def resumed(self, event: str) -> Stream:
        """The stream of the event with this id, at the place behind it.

        Of a stream that is no longer kept, or was never this session's, there is nothing to tell: an empty one.
        """
        name, _, number = event.encode("ascii", "replace").rpartition(b"-")
        lane, stream = (0, self.standalone) if name == self.standalone.name else self.streams.get(name, (0, None))
        if stream is None or not (number.isascii() and number.isdigit()) or len(number) > 18:
            gone = Stream(None, 0, 0)
            gone.finish()
            return gone
        self._orphans.pop(lane, None)
        stream.rewind(int(number))
        return stream

    def hung_up(self, lane: int, stream: Stream | None, now: float) -> None:
        """A connection is gone before its answer was there; of a stream, looking tells."""
        if stream is None:
            self._orphans[lane] = now + self._shared.limits.reception.abandon
            self._rouse(self)

    # ------------------------------------------------------------------ to the client

    def tell_anywhere(self, frame: bytes) -> None:
        self.standalone.put(frame)

    def answer(self, lane: int, frame: bytes, why: Fault | ServerError | None = None, /) -> None:
        exchange = self.exchanges.get(lane)
        if exchange is not None and why is not None:
            exchange.session = None  # an initialize that is refused begins no session
        super().answer(lane, frame, why)

    def settle(self) -> None:
        mediator = self.mediator
        if mediator.stop_wanted:
            mediator.stop_wanted = False
            self._link.stop()
        if self.back.out:
            self._link.send()
        self._rouse(self)

    # ------------------------------------------------------------------ time and end

    @property
    def wake(self) -> float:
        """The first moment at which `tick` may have something to do."""
        if self._must_look:
            return 0.0
        return min(self.mediator.wake(), *self._orphans.values()) if self._orphans else self.mediator.wake()

    def _look(self) -> None:
        self._must_look = True
        self._rouse(self)

    def tick(self, now: float) -> None:
        self.mediator.tick(now)
        self._must_look = False
        for lane in [lane for lane, due in self._orphans.items() if due <= now]:
            self._abandon(lane, now)
        for lane, stream in list(self.streams.values()):
            if stream.is_stuck or stream.has_exceeded:
                self._abandon(lane, now)
            elif stream.is_read:
                self._orphans.pop(lane, None)
            elif lane not in self._orphans:
                bounds = self._shared.limits.reception
                self._orphans[lane] = now + (bounds.resume if stream.is_resumable else bounds.abandon)
        self.settle()

    def _abandon(self, lane: int, now: float) -> None:
        self._orphans.pop(lane, None)
        _, stream = self.streams.pop(self._name(lane), (0, None))
        if stream is not None and not stream.has_exceeded:
            stream.discard()
        if self.exchanges.pop(lane, None) is not None:
            self.front.lane_closed(lane, now)

    def end(self, now: float) -> None:
        """The session is over; nothing of it is left."""
        if self.is_over:
            return
        self.is_over = True
        self.front.leave(Reason.CLIENT_LEFT, now)
        self.settle()
        self._link.part()
        for exchange in self.exchanges.values():
            while not exchange.is_over:
                exchange.drop()
        self.exchanges.clear()
        for stream in (self.standalone, *(stream for _, stream in self.streams.values())):
            stream.finish()
            if not stream.is_read:
                stream.discard()

    def _name(self, lane: int) -> bytes:
        return f"{self._token}-{lane}".encode()
