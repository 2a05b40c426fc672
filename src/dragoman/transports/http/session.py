"""The channel to a server at a URL with a handshake: Streamable HTTP of the revisions with sessions (revisions 5.3).

* Each message is a POST. What its response carries belongs to its request; what the GET stream carries to none.
* A notification is accepted before anything that follows it is posted, and `notifications/initialized` before the GET
  stream is opened, whose first response the first call waits for, in bounded time.
* A server that no longer knows the session gets one new beginning: initialize once more, under an id of the channel's
  own, then `notifications/initialized`, then the refused requests, once each (B53, B108, B110). Whatever may have been
  carried out is not sent again. `renewed` then says that the server knows nothing of what was asked of the old session.
* A cancel is posted, as a closed response is none here, and the response of its request is given up (revisions 6.3).
* Nothing is called back from within `send`, and nothing after the begin of `aclose`, which ends the session by DELETE.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace

from msgspec import Raw

from dragoman.exchange.notes import internal_error
from dragoman.faults import Cause
from dragoman.limits import Limits
from dragoman.transports.http.agreement import Session, agreed
from dragoman.transports.http.answer import Said
from dragoman.transports.http.backlog import Backlog
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.connection import Connections
from dragoman.transports.http.endpoint import Endpoint
from dragoman.transports.http.exchange import Exchange, Road, SessionOver, post_headers
from dragoman.transports.http.listening import Listener
from dragoman.transports.http.loss import Loss, Lost, invalid, refused
from dragoman.transports.http.outgoing import CANCELLED, INITIALIZE, INITIALIZED, Outgoing, outgoing
from dragoman.transports.http.reading import Reading
from dragoman.transports.http.target import Target
from dragoman.wire import frame as wire
from dragoman.wire.members import closed

BOUNDS = Bounds()
NOT_REPEATED = "the server may have begun the request, so it was not sent again; the session is a new one"


class SessionChannel:
    """`lines` gets messages with the id of the request in whose response they came, `lane_lost` the id of a request and
    why it has no response, `note` sentences for the log.

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
        drained: Callable[[], None] = lambda: None,
        note: Callable[[str], None] = lambda _: None,
        bounds: Bounds = BOUNDS,
        renewed: Callable[[], None] = lambda: None,
    ) -> None:
        self._loop = loop
        self._tell_of_renewal = renewed
        self._limits = limits
        self._bounds = bounds
        self._lines = lines
        self._lane_lost = lane_lost
        self._drained = drained
        self._note = note
        self._backlog = Backlog(self._relieved)
        self._connections = Connections(target, loop, bounds)
        self._reading = Reading(limits, bounds)
        self._endpoint = Endpoint(self._connections, self._reading, bounds)
        self._road = Road(self._endpoint, self._reading, limits, bounds, self._tell)
        self._opening: Outgoing | None = None
        self._session: Session | None = None
        self._beginning: Exchange | None = None
        self._renewal: asyncio.Task[Loss | None] | None = None
        self._renewals = 0
        self._listening: asyncio.Task[None] | None = None
        self._before: asyncio.Event | None = None
        self._open: dict[bytes, asyncio.Task[None]] = {}
        self._unposted: set[bytes] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._notices: set[asyncio.Task[None]] = set()
        self._closing = False

    @property
    def backlog(self) -> int:
        return self._backlog.size

    def send(self, frames: list[bytes]) -> None:
        for frame in frames:
            if self._closing:
                return
            out = outgoing(frame)
            if out.id is None:
                self._notify(out)
            elif out.method is None:
                self._start(self._post(out, self._before, None), out)
            elif len(self._open) >= self._limits.in_flight + self._bounds.streams:
                self._loop.call_soon(self._lose, out.id, Loss(None, Cause.TOO_MANY_REQUESTS, None, True))
            else:
                self._backlog.add(out.id, len(frame))
                self._unposted.add(out.id)
                self._open[out.id] = self._start(self._request(out, out.id, self._before), out)

    def pause(self) -> None:
        self._reading.pause()

    def resume(self) -> None:
        self._reading.resume()

    async def aclose(self) -> None:
        """End every request, the session and every connection; takes three times the grace at the most.

        Notifications that were sent before get half of one grace, and DELETE the rest of it (B123).
        """
        self._closing = True
        self._open.clear()
        grace = self._limits.grace
        deadline = self._loop.time() + grace
        for task in self._tasks - self._notices:
            task.cancel()
        if self._renewal is not None:
            self._renewal.cancel()
        if self._notices:
            await asyncio.wait(self._notices, timeout=grace / 2)
        with suppress(TimeoutError, Lost):
            async with asyncio.timeout_at(deadline):
                await self._end_session()
        rest = {task for task in (*self._tasks, self._renewal) if task is not None and not task.done()}
        for task in rest:
            task.cancel()
        if rest:
            await asyncio.wait(rest, timeout=grace)
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._connections.close()

    def kill(self) -> None:
        """There is nothing that outlives this process."""

    # ------------------------------------------------------------------ messages that nothing answers

    def _notify(self, out: Outgoing) -> None:
        if out.method == CANCELLED and not self._give_up(out.params.get("requestId")):
            return
        before, self._before = self._before, asyncio.Event()
        task = self._start(self._post(out, before, self._before), out)
        self._notices.add(task)
        task.add_done_callback(self._notices.discard)

    def _give_up(self, id: Raw | None) -> bool:
        """End an open request; whether the server has to hear of it."""
        key = bytes(id) if id is not None else b""
        task = self._open.pop(key, None)
        if task is None:
            return False
        task.cancel()
        self._loop.call_soon(self._backlog.take, key)  # the task may never have begun
        is_posted = key not in self._unposted
        self._unposted.discard(key)
        return is_posted

    async def _post(self, out: Outgoing, before: asyncio.Event | None, accepted: asyncio.Event | None) -> None:
        """A notification or a response: whatever the body of the response to it is, it is of no use (B111)."""
        try:
            await self._turn(before)
            await self._renewed(None)
            session = self._session
            await self._tell_server(out, session)
            if out.method == INITIALIZED and session is not None and not self._closing:
                await self._listen(session)
        except Exception as error:
            self._unforeseen(error)
        finally:
            if accepted is not None:
                accepted.set()

    async def _tell_server(self, out: Outgoing, session: Session | None) -> None:
        reserved = session.reserved if session is not None else None
        if session is None and self._beginning is not None:
            reserved = self._beginning.reserved  # what a server asks before the answer to initialize, such as ping
        try:
            async with self._endpoint.sent("POST", post_headers(session), out.body, reserved) as response:
                if response.status >= 400:
                    self._tell(f"{out.name} was refused: HTTP status {response.status}")
        except Lost as lost:
            self._tell(f"{out.name} was lost: {lost}")

    async def _turn(self, before: asyncio.Event | None) -> None:
        """Wait until the server accepted the notification before; not for ever."""
        if before is not None and not before.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._bounds.accept):
                    await before.wait()

    # ------------------------------------------------------------------ requests

    def _start(self, work: Coroutine[None, None, None], out: Outgoing) -> asyncio.Task[None]:
        task = self._loop.create_task(work, name=f"{out.name} to the server")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _request(self, out: Outgoing, id: bytes, before: asyncio.Event | None) -> None:
        """From the POST to the response, or to the loss."""
        loss: Loss | None = None
        try:
            await self._turn(before)
            if out.method == INITIALIZE:
                await self._begin(out, id)
            else:
                await self._ask(out, id)
        except Lost as lost:
            self._endpoint.forget()
            loss = lost.loss
        except Exception as error:
            self._unforeseen(error)
            loss = Loss(None, Cause.INTERNAL, type(error).__name__, False)
        finally:
            self._unposted.discard(id)
            self._backlog.take(id)
        if loss is not None and self._open.pop(id, None) is not None:
            self._lose(id, loss)

    async def _begin(self, out: Outgoing, id: bytes) -> None:
        """The client's own initialize."""
        if self._listening is not None:
            self._listening.cancel()
        self._opening, self._session = out, None

        def answered(answer: Said) -> None:
            if answer.result is not None:
                self._session = agreed(answer.result, exchange.minted, exchange.origin)
            self._answer(id, answer)

        exchange = self._beginning = self._exchange(out, id, None, answered)
        self._unposted.discard(id)
        await exchange.run(lambda: self._backlog.take(id))

    async def _ask(self, out: Outgoing, id: bytes) -> None:
        def answered(answer: Said) -> None:
            self._answer(id, answer)

        def taken() -> None:
            self._backlog.take(id)

        await self._renewed(None)
        session = self._session
        self._unposted.discard(id)
        try:
            await self._exchange(out, id, session, answered).run(taken)
        except SessionOver as over:
            await self._renewed(session)
            if not over.allows(out.method):
                raise Lost(refused(over.status, NOT_REPEATED)) from None
            await self._exchange(out, id, self._session, answered).run(taken, is_last=True)

    def _exchange(
        self, out: Outgoing, id: bytes, session: Session | None, answered: Callable[[Said], None]
    ) -> Exchange:
        def passed(lines: list[bytes]) -> None:
            self._hand_over(lines, id)

        return Exchange(self._road, out, session, passed, answered)

    def _answer(self, id: bytes, answer: Said) -> None:
        if self._open.pop(id, None) is not None:
            self._hand_over([answer.line], id)

    def _hand_over(self, lines: list[bytes], of: bytes | None) -> None:
        if lines and not self._closing:
            self._lines(lines, of)

    def _lose(self, id: bytes, loss: Loss) -> None:
        if not self._closing:
            self._lane_lost(id, loss)

    def _relieved(self) -> None:
        if not self._closing:
            self._drained()

    def _tell(self, text: str) -> None:
        if not self._closing:
            self._note(text)

    def _unforeseen(self, error: Exception) -> None:
        self._tell(internal_error(error))

    # ------------------------------------------------------------------ the session

    async def _renewed(self, over: Session | None) -> None:
        """Wait for the new session that is on its way. Those who met the end of session `over` begin one together.

        Raises:
            Lost: it cannot be had, and `over` is what there was.
        """
        if self._renewal is None and over is not None and over is self._session:
            self._renewal = self._loop.create_task(self._renew(), name="a new session")
            self._renewal.add_done_callback(self._renewal_over)
        if self._renewal is not None:
            loss = await asyncio.shield(self._renewal)
            if loss is not None and over is not None:
                raise Lost(loss)

    async def _renew(self) -> Loss | None:
        """Begin again as the client did; gives the loss of those who wait for it."""
        try:
            async with asyncio.timeout(self._limits.timeouts.discover):
                session = await self._begin_again()
                await self._tell_server(_initialized(), session)
        except Lost as lost:
            self._endpoint.forget()
            why = f"{lost}; the session had ended, and there is no new one"
            return replace(lost.loss, detail=why)
        except TimeoutError:
            return Loss(None, Cause.TRANSPORT_FAILED, "the session had ended, and there is no new one in time", True)
        except Exception as error:
            self._unforeseen(error)
            return Loss(None, Cause.INTERNAL, type(error).__name__, False)
        self._session = session
        self._tell("the server had ended the session; it has a new one")
        await self._listen(session)
        if not self._closing:
            self._tell_of_renewal()
        return None

    def _renewal_over(self, _: asyncio.Task[Loss | None]) -> None:
        self._renewal = None

    async def _begin_again(self) -> Session:
        opening, before = self._opening, self._session
        assert opening is not None
        assert before is not None
        self._renewals += 1
        id = b'"session-%d"' % self._renewals
        out = replace(opening, id=id, body=wire.request(id, INITIALIZE, closed(opening.params)))
        answers: list[Said] = []
        exchange = Exchange(self._road, out, None, _drop, answers.append)
        await exchange.run(lambda: None)
        result = answers[0].result
        if result is None:
            raise Lost(invalid(200, "initialize was answered with an error"))
        session = agreed(result, exchange.minted, exchange.origin)
        if session.version != before.version:
            raise Lost(invalid(200, "initialize was answered with another revision than before"))
        return session

    async def _listen(self, session: Session) -> None:
        """Open the GET stream, and give the server a moment to take it before anything else is posted."""
        if self._listening is not None:
            self._listening.cancel()

        def passed(lines: list[bytes]) -> None:
            self._hand_over(lines, None)

        def answered(answer: Said) -> bool:
            task = self._open.pop(answer.id, None) if answer.id is not None else None
            if task is not None:
                task.cancel()
            return task is not None

        async def run() -> None:
            try:
                if await listener.run():
                    await self._renewed(session)
            except Lost as lost:
                self._tell(f"the stream of the server's own messages is not opened again: {lost}")
            except Exception as error:
                self._unforeseen(error)

        listener = Listener(self._road, session, passed, answered)
        self._listening = self._loop.create_task(run(), name="the server's own messages")
        self._tasks.add(self._listening)
        self._listening.add_done_callback(self._tasks.discard)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._bounds.listen):
                await listener.began.wait()

    async def _end_session(self) -> None:
        """DELETE, once; whatever the server says to it is fine (B123)."""
        session = self._session
        if session is not None and session.reserved is not None:
            async with self._endpoint.sent("DELETE", session.headers, reserved=session.reserved, may_ask=False):
                pass


def _initialized() -> Outgoing:
    return Outgoing(None, INITIALIZED, {}, wire.notice(INITIALIZED))


def _drop(_: list[bytes]) -> None:
    """What comes before the answer to an initialize of the channel's own is of no use to the client's side."""
