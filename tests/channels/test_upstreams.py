"""How a conversation opens a server at a URL of each kind."""

import asyncio
import json

import pytest

from channels.scripted_http import Request, Script, fine, played, served
from channels.scripted_session import QUICK, Sessions
from channels.scripted_sse import Stream
from dragoman.channel import Channel
from dragoman.faults import Cause, Fault
from dragoman.transports.child import PipeLines
from dragoman.transports.http.address import address
from dragoman.transports.http.target import Target
from dragoman.transports.http.upstream import AnyUrl, SessionUrl, SseUrl, Url
from support.proofs import proves


class Told:
    """Keeps what a channel tells."""

    def __init__(self) -> None:
        self.heard: list[tuple[PipeLines, bytes | None]] = []
        self.losses: list[tuple[bytes, Fault, bool]] = []
        self.ends: list[tuple[str, Cause]] = []
        self.drains = 0
        self.changed = asyncio.Event()

    def lines(self, lines: PipeLines, of: bytes | None = None) -> None:
        self.heard.append((lines, of))
        self.changed.set()

    def lane_lost(self, id: bytes, why: Fault, may_retry: bool) -> None:
        self.losses.append((id, why, may_retry))
        self.changed.set()

    def gone(self, how: str, cause: Cause) -> None:
        self.ends.append((how, cause))
        self.changed.set()

    def renewed(self) -> None: ...

    def stderr(self, data: bytes) -> None: ...

    def note(self, text: str) -> None: ...

    def drained(self) -> None:
        self.drains += 1

    async def more(self) -> None:
        await self.changed.wait()
        self.changed.clear()


KINDS: list[tuple[type[Url], Script, bool]] = [
    (Url, fine, True),
    (SessionUrl, Sessions(), True),
    (SseUrl, Stream(), False),
    (AnyUrl, Sessions(), True),
]


@pytest.mark.parametrize(("kind", "script", "tells"), KINDS, ids=["modern", "session", "sse", "any"])
def test_a_channel_tells_what_it_hears_and_what_is_lost(kind: type[Url], script: Script, tells: bool) -> None:
    async def scene() -> None:
        async with served(script) as server:
            told = Told()
            upstream = kind(Target(address(server.url)))
            channel: Channel = upstream.open(told, asyncio.get_running_loop(), QUICK)
            method = "tools/list" if kind is Url else "initialize"
            channel.send([json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).encode()])
            await told.more()
            ((lines, of),) = told.heard
            assert len(lines) == 1
            assert isinstance(lines[0], bytes)
            assert json.loads(lines[0])["id"] == 1
            assert of == (b"1" if tells else None)
            await channel.aclose()
            assert told.drains == 1
            assert upstream.open_unused(told, asyncio.get_running_loop(), QUICK) is None

    played(scene)


@pytest.mark.parametrize("kind", [Url, SessionUrl, SseUrl, AnyUrl])
def test_a_loss_has_its_cause_and_its_status(kind: type[Url]) -> None:
    async def script(request: Request) -> None:
        await request.answer(b"", 503, None)

    async def scene() -> None:
        async with served(script) as server:
            told = Told()
            channel = kind(Target(address(server.url))).open(told, asyncio.get_running_loop(), QUICK)
            channel.send([b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'])
            await told.more()
            assert told.losses == [(b"1", Fault(Cause.TRANSPORT_FAILED, "HTTP status 503", status=503), True)]
            assert not told.ends
            await channel.aclose()

    played(scene)


def test_the_end_of_the_one_stream_is_told() -> None:
    async def scene() -> None:
        stream = Stream()
        async with served(stream) as server:
            told = Told()
            channel = SseUrl(Target(address(server.url))).open(told, asyncio.get_running_loop(), QUICK)
            channel.send([b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'])
            await told.more()
            await stream.streams[0].raw(b"0\r\n\r\n")
            await told.more()
            assert told.ends == [("closed its event stream", Cause.CLOSED)]
            await channel.aclose()

    played(scene)


@proves("HTTP-09")
@pytest.mark.parametrize("kind", [Url, SessionUrl, SseUrl, AnyUrl])
def test_an_environment_that_cannot_be_used_is_told_at_once(kind: type[Url]) -> None:
    async def scene() -> None:
        target = Target(address("https://h.example/"), environment={"HTTPS_PROXY": "socks5://p:1"})
        with pytest.raises(OSError, match="HTTPS_PROXY"):
            kind(target).open(Told(), asyncio.get_running_loop(), QUICK)

    played(scene)
