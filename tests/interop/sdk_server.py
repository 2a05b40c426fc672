"""A server of revision 2026-07-28 on the official Python SDK 2.x, on stdio.

It offers what `dragoman demo-server` offers, under the same names, so that the same peers can be sent to both: a small
restaurant, and two tools more. The SDK would speak older revisions too; `modern_only` takes that away.
"""

# pyright: reportDeprecated=false
# The newest revision deprecates logging and roots, and the SDK says so; older clients use them.

import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp import types
from mcp.server.context import CallNext, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError

warnings.simplefilter("ignore")

REVISION = "2026-07-28"
MENU = "menu://today"
MOODS = ("adventurous", "cosy", "hungry")
EVENING = {"day": {"type": "string", "enum": ["Friday", "Saturday"]}, "guests": {"type": "integer", "minimum": 1}}
SEAT = {"seat": {"type": "string", "enum": ["window", "garden"]}}
BOOKING = {"type": "object", "properties": {**EVENING, **SEAT}, "required": ["day", "guests", "seat"]}

Context = ServerRequestContext[Any, Any]
Result = types.CallToolResult | types.InputRequiredResult
Answers = Mapping[str, Any]

bus = InMemorySubscriptionBus()
given_up = anyio.Event()
dishes = {"soup": "lentils, lemon, mint", "pilaf": "rice, almonds, saffron"}


def says(text: str, structure: dict[str, Any] | None = None) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=structure)


def ask(requests: dict[str, Any], state: str | None = None) -> types.InputRequiredResult:
    return types.InputRequiredResult(result_type="input_required", input_requests=requests, request_state=state)


def form(message: str, fields: dict[str, Any]) -> types.ElicitRequest:
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


async def greet(context: Context, given: dict[str, Any], answers: Answers, state: str | None) -> Result:
    return says(f"Welcome, {given['guest']}!")


async def book_table(context: Context, given: dict[str, Any], answers: Answers, state: str | None) -> Result:
    """Two rounds; what was answered in the first one is the state of the second."""
    if state is None and "evening" not in answers:
        return ask({"evening": form("For which evening?", EVENING)}, "begun")
    if "evening" in answers:
        evening = answers["evening"].content
        return ask({"seat": form("Which seat?", SEAT)}, f"{evening['day']} {evening['guests']}")
    assert state is not None
    day, guests = state.split()
    if answers["seat"].action != "accept":
        return says("No table was booked.")
    booked = {"day": day, "guests": int(guests), "seat": answers["seat"].content["seat"]}
    return says(f"Booked: {booked}", booked)


async def count(context: Context, given: dict[str, Any], answers: Answers, state: str | None) -> Result:
    plates = given["plates"]
    try:
        for plate in range(1, plates + 1):
            await context.session.report_progress(plate, plates, f"plate {plate}")
            await anyio.sleep(0.02)
    except anyio.get_cancelled_exc_class():
        given_up.set()
        raise
    return says(f"There are {plates} plates.")


async def regret(context: Context, given: dict[str, Any], answers: Answers, state: str | None) -> Result:
    """Answers once a count has been cancelled."""
    await given_up.wait()
    return says("What a pity.")


async def add_dish(context: Context, given: dict[str, Any], answers: Answers, state: str | None) -> Result:
    dishes[given["dish"]] = given["made_of"]
    await bus.publish(ToolsListChanged())
    await bus.publish(ResourceUpdated(uri=MENU))
    await context.session.send_log_message("info", f"{len(dishes)} dishes", "restaurant", context.request_id)
    return says(f"From now on there is {given['dish']}.")


async def praise_dish(context: Context, given: dict[str, Any], answers: Answers, state: str | None) -> Result:
    if "praise" in answers:
        return types.CallToolResult(content=[answers["praise"].content])
    wish = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=f"Praise {given['dish']}."))
    params = types.CreateMessageRequestParams(messages=[wish], max_tokens=60)
    return ask({"praise": types.CreateMessageRequest(params=params)})


async def find_recipes(context: Context, given: dict[str, Any], answers: Answers, state: str | None) -> Result:
    if "places" not in answers:
        return ask({"places": types.ListRootsRequest()})
    return says(" ".join(str(root.uri) for root in answers["places"].roots))


async def pay(context: Context, given: dict[str, Any], answers: Answers, state: str | None) -> Result:
    if "page" not in answers:
        params = types.ElicitRequestURLParams(message="Please pay here.", url="https://pay.example/bill/7")
        return ask({"page": types.ElicitRequest(params=params)})
    return says("Paid." if answers["page"].action == "accept" else "The bill stays open.")


async def spill(context: Context, given: dict[str, Any], answers: Answers, state: str | None) -> Result:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text="The soup is on the floor.")], is_error=True
    )


TOOLS: dict[str, Callable[[Context, dict[str, Any], Answers, str | None], Awaitable[Result]]] = {
    work.__name__: work for work in (greet, book_table, count, regret, add_dish, praise_dish, find_recipes, pay, spill)
}


async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    names = [*TOOLS, *(f"order_{dish}" for dish in dishes)]
    tools = [
        types.Tool(name=name, input_schema={"type": "object"}, output_schema=BOOKING if name == "book_table" else None)
        for name in names
    ]
    return types.ListToolsResult(tools=tools, ttl_ms=0, cache_scope="private")


async def call_tool(context: Context, params: types.CallToolRequestParams) -> Result:
    if params.name not in TOOLS:
        raise MCPError(code=-32602, message="There is no such tool.")
    return await TOOLS[params.name](context, params.arguments or {}, params.input_responses or {}, params.request_state)


async def list_prompts(context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    mood = types.PromptArgument(name="mood", required=True)
    prompt = types.Prompt(name="recommend", description="Ask for a dish.", arguments=[mood])
    return types.ListPromptsResult(prompts=[prompt], ttl_ms=0, cache_scope="private")


async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    text = f"I am {(params.arguments or {})['mood']}. Which of these suits me? {', '.join(dishes)}"
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(messages=[message])


async def list_resources(context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    menu = types.Resource(uri=MENU, name="menu", mime_type="text/plain")
    return types.ListResourcesResult(resources=[menu], ttl_ms=0, cache_scope="private")


async def list_templates(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    dish = types.ResourceTemplate(uri_template="menu://dish/{dish}", name="dish")
    return types.ListResourceTemplatesResult(resource_templates=[dish], ttl_ms=0, cache_scope="private")


async def read(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    if uri != MENU:
        raise MCPError(code=-32602, message="There is no such resource.", data={"uri": uri})
    text = "\n".join(f"{name}: {made_of}" for name, made_of in dishes.items())
    contents = types.TextResourceContents(uri=MENU, mime_type="text/plain", text=text)
    return types.ReadResourceResult(contents=[contents], ttl_ms=0, cache_scope="private")


async def complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    known = MOODS if params.argument.name == "mood" else tuple(dishes)
    values = [value for value in known if value.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


async def set_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def modern_only(ctx: Context, call_next: CallNext) -> Any:
    if ctx.method == "initialize":
        raise MCPError(code=-32601, message=f"This server speaks {REVISION} only.")
    return await call_next(ctx)


async def main() -> None:
    server: Server[Any] = Server(
        "sdk-restaurant",
        version="1.0",
        title="The Official Table",
        instructions="Greet the guest first.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
        on_completion=complete,
        on_set_logging_level=set_level,
        on_subscriptions_listen=ListenHandler(bus),
    )
    server.middleware.insert(0, modern_only)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
