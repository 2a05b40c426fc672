"""The body of a response: as a stream of events, or as one JSON text; both bounded, and held back while paused."""

import asyncio
from contextlib import suppress

import aiohttp

from dragoman.limits import Limits
from dragoman.transports.http.binding import EVENT_STREAM, JSON
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.connection import trouble
from dragoman.transports.http.events import Event, Events
from dragoman.transports.http.loss import Lost, cut, invalid, is_fine, unusable


class Reading:
    """All bodies of one channel; `pause` and `resume` are for all of them."""

    def __init__(self, limits: Limits, bounds: Bounds) -> None:
        self._patience = limits.grace / 40
        self._limit = bounds.response
        self._flowing = asyncio.Event()
        self._flowing.set()

    def pause(self) -> None:
        self._flowing.clear()

    def resume(self) -> None:
        self._flowing.set()

    def is_stream(self, response: aiohttp.ClientResponse) -> bool:
        """Whether the body is a stream of events; else it is JSON.

        Raises:
            Lost: it is neither, or compressed.
        """
        status, kind = response.status, response.content_type
        if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            raise Lost(unusable(status, "compressed, although that was not accepted"))
        if kind == EVENT_STREAM and is_fine(status):
            return True
        if kind != JSON and not kind.endswith("+json"):
            raise Lost(unusable(status, "neither JSON nor an event stream"))
        return False

    async def document(self, response: aiohttp.ClientResponse) -> bytes:
        """The whole body.

        Raises:
            Lost: it was cut off, or it is known to be above the limit, which is then not waited for (SIZE-04).
        """
        if (response.content_length or 0) <= self._limit:
            chunks: list[bytes] = []
            size = 0
            while chunk := await self.chunk(response):
                chunks.append(chunk)
                size += len(chunk)
                if size > self._limit or response.content.at_eof():
                    break
            if size <= self._limit:
                return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        raise Lost(unusable(response.status, self._too_long("response")))

    async def events(self, response: aiohttp.ClientResponse, events: Events) -> list[Event] | None:
        """What the next chunk of a stream completes; `None` at the end.

        Raises:
            Lost: it was cut off, or the event before was above the limit (SIZE-04).
        """
        if events.too_long:
            raise Lost(invalid(response.status, self._too_long("event")))
        chunk = await self.chunk(response)
        return events.feed(chunk) if chunk else None

    async def chunk(self, response: aiohttp.ClientResponse) -> bytes:
        """What has come, once it may flow; nothing at the end.

        Raises:
            Lost: the body was cut off.
        """
        try:
            chunk = await response.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise Lost(cut(response.status, trouble(error))) from error
        if not self._flowing.is_set():
            await self._flowing.wait()
        return chunk

    async def rest(self, response: aiohttp.ClientResponse) -> None:
        """Give the response a moment to end, as only then its connection can serve again."""
        with suppress(aiohttp.ClientError, OSError):
            if not response.content.at_eof():
                async with asyncio.timeout(self._patience):
                    while await response.content.readany():
                        pass

    def _too_long(self, what: str) -> str:
        return f"the {what} is longer than the limit of {self._limit} bytes"
