"""A server of the older revisions on the official Python SDK 2.x, at a URL: `session`, `json` or `sse`, and a port.

It says its port on standard output when it listens.
"""

import asyncio
import socket
import sys
import warnings

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import JSONRPCMessage
from pydantic import BaseModel

warnings.simplefilter("ignore")

server = MCPServer("legacy")


class Kept(EventStore):
    """All events, so that every stream can be resumed."""

    def __init__(self) -> None:
        self._events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        place = int(last_event_id)
        stream = self._events[place - 1][0]
        for number, (of, message) in enumerate(self._events[place:], place + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


class Name(BaseModel):
    name: str


@server.tool()
async def count(to: int, context: Context) -> str:
    """Report each step."""
    for step in range(1, to + 1):
        await context.report_progress(step, to)
    return str(to)


@server.tool()
async def greet(context: Context) -> str:
    """Ask who is there."""
    answer = await context.elicit("Who is there?", Name)
    return f"hello {answer.data.name}" if answer.action == "accept" else "hello"


@server.tool()
async def leave(context: Context) -> str:
    """Close the stream of the call, and answer where it is resumed."""
    await context.close_sse_stream()
    await anyio.sleep(0.05)
    return "back"


async def main(kind: str, port: int) -> None:
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind(("127.0.0.1", port))
        own.listen()
        if kind == "sse":
            app = server.sse_app()
        elif kind == "json":
            app = server.streamable_http_app(json_response=True)
        else:
            app = server.streamable_http_app(event_store=Kept(), retry_interval=20)
        print(own.getsockname()[1], flush=True)
        await uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)).serve([own])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
