"""Credentials on the way to a server: which requests carry them, and what a refusal leads to, for each channel."""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from channels.scripted_http import Request, Side, played, served
from channels.test_http_network import pumped
from dragoman.faults import Cause
from dragoman.limits import Limits
from dragoman.signin.options import Method
from dragoman.transports.http.address import address
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.client import HttpChannel
from dragoman.transports.http.connection import Connections
from dragoman.transports.http.endpoint import Endpoint
from dragoman.transports.http.loss import Loss, Lost
from dragoman.transports.http.reading import Reading
from dragoman.transports.http.session import SessionChannel
from dragoman.transports.http.target import Header, Target
from support.proofs import proves
from support.signing_in import account


@dataclass
class Fake:
    """Credentials that are a number: each refusal is met by the next one, `most` times for one request."""

    number: int = 0
    most: int = 1
    idle: bool = False
    loss: Loss | None = None
    asks: list[bool] = field(default_factory=list[bool])
    refusals: list[tuple[int, list[str]]] = field(default_factory=list[tuple[int, list[str]]])
    signed_in: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def are_idle(self) -> bool:
        return self.idle

    def visit(self, *, may_ask: bool) -> "FakeVisit":
        self.asks.append(may_ask)
        return FakeVisit(self, may_ask)

    async def next_sign_in(self) -> None:
        await self.signed_in.wait()


@dataclass
class FakeVisit:
    all: Fake
    may_ask: bool
    tries: int = 0

    async def authorization(self) -> str | None:
        return f"Bearer {self.all.number}" if self.all.number else None

    async def refused(self, status: int, challenges: Sequence[str]) -> bool:
        self.all.refusals.append((status, list(challenges)))
        if self.all.loss is not None:
            raise Lost(self.all.loss)
        self.tries += 1
        if not self.may_ask or self.tries > self.all.most:
            return False
        self.all.number += 1
        return True


def target(url: str, credentials: Fake | None) -> Target:
    return Target(address(url), credentials=credentials)


async def got(url: str, credentials: Fake | None, *, may_ask: bool = True) -> int:
    bounds = Bounds()
    connections = Connections(target(url, credentials), asyncio.get_running_loop(), bounds)
    endpoint = Endpoint(connections, Reading(Limits(), bounds), bounds)
    try:
        async with endpoint.sent("POST", {"Content-Type": "application/json"}, b"{}", may_ask=may_ask) as response:
            return response.status
    finally:
        await connections.close()


def test_what_is_refused_is_sent_again_with_what_was_got() -> None:
    async def script(request: Request) -> None:
        if request["authorization"] == "Bearer 1":
            await request.answer({}, 200)
        else:
            await request.answer(b"", 401, None, 'WWW-Authenticate: Bearer a="1"', "WWW-Authenticate: Basic")

    async def scene() -> None:
        async with served(script) as server:
            fake = Fake()
            assert await got(server.url, fake) == 200
            assert fake.refusals == [(401, ['Bearer a="1"', "Basic"])]
            assert [request.body for request in server.requests] == [b"{}", b"{}"]
            assert await got(server.url, fake) == 200
            assert len(server.requests) == 3
            assert await got(server.url, None) == 401
            assert await got(server.url, Fake(most=0)) == 401
            assert await got(server.url, Fake(idle=True)) == 200

    played(scene)


@proves("B47")
@pytest.mark.parametrize("status", [400, 404, 407, 500])
def test_only_401_and_403_are_refusals(status: int) -> None:
    async def script(request: Request) -> None:
        await request.answer(b"", status, None)

    async def scene() -> None:
        async with served(script) as server:
            fake = Fake()
            assert await got(server.url, fake) == status
            assert fake.refusals == []

    played(scene)


@proves("HTTP-11")
def test_no_token_goes_to_another_origin_and_none_of_its_refusals_is_met() -> None:
    async def elsewhere(request: Request) -> None:
        await request.answer(b"", 401, None)

    async def scene() -> None:
        async with served(elsewhere) as other:

            async def script(request: Request) -> None:
                await request.answer(b"", 307, None, f"Location: {other.url}")

            async with served(script) as server:
                fake = Fake(number=7)
                assert await got(server.url, fake) == 401
                assert server.requests[0]["authorization"] == "Bearer 7"
                assert other.requests[0]["authorization"] is None
                assert fake.refusals == []

    played(scene)


@pytest.mark.parametrize("kind", [HttpChannel, SessionChannel])
def test_a_sign_in_that_failed_is_the_loss_of_its_request(kind: type[HttpChannel | SessionChannel]) -> None:
    async def script(request: Request) -> None:
        await request.answer(b"", 401, None)

    async def scene() -> None:
        async with served(script) as server:
            loss = Loss(None, Cause.SIGN_IN_DENIED, None, False, (("port", "1"),))
            side = Side()
            limits = replace(Limits(), grace=1.0)
            loop = asyncio.get_running_loop()
            fake = Fake(loss=loss)
            channel = side.channel = kind(target(server.url, fake), loop, limits, side.take, side.lose)
            side.ask(1)
            assert await side.loss() == loss
            await channel.aclose()

    played(scene)


@proves("HTTP-06", "HTTP-07", "HTTP-08", "B152")
def test_a_sign_in_goes_through_the_proxy_and_takes_no_header_of_the_users_along(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("m.example", "as.example").configure_cert(tls)  # pyright: ignore[reportUnknownMemberType]
    described = {"resource": "https://m.example/mcp", "authorization_servers": ["https://as.example"]}
    issuer = {"issuer": "https://as.example", "token_endpoint": "https://as.example/token"}
    token = {"access_token": "got", "token_type": "Bearer"}

    async def script(request: Request) -> None:
        documents: dict[str, Any] = {
            "/.well-known/oauth-protected-resource/mcp": described,
            "/.well-known/oauth-authorization-server": issuer,
            "/token": token,
        }
        await request.answer(documents[request.target])

    async def scene() -> None:
        async with served(script, tls=tls) as server:

            async def tunnel(request: Request) -> None:
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                await request.raw(b"HTTP/1.1 200 Tunnel\r\n\r\n")
                await asyncio.gather(pumped(request.reader, writer), pumped(reader, request.writer))

            async with served(tunnel) as proxy:
                environment = {"HTTPS_PROXY": f"http://us:pass@127.0.0.1:{proxy.port}"}
                whole = Target(
                    address("https://m.example/mcp"), (Header("x-key", "k"),), str(tmp_path / "ca.pem"), environment
                )
                own: dict[str, Any] = {
                    "client_id": "me",
                    "client_secret": "s3cr3t",
                    "client_issuer": "https://as.example",
                }
                async with account(whole, tmp_path / "store", method=Method.CLIENT, **own) as one:
                    assert await one.meets()
                    assert await one.account.bearer() == "got"
            assert {request.target for request in proxy.requests} == {"m.example:443", "as.example:443"}
            keys = {request.target: request["x-key"] for request in server.requests}
            assert keys.pop("/.well-known/oauth-protected-resource/mcp") == "k"
            assert set(keys.values()) == {None}
            assert not [request for request in server.requests if request["proxy-authorization"]]

    played(scene)


@proves("LOSS-06")
def test_a_stream_of_changes_begins_no_sign_in() -> None:
    async def script(request: Request) -> None:
        await request.answer(b"", 401, None)

    async def scene() -> None:
        async with served(script) as server:
            side, fake = Side(), Fake()
            loop = asyncio.get_running_loop()
            channel = side.channel = HttpChannel(
                target(server.url, fake), loop, replace(Limits(), grace=1.0), side.take, side.lose
            )
            side.ask(1, "subscriptions/listen", notifications={})
            assert (await side.loss()).status == 401
            assert fake.asks == [False]
            await channel.aclose()

    played(scene)


@proves("LOSS-06")
def test_the_stream_of_a_session_waits_for_the_sign_in_of_another_request() -> None:
    opened = asyncio.Event()

    async def script(request: Request) -> None:
        if request.method == "GET":
            if request["authorization"] == "Bearer 9":
                opened.set()
                await request.stream(b": hello\n\n", end=False)
                await request.gone()
            else:
                await request.answer(b"", 401, None)
        elif request.method == "DELETE":
            await request.answer(b"", 200, None)
        elif "id" not in request.message:
            await request.answer(b"", 202, None)
        else:
            info = {"name": "s", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
            await request.answer({"jsonrpc": "2.0", "id": request.id, "result": result}, 200, "application/json")

    async def scene() -> None:
        async with served(script) as server:
            side, fake = Side(), Fake()
            loop = asyncio.get_running_loop()
            limits = replace(Limits(), grace=1.0, reopen_first=0.01)
            channel = side.channel = SessionChannel(target(server.url, fake), loop, limits, side.take, side.lose)
            side.ask(1, "initialize", protocolVersion="2025-11-25")
            await side.messages(1)
            channel.send([b'{"jsonrpc":"2.0","method":"notifications/initialized"}'])
            while not [request for request in server.requests if request.method == "GET"]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            assert len([request for request in server.requests if request.method == "GET"]) == 1
            fake.number = 9
            fake.signed_in.set()
            await opened.wait()
            assert fake.asks.count(False) == 2
            await channel.aclose()

    played(scene)
