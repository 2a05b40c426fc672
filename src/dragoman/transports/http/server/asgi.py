"""What the application says to the ASGI server that runs it: whole responses, and their parts."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from dragoman.transports.http.server.head import JSON, Reply
from dragoman.transports.http.server.large_body import LargeBody

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]


async def write(send: Send, reply: Reply, more: Headers = ()) -> None:
    headers = [*reply.headers, *more]
    if reply.body:
        headers.append((b"content-type", JSON))
    if reply.status != 204:
        headers.append((b"content-length", b"%d" % len(reply.body)))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


async def write_large(send: Send, status: int, headers: Headers, body: LargeBody) -> None:
    """Write a body in pieces; when it is given up its connection ends, as nothing can be said in the middle of it."""
    whole = [*headers, (b"content-type", JSON), (b"content-length", b"%d" % body.size)]
    await send({"type": "http.response.start", "status": status, "headers": whole})
    for piece in body.pieces():
        await send(chunk(piece))
    if body.has_exceeded:
        await asyncio.sleep(0)  # the server notices that the connection is over
    else:
        await send({"type": "http.response.body", "body": b""})


def chunk(data: bytes) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": True}
