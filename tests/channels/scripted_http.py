"""HTTP servers for tests, byte by byte, and the side of the bridge that a channel speaks to.

A server is a function that is awaited for each request and writes what it wants, so that answers can be wrong in just
one way. Nothing here waits for a time: each wait is for an event, and `played` bounds the whole.
"""

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from dragoman.limits import Limits
from dragoman.transports.http.address import address
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.client import HttpChannel
from dragoman.transports.http.loss import Loss
from dragoman.transports.http.session import SessionChannel
from dragoman.transports.http.sse import SseChannel
from dragoman.transports.http.sse_renewal import RenewedSse
from dragoman.transports.http.target import Header, Target
from dragoman.transports.http.unpinned import AnyChannel

STAMP = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


PROGRESS = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}


@dataclass
class Request:
    """What came, and how to answer it."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    connection: int

    def __getitem__(self, name: str) -> str | None:
        values = [value for given, value in self.headers if given.lower() == name.lower()]
        assert len(values) <= 1, f"{name} came twice"
        return values[0] if values else None

    @property
    def message(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> Any:
        return self.message["id"]

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        with suppress(ConnectionError):
            await self.writer.drain()

    async def answer(
        self,
        body: Any,
        status: int = 200,
        kind: str | None = "application/json",
        *lines: str,
        length: int | None = None,
    ) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = [f"HTTP/1.1 {status} Said", *lines, f"Content-Length: {len(data) if length is None else length}"]
        if kind is not None:
            head.append(f"Content-Type: {kind}")
        await self.raw("\r\n".join([*head, "", ""]).encode() + data)

    async def result(self, **members: Any) -> None:
        await self.answer({"jsonrpc": "2.0", "id": self.id, "result": {"resultType": "complete", **members}})

    async def error(self, code: int, status: int = 200) -> None:
        error = {"code": code, "message": "no"}
        await self.answer({"jsonrpc": "2.0", "id": self.id, "error": error}, status)

    async def stream(self, *events: bytes, end: bool = True) -> None:
        await self.raw(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for event in events:
            await self.chunk(event)
        if end:
            await self.raw(b"0\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%b\r\n" % (len(data), data))

    async def gone(self) -> None:
        """Wait until the other side has closed the connection."""
        with suppress(ConnectionError):
            assert await self.reader.read() == b""

    def reset(self) -> None:
        """End the connection so that the other side sees a reset."""
        own = self.writer.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Request], Awaitable[None]]


@dataclass
class Server:
    port: int
    requests: list[Request] = field(default_factory=list[Request])
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


@asynccontextmanager
async def served(
    script: Script, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncGenerator[Server, None]:
    """A server that keeps its connections and speaks by `script`."""
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        server.connections += 1
        number = server.connections
        try:
            while request := await _read(reader, writer, number):
                server.requests.append(request)
                await script(request)
        except (ConnectionError, ssl.SSLError, asyncio.CancelledError):
            pass  # the end of the scene; a handler that ends as cancelled is logged by asyncio as an error
        finally:
            writer.close()
            tasks.discard(task)

    listener = await asyncio.start_server(connected, host, 0, ssl=tls)
    server = Server(listener.sockets[0].getsockname()[1])
    try:
        yield server
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    method, target, _ = head[0].split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in head[1:] if line)]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Request(method, target, headers, await reader.readexactly(length), reader, writer, number)


class Side:
    """The bridge's side of a channel: what was handed to it, and waiting for more."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.of: list[bytes | None] = []
        self.batches: list[int] = []
        self.losses: list[tuple[bytes, Loss]] = []
        self.notes: list[str] = []
        self.drains = 0
        self.renewals = 0
        self.channel: HttpChannel | SessionChannel | SseChannel | RenewedSse | AnyChannel
        self.changed = asyncio.Event()

    @property
    def said(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]

    def take(self, lines: list[bytes], of: bytes | None) -> None:
        self.lines += lines
        self.of += [of] * len(lines)
        self.batches.append(len(lines))
        self.changed.set()

    def lose(self, id: bytes, loss: Loss) -> None:
        self.losses.append((id, loss))
        self.changed.set()

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.changed.set()

    def renew(self) -> None:
        self.renewals += 1
        self.changed.set()

    def drain(self) -> None:
        self.drains += 1
        self.changed.set()

    async def until(self, true: Callable[[], bool]) -> None:
        while not true():
            self.changed.clear()
            await self.changed.wait()

    async def messages(self, count: int) -> list[Any]:
        await self.until(lambda: len(self.lines) >= count or bool(self.losses))
        assert not self.losses, self.losses
        assert len(self.lines) == count
        return self.said

    async def loss(self) -> Loss:
        await self.until(lambda: bool(self.losses))
        assert len(self.losses) == 1
        return self.losses[0][1]

    async def idle(self) -> None:
        """Wait until the responses of all requests have come to their end."""
        assert not isinstance(self.channel, SseChannel | RenewedSse | AnyChannel)
        tasks = self.channel._tasks  # pyright: ignore[reportPrivateUsage]
        if tasks:
            await asyncio.wait(tasks)

    def ask(self, id: int, method: str = "tools/call", **params: Any) -> None:
        """Send a request as the back writes it."""
        if method == "tools/call":
            params = {"name": "echo", "arguments": {}, **params}
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": STAMP, **params}}
        self.channel.send([json.dumps(message).encode()])

    def cancel(self, id: int) -> None:
        params = {"requestId": id, "reason": "no more"}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        self.channel.send([json.dumps(message).encode()])


@asynccontextmanager
async def connected(
    url: str,
    headers: dict[str, str] | None = None,
    environment: dict[str, str] | None = None,
    ca_file: str | None = None,
    limits: Limits | None = None,
    kind: type[HttpChannel | SessionChannel] = HttpChannel,
    side: Side | None = None,
    **bounds: Any,
) -> AsyncGenerator[Side, None]:
    """A channel to a server, and its side of the bridge."""
    side = side or Side()
    given = tuple(Header(name, value) for name, value in (headers or {}).items())
    target = Target(address(url), given, ca_file, environment or {})
    whereto = target, asyncio.get_running_loop(), limits or replace(Limits(), grace=1.0)
    ears = side.take, side.lose, side.drain, side.note, Bounds(**bounds)
    channel = kind(*whereto, *ears) if kind is HttpChannel else SessionChannel(*whereto, *ears, side.renew)
    side.channel = channel
    try:
        yield side
    finally:
        await channel.aclose()


def played(scene: Callable[[], Awaitable[None]]) -> None:
    """Run a scene; it must come to its end."""

    async def whole() -> None:
        async with asyncio.timeout(20):
            await scene()

    asyncio.run(whole())


def event(message: Any, kind: bytes = b"") -> bytes:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    return (b"event: " + kind + b"\n" if kind else b"") + b"data: " + data + b"\n\n"


def response(id: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", **members}}


async def fine(request: Request) -> None:
    await request.result()


async def html(request: Request) -> None:
    await request.answer(b"<html>", 404, "text/html")
