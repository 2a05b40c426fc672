"""A server with sessions for tests, and the side of the bridge that holds the handshake with it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from channels.scripted_http import Request, Script, Server, Side, connected, served
from dragoman.limits import Limits
from dragoman.transports.http.session import SessionChannel

LATEST = "2025-11-25"
LOG = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
QUICK = replace(Limits(), grace=1.0, reopen_first=0.001, reopen_last=0.004)


def result(id: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": members}


def opening(revision: str = LATEST) -> dict[str, Any]:
    return {"protocolVersion": revision, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}


async def accept(request: Request) -> None:
    await request.answer(b"", 202, None)


async def no_stream(request: Request) -> None:
    await request.answer(b"", 405, None)


async def held(request: Request) -> None:
    """A stream in which nothing comes."""
    await request.stream(b": here\n\n", end=False)
    await request.gone()


async def echo(request: Request) -> None:
    await request.answer(result(request.id, text="fine"))


async def unknown(request: Request) -> None:
    error = {"code": -32001, "message": "Session not found"}
    await request.answer({"jsonrpc": "2.0", "id": None, "error": error}, 404)


class Sessions:
    """Answers by what a message is; each part can be replaced. `seen` are the messages in the order of their coming."""

    def __init__(
        self,
        call: Script = echo,
        get: Script = no_stream,
        notify: Script = accept,
        delete: Script = accept,
        stranger: Script = unknown,
        revisions: tuple[str, ...] = (LATEST,),
    ) -> None:
        self.call = call
        self.get = get
        self.notify = notify
        self.delete = delete
        self.stranger = stranger
        self.revisions = revisions
        self.count = 0
        self.known: set[str] = set()
        self.seen: list[str] = []
        self._came = asyncio.Event()

    async def __call__(self, request: Request) -> None:
        message: dict[str, Any] = json.loads(request.body) if request.body else {}
        self.seen.append(f"{request.method} {message.get('method', '')}".strip())
        self._came.set()
        session = request["Mcp-Session-Id"]
        if message.get("method") == "initialize":
            await self.initialize(request)
        elif session not in self.known:
            await self.stranger(request)
        elif request.method == "GET":
            await self.get(request)
        elif request.method == "DELETE":
            await self.delete(request)
        elif "id" in message and "method" in message:
            await self.call(request)
        else:
            await self.notify(request)

    async def until_seen(self, what: str, count: int) -> None:
        while self.seen.count(what) < count:
            self._came.clear()
            await self._came.wait()

    async def initialize(self, request: Request) -> None:
        self.count += 1
        session = f"s{self.count}"
        self.known.add(session)
        revision = self.revisions[min(self.count, len(self.revisions)) - 1]
        answer = result(request.id, **opening(revision))
        await request.answer(answer, 200, "application/json", f"Mcp-Session-Id: {session}")


class SessionSide(Side):
    """Speaks as the machine of a client with a handshake does."""

    def say(self, message: dict[str, Any]) -> None:
        self.channel.send([json.dumps({"jsonrpc": "2.0", **message}).encode()])

    def call(self, id: Any, method: str = "tools/call", **params: Any) -> None:
        self.say({"id": id, "method": method, "params": params})

    def notify(self, method: str, **params: Any) -> None:
        self.say({"method": method, "params": params})

    async def initialize(self, revision: str = LATEST) -> None:
        client = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        self.call(0, "initialize", **client)
        await self.messages(1)

    async def open(self) -> None:
        """The whole handshake; what was heard in it is forgotten."""
        await self.initialize()
        self.notify("notifications/initialized")
        self.lines.clear()
        self.of.clear()

    async def answer(self, id: Any) -> Any:
        """The response to a request."""

        def found() -> list[Any]:
            return [one for one in self.said if one.get("id") == id and "method" not in one]

        await self.until(lambda: bool(found() or self.losses))
        assert not self.losses, self.losses
        return found()[0]


@asynccontextmanager
async def opened(
    script: Callable[[Request], Awaitable[None]], limits: Limits = QUICK, handshake: bool = True, **bounds: Any
) -> AsyncGenerator[tuple[Server, SessionSide], None]:
    """A server and a channel to it, after the handshake."""
    side = SessionSide()
    async with served(script) as server:
        async with connected(server.url, limits=limits, kind=SessionChannel, side=side, **bounds):
            if handshake:
                await side.open()
            yield server, side
        await asyncio.sleep(0)
