"""The official Python SDK 2.x on both sides: its client in its older mode, its server of 2026-07-28, and us between."""

# pyright: reportDeprecated=false
# The SDK marks what its newest revision no longer has; older clients use it.

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from pydantic import FileUrl

from support.processes import DRAGOMAN, WAIT
from support.proofs import proves

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore"),  # the SDK warns of what its newest revision has deprecated
]

SERVER = Path(__file__).with_name("sdk_server.py")
MENU = "menu://today"


class Guest:
    """The user behind the client: answers what is asked, and remembers all that was heard."""

    def __init__(self) -> None:
        self.client: Client
        self.asked: list[Any] = []
        self.logs: list[types.LoggingMessageNotificationParams] = []
        self.notices: list[Any] = []
        self.progress: list[tuple[float, float | None, str | None]] = []
        self.declines = False
        self._heard = anyio.Event()

    async def elicit(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params)
        if self.declines:
            return types.ElicitResult(action="decline")
        if isinstance(params, types.ElicitRequestURLParams):
            return types.ElicitResult(action="accept")
        known: dict[str, Any] = {"day": "Friday", "guests": 4, "seat": "garden"}
        wanted = {name: known[name] for name in params.requested_schema["properties"]}
        return types.ElicitResult(action="accept", content=wanted)

    async def sample(self, context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        self.asked.append(params)
        text = types.TextContent(type="text", text="A poem of a pilaf.")
        return types.CreateMessageResult(role="assistant", content=text, model="m")

    async def roots(self, context: Any) -> types.ListRootsResult:
        self.asked.append("roots")
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///recipes"), name="recipes")])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs.append(params)

    async def message(self, message: Any) -> None:
        self.notices.append(message)
        self._wake()

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))
        self._wake()

    async def hears(self, kind: type[Any], count: int) -> None:
        """Wait until so many notifications of a kind are here."""
        while sum(isinstance(notice, kind) for notice in self.notices) < count:
            await self._heard.wait()

    async def hears_of_progress(self) -> None:
        while not self.progress:
            await self._heard.wait()

    def _wake(self) -> None:
        self._heard.set()
        self._heard = anyio.Event()

    async def call(self, tool: str, **arguments: Any) -> types.CallToolResult:
        return await self.client.call_tool(tool, arguments, progress_callback=self.report)


@asynccontextmanager
async def bridged(*, asks: bool = True) -> AsyncGenerator[Guest]:
    guest = Guest()
    words = [*DRAGOMAN[1:], "--", sys.executable, str(SERVER)]
    answers: dict[str, Any] = {
        "elicitation_callback": guest.elicit,
        "sampling_callback": guest.sample,
        "list_roots_callback": guest.roots,
    }
    client = Client(
        StdioServerParameters(command=DRAGOMAN[0], args=words, env=dict(os.environ)),
        mode="legacy",
        logging_callback=guest.log,
        message_handler=guest.message,
        client_info=types.Implementation(name="guest", version="1"),
        cache=None,
        **(answers if asks else {}),
    )
    with anyio.fail_after(WAIT):
        async with client:
            guest.client = client
            yield guest


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def in_time(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Run an asynchronous test."""

    def run() -> None:
        anyio.run(test)

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run


@proves("QA-04")
@in_time
async def test_lists_calls_prompts_resources_and_completion_arrive() -> None:
    async with bridged() as guest:
        client = guest.client
        assert client.protocol_version == "2025-11-25"
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.title) == ("sdk-restaurant", "The Official Table")
        assert client.instructions == "Greet the guest first."
        capabilities = client.server_capabilities
        assert capabilities.tools is not None
        assert capabilities.tools.list_changed
        assert capabilities.resources is not None
        assert capabilities.resources.subscribe
        assert capabilities.completions is not None
        assert capabilities.logging is not None

        tools = (await client.list_tools()).tools
        assert {"greet", "book_table", "order_soup"} <= {tool.name for tool in tools}
        assert next(tool for tool in tools if tool.name == "book_table").output_schema is not None
        assert text_of(await guest.call("greet", guest="Ada 😀")) == "Welcome, Ada 😀!"
        assert (await guest.call("spill")).is_error
        await client.send_ping()

        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["recommend"]
        prompt = await client.get_prompt("recommend", {"mood": "cosy"})
        content = prompt.messages[0].content
        assert isinstance(content, types.TextContent)
        assert content.text.startswith("I am cosy.")

        assert [str(resource.uri) for resource in (await client.list_resources()).resources] == [MENU]
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["menu://dish/{dish}"]
        (menu,) = (await client.read_resource(MENU)).contents
        assert isinstance(menu, types.TextResourceContents)
        assert "lentils" in menu.text

        mood = types.PromptReference(type="ref/prompt", name="recommend")
        assert (await client.complete(mood, {"name": "mood", "value": "c"})).completion.values == ["cosy"]


@proves("QA-04")
@in_time
async def test_errors_of_the_server_arrive_with_code_message_and_data() -> None:
    async with bridged() as guest:
        with pytest.raises(MCPError) as caught:
            await guest.call("nothing")
        assert (caught.value.error.code, caught.value.error.message) == (-32602, "There is no such tool.")
        with pytest.raises(MCPError) as caught:
            await guest.client.read_resource("menu://nowhere")
        assert caught.value.error.message == "There is no such resource."
        assert caught.value.error.data == {"uri": "menu://nowhere"}


@proves("QA-04")
@in_time
async def test_progress_arrives_in_order_and_before_the_result() -> None:
    async with bridged() as guest:
        assert text_of(await guest.call("count", plates=5)) == "There are 5 plates."
        assert guest.progress == [(plate, 5, f"plate {plate}") for plate in range(1, 6)]


@proves("QA-04")
@in_time
async def test_a_call_that_is_given_up_is_cancelled_at_the_server() -> None:
    async with bridged() as guest:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: guest.call("count", plates=500))
            await guest.hears_of_progress()
            tasks.cancel_scope.cancel()
        assert text_of(await guest.call("regret")) == "What a pity."
        heard = len(guest.progress)
        assert text_of(await guest.call("greet", guest="Ada")) == "Welcome, Ada!"
        assert len(guest.progress) == heard


@proves("QA-04")
@in_time
async def test_several_rounds_of_forms_end_in_structured_output() -> None:
    async with bridged() as guest:
        await guest.client.list_tools()  # so that the client checks the output against its schema
        result = await guest.call("book_table")
        assert result.structured_content == {"day": "Friday", "guests": 4, "seat": "garden"}
        assert [params.message for params in guest.asked] == ["For which evening?", "Which seat?"]


@proves("QA-04")
@in_time
async def test_pages_sampling_and_roots_are_asked_of_the_client() -> None:
    async with bridged() as guest:
        assert text_of(await guest.call("pay")) == "Paid."
        assert guest.asked[0].url == "https://pay.example/bill/7"
        assert guest.asked[0].elicitation_id
        guest.declines = True
        assert text_of(await guest.call("pay")) == "The bill stays open."
        assert text_of(await guest.call("praise_dish", dish="pilaf")) == "A poem of a pilaf."
        assert guest.asked[-1].max_tokens == 60
        assert text_of(await guest.call("find_recipes")) == "file:///recipes"
        assert guest.asked[-1] == "roots"


@proves("QA-04")
@in_time
async def test_a_client_that_cannot_be_asked_gets_an_error_and_goes_on() -> None:
    async with bridged(asks=False) as guest:
        for tool in ("book_table", "pay", "find_recipes"):
            with pytest.raises(MCPError):
                await guest.call(tool)
        assert text_of(await guest.call("greet", guest="Ada")) == "Welcome, Ada!"
        assert guest.asked == []


@proves("QA-04")
@in_time
async def test_changes_updates_and_logs_arrive_while_the_client_wants_them() -> None:
    async with bridged() as guest:
        client = guest.client
        await client.subscribe_resource(MENU)
        await client.set_logging_level("info")
        await guest.hears(types.ToolListChangedNotification, 1)  # at the begin of the stream
        await guest.call("add_dish", dish="dolma", made_of="rice, leaves")
        await guest.hears(types.ToolListChangedNotification, 2)
        await guest.hears(types.ResourceUpdatedNotification, 1)
        assert "order_dolma" in {tool.name for tool in (await client.list_tools()).tools}
        assert [(log.level, log.data, log.logger) for log in guest.logs] == [("info", "3 dishes", "restaurant")]

        await client.unsubscribe_resource(MENU)
        await client.set_logging_level("error")
        updates = sum(isinstance(notice, types.ResourceUpdatedNotification) for notice in guest.notices)
        await guest.call("add_dish", dish="baklava", made_of="nuts")
        await guest.hears(types.ToolListChangedNotification, 3)
        await client.send_ping()
        assert sum(isinstance(notice, types.ResourceUpdatedNotification) for notice in guest.notices) == updates
        assert len(guest.logs) == 1
