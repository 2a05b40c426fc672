"""The official Python SDK 1.x as a client of the restaurant: `python1.py COMMAND…`.

Runs in an environment of its own, which has that SDK and nothing of ours. Prints one JSON line per check.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from importlib import import_module
from typing import Any

mcp: Any = import_module("mcp")  # by name: what checks our types has another version of it
types: Any = import_module("mcp.types")
AnyUrl: Any = import_module("pydantic").AnyUrl

MENU = AnyUrl("menu://today")
KNOWN = {"day": "Friday", "guests": 4, "seat": "garden"}
LIMIT = 15.0

heard: list[Any] = []
news = asyncio.Event()
progress: list[float] = []


async def elicit(context: Any, params: Any) -> Any:
    if params.mode == "url":
        return types.ElicitResult(action="accept")
    wanted = {
        name: KNOWN.get(name, field.get("default")) for name, field in params.requestedSchema["properties"].items()
    }
    return types.ElicitResult(action="accept", content=wanted)


async def sample(context: Any, params: Any) -> Any:
    return types.CreateMessageResult(
        role="assistant", content=types.TextContent(type="text", text="A poem."), model="m"
    )


async def roots(context: Any) -> Any:
    return types.ListRootsResult(roots=[types.Root(uri="file:///recipes")])


async def message(received: Any) -> None:
    heard.append(getattr(received, "root", received))
    news.set()


async def log(params: Any) -> None:
    heard.append(params)
    news.set()


async def report(done: float, total: float | None, text: str | None) -> None:
    progress.append(done)


async def hears(kind: Any, count: int = 1) -> None:
    while sum(isinstance(one, kind) for one in heard) < count:
        news.clear()
        await news.wait()


async def converse(session: Any) -> None:
    async def text(tool: str, **given: Any) -> str:
        result = await session.call_tool(tool, given, progress_callback=report)
        return str(result.content[0].text)

    async def handshake() -> None:
        result = await session.initialize()
        assert result.protocolVersion == "2025-11-25", result
        assert result.serverInfo.name
        assert result.capabilities.tools.listChanged

    async def tools() -> None:
        assert {"greet", "count", "pay"} <= {tool.name for tool in (await session.list_tools()).tools}

    async def call() -> None:
        assert "Ada 😀" in await text("greet", guest="Ada 😀")

    async def refusal() -> None:
        code = None
        try:
            await session.call_tool("no such tool", {})
        except mcp.McpError as error:
            code = error.error.code
        assert code == -32602, code

    async def progressing() -> None:
        await text("count", plates=3)
        assert progress == [1, 2, 3], progress

    async def given_up() -> None:
        try:
            await session.call_tool("count", {"plates": 100}, read_timeout_seconds=timedelta(seconds=0.2))
        except mcp.McpError:
            pass
        else:
            raise AssertionError("the call was not given up")
        assert "Ada" in await text("greet", guest="Ada")

    async def rounds() -> None:
        assert (await session.call_tool("book_table", {})).structuredContent == KNOWN

    async def page() -> None:
        assert "Paid" in await text("pay")

    async def sampling() -> None:
        assert await text("praise_dish", dish="soup") == "A poem."

    async def root_list() -> None:
        assert "file:///recipes" in await text("find_recipes")

    async def changes() -> None:
        await session.subscribe_resource(MENU)
        await session.set_logging_level("info")
        await hears(types.ToolListChangedNotification)
        heard.clear()
        await text("add_dish", dish="dolma", made_of="rice")
        await hears(types.ToolListChangedNotification)
        await hears(types.ResourceUpdatedNotification)
        await hears(types.LoggingMessageNotificationParams)
        assert "order_dolma" in {tool.name for tool in (await session.list_tools()).tools}
        await session.unsubscribe_resource(MENU)

    async def prompts() -> None:
        assert [prompt.name for prompt in (await session.list_prompts()).prompts] == ["recommend"]
        assert "cosy" in (await session.get_prompt("recommend", {"mood": "cosy"})).messages[0].content.text

    async def resources() -> None:
        assert [one.uri for one in (await session.list_resources()).resources] == [MENU]
        assert (await session.list_resource_templates()).resourceTemplates
        assert "lentils" in (await session.read_resource(MENU)).contents[0].text

    async def completion() -> None:
        reference = types.PromptReference(type="ref/prompt", name="recommend")
        result = await session.complete(reference, {"name": "mood", "value": "c"})
        assert result.completion.values == ["cosy"]

    checks: list[Callable[[], Awaitable[None]]] = [
        *(handshake, session.send_ping, tools, call, refusal, progressing, given_up, rounds, page, sampling),
        *(root_list, changes, prompts, resources, completion),
    ]
    for check in checks:
        name = check.__name__
        try:
            async with asyncio.timeout(LIMIT):
                await check()
        except Exception as error:
            print(json.dumps({"check": name, "ok": False, "detail": f"{type(error).__name__}: {error}"}), flush=True)
        else:
            print(json.dumps({"check": name, "ok": True}), flush=True)


async def main(command: str, *words: str) -> None:
    stdio: Any = import_module("mcp.client.stdio")
    parameters = mcp.StdioServerParameters(command=command, args=list(words))
    async with (
        stdio.stdio_client(parameters) as (read, write),
        mcp.ClientSession(
            read,
            write,
            elicitation_callback=elicit,
            sampling_callback=sample,
            list_roots_callback=roots,
            logging_callback=log,
            message_handler=message,
        ) as session,
    ):
        await converse(session)


asyncio.run(main(*sys.argv[1:]))
