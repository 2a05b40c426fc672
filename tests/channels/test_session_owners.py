"""A session of the listener belongs to who opened it, by the access token of each request."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from channels.scripted_http import played
from channels.scripted_issuer import ScriptedIssuer, issuing
from dragoman.auth.gate import ProtectedResource
from dragoman.auth.issuer import Issuer
from dragoman.faults import Cause
from dragoman.fronts.handshake import Identity
from dragoman.limits import Limits, Reception
from dragoman.profile import named
from dragoman.revisions import Era
from dragoman.runtime.endpoint import Endpoint
from dragoman.runtime.log import CHOICES, Log
from dragoman.runtime.seals import seal
from dragoman.runtime.shared import Shared
from dragoman.transports.child import PipeLines
from dragoman.transports.http.address import address
from dragoman.transports.http.server.admission import admission
from dragoman.transports.http.server.app import App
from dragoman.transports.http.target import Target
from dragoman.transports.upstream import Receiver
from support.asgi import COMMENT, Answer, called
from support.proofs import proves
from support.tokens import AUDIENCE, NOW

LIMITS = replace(Limits(), reception=Reception(stream_after=0.02, comment_after=0.05))
OTHERS: list[dict[str, Any]] = [{"sub": "bob"}, {"client_id": "other"}, {"client_id": None}]


class Held:
    """A stateless server that answers a call only when it is told to; it is its own channel."""

    fails_with = Cause.SPAWN_FAILED
    failure = "never"
    is_remote = False
    backlog = 0

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def open(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> "Held":
        self._receiver, self._loop = receiver, loop
        return self

    def open_unused(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> None: ...

    def send(self, frames: list[bytes]) -> None:
        for message in map(json.loads, frames):
            if message["method"] == "server/discover":
                capabilities: dict[str, Any] = {"tools": {}}
                members = {"supportedVersions": ["2026-07-28"], "capabilities": capabilities}
                self.answer(message["id"], ttlMs=0, cacheScope="public", **members)
            elif message["method"] == "tools/call":
                self.calls.append(message["id"])

    def answer(self, id: Any, **members: Any) -> None:
        line = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", **members}}).encode()
        lines: PipeLines = [line]
        self._loop.call_soon(self._receiver.lines, lines)

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def kill(self) -> None: ...

    async def aclose(self) -> None: ...


class Client:
    """One caller, by what its token says."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token
        self.session = ""

    async def ask(
        self, method: str, message: Any = None, more: dict[str, str] | None = None, until: bytes = COMMENT
    ) -> Answer:
        own = {"host": "localhost", "authorization": f"Bearer {self._token}", "mcp-protocol-version": "2025-11-25"}
        if self.session:
            own["mcp-session-id"] = self.session
        headers = {**own, "content-type": "application/json", **(more or {})}
        return await called(self._app, method, "/mcp", headers, json.dumps(message).encode(), until)

    async def opens(self) -> str:
        info = {"name": "c", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        answer = await self.ask("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        assert answer.status == 200, answer
        self.session = answer.headers["mcp-session-id"]
        await self.ask("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self.session

    async def leaves_a_call(self) -> str:
        """Call a tool, lose the connection before the answer; gives the id of the last event that came."""
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}}
        answer = await self.ask("POST", call, until=b"id: ")
        assert answer.status == 200
        return answer.body.partition(b"id: ")[2].partition(b"\n")[0].decode()


@asynccontextmanager
async def listening() -> AsyncGenerator[tuple[App, ScriptedIssuer, Held], None]:
    profile = named("neutral")
    assert profile is not None
    log = Log("neutral", CHOICES["err"], lambda _: None)
    server = Held()
    sealing = seal(None, 600)
    shared = Shared(lambda: server, Era.MODERN, profile, LIMITS, log, Identity("x"), lambda _: None, sealing)
    endpoint = Endpoint(shared)
    async with issuing() as issuer:
        keys = Issuer(issuer.name, Target(address(issuer.name)))
        gate = ProtectedResource(address(AUDIENCE), keys, frozenset({AUDIENCE}), clock=lambda: NOW)
        app = App(lambda: endpoint, "/mcp", admission("127.0.0.1"), gate, LIMITS.reception, lambda _: None)
        try:
            yield app, issuer, server
        finally:
            await endpoint.aclose(0)


@pytest.mark.parametrize("caller", OTHERS)
def test_a_session_of_someone_else_is_as_unknown_as_one_that_never_was(caller: dict[str, Any]) -> None:
    async def scene() -> None:
        async with listening() as (app, issuer, _):
            owner, other = Client(app, issuer.token()), Client(app, issuer.token(**caller))
            other.session = await owner.opens()
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            stolen, unknown = await other.ask("POST", ping), await other.ask("POST", ping, {"mcp-session-id": "x"})
            assert (stolen.status, stolen.body) == (unknown.status, unknown.body)
            assert stolen.status == 404
            assert (await other.ask("GET")).status == 404
            assert (await other.ask("DELETE")).status == 404
            assert (await owner.ask("POST", ping)).status == 200

    played(scene)


def test_another_token_of_the_same_caller_goes_on() -> None:
    async def scene() -> None:
        async with listening() as (app, issuer, _):
            owner, later = Client(app, issuer.token()), Client(app, issuer.token(exp=NOW + 9, jti="later"))
            later.session = await owner.opens()
            assert (await later.ask("POST", {"jsonrpc": "2.0", "id": 2, "method": "ping"})).status == 200

    played(scene)


@proves("B133")
@pytest.mark.parametrize("caller", OTHERS)
def test_nobody_else_takes_up_a_stream(caller: dict[str, Any]) -> None:
    async def scene() -> None:
        async with listening() as (app, issuer, server):
            owner, other = Client(app, issuer.token()), Client(app, issuer.token(**caller))
            theirs = await owner.opens()
            own = await other.opens()
            event = await owner.leaves_a_call()
            server.answer(server.calls[0], content=[{"type": "text", "text": "secret"}])
            await asyncio.sleep(0)
            stolen = await other.ask("GET", None, {"mcp-session-id": theirs, "last-event-id": event})
            assert (stolen.status, stolen.body) == (404, b"")
            astray = await other.ask("GET", None, {"mcp-session-id": own, "last-event-id": event})
            assert (astray.status, astray.body) == (200, b"")
            right = await owner.ask("GET", None, {"last-event-id": event})
            assert right.status == 200
            assert b"secret" in right.body

    played(scene)
