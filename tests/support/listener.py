"""A listener without sockets: its ASGI application, called directly, before a server that a test plays.

The clock is the loop's, and `elapse` moves it on, so that a day passes in no time. Every frame that leaves, for the
server or for a client, is checked against the official schema of its receiver, whatever the test looks at.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from typing import Any, cast

from dragoman.channel import Channel
from dragoman.exchange.notes import Level
from dragoman.faults import Cause, Fault
from dragoman.fronts.handshake import Identity
from dragoman.limits import Limits, Reception
from dragoman.profile import named
from dragoman.revisions import Era
from dragoman.runtime.endpoint import Endpoint
from dragoman.runtime.log import Log
from dragoman.runtime.seals import seal
from dragoman.runtime.shared import Shared
from dragoman.transports.http.server.admission import Admission, admission
from dragoman.transports.http.server.app import App
from dragoman.transports.http.server.authentication import Gate, Open
from dragoman.transports.upstream import Receiver
from support import official

MODERN = "2026-07-28"
NAMESPACE = "io.modelcontextprotocol/"
VERSION, SUBSCRIPTION = NAMESPACE + "protocolVersion", NAMESPACE + "subscriptionId"
BOTH = "application/json, text/event-stream"
Script = Callable[["Server", dict[str, Any]], None]


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time can be moved on."""

    skipped = 0.0

    def time(self) -> float:
        return super().time() + self.skipped


async def settle() -> None:
    """Let everything happen that needs no time."""
    for _ in range(25):
        await asyncio.sleep(0)


async def elapse(seconds: float) -> None:
    """So much time passes at once."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Clock)
    for step in (min(seconds, 0.3), max(0.0, seconds - 0.3)):  # what is only noticed by looking is noticed early
        loop.skipped += step
        await settle()


def scene(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an asynchronous test on a clock that it can move."""

    @wraps(test)
    def run(*given: Any, **named: Any) -> None:
        async def whole() -> None:
            await test(*given, **named)

        with asyncio.Runner(loop_factory=Clock) as runner:
            runner.run(whole())

    return run


# ---------------------------------------------------------------------- messages


def call(id: Any, name: str = "echo", text: str = "", **params: Any) -> dict[str, Any]:
    return request(id, "tools/call", name=name, arguments={"text": text}, **params)


def request(id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def notice(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/" + method, "params": params}


def modern(message: dict[str, Any], revision: Any = MODERN, **meta: Any) -> dict[str, Any]:
    """The same request as a modern client sends it."""
    stamp: dict[str, Any] = {VERSION: revision, NAMESPACE + "clientCapabilities": {}, **meta}
    return {**message, "params": {**message["params"], "_meta": stamp}}


def mirrored(message: dict[str, Any]) -> dict[str, str]:
    """The headers that repeat what a modern request says."""
    params = message["params"]
    headers = {"mcp-protocol-version": str(params["_meta"][VERSION]), "mcp-method": message["method"]}
    name = params.get("name", params.get("uri"))
    return headers if name is None else {**headers, "mcp-name": name}


def initialize(revision: str = "2025-11-25", id: Any = 0, **capabilities: Any) -> dict[str, Any]:
    info = {"name": "probe", "version": "1"}
    return request(id, "initialize", protocolVersion=revision, capabilities=capabilities, clientInfo=info)


def text_of(answer: Any) -> str:
    return str(answer["result"]["content"][0]["text"])


def error_of(answer: Any) -> tuple[int, str]:
    return answer["error"]["code"], answer["error"]["data"]["cause"]


# ---------------------------------------------------------------------- the server


def obliging(server: "Server", frame: dict[str, Any]) -> None:
    """Answers what belongs to every conversation, and calls of `echo`; all other requests wait for the test."""
    method = frame.get("method")
    if method == "server/discover":
        server.answer(frame, supportedVersions=[MODERN], capabilities=server.offers, ttlMs=0, cacheScope="public")
    elif method == "initialize":
        info = {"name": "upstream", "version": "1"}
        server.answer(frame, protocolVersion=server.revision, capabilities=server.offers, serverInfo=info)
    elif method == "subscriptions/listen":
        server.event(frame, "subscriptions/acknowledged", notifications=frame["params"]["notifications"])
    elif method == "tools/call" and frame["params"]["name"] == "echo":
        server.answer(frame, content=[{"type": "text", "text": frame["params"]["arguments"]["text"]}])


class Server:
    """Plays the upstream server and its channel. `frames` are all that it was ever sent, `running` its life."""

    fails_with = Cause.SPAWN_FAILED
    failure = "the command cannot be started"
    is_remote = False
    backlog = 0

    def __init__(self, script: Script = obliging, revision: str = MODERN, **offers: Any) -> None:
        self.script = script
        self.revision = revision
        self.offers = offers or {"tools": {}}
        self.frames: list[Any] = []
        self.starts = 0
        self.running = False
        self.cannot_start = False
        self.may_end: asyncio.Event | None = None
        self._receiver: Receiver

    def open(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel:
        if self.cannot_start:
            raise FileNotFoundError(2, "no such file")
        assert not self.running, "two servers at once"
        self.starts += 1
        self.running = True
        self._receiver = receiver
        return self

    def open_unused(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel | None:
        return None

    def send(self, frames: list[bytes], /) -> None:
        for data in frames:
            frame = json.loads(data)
            official.check_frame(self.revision, frame, "ping")
            self.frames.append(frame)
            asyncio.get_running_loop().call_soon(self._take, frame)

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def kill(self) -> None:
        self.running = False

    async def aclose(self) -> None:
        if self.may_end is not None:
            await self.may_end.wait()
        self.running = False

    def _take(self, frame: dict[str, Any]) -> None:
        if self.running:
            self.script(self, frame)

    # ------------------------------------------------------------------ what it says and does

    def say(self, *frames: Any, of: Any = None) -> None:
        lines: list[Any] = [frame if isinstance(frame, bytes) else json.dumps(frame).encode() for frame in frames]
        self._receiver.lines(lines, None if of is None else json.dumps(of).encode())

    def answer(self, frame: dict[str, Any], **members: Any) -> None:
        kind = {"resultType": "complete"} if self.revision == MODERN else {}
        self.say({"jsonrpc": "2.0", "id": frame["id"], "result": {**kind, **members}})

    def text(self, frame: dict[str, Any], text: str) -> None:
        self.answer(frame, content=[{"type": "text", "text": text}])

    def fail(self, frame: dict[str, Any], code: int) -> None:
        self.say({"jsonrpc": "2.0", "id": frame["id"], "error": {"code": code, "message": "no"}})

    def progress(self, frame: dict[str, Any], progress: int) -> None:
        self.say(notice("progress", progressToken=frame["params"]["_meta"]["progressToken"], progress=progress))

    def event(self, listen: dict[str, Any], method: str, **params: Any) -> None:
        self.say(notice(method, _meta={SUBSCRIPTION: listen["id"]}, **params))

    def lose(self, frame: dict[str, Any]) -> None:
        """The answer to that request will never come."""
        self._receiver.lane_lost(json.dumps(frame["id"]).encode(), Fault(Cause.TRANSPORT_FAILED), True)

    def die(self) -> None:
        self._receiver.gone("exited with code 1", Cause.UPSTREAM_EXITED)

    # ------------------------------------------------------------------ what it heard

    def heard(self, method: str) -> list[Any]:
        return [frame for frame in self.frames if frame.get("method") == method]

    async def hears(self, method: str = "tools/call") -> Any:
        """The newest request or notification of that method, once everything that is under way has come."""
        await settle()
        return self.heard(method)[-1]

    @property
    def cancelled(self) -> list[Any]:
        """The ids of the requests that were taken back."""
        return [frame["params"]["requestId"] for frame in self.heard("notifications/cancelled")]


# ---------------------------------------------------------------------- clients


def nowhere(data: bytes) -> None:
    """What a server writes for people."""


class Response:
    """One HTTP response as its client gets it. `messages` are the frames in it, `raw` all bytes of its body."""

    def __init__(self, listener: "Listener", session: str | None, asked: dict[str, str]) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.raw = b""
        self.messages: list[Any] = []
        self.ids: list[str] = []
        self.comments = 0
        self.is_over = False
        self.task: asyncio.Task[None]
        self._listener = listener
        self._session = session
        self._asked = asked
        self._rest = b""
        self._hung_up = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_write.set()

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type") == "text/event-stream"

    async def message(self) -> Any:
        """The one message of a response that is over."""
        await self.end()
        (message,) = self.messages
        return message

    async def end(self) -> "Response":
        await settle()
        assert self.is_over, f"the response goes on after {self.raw[-300:]!r}"
        return self

    async def goes_on(self) -> "Response":
        await settle()
        assert not self.is_over
        return self

    def hang_up(self) -> None:
        """The client closes the connection."""
        self._hung_up.set()

    def stop_reading(self) -> None:
        self._may_write.clear()

    def read_on(self) -> None:
        self._may_write.set()

    # ------------------------------------------------------------------ the application's side

    async def send(self, message: Any) -> None:
        if self._hung_up.is_set():
            return
        if message["type"] == "http.response.start":
            assert not self.status
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        await self._may_write.wait()
        assert not self.is_over
        self.raw += message["body"]
        self.is_over = not message.get("more_body", False)
        if self.is_stream:
            self._take_events(message["body"])
        elif self.is_over and self.headers.get("content-type") == "application/json":
            self._take(json.loads(self.raw))

    async def gone(self) -> Any:
        await self._hung_up.wait()
        return {"type": "http.disconnect"}

    def _take_events(self, data: bytes) -> None:
        *blocks, self._rest = (self._rest + data).split(b"\n\n")
        for block in blocks:
            if block == b":":
                self.comments += 1
                continue
            fields = dict(line.split(": ", 1) for line in block.decode().split("\n"))
            if "id" in fields:
                self.ids.append(fields["id"])
            if fields.get("event") == "endpoint":
                self._session = fields["data"].partition("=")[2]
            elif fields["data"]:
                assert fields["event"] == "message"
                self._take(json.loads(fields["data"]))

    def _take(self, given: Any) -> None:
        for frame in cast("list[Any]", given) if isinstance(given, list) else [given]:
            self.messages.append(frame)
            self._listener.check(frame, self._session, self.headers.get("mcp-session-id"), self._asked)


class Listener:
    """The application with all behind it. `texts` are the lines of its log."""

    def __init__(
        self,
        server: Server | None = None,
        reception: Reception | None = None,
        *,
        handshake: str | None = None,
        gate: Gate | None = None,
        admitted: Admission | None = None,
        profile: str = "neutral",
        **limits: Any,
    ) -> None:
        """With `handshake` every session has a server of its own of that revision; `servers` are all of them."""
        self.server = server or Server()
        self.servers: list[Server] = []
        self.kind, self.script, self.offers = Server, obliging, dict[str, Any]()  # of the servers to come
        self.are_remote = self.server.is_remote
        self.texts: list[str] = []
        self.limits = replace(Limits(), **limits, reception=reception or Reception())
        self.refused: list[str] = []
        self._asked: dict[tuple[str | None, str], str] = {}
        self._revisions: dict[str | None, str] = {None: MODERN}
        found = named(profile)
        assert found is not None
        log = Log("dragoman", Level.DEBUG, lambda line: self.texts.append(line.decode()))

        def another() -> Server:
            if handshake is None:
                return self.server
            self.servers.append(self.kind(self.script, handshake, **self.offers))
            self.servers[-1].is_remote = self.are_remote
            return self.servers[-1]

        sealing = seal(None, 600)
        era = Era.MODERN if handshake is None else Era.LEGACY
        self.shared = Shared(another, era, found, self.limits, log, Identity("dragoman"), nowhere, sealing)
        self.endpoint = Endpoint(self.shared)
        admitted = admitted or admission("127.0.0.1")
        self.app = App(
            lambda: self.endpoint, "/mcp", admitted, gate or Open(), self.limits.reception, self.refused.append
        )

    # ------------------------------------------------------------------ what a client does

    async def send(
        self,
        method: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        *,
        path: str = "/mcp",
        query: str = "",
        asked: dict[str, str] | None = None,
        pieces: list[bytes] | None = None,
        root: str = "",
    ) -> Response:
        """Send a request, and give it the time that nothing else needs."""
        given = {"host": "127.0.0.1:8000", "accept": BOTH, **(headers or {})}
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        session = given.get("mcp-session-id") or (query.partition("=")[2] or None)
        response = Response(self, session, asked or {})
        parts = [data] if pieces is None else pieces
        waiting: list[Any] = [
            {"type": "http.request", "body": part, "more_body": place + 1 < len(parts)}
            for place, part in enumerate(parts)
        ]

        async def receive() -> Any:
            return waiting.pop(0) if waiting else await response.gone()

        scope: Any = {
            "type": "http",
            "method": method,
            "path": root + path,
            "root_path": root,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items() if value],
        }
        response.task = asyncio.ensure_future(self.app(scope, receive, response.send))
        await settle()
        if response.task.done():
            response.task.result()
        return response

    async def post(self, message: Any, session: str | None = None, **headers: str) -> Response:
        """POST a message. The headers that mirror a modern one are there unless others are given."""
        given: dict[str, str] = {"content-type": "application/json"}
        asked: dict[str, str] = {}
        if isinstance(message, bytes):
            with suppress(ValueError, TypeError, KeyError):
                named = json.loads(message)
                asked[json.dumps(named["id"])] = named["method"]
        else:
            for frame in cast("list[Any]", message) if isinstance(message, list) else [message]:
                if "method" in frame and "id" in frame:
                    asked[json.dumps(frame["id"])] = self._asked[session, json.dumps(frame["id"])] = frame["method"]
        single = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
        if VERSION in single.get("params", {}).get("_meta", {}):
            given |= mirrored(single)
        if session is not None:
            given["mcp-session-id"] = session
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.send("POST", message, given, asked=asked)

    async def modern(self, message: dict[str, Any], **meta: Any) -> Response:
        """POST a request as a modern client does."""
        return await self.post(modern(message, **meta))

    async def open(
        self, revision: str = "2025-11-25", *, initialized: bool = True, auth: str = "", **capabilities: Any
    ) -> str:
        """The handshake of a client; gives its session."""
        response = await self.post(initialize(revision, **capabilities), authorization=auth)
        assert "result" in await response.message()
        assert response.status == 200
        session = response.headers["mcp-session-id"]
        if initialized:
            said = await self.post(notice("initialized"), session, authorization=auth)
            assert (said.status, said.raw) == (202, b"")
        return session

    async def get(self, session: str | None = None, **headers: str) -> Response:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.send("GET", None, {"mcp-session-id": session or "", "accept": "text/event-stream", **given})

    async def delete(self, session: str, **headers: str) -> Response:
        return await self.send("DELETE", None, {"mcp-session-id": session, **headers})

    async def post_to(self, session: str, message: Any) -> Response:
        """POST a message for a client of HTTP+SSE."""
        if "id" in message and "method" in message:
            self._asked[session, json.dumps(message["id"])] = message["method"]
        return await self.send("POST", message, {"content-type": "application/json"}, query=f"session_id={session}")

    # ------------------------------------------------------------------ the end

    async def close(self, grace: float = 0.0) -> None:
        """End it; nothing may be left of anybody."""
        await self.endpoint.aclose(grace)
        await settle()
        assert not self.endpoint.directory.sessions
        self.assert_idle()
        assert not self.server.running
        assert not any(server.running for server in self.servers)

    def assert_idle(self) -> None:
        """Nothing is in flight, and no table remembers what is over."""
        endpoint: Any = self.endpoint
        assert not endpoint._owners
        parties: list[Any] = [
            *self.endpoint.directory.sessions.values(),
            *([endpoint._stateless] if endpoint._stateless else []),
        ]
        for party in parties:
            assert not party.exchanges
            assert not len(party.mediator.inflight)
            assert not party.front._flight

    def check(self, frame: Any, session: str | None, new: str | None, asked: dict[str, str]) -> None:
        """Whether the receiver's schema has this frame."""
        if "protocolVersion" in frame.get("result", {}) and "serverInfo" in frame["result"]:
            self._revisions[new or session] = frame["result"]["protocolVersion"]
        revision = self._revisions.get(new or session, "2025-11-25")
        if frame.get("error", {}).get("data", {}).get("cause") == "duplicate_id":
            return
        key = json.dumps(frame.get("id"))
        official.check_frame(revision, frame, asked.get(key) or self._asked.get((session, key)))
