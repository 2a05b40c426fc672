"""The channel to a URL of which nobody said what kind of server is there."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from channels.scripted_http import Request, Script, Server, html, played, served
from channels.scripted_session import QUICK, Sessions, no_stream
from channels.scripted_sse import SseSide, Stream
from channels.test_upstreams import Told
from dragoman.backs.probe import Probe
from dragoman.channel import Channel
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Ready, ServerError
from dragoman.exchange.nobody import Nobody
from dragoman.exchange.notes import NoNotes
from dragoman.faults import Cause, Fault
from dragoman.revisions import LATEST_LEGACY, Era
from dragoman.transports.http.address import address
from dragoman.transports.http.target import Header, Target
from dragoman.transports.http.unpinned import AnyChannel
from dragoman.transports.http.upstream import AnyUrl
from support.proofs import proves


@asynccontextmanager
async def unpinned(script: Script) -> AsyncGenerator[tuple[Server, SseSide], None]:
    """A server and a channel to it."""
    side = SseSide()
    async with served(script) as server:
        target = Target(address(server.url), (Header("X-Key", "k"),))
        loop = asyncio.get_running_loop()
        side.channel = AnyChannel(target, loop, QUICK, side.take, side.lose, side.end, side.drain, side.note)
        try:
            yield server, side
        finally:
            await side.channel.aclose()


def opened(side: SseSide) -> list[str]:
    assert isinstance(side.channel, AnyChannel)
    return [type(channel).__name__ for channel in side.channel._open]  # pyright: ignore[reportPrivateUsage]


@proves("NEG-06")
def test_messages_of_the_modern_era_are_posts_of_their_own() -> None:
    async def modern(request: Request) -> None:
        await request.result(tools=[])

    async def scene() -> None:
        async with unpinned(modern) as (server, side):
            assert opened(side) == []
            side.ask(1, "server/discover")
            side.ask(2, "tools/list", note='"initialize"')
            await side.messages(2)
            assert sorted(side.of, key=str) == [b"1", b"2"]
            assert opened(side) == ["HttpChannel"]
            assert [request["Mcp-Method"] for request in server.requests] == ["server/discover", "tools/list"]
            await side.until(lambda: side.drains > 0)
            assert side.channel.backlog == 0

    played(scene)


def test_initialize_begins_a_session_and_what_follows_belongs_to_it() -> None:
    async def scene() -> None:
        async with unpinned(Sessions()) as (server, side):
            await side.open()
            side.call(1)
            await side.answer(1)
            assert opened(side) == ["SessionChannel"]
            assert server.requests[0]["X-Key"] == "k"
        assert server.requests[-1].method == "DELETE"

    played(scene)


def test_a_session_may_follow_a_discovery_that_was_refused_and_ends_one_that_waits() -> None:
    sessions = Sessions()

    async def script(request: Request) -> None:
        if request.method == "POST" and request.message["method"] == "server/discover":
            if request.id == 1:
                await request.error(-32601, 404)
            else:
                await request.gone()
        else:
            await sessions(request)

    async def scene() -> None:
        async with unpinned(script) as (_, side):
            side.ask(1, "server/discover")
            await side.messages(1)
            assert side.said[0]["error"]["code"] == -32601
            side.lines.clear()
            side.ask(2, "server/discover")
            await side.initialize()
            assert len(side.lines) == 1
            assert not side.losses
            assert opened(side) == ["SessionChannel"]

    played(scene)


async def bare(request: Request, status: int) -> None:
    await request.answer(b"", status, None)


@proves("B48")
@pytest.mark.parametrize("status", [400, 404, 405])
def test_http_and_sse_is_tried_with_the_same_initialize_when_a_post_is_not_served(status: int) -> None:
    stream = Stream()

    async def script(request: Request) -> None:
        if request.method == "POST" and request.target == "/mcp":
            await bare(request, status)
        else:
            await stream(request)

    async def scene() -> None:
        async with unpinned(script) as (_, side):
            await side.initialize()
            side.call(1)
            await side.answer(1)
            assert opened(side) == ["SessionChannel", "RenewedSse"]
            assert [message["method"] for message in stream.messages] == ["initialize", "tools/call"]
            assert not side.losses
            await stream.streams[0].raw(b"0\r\n\r\n")
            await side.until(lambda: bool(side.ends))

    played(scene)


def test_the_first_failure_is_told_when_http_and_sse_is_not_there_either() -> None:
    async def scene() -> None:
        async with unpinned(html) as (server, side):
            side.call(0, "initialize", protocolVersion="2025-11-25")
            loss = await side.loss()
            assert (loss.status, loss.detail) == (404, "HTTP status 404")
            assert side.notes == ["HTTP+SSE was tried as well: HTTP status 404"]
            assert [request.method for request in server.requests] == ["POST", "GET"]

    played(scene)


@pytest.mark.parametrize("status", [401, 403, 406, 429, 500, 503])
def test_no_other_status_leads_to_http_and_sse(status: int) -> None:
    async def script(request: Request) -> None:
        await bare(request, status)

    async def scene() -> None:
        async with unpinned(script) as (server, side):
            side.call(0, "initialize", protocolVersion="2025-11-25")
            assert (await side.loss()).status == status
            assert len(server.requests) == 1

    played(scene)


def test_a_channel_that_is_opened_later_rests_while_the_others_do() -> None:
    async def scene() -> None:
        async with unpinned(Sessions()) as (_, side):
            side.channel.pause()
            side.call(0, "initialize", protocolVersion="2025-11-25")
            await asyncio.sleep(0.05)
            assert not side.lines
            side.channel.resume()
            await side.messages(1)
            side.channel.kill()

    played(scene)


# ---------------------------------------------------------------------- with the machine


class Finding(Nobody):
    """A probe and its channel, as a runtime joins them."""

    def __init__(self) -> None:
        self.hears = Told()
        self.probe = Probe(self, QUICK, NoNotes())
        self.outcome: Ready | Fault | ServerError | None = None

    def ready(self, ready: Ready, now: float) -> None:
        self.outcome = ready

    def not_ready(self, why: Fault | ServerError, now: float) -> None:
        self.outcome = why

    async def run(self, url: str) -> Ready | Fault | ServerError:
        loop = asyncio.get_running_loop()
        channel: Channel = AnyUrl(Target(address(url))).open(self.hears, loop, QUICK)
        self.probe.open(Caller(LATEST_LEGACY), loop.time())
        while self.outcome is None:
            channel.send(self.probe.out)
            self.probe.out.clear()
            await self.hears.more()
            for lines, of in self.hears.heard:
                for line in lines:
                    self.probe.receive(line, loop.time(), of)
            for loss in self.hears.losses:
                self.probe.lane_lost(*loss, loop.time())
            self.hears.heard.clear()
            self.hears.losses.clear()
        await channel.aclose()
        return self.outcome


def found(script: Script) -> tuple[Ready | Fault | ServerError, Era | None]:
    finding, outcome = Finding(), list[Ready | Fault | ServerError]()

    async def scene() -> None:
        async with served(script) as server:
            outcome.append(await finding.run(server.url))

    played(scene)
    return outcome[0], finding.probe.era


STATUSES = (401, 403, 407, 408, 429, 500, 502, 503)


@proves("B47")
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("with_error", [False, True], ids=["bare", "with a JSON-RPC error"])
def test_who_asks_and_how_busy_a_server_is_says_nothing_of_its_era(status: int, with_error: bool) -> None:
    seen: list[str] = []

    async def script(request: Request) -> None:
        seen.append(request.message["method"])
        if with_error:
            await request.error(-32001, status)
        else:
            await bare(request, status)

    outcome, era = found(script)
    assert outcome == Fault(Cause.TRANSPORT_FAILED, f"HTTP status {status}", status=status)
    assert era is None
    assert seen == ["server/discover"]


async def bad_version(request: Request) -> None:
    await request.answer({"error": {"code": "bad_version", "message": "x"}}, 400)


async def empty(request: Request) -> None:
    await bare(request, 400)


async def not_allowed(request: Request) -> None:
    await no_stream(request)


async def unknown_method(request: Request) -> None:
    await request.error(-32601, 404)


async def no_session(request: Request) -> None:
    error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
    await request.answer({"jsonrpc": "2.0", "id": None, "error": error}, 400)


async def fine_page(request: Request) -> None:
    await request.answer(b"<html>", 200, "text/html")


REFUSALS: list[Script] = [bad_version, empty, html, not_allowed, unknown_method, no_session, fine_page]


@proves("B48")
@pytest.mark.parametrize("refuse", REFUSALS)
def test_whatever_an_older_server_says_to_the_probe_it_gets_its_handshake(refuse: Script) -> None:
    sessions = Sessions()

    async def script(request: Request) -> None:
        if request.method == "POST" and request.message["method"] == "server/discover":
            await refuse(request)
        else:
            await sessions(request)

    outcome, era = found(script)
    assert isinstance(outcome, Ready)
    assert (outcome.revision, era) == (LATEST_LEGACY, Era.LEGACY)


@pytest.mark.parametrize("code", [-32020, -32021, -32022])
def test_an_error_of_modern_servers_stands(code: int) -> None:
    async def script(request: Request) -> None:
        await request.error(code, 400)

    outcome, era = found(script)
    assert isinstance(outcome, ServerError)
    assert (outcome.code, era) == (code, Era.MODERN)


@proves("NEG-09")
def test_a_server_that_nobody_can_reach_is_of_no_era() -> None:
    finding = Finding()

    async def scene() -> None:
        async with served(html) as server:
            pass
        outcome = await finding.run(server.url)
        assert isinstance(outcome, Fault)
        assert outcome.cause is Cause.TRANSPORT_FAILED

    played(scene)
    assert finding.probe.era is None
