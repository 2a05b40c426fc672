"""One server of each kind at a URL, with three tools and nothing else."""

from typing import Any

from channels.scripted_http import Request
from channels.scripted_session import Sessions
from channels.scripted_sse import Stream

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("a", "b", "c")]
INFO = {"name": "scripted", "version": "1"}
DISCOVERED: dict[str, Any] = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "ttlMs": 0,
    "cacheScope": "private",
}


async def modern(request: Request) -> None:
    """A server of revision 2026-07-28, which gives its list in two pages."""
    if request.message["method"] == "server/discover":
        await request.result(**DISCOVERED)
    elif "cursor" in request.message["params"]:
        await request.result(tools=TOOLS[1:], ttlMs=0, cacheScope="private")
    else:
        await request.result(tools=TOOLS[:1], nextCursor="more", ttlMs=0, cacheScope="private")


async def lists(request: Request) -> None:
    await request.answer({"jsonrpc": "2.0", "id": request.id, "result": {"tools": TOOLS}})


class Older(Sessions):
    """A server of revision 2025-06-18 with sessions, which knows nothing of what is newer."""

    def __init__(self) -> None:
        super().__init__(call=lists)

    async def initialize(self, request: Request) -> None:
        self.known.add("s")
        opening: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": INFO}
        answer = {"jsonrpc": "2.0", "id": request.id, "result": opening}
        await request.answer(answer, 200, "application/json", "Mcp-Session-Id: s")


class Oldest(Stream):
    """A server of revision 2024-11-05 over HTTP+SSE, which takes posts at another place only."""

    async def __call__(self, request: Request) -> None:
        if request.method == "POST" and request.target == "/mcp":
            await request.answer(b"", 405, None)
        else:
            await super().__call__(request)

    async def serve(self, request: Request) -> None:
        await request.answer(b"", 202, None)
        message = request.message
        if message["method"] == "initialize":
            opening: dict[str, Any] = {
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}},
                "serverInfo": INFO,
            }
            await self.say({"jsonrpc": "2.0", "id": message["id"], "result": opening})
        elif "id" in message:
            await self.say({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": TOOLS}})
