"""The official Python SDK 2.x as a client of the listener: both of its modes, and its client of HTTP+SSE."""

# pyright: reportDeprecated=false
# The SDK marks what its newest revision no longer has; older clients use it.

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import types
from mcp.client.client import Client
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp.shared.exceptions import MCPError

from interop.test_sdk_at_url import running
from support.listening import Listening
from support.processes import DRAGOMAN, WAIT
from support.proofs import proves

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore"),  # the SDK warns of what its newest revision has deprecated
]

SERVERS = {
    "demo-server": (*DRAGOMAN, "demo-server"),
    "sdk": (sys.executable, str(Path(__file__).with_name("sdk_server.py"))),
}
Mode = Literal["legacy", "auto", "2026-07-28"]
EVERY_SERVER = pytest.mark.parametrize("server", list(SERVERS))
EVERY_MODE = pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
BOOKING = {"day": "Friday", "guests": 4, "seat": "garden"}


@contextmanager
def listening(server: str) -> Generator[Listening]:
    with Listening(SERVERS[server]) as one:
        yield one
        assert one.stop() == 0
        assert b"error:" not in one.stderr


def in_time(test: Callable[..., Awaitable[None]], *given: Any) -> None:
    async def run() -> None:
        with anyio.fail_after(WAIT * 2):
            await test(*given)

    anyio.run(run)


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    wanted = params.requested_schema["properties"]
    return types.ElicitResult(action="accept", content={name: BOOKING[name] for name in wanted})  # type: ignore[arg-type]


@asynccontextmanager
async def talking(url: str, mode: Mode, **more: Any) -> AsyncGenerator[Client]:
    info = types.Implementation(name="guest", version="1")
    async with Client(url, mode=mode, client_info=info, elicitation_callback=elicit, cache=None, **more) as client:
        yield client


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@proves("QA-04", "THTTP-01")
@EVERY_SERVER
@EVERY_MODE
def test_lists_calls_prompts_and_resources_arrive(server: str, mode: Mode) -> None:
    async def scene(url: str) -> None:
        async with talking(url, mode) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"book_table", "count"} <= names
            assert "Ada" in text_of(await client.call_tool("greet", {"guest": "Ada"}))
            (prompt,) = (await client.list_prompts()).prompts
            got = await client.get_prompt(prompt.name, {"mood": "cosy"})
            assert isinstance(got.messages[0].content, types.TextContent)
            assert "cosy" in got.messages[0].content.text
            (resource,) = (await client.list_resources()).resources
            read = await client.read_resource(resource.uri)
            assert isinstance(read.contents[0], types.TextResourceContents)
            assert "soup" in read.contents[0].text
            with pytest.raises(MCPError):
                await client.call_tool("nothing", {})

    with listening(server) as one:
        in_time(scene, one.url)


@proves("QA-04", "B86", "B87")
@EVERY_SERVER
@EVERY_MODE
def test_questions_and_progress_arrive_while_a_call_runs(server: str, mode: Mode) -> None:
    async def scene(url: str) -> None:
        heard: list[float] = []

        async def report(progress: float, total: float | None, message: str | None) -> None:
            heard.append(progress)

        async with talking(url, mode) as client:
            booked = await client.call_tool("book_table", {"guest": "Ada"})
            assert "Friday" in text_of(booked)
            await client.call_tool("count", {"plates": 3}, progress_callback=report)
            assert heard == [1, 2, 3]

    with listening(server) as one:
        in_time(scene, one.url)


@proves("QA-04")
@EVERY_SERVER
def test_a_session_hears_of_changes(server: str) -> None:
    async def scene(url: str) -> None:
        changed = anyio.Event()

        async def message(message: Any) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                changed.set()

        async with talking(url, "legacy", message_handler=message) as client:
            await client.call_tool("add_dish", {"dish": "dolma", "made_of": "rice"})
            await changed.wait()

    with listening(server) as one:
        in_time(scene, one.url)


@EVERY_SERVER
def test_many_clients_of_both_eras_at_once(server: str) -> None:
    async def scene(url: str) -> None:
        async def guest(number: int) -> None:
            async with talking(url, "legacy" if number % 2 else "2026-07-28") as client:
                for turn in range(3):
                    said = text_of(await client.call_tool("greet", {"guest": f"guest-{number}.{turn}"}))
                    assert f"guest-{number}.{turn}" in said

        async with anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(guest, number)

    with listening(server) as one:
        in_time(scene, one.url)


@pytest.mark.parametrize(("kind", "form", "path"), [("session", "http-session", "/mcp"), ("sse", "sse", "/sse")])
def test_a_server_with_a_handshake_has_a_conversation_with_each_session(kind: str, form: str, path: str) -> None:
    async def named(context: Any, params: Any, name: str) -> types.ElicitResult:
        await anyio.sleep(0.05)  # so that the questions of all are open at one time
        return types.ElicitResult(action="accept", content={"name": name})

    async def scene(url: str) -> None:
        async def guest(name: str) -> None:
            heard: list[float] = []

            async def report(progress: float, total: float | None, message: str | None) -> None:
                heard.append(progress)

            info = types.Implementation(name=name, version="1")
            asked = partial(named, name=name)
            async with Client(url, mode="legacy", client_info=info, elicitation_callback=asked, cache=None) as client:
                assert text_of(await client.call_tool("greet", {})) == f"hello {name}"
                assert text_of(await client.call_tool("count", {"to": 3}, progress_callback=report)) == "3"
                assert heard == [1, 2, 3]

        async with anyio.create_task_group() as group:
            for name in ("Ada", "Bob", "Cleo"):
                group.start_soon(guest, name)

    with running(kind) as port, Listening((), "--upstream", f"{form}:http://127.0.0.1:{port}{path}") as one:
        in_time(scene, one.url)
        assert one.stop() == 0


@EVERY_SERVER
def test_a_client_of_http_and_sse_is_served_at_the_same_place(server: str) -> None:
    async def scene(url: str) -> None:
        async with sse_client(url) as streams, ClientSession(*streams, elicitation_callback=elicit) as session:
            await session.initialize()
            assert {"greet", "count"} <= {tool.name for tool in (await session.list_tools()).tools}
            result = await session.call_tool("greet", {"guest": "Ada"})
            assert isinstance(result, types.CallToolResult)
            assert "Ada" in text_of(result)
            booked = await session.call_tool("book_table", {"guest": "Ada"})
            assert isinstance(booked, types.CallToolResult)
            assert "Friday" in text_of(booked)

    with listening(server) as one:
        in_time(scene, one.url)
