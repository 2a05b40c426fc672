"""One URL of the server, as the requests of a channel reach it.

* A redirect is followed as `address` says, three times at most. A place of the written origin is kept until a request
  fails there (B115). To another origin goes no header of the user's, nor back again, and it is not kept (HTTP-11).
* Credentials go where the user's headers go. A refusal there is met by them; then the request is sent once more, as
  one that was refused has not been carried out.
* A POST and a DELETE are redirected by 307 and 308 alone; every redirect keeps a GET.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from dragoman.transports.http.address import KEEPING_POST, REDIRECTS, Refused, redirected
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.connection import Connections
from dragoman.transports.http.credentials import Credentials, Visit
from dragoman.transports.http.loss import Lost, refused
from dragoman.transports.http.place import Place
from dragoman.transports.http.place import place as place_at
from dragoman.transports.http.proxy import UnusableProxy
from dragoman.transports.http.reading import Reading
from dragoman.transports.http.target import UnusableTrust

AUTHORIZATION = "Authorization"
REFUSALS = (401, 403)

Origin = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Reserved:
    """Headers for one origin alone, as it is the one that made them."""

    origin: Origin
    headers: dict[str, str]


class Endpoint:
    """`home` is the user's own place, or another that the server named."""

    def __init__(self, connections: Connections, reading: Reading, bounds: Bounds, home: Place | None = None) -> None:
        self._target = connections.target
        self._connections = connections
        self._reading = reading
        self._bounds = bounds
        self._home = self._place = connections.home if home is None else home

    @property
    def credentials(self) -> Credentials | None:
        return self._target.credentials

    def forget(self) -> None:
        """Begin again where the user wrote, as a request failed."""
        self._place = self._home

    @asynccontextmanager
    async def sent(
        self,
        method: str,
        headers: dict[str, str],
        body: bytes | None = None,
        reserved: Reserved | None = None,
        may_ask: bool = True,
    ) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        """The response of `fetch`, closed with the block."""
        response = await self.fetch(method, headers, body, reserved, may_ask)
        try:
            yield response
        finally:
            response.close()

    async def fetch(
        self,
        method: str,
        headers: dict[str, str],
        body: bytes | None = None,
        reserved: Reserved | None = None,
        may_ask: bool = True,
    ) -> aiohttp.ClientResponse:
        """The response, after all redirects. It is the caller's to close; its connection ends with that unless the
        response was read to its end. With `may_ask` it may wait until a person has signed in.

        Raises:
            Lost: there is no response, or a redirect that is not followed, or no access.
        """
        credentials = self._target.credentials
        visit: Visit | None = None
        given = headers
        while True:
            if visit is None and credentials is not None and not credentials.are_idle:
                visit = credentials.visit(may_ask=may_ask)
            if visit is not None and (authorization := await visit.authorization()) is not None:
                given = {**headers, AUTHORIZATION: authorization}
            response = await self._followed(method, given, body, reserved)
            if response.status not in REFUSALS or credentials is None:
                return response
            if origin_of(response) != self._target.address.origin:
                return response
            visit = visit or credentials.visit(may_ask=may_ask)
            try:
                is_answer = not await visit.refused(response.status, response.headers.getall("WWW-Authenticate", []))
            except BaseException:
                response.close()
                raise
            if is_answer:
                return response
            response.close()

    async def _followed(
        self, method: str, headers: dict[str, str], body: bytes | None, reserved: Reserved | None
    ) -> aiohttp.ClientResponse:
        place = self._place
        for hops_left in range(self._bounds.hops, -1, -1):
            given = headers
            if reserved is not None and place.address.origin == reserved.origin:
                given = {**headers, **reserved.headers}
            if AUTHORIZATION in given and not place.is_home:
                given = {name: value for name, value in given.items() if name != AUTHORIZATION}
            response = await self._connections.fetch(method, place, body, given)
            if response.status not in REDIRECTS:
                if place.is_home:
                    self._place = place
                return response
            try:
                place = self._next(method, place, response, hops_left)
                await self._reading.rest(response)
            finally:
                response.close()
        raise AssertionError("the last redirect is refused")

    def _next(self, method: str, place: Place, response: aiohttp.ClientResponse, hops_left: int) -> Place:
        status = response.status
        if status not in KEEPING_POST and method != "GET":
            raise Lost(refused(status, f"a redirect that does not keep a {method}"))
        if not hops_left:
            raise Lost(refused(status, f"more than {self._bounds.hops} redirects"))
        try:
            to = redirected(place.address, response.headers.get("Location"))
            if to.scheme == "https":
                self._connections.tls()
            return place_at(to, self._target, place.is_home and to.origin == self._target.address.origin)
        except (Refused, UnusableProxy, UnusableTrust) as error:
            raise Lost(refused(status, str(error))) from error


def origin_of(response: aiohttp.ClientResponse) -> Origin:
    """Where the response came from in the end."""
    url = response.url
    return url.scheme, url.host or "", url.port or 0
