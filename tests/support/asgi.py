"""An ASGI application, called as a server would call it, without one."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from dragoman.transports.http.server.app import App

COMMENT = b":\n\n"


@dataclass
class Answer:
    """A response; the names of `headers` are in lower case."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


async def called(
    app: App, method: str, path: str, headers: dict[str, str], body: bytes = b"", until: bytes = COMMENT
) -> Answer:
    """The response. A stream of events is left when `until` has come, which is the comment on silence else."""
    answer = Answer()
    gone = asyncio.Event()
    first = [True]

    async def receive() -> dict[str, Any]:
        if first:
            first.clear()
            return {"type": "http.request", "body": body, "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            for name, value in message["headers"]:
                assert name.decode() not in answer.headers, f"{name} stands twice"
                answer.headers[name.decode()] = value.decode("latin-1")
            return
        answer.body += message.get("body", b"")
        if answer.headers.get("content-type") == "text/event-stream" and until in answer.body:
            gone.set()

    fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "query_string": b"", "headers": fields}
    await app(scope, receive, send)
    return answer
