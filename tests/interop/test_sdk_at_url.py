"""The channels to older servers at a URL against the official Python SDK 2.x, which still serves them."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from channels.scripted_http import connected, played
from channels.scripted_session import SessionSide
from channels.scripted_sse import SseSide
from dragoman.limits import Limits
from dragoman.transports.http.address import address
from dragoman.transports.http.session import SessionChannel
from dragoman.transports.http.sse import SseChannel
from dragoman.transports.http.target import Target
from support.processes import Bridge
from support.proofs import proves

pytestmark = pytest.mark.interop

SERVER = Path(__file__).with_name("sdk_at_url.py")


@contextmanager
def running(kind: str, port: int = 0) -> Generator[int]:
    command = [sys.executable, str(SERVER), kind, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


@asynccontextmanager
async def talking(kind: str, port: int) -> AsyncGenerator[SessionSide, None]:
    if kind != "sse":
        side = SessionSide()
        async with connected(f"http://127.0.0.1:{port}/mcp", kind=SessionChannel, side=side):
            yield side
        return
    side = SseSide()
    target, loop = Target(address(f"http://127.0.0.1:{port}/sse")), asyncio.get_running_loop()
    side.channel = SseChannel(target, loop, Limits(), side.take, side.lose, side.end, side.drain, side.note)
    try:
        yield side
    finally:
        await side.channel.aclose()


@proves("B48")
@pytest.mark.parametrize(("kind", "path"), [("session", "mcp"), ("json", "mcp"), ("sse", "sse")])
def test_the_bridge_finds_out_what_is_at_the_url(kind: str, path: str) -> None:
    with running(kind) as port, Bridge((), words=[f"http://127.0.0.1:{port}/{path}"]) as bridge:
        assert bridge.open("2025-06-18")["serverInfo"]["name"] == "legacy"
        bridge.request(1, "tools/list")
        assert bridge.answer(1)["result"]["tools"]
        assert bridge.end() == 0


async def initialize(side: SessionSide, revision: str) -> None:
    client = {"name": "c", "version": "1"}
    capabilities: dict[str, Any] = {"elicitation": {}}
    side.call(0, "initialize", protocolVersion=revision, capabilities=capabilities, clientInfo=client)
    assert (await side.answer(0))["result"]["protocolVersion"] == revision
    side.notify("notifications/initialized")


def text_of(answer: Any) -> str:
    return answer["result"]["content"][0]["text"]


@proves("QA-04", "B126")
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("kind", ["session", "json", "sse"])
def test_a_conversation(kind: str, revision: str) -> None:
    async def scene() -> None:
        with running(kind) as port:
            async with talking(kind, port) as side:
                await initialize(side, revision)
                side.call(1, "tools/list")
                names = {tool["name"] for tool in (await side.answer(1))["result"]["tools"]}
                assert names == {"count", "greet", "leave"}
                side.call(2, name="count", arguments={"to": 3}, _meta={"progressToken": "p"})
                assert text_of(await side.answer(2)) == "3"
                steps = [
                    one["params"]["progress"] for one in side.said if one.get("method") == "notifications/progress"
                ]
                assert steps == ([] if kind == "json" else [1, 2, 3])
                assert not side.losses
                assert not side.notes

    played(scene)


@proves("QA-04")
@pytest.mark.parametrize("kind", ["session", "sse"])
def test_a_server_asks_and_is_answered(kind: str) -> None:
    async def scene() -> None:
        with running(kind) as port:
            async with talking(kind, port) as side:
                await initialize(side, "2025-06-18")
                side.call(1, name="greet", arguments={})
                await side.until(lambda: any("method" in one for one in side.said))
                (question,) = (one for one in side.said if "method" in one)
                assert side.of[side.said.index(question)] == (b"1" if kind == "session" else None)
                side.say({"id": question["id"], "result": {"action": "accept", "content": {"name": "Ada"}}})
                assert text_of(await side.answer(1)) == "hello Ada"

    played(scene)


def test_a_stream_that_the_server_leaves_is_resumed() -> None:
    async def scene() -> None:
        with running("session") as port:
            async with talking("session", port) as side:
                await initialize(side, "2025-11-25")
                side.call(1, name="leave", arguments={})
                assert text_of(await side.answer(1)) == "back"
                assert side.of == [b"0", b"1"]
                assert not side.notes

    played(scene)


@proves("B53", "B108")
def test_a_server_that_was_started_again_serves_the_next_call() -> None:
    async def scene() -> None:
        with ExitStack() as first:
            port = first.enter_context(running("session"))
            async with talking("session", port) as side:
                await initialize(side, "2025-11-25")
                side.call(1, name="count", arguments={"to": 1})
                await side.answer(1)
                first.close()
                await asyncio.sleep(0.05)  # our side sees its connections end, as it would while nobody calls
                with running("session", port):
                    side.call(2, name="count", arguments={"to": 2})
                    assert text_of(await side.answer(2)) == "2"
                    assert any("it has a new one" in note for note in side.notes)

    played(scene)
