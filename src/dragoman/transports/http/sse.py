"""The channel to a server at a URL with a handshake: HTTP+SSE, one stream for all that it says (revisions 5.2).

* The first message opens the stream with GET. The server's `endpoint` event says where messages are posted; until it
  is there they wait, in bounded time. A stream that cannot be had is the loss of the requests that wait for it, and the
  next message tries again.
* Messages are posted one after the other: each waits until the one before is accepted, though not for ever, as a server
  may accept a request only when it has served it.
* Once the endpoint is known, the end of the stream is the end of the server: nothing can be resumed.
* Nothing is called back from within `send`, and nothing after the begin of `aclose`.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import aiohttp
from msgspec import Raw

from dragoman.exchange.notes import internal_error
from dragoman.faults import Cause
from dragoman.limits import Limits
from dragoman.transports.http.address import Address, Refused, address
from dragoman.transports.http.agreement import NOT_FOUND
from dragoman.transports.http.answer import Sort, said
from dragoman.transports.http.backlog import Backlog
from dragoman.transports.http.binding import ACCEPT, EVENT_STREAM, JSON
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.connection import Connections
from dragoman.transports.http.endpoint import Endpoint
from dragoman.transports.http.endpoint_event import named_by
from dragoman.transports.http.events import MESSAGE, Events
from dragoman.transports.http.loss import Loss, Lost, cut, invalid, is_fine, refused
from dragoman.transports.http.outgoing import CANCELLED, Outgoing, outgoing
from dragoman.transports.http.place import place
from dragoman.transports.http.proxy import UnusableProxy
from dragoman.transports.http.reading import Reading
from dragoman.transports.http.target import Target

BOUNDS = Bounds()
ENDPOINT = b"endpoint"
HEADERS = {"Content-Type": JSON, "Accept": ACCEPT}


@dataclass(eq=False)
class _Opening:
    """One attempt to have the stream. `settled` is set when the endpoint is known, or why it will not be."""

    settled: asyncio.Event = field(default_factory=asyncio.Event)
    loss: Loss | None = None


@dataclass(eq=False)
class _Turn:
    """One message on its way. What follows waits so many seconds for it to be `done`.

    It waits for `before` itself until it is posted; if it never is, what follows waits for `before` in its place.
    """

    seconds: float
    before: "_Turn | None"
    done: asyncio.Event = field(default_factory=asyncio.Event)


class SseChannel:
    """`lines` gets messages, of no request as far as the transport tells. `lane_lost` gets the id of a request that
    could not be posted, and why; `gone` how the server was lost and the cause, and then nothing is told any more;
    `note` sentences for the log.

    Raises:
        UnusableProxy, UnusableTrust: the environment makes every connection impossible (HTTP-09).
    """

    def __init__(
        self,
        target: Target,
        loop: asyncio.AbstractEventLoop,
        limits: Limits,
        lines: Callable[[list[bytes], None], None],
        lane_lost: Callable[[bytes, Loss], None],
        gone: Callable[[str, Cause], None],
        drained: Callable[[], None] = lambda: None,
        note: Callable[[str], None] = lambda _: None,
        bounds: Bounds = BOUNDS,
    ) -> None:
        self._target = target
        self._loop = loop
        self._limits = limits
        self._bounds = bounds
        self._lines = lines
        self._lane_lost = lane_lost
        self._gone = gone
        self._drained = drained
        self._note = note
        self._backlog = Backlog(self._relieved)
        self._connections = Connections(target, loop, bounds)
        self._reading = Reading(limits, bounds)
        self._stream = Endpoint(self._connections, self._reading, bounds)
        self._posts = self._stream
        self._second: Endpoint | None = None
        self._opening: _Opening | None = None
        self._before: _Turn | None = None
        self._open: dict[bytes, asyncio.Task[None]] = {}
        self._unposted: set[bytes] = set()
        self._posting: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Task[None] | None = None
        self._is_over = False

    @property
    def backlog(self) -> int:
        return self._backlog.size

    def send(self, frames: list[bytes]) -> None:
        for frame in frames:
            if self._is_over:
                return
            out = outgoing(frame)
            if out.method == CANCELLED and not self._give_up(out.params.get("requestId")):
                continue
            id = out.id if out.method is not None else None
            if id is None:
                self._post(out, None)
            elif len(self._open) >= self._limits.in_flight + self._bounds.streams:
                self._loop.call_soon(self._lose, id, Loss(None, Cause.TOO_MANY_REQUESTS, None, True))
            else:
                self._backlog.add(id, len(frame))
                self._unposted.add(id)
                self._open[id] = self._post(out, id)

    def pause(self) -> None:
        self._reading.pause()

    def resume(self) -> None:
        self._reading.resume()

    async def aclose(self) -> None:
        """End every request and connection; takes three times the grace at the most.

        What was sent before gets half of one grace to be posted, if it is known where.
        """
        self._is_over = True
        grace = self._limits.grace
        if self._posting and self._opening is not None and self._opening.settled.is_set():
            await asyncio.wait(self._posting, timeout=grace / 2)
        rest = {*self._posting, *({self._listening} if self._listening is not None else ())}
        for task in rest:
            task.cancel()
        if rest:
            await asyncio.wait(rest, timeout=grace)
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._connections.close()

    def kill(self) -> None:
        """There is nothing that outlives this process."""

    # ------------------------------------------------------------------ messages of the client's side

    def _give_up(self, id: Raw | None) -> bool:
        """Forget an open request; whether the server has to hear of it."""
        key = bytes(id) if id is not None else b""
        task = self._open.pop(key, None)
        if task is not None and key in self._unposted:
            task.cancel()
            self._unposted.discard(key)
            self._loop.call_soon(self._backlog.take, key)  # the task may never have begun
            return False
        return task is not None

    def _post(self, out: Outgoing, id: bytes | None) -> asyncio.Task[None]:
        if self._opening is None:
            self._opening = _Opening()
            self._listening = self._loop.create_task(self._listen(self._opening), name="the stream of the server")
        turn = self._before = _Turn(self._bounds.accept if id is None else self._bounds.turn, self._before)
        task = self._loop.create_task(self._posted(out, id, self._opening, turn), name=f"{out.name} to the server")
        self._posting.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._posting.discard(task)
            turn.done.set()

        task.add_done_callback(done)
        return task

    async def _posted(self, out: Outgoing, id: bytes | None, opening: _Opening, turn: _Turn) -> None:
        loss: Loss | None = None
        try:
            await opening.settled.wait()
            if opening.loss is not None:
                raise Lost(opening.loss)
            await self._wait_for(turn.before)
            turn.before = None
            self._unposted.discard(id or b"")
            await self._accepted(out)
        except Lost as lost:
            self._posts.forget()
            loss = lost.loss
        except Exception as error:
            self._tell(internal_error(error))
            loss = Loss(None, Cause.INTERNAL, type(error).__name__, False)
        finally:
            if id is not None:
                self._unposted.discard(id)
                self._backlog.take(id)
        if loss is None:
            return
        if id is None:
            self._tell(f"{out.name} was lost: {loss.detail}")
        elif self._open.pop(id, None) is not None:
            self._lose(id, loss)

    async def _wait_for(self, turn: _Turn | None) -> None:
        while turn is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(turn.seconds):
                    await turn.done.wait()
            turn = turn.before

    async def _accepted(self, out: Outgoing) -> None:
        """Post; any good status will do.

        Raises:
            Lost: it was refused, or it is not known what became of it.
        """
        second, self._second = self._second, None
        status = await self._status(out)
        if status == NOT_FOUND and second is not None:
            self._posts = second
            status = await self._status(out)
            if status == NOT_FOUND:
                raise Lost(refused(status, "neither the endpoint that the server named nor the one below its path"))
        if not is_fine(status):
            raise Lost(refused(status))

    async def _status(self, out: Outgoing) -> int:
        async with self._posts.sent("POST", HEADERS, out.body) as response:
            await self._reading.rest(response)
            return response.status

    # ------------------------------------------------------------------ the stream

    async def _listen(self, opening: _Opening) -> None:
        """From GET to the end of the stream, which is the end of the server if it said where to post."""
        loss: Loss | None = None
        try:
            async with asyncio.timeout(self._bounds.endpoint) as limit:
                await self._heard(opening, limit)
        except Lost as lost:
            loss = lost.loss
        except TimeoutError:
            loss = cut(None, "no endpoint event in time")
        except Exception as error:
            self._tell(internal_error(error))
            loss = Loss(None, Cause.INTERNAL, type(error).__name__, False)
        if not opening.settled.is_set():
            self._stream.forget()
            self._opening = None
            opening.loss = loss
            opening.settled.set()
        elif not self._is_over:
            self._is_over = True
            self._open.clear()
            for task in self._posting:
                task.cancel()
            if loss is None:
                self._gone("closed its event stream", Cause.CLOSED)
            else:
                self._gone(f"is lost with its event stream: {loss.detail}", loss.kind)

    async def _heard(self, opening: _Opening, limit: asyncio.Timeout) -> None:
        """All that the server says, until it ends the stream.

        Raises:
            Lost: there is no stream, it was cut off, or it ended before its endpoint event.
        """
        async with self._stream.sent("GET", {"Accept": EVENT_STREAM}) as response:
            if not is_fine(response.status):
                raise Lost(refused(response.status))
            if not self._reading.is_stream(response):
                raise Lost(invalid(response.status, "no event stream"))
            await self._follow(response, opening, limit)
            if not opening.settled.is_set():
                raise Lost(cut(response.status, "the stream ended before its endpoint event"))

    async def _follow(self, response: aiohttp.ClientResponse, opening: _Opening, limit: asyncio.Timeout) -> None:
        events = Events(self._bounds.response)
        while (found := await self._reading.events(response, events)) is not None:
            passed: list[bytes] = []
            for event in found:
                if event.kind == MESSAGE:
                    message = said(event.data, None)
                    if message.sort is Sort.FOREIGN and message.id is not None:
                        self._open.pop(message.id, None)
                    passed.append(message.line)  # what is broken is told by the reader, who tells of all such lines
                elif event.kind == ENDPOINT and not opening.settled.is_set():
                    self._post_to(event.data, response)
                    limit.reschedule(None)
                    opening.settled.set()
            if passed and not self._is_over:
                self._lines(passed, None)

    def _post_to(self, data: bytes, response: aiohttp.ClientResponse) -> None:
        try:
            first, second = named_by(data, address(str(response.url), allow_http=True))
            self._posts = self._endpoint(first)
            self._second = self._endpoint(second) if second is not None else None
        except (Refused, UnusableProxy) as error:
            raise Lost(invalid(response.status, str(error))) from None

    def _endpoint(self, to: Address) -> Endpoint:
        is_home = to.origin == self._target.address.origin
        return Endpoint(self._connections, self._reading, self._bounds, place(to, self._target, is_home))

    def _lose(self, id: bytes, loss: Loss) -> None:
        if not self._is_over:
            self._lane_lost(id, loss)

    def _relieved(self) -> None:
        if not self._is_over:
            self._drained()

    def _tell(self, text: str) -> None:
        if not self._is_over:
            self._note(text)
