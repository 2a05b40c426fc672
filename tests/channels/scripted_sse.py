"""A server of HTTP+SSE for tests, and the side of the bridge that holds the handshake with it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from channels.scripted_http import Request, Script, Server, event, served
from channels.scripted_session import QUICK, SessionSide, accept, result
from dragoman.faults import Cause
from dragoman.limits import Limits
from dragoman.transports.http.address import address
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.sse import SseChannel
from dragoman.transports.http.target import Header, Target


class Stream:
    """GET opens the stream and names `endpoint`; a POST is accepted and answered there. Each part can be replaced."""

    def __init__(self, endpoint: str = "/post?s=1", get: Script | None = None, post: Script | None = None) -> None:
        self.endpoint = endpoint
        self.get = get or self.open
        self.post = post or self.serve
        self.streams: list[Request] = []
        self.messages: list[dict[str, Any]] = []

    async def __call__(self, request: Request) -> None:
        if request.method == "GET":
            await self.get(request)
        else:
            self.messages.append(json.loads(request.body))
            await self.post(request)

    async def open(self, request: Request) -> None:
        self.streams.append(request)
        await request.stream(event(self.endpoint.encode(), b"endpoint"), end=False)
        await request.gone()

    async def serve(self, request: Request) -> None:
        await accept(request)
        if "id" in request.message and "method" in request.message:
            await self.say(result(request.id, text="fine"))

    async def say(self, message: Any) -> None:
        await self.streams[-1].chunk(event(message, b"message"))


class SseSide(SessionSide):
    def __init__(self) -> None:
        super().__init__()
        self.ends: list[tuple[str, Cause]] = []

    def end(self, how: str, cause: Cause) -> None:
        self.ends.append((how, cause))
        self.changed.set()

    async def until_true(self, true: Callable[[], bool]) -> None:
        """Wait for something of the server's side, which tells nobody."""
        for _ in range(10_000):
            if true():
                return
            await asyncio.sleep(0.001)
        raise AssertionError("it never came")

    async def until_idle(self) -> None:
        """Wait until all messages are accepted."""
        assert isinstance(self.channel, SseChannel)
        posting = self.channel._posting  # pyright: ignore[reportPrivateUsage]
        await self.until_true(lambda: not posting)


@asynccontextmanager
async def streaming(
    script: Script,
    path: str = "/mcp/sse",
    headers: dict[str, str] | None = None,
    limits: Limits = QUICK,
    **bounds: Any,
) -> AsyncGenerator[tuple[Server, SseSide], None]:
    """A server and a channel to it."""
    side = SseSide()
    async with served(script) as server:
        given = tuple(Header(name, value) for name, value in (headers or {}).items())
        side.channel = channel = SseChannel(
            Target(address(f"http://127.0.0.1:{server.port}{path}"), given),
            asyncio.get_running_loop(),
            limits,
            side.take,
            side.lose,
            side.end,
            side.drain,
            side.note,
            Bounds(**bounds),
        )
        try:
            yield server, side
        finally:
            await channel.aclose()
