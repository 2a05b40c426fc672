"""The GET stream of a session: what the server says without being asked (revisions 5.3).

* A server without one says so by its status or by another media type, and is not asked again in this session (B113).
* A stream that is refused for want of a sign-in begins none; it is opened after one for another request (LOSS-06).
* A stream that ends is opened again, after a wait that grows, from where it was left. When the server says then that it
  knows no such session, and the stream had lived for a while, the session is over and not the stream alone (B98).
* A response has no place here, but to an open request it is still its response.
"""

import asyncio
from collections.abc import Callable

import aiohttp

from dragoman.transports.http.agreement import Session
from dragoman.transports.http.answer import Said, Sort, said
from dragoman.transports.http.endpoint import REFUSALS
from dragoman.transports.http.events import MESSAGE, Events
from dragoman.transports.http.exchange import Road, get_headers, messages_in
from dragoman.transports.http.loss import Lost, invalid, is_fine, refused
from dragoman.transports.http.trail import Trail

NOT_FOUND, NOT_ALLOWED = 404, 405


class Listener:
    """`passed` gets messages, `answered` a response and tells whether it was to an open request.

    `began` is set when the first response is there, whatever it is.
    """

    def __init__(
        self,
        road: Road,
        session: Session,
        passed: Callable[[list[bytes]], None],
        answered: Callable[[Said], bool],
    ) -> None:
        self.began = asyncio.Event()
        self._road = road
        self._session = session
        self._passed = passed
        self._answered = answered
        self._trail = Trail(road.limits, road.bounds)
        self._lived = 0.0

    async def run(self) -> bool:
        """Until the server has no stream for us, or for ever; whether that is the end of the session."""
        while True:
            was_settled, self._lived = self._lived >= self._road.limits.settled, 0.0
            try:
                await self._once()
            except Lost as lost:
                if lost.loss.status in REFUSALS and self._road.endpoint.credentials is not None:
                    self.began.set()
                    await self._road.endpoint.credentials.next_sign_in()
                    continue
                if not lost.loss.may_retry:
                    if was_settled and lost.loss.status == NOT_FOUND and self._session.reserved is not None:
                        return True
                    if lost.loss.status != NOT_ALLOWED:
                        self._road.note(f"the stream of the server's own messages is not opened again: {lost}")
                    return False
            finally:
                self.began.set()
            self._trail.ended(self._lived)
            await asyncio.sleep(self._trail.wait())

    async def _once(self) -> None:
        road, session = self._road, self._session
        headers = {**get_headers(session), **self._trail.headers}
        async with road.endpoint.sent("GET", headers, reserved=session.reserved, may_ask=False) as response:
            self.began.set()
            if not is_fine(response.status):
                raise Lost(refused(response.status))
            if not road.reading.is_stream(response):
                raise Lost(invalid(response.status, "no event stream"))
            clock = asyncio.get_running_loop().time
            opened = clock()
            try:
                await self._follow(response)
            finally:
                self._lived = clock() - opened

    async def _follow(self, response: aiohttp.ClientResponse) -> None:
        road = self._road
        events = Events(road.bounds.response)
        while (found := await road.reading.events(response, events)) is not None:
            self._trail.follow(events, bool(found))
            passed: list[bytes] = []
            for event in found:
                if event.kind != MESSAGE:
                    continue
                for one in messages_in(event.data, self._session):
                    message = said(one, None)
                    if message.sort is not Sort.FOREIGN or self._answered(message):
                        passed.append(message.line)
                    else:
                        road.note("a response to no open request came; it was skipped")
            self._passed(passed)
