"""Requests to authorization servers, through the proxies and by the trust of the server that asks for a sign-in.

They carry no header of the user's (HTTP-08), but for metadata at the server's own origin. Only metadata is looked for
behind redirects. Texts of failures hold no URL.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlencode

from dragoman.auth.discovery import Unfit
from dragoman.limits import Limits
from dragoman.signin.document import Note, silent
from dragoman.signin.failure import Failed, failed
from dragoman.signin.metadata import place as place_of
from dragoman.transports.http.address import REDIRECTS, Address, Refused, redirected
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.connection import Connections
from dragoman.transports.http.loss import Lost
from dragoman.transports.http.place import place
from dragoman.transports.http.proxy import UnusableProxy
from dragoman.transports.http.reading import Reading
from dragoman.transports.http.resolver import OutOfReach
from dragoman.transports.http.target import Target, UnusableTrust
from dragoman.wire.members import encoded

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
DOCUMENT = 256 << 10  # bytes of one answer
PATIENCE = 30.0  # seconds for one answer
HOPS = 3


class Web:
    """`target` is the server that asks for a sign-in; `note` takes lines about what answers say. Close it after use."""

    def __init__(self, target: Target, patience: float = PATIENCE, note: Note = silent) -> None:
        """
        Raises:
            Failed: the environment makes every connection impossible.
        """
        self._target = target
        self._patience = patience
        self.note = note
        bounds = Bounds(response=DOCUMENT, connect=patience)
        self._reading = Reading(Limits(), bounds)
        try:
            self._connections = Connections(replace(target), asyncio.get_running_loop(), bounds)
        except (UnusableProxy, UnusableTrust) as error:
            raise failed(str(error)) from None

    async def close(self) -> None:
        await self._connections.close()

    async def document(self, step: str, url: str) -> tuple[int, bytes]:
        """What is at `url`, after at most three redirects.

        Raises:
            Failed: `step` got no answer.
            Unfit: the URL, or one that it leads to, is not to be asked.
        """
        own = self._target.address
        to, is_home = place_of(url, own), True
        headers = {"Accept": JSON}
        for _ in range(HOPS + 1):
            is_home = is_home and to.origin == own.origin
            status, body, location = await self._fetched(step, "GET", to, None, headers, is_home)
            if status not in REDIRECTS:
                return status, body
            try:
                to = place_of(redirected(to, location).url, own)
            except Refused as refused:
                raise Unfit(str(refused)) from None
        raise Unfit(f"more than {HOPS} redirects")

    async def form(
        self, step: str, url: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """The answer to a form.

        Raises:
            Failed: `step` got none.
        """
        return await self._posted(step, url, urlencode(fields).encode(), FORM, headers or {})

    async def post(self, step: str, url: str, body: Mapping[str, object]) -> tuple[int, bytes]:
        """The answer to a JSON object.

        Raises:
            Failed: `step` got none.
        """
        return await self._posted(step, url, encoded(body), JSON, {})

    async def check_page(self, url: str) -> None:
        """Make sure that the user's browser may be sent to a page that others named (C8).

        Raises:
            Failed: it may not.
        """
        try:
            await self._connections.judge_page(place_of(url, self._target.address))
        except (OutOfReach, Unfit) as error:
            raise failed(f"the page of the sign-in is not opened: {error}") from None

    async def _posted(
        self, step: str, url: str, body: bytes, kind: str, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        try:
            to = place_of(url, self._target.address)
        except Unfit as unfit:
            raise failed(f"{step}: {unfit}") from None
        whole = {"Accept": JSON, "Content-Type": kind, **headers}
        status, answer, _ = await self._fetched(step, "POST", to, body, whole)
        return status, answer

    async def _fetched(
        self, step: str, method: str, to: Address, body: bytes | None, headers: dict[str, str], is_home: bool = False
    ) -> tuple[int, bytes, str | None]:
        try:
            async with asyncio.timeout(self._patience):
                response = await self._connections.fetch(method, place(to, self._target, is_home), body, headers)
                async with response:
                    return response.status, await self._reading.document(response), response.headers.get("Location")
        except TimeoutError:
            raise failed(f"{step}: no answer in {self._patience:g} s", is_passing=True) from None
        except Lost as lost:
            raise Failed(
                failed(step).cause, f"{step}: {lost}", status=lost.loss.status, is_passing=lost.loss.may_retry
            ) from None
        except (UnusableProxy, UnusableTrust) as error:
            raise failed(f"{step}: {error}") from None
