"""What the application says to the ASGI server that runs it: whole responses, and their parts."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol

from dragoman.faults import Cause, Fault
from dragoman.transports.http.server.budget import Budget
from dragoman.transports.http.server.head import JSON, Reply, refusal
from dragoman.transports.http.server.large_body import PIECE, LargeBody

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]


class Connection(Protocol):
    """What a connection of our own tells, and is told."""

    certificate: str | None

    def know(self) -> None:
        """A request of a caller who is known came on it."""
        ...

    def abort(self) -> None:
        """End it at once, whatever it is in the middle of."""
        ...


async def write(send: Send, reply: Reply, more: Headers = ()) -> None:
    headers = [*reply.headers, *more]
    if reply.body:
        headers.append((b"content-type", JSON))
    if reply.status != 204:
        headers.append((b"content-length", b"%d" % len(reply.body)))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


async def write_answer(send: Send, reply: Reply, budget: Budget, connection: Connection | None) -> None:
    """Write the answer to a request; a large one in pieces, which count in `budget` until the client has taken them.

    One that is given up before it began is refused. After that nothing can be said, and its connection ends.
    """
    if len(reply.body) <= PIECE:
        await write(send, reply)
        return
    status, headers = reply.status, reply.headers
    body = LargeBody(reply.body, budget, connection.abort if connection is not None else _not_ours)
    del reply  # nobody else keeps it
    with body:
        if body.has_exceeded:
            why = Fault(Cause.CLIENT_TOO_SLOW, f"limit of all responses: {budget.most} bytes")
            await write(send, refusal(503, why, None, (b"retry-after", b"10")), headers)
            return
        whole = [*headers, (b"content-type", JSON), (b"content-length", b"%d" % body.size)]
        await send({"type": "http.response.start", "status": status, "headers": whole})
        for piece in body.pieces():
            await send(chunk(piece))
        if body.has_exceeded:
            await asyncio.sleep(0)  # the server notices that the connection is over
        else:
            await send({"type": "http.response.body", "body": b""})


def _not_ours() -> None:
    """The connection is that of another server, which ends it by its own rules."""


def chunk(data: bytes) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": True}
