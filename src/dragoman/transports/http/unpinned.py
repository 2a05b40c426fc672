"""The channel to a server at a URL whose transport nobody said: what the machine sends tells it (revisions 4.4).

* Messages of the modern era are POSTs of their own. `initialize` begins a session, and what follows belongs to it.
* When that `initialize` meets a status with which a server of HTTP+SSE answers a POST, it is sent once more over
  HTTP+SSE, before its failure is told (B48). A JSON-RPC error is an answer, whatever its status, and is handed on.
* Only what is used is open: `initialize` ends what the modern channel still waits for, which is then for nobody.
* Nothing is called back from within `send`, and nothing after the begin of `aclose`.
"""

import asyncio
from collections.abc import Callable

from dragoman.channel import Channel
from dragoman.exchange.meta import PROTOCOL_VERSION
from dragoman.faults import Cause
from dragoman.limits import Limits
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.client import HttpChannel
from dragoman.transports.http.loss import Loss
from dragoman.transports.http.outgoing import INITIALIZE, Outgoing, outgoing
from dragoman.transports.http.place import place
from dragoman.transports.http.target import Target, trust
from dragoman.wire.members import object_in

BOUNDS = Bounds()
MARK = b'"initialize"'
OF_SSE = (400, 404, 405)


class AnyChannel:
    """`lines` gets messages with the id of the request in whose response they came, if the transport tells it;
    `lane_lost` the id of a request and why it has no response; `gone` how a server of HTTP+SSE was lost and the cause;
    `note` sentences for the log; `renewed` that a session took the place of another.

    Raises:
        UnusableProxy, UnusableTrust: the environment makes every connection impossible (HTTP-09).
    """

    def __init__(
        self,
        target: Target,
        loop: asyncio.AbstractEventLoop,
        limits: Limits,
        lines: Callable[[list[bytes], bytes | None], None],
        lane_lost: Callable[[bytes, Loss], None],
        gone: Callable[[str, Cause], None],
        drained: Callable[[], None] = lambda: None,
        note: Callable[[str], None] = lambda _: None,
        bounds: Bounds = BOUNDS,
        renewed: Callable[[], None] = lambda: None,
    ) -> None:
        place(target.address, target, True)
        if target.address.scheme == "https":
            trust(target)  # each channel does the same; here it can still be told as a failure to open
        self._whereto = target, loop, limits
        self._besides = self._relieved, note, bounds
        self._loop = loop
        self._lines = lines
        self._lane_lost = lane_lost
        self._gone = gone
        self._drained = drained
        self._note = note
        self._renewed = renewed
        self._open: list[Channel] = []
        self._modern: Channel | None = None
        self._legacy: Channel | None = None
        self._initialize: tuple[bytes, bytes] | None = None  # its id and itself, while HTTP+SSE was not tried
        self._first_loss: tuple[bytes, Loss] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._is_paused = False

    @property
    def backlog(self) -> int:
        return sum(channel.backlog for channel in self._open)

    def send(self, frames: list[bytes]) -> None:
        if self._legacy is not None:
            self._legacy.send(frames)
            return
        for at, frame in enumerate(frames):
            out = outgoing(frame) if MARK in frame else None
            if out is not None and out.method == INITIALIZE and out.id is not None and not _is_modern(out):
                self._initialize = out.id, frame
                self._end_modern()
                self._legacy = self._session()
                self._legacy.send(frames[at:])
                return
            if self._modern is None:
                self._modern = self._stateless()
            self._modern.send([frame])

    def pause(self) -> None:
        self._is_paused = True
        for channel in self._open:
            channel.pause()

    def resume(self) -> None:
        self._is_paused = False
        for channel in self._open:
            channel.resume()

    async def aclose(self) -> None:
        """End everything that is open; takes three times the grace at the most."""
        self._initialize = None
        endings = [self._ending] if self._ending is not None else []
        await asyncio.gather(*endings, *(channel.aclose() for channel in self._open))

    def kill(self) -> None:
        """There is nothing that outlives this process."""

    # ------------------------------------------------------------------ channels

    def _stateless(self) -> Channel:
        def lines(lines: list[bytes], of: bytes | None) -> None:
            if self._legacy is None:
                self._lines(lines, of)

        def lane_lost(id: bytes, loss: Loss) -> None:
            if self._legacy is None:
                self._lane_lost(id, loss)

        return self._opened(HttpChannel(*self._whereto, lines, lane_lost, *self._besides))

    def _session(self) -> Channel:
        from dragoman.transports.http.session import SessionChannel

        ears = (self._lines, self._session_lost, *self._besides)
        return self._opened(SessionChannel(*self._whereto, *ears, self._renewed))

    def _sse(self) -> Channel:
        from dragoman.transports.http.sse_renewal import RenewedSse

        ears = (self._lines, self._sse_lost, self._gone, *self._besides)
        return self._opened(RenewedSse(*self._whereto, *ears, self._renewed))

    def _end_modern(self) -> None:
        """An old server may serve one request at a time, and still have the first."""
        if self._modern is not None:
            self._open.remove(self._modern)
            self._ending = self._loop.create_task(self._modern.aclose(), name="end of the modern channel")

    def _opened(self, channel: Channel) -> Channel:
        self._open.append(channel)
        if self._is_paused:
            channel.pause()
        return channel

    # ------------------------------------------------------------------ what channels tell

    def _session_lost(self, id: bytes, loss: Loss) -> None:
        first, self._initialize = self._initialize, None
        if first is None or first[0] != id or loss.status not in OF_SSE:
            self._lane_lost(id, loss)
            return
        self._first_loss = id, loss
        self._legacy = self._sse()
        self._legacy.send([first[1]])

    def _sse_lost(self, id: bytes, loss: Loss) -> None:
        """What the session met is told, as it was the better guess; a note has what HTTP+SSE met."""
        first, self._first_loss = self._first_loss, None
        if first is not None and first[0] == id:
            self._note(f"HTTP+SSE was tried as well: {loss.detail}")
            loss = first[1]
        self._lane_lost(id, loss)

    def _relieved(self) -> None:
        if not self.backlog:
            self._drained()


def _is_modern(out: Outgoing) -> bool:
    """Whether a message says that it is of a revision without a handshake: then its method is what it may."""
    return PROTOCOL_VERSION in (object_in(out.params.get("_meta")) or {})
