"""One request of a session, from its POST to its response, whatever streams carry it (revisions 5.3).

* The response is one JSON text or comes in a stream, behind messages that belong to the request. A revision with
  batches may put several messages into one JSON text or event; they are handed over one by one.
* A stream that ends before the response, after an event with an id, is resumed with GET as often as it brings
  something; a few times in a row it may bring nothing. Without an id the request is lost: it may have been carried
  out, so it is never sent twice.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from dragoman.limits import Limits
from dragoman.revisions.methods import LISTS
from dragoman.transports.http.agreement import BAD_REQUEST, SESSION_ID, Ending, Session, is_about_sessions
from dragoman.transports.http.answer import Said, Sort, said
from dragoman.transports.http.binding import ACCEPT, EVENT_STREAM, JSON
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.endpoint import Endpoint, Origin, Reserved, origin_of
from dragoman.transports.http.events import BOM, MESSAGE, Events
from dragoman.transports.http.loss import Loss, Lost, cut, invalid, is_fine, refused, unusable
from dragoman.transports.http.outgoing import Outgoing
from dragoman.transports.http.reading import Reading
from dragoman.transports.http.trail import Trail
from dragoman.wire import frame as wire
from dragoman.wire.frame import Batch
from dragoman.wire.members import first_byte

REPEATABLE = frozenset({"completion/complete", "ping", "prompts/get", "resources/read", *LISTS})
"""Requests that do nothing but read: they may be sent again even if the server has begun them."""


class SessionOver(Exception):
    """The server does not know the session of this request. `ending` is how it told so."""

    def __init__(self, ending: Ending, status: int) -> None:
        super().__init__(ending.value)
        self.ending = ending
        self.status = status

    def allows(self, method: str | None) -> bool:
        """Whether the request may be sent again: what the server may have begun is not (B53)."""
        return self.ending is Ending.TOLD or method in REPEATABLE


@dataclass(frozen=True, slots=True)
class Road:
    """What the requests of one channel have in common."""

    endpoint: Endpoint
    reading: Reading
    limits: Limits
    bounds: Bounds
    note: Callable[[str], None]


class Exchange:
    """`passed` gets the messages before the response, `answered` the response, before its stream ends.

    `minted` is the session id of the response's headers, and `origin` where it came from; both are for initialize.
    `reserved` is what goes back there and nowhere else.
    """

    def __init__(
        self,
        road: Road,
        out: Outgoing,
        session: Session | None,
        passed: Callable[[list[bytes]], None],
        answered: Callable[[Said], None],
    ) -> None:
        assert out.id is not None
        self.minted: str | None = None
        self.origin: Origin = ("", "", 0)
        self._id = out.id
        self._out = out
        self._road = road
        self._session = session
        self.reserved = session.reserved if session is not None else None
        self._passed = passed
        self._answered = answered
        self._trail = Trail(road.limits, road.bounds)
        self._loop = asyncio.get_running_loop()
        self._loss: Loss | None = None

    async def run(self, taken: Callable[[], None], *, is_last: bool = False) -> None:
        """Post, read, resume. `taken` is called when the response begins. `is_last`: no new session may follow.

        Raises:
            Lost: there is no response and will be none.
            SessionOver: a new session is needed first.
        """
        road, session = self._road, self._session
        async with road.endpoint.sent("POST", post_headers(session), self._out.body, self.reserved) as response:
            taken()
            self.minted, self.origin = response.headers.get(SESSION_ID), origin_of(response)
            if session is None and self.minted is not None:
                self.reserved = Reserved(self.origin, {SESSION_ID: self.minted})  # should this stream be resumed
            if session is not None and is_last and response.status == BAD_REQUEST:
                session.doubted = True
            answer = await self._first(response, None if is_last else session)
            if session is not None:
                self._judge(session, response.status, answer, is_last)
            if answer is not None:
                await self._finish(response, answer)
                return
        while not await self._resumed():
            pass

    def _judge(self, session: Session, status: int, answer: Said | None, is_last: bool) -> None:
        """What this response tells of the session that it came in."""
        if answer is not None and is_about_sessions(answer):
            session.doubted = session.doubted or is_last
        elif is_fine(status):
            session.worked = True

    async def _first(self, response: aiohttp.ClientResponse, session: Session | None) -> Said | None:
        answer: Said | None = None
        try:
            if self._road.reading.is_stream(response):
                answer = await self._follow(response)
                if answer is None:
                    return None
            else:
                answer = self._in_document(await self._road.reading.document(response), response.status)
        except Lost:
            ending = session.is_over(response.status, None, self._id) if session is not None else None
            if ending is not None:
                raise SessionOver(ending, response.status) from None
            raise
        ending = session.is_over(response.status, answer, self._id) if session is not None else None
        if ending is not None:
            raise SessionOver(ending, response.status)
        return answer

    async def _resumed(self) -> bool:
        """Wait, and open the stream once more; whether it brought the response."""
        road, trail = self._road, self._trail
        if trail.id is None or trail.in_vain > road.bounds.resumes:
            assert self._loss is not None
            raise Lost(self._loss)
        await asyncio.sleep(trail.wait())
        headers = {**get_headers(self._session), **trail.headers}
        try:
            async with road.endpoint.sent("GET", headers, reserved=self.reserved) as response:
                if not is_fine(response.status):
                    raise Lost(refused(response.status, "the stream could not be resumed"))
                if not road.reading.is_stream(response):
                    raise Lost(invalid(response.status, "the stream was resumed with something else"))
                answer = await self._follow(response)
                if answer is not None:
                    await self._finish(response, answer)
                    return True
        except Lost as lost:
            if not lost.loss.may_retry:
                raise
            self._loss = lost.loss
            trail.ended()
        return False

    async def _follow(self, response: aiohttp.ClientResponse) -> Said | None:
        """The response in a stream; `None` when the stream ended first and can be resumed."""
        road, trail = self._road, self._trail
        begun = self._loop.time()
        events = Events(road.bounds.response)
        loss = cut(response.status, "the stream ended before the response")
        try:
            while (found := await road.reading.events(response, events)) is not None:
                trail.follow(events, bool(found))
                passed: list[bytes] = []
                for event in found:
                    answer = self._sorted(event.data, passed) if event.kind == MESSAGE else None
                    if answer is not None:
                        self._passed(passed)
                        return answer
                self._passed(passed)
        except Lost as lost:
            if not lost.loss.may_retry:
                raise
            loss = lost.loss
        if trail.id is None:
            raise Lost(loss)
        self._loss = loss
        trail.ended(self._loop.time() - begun)
        return None

    def _in_document(self, data: bytes, status: int) -> Said:
        passed: list[bytes] = []
        answer = self._sorted(data, passed)
        if answer is None or (answer.error is None and not is_fine(status)):
            raise Lost(unusable(status, "the body has no response to the request"))
        self._passed(passed)
        return answer

    def _sorted(self, data: bytes, passed: list[bytes]) -> Said | None:
        answer: Said | None = None
        for one in messages_in(data, self._session):
            message = said(one, self._id)
            if message.sort is Sort.ANSWER:
                answer = message
            elif message.sort is Sort.FOREIGN:
                self._road.note(f"{message.sort.value} came in the response to {self._out.name}; it was skipped")
            else:
                passed.append(message.line)  # what is broken is told by the reader, who tells of all such lines
        return answer

    async def _finish(self, response: aiohttp.ClientResponse, answer: Said) -> None:
        self._answered(answer)
        await self._road.reading.rest(response)


def post_headers(session: Session | None) -> dict[str, str]:
    return {"Content-Type": JSON, "Accept": ACCEPT, **(session.headers if session is not None else {})}


def get_headers(session: Session | None) -> dict[str, str]:
    return {"Accept": EVENT_STREAM, **(session.headers if session is not None else {})}


def messages_in(data: bytes, session: Session | None) -> list[bytes]:
    """The messages of a JSON text: one, or those of an array if the session's revision knows it."""
    if session is not None and session.has_batches and first_byte(data.removeprefix(BOM)) == 0x5B:
        batch = wire.parse(data.removeprefix(BOM))
        if isinstance(batch, Batch):
            return [bytes(entry) for entry in batch.entries]
    return [data]
