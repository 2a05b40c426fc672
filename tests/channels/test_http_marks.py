"""Arguments in headers: a server that checks them, what is learned from its lists, and the one retry."""

import json

from channels.scripted_http import Request, connected, played, served
from dragoman.faults import Cause
from dragoman.transports.http.loss import Loss
from support.proofs import proves

REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
BAD = {"type": "object", "properties": {"n": {"type": "number", "x-mcp-header": "N"}}}


class Strict:
    """A server that checks the marks of its tool `t`, in a list of two pages."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.header = "Region"

    async def __call__(self, request: Request) -> None:
        message = request.message
        self.asked.append(message["method"])
        params = message["params"]
        if message["method"] == "tools/list":
            assert params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
            assert params["_meta"].get("progressToken") is None
            if "cursor" in params:
                schema = json.loads(json.dumps(REGION).replace("Region", self.header))
                await request.result(tools=[{"name": "t", "inputSchema": schema}])
            else:
                await request.result(tools=[{"name": "bad", "inputSchema": BAD}], nextCursor="2")
        elif request[f"Mcp-Param-{self.header}"] == params["arguments"].get("region"):
            await request.result()
        else:
            await request.error(-32020, 400)


@proves("HTTP-03")
def test_marked_arguments_are_headers_and_invalid_tools_are_left_out() -> None:
    strict = Strict()

    async def scene() -> None:
        async with served(strict) as server, connected(server.url) as side:
            side.ask(1, "tools/list")
            side.ask(2, "tools/list", cursor="2")
            tools = {message["id"]: message["result"] for message in await side.messages(2)}
            assert tools[1] == {"resultType": "complete", "tools": [], "nextCursor": "2"}
            assert tools[2]["tools"] == [{"name": "t", "inputSchema": REGION}]
            assert len(side.notes) == 1
            side.ask(3, name="t", arguments={"region": "eu"})
            assert "result" in (await side.messages(3))[2]
        assert strict.asked == ["tools/list", "tools/list", "tools/call"]

    played(scene)


@proves("HTTP-03", "B120")
def test_a_mismatch_leads_to_one_refresh_and_one_retry() -> None:
    strict = Strict()

    async def scene() -> None:
        async with served(strict) as server, connected(server.url) as side:
            meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": 1}
            side.ask(1, name="t", arguments={"region": "eu"}, _meta=meta)
            assert "result" in (await side.messages(1))[0]
            assert strict.asked == ["tools/call", "tools/list", "tools/list", "tools/call"]
            strict.header = "Zone"
            for id in range(2, 34):
                side.ask(id, name="t", arguments={"region": "eu"})
            assert all("result" in message for message in await side.messages(33))
            assert strict.asked.count("tools/list") == 4  # one refresh serves all who waited for it

    played(scene)


def test_a_second_mismatch_is_the_answer() -> None:
    asked: list[str] = []

    async def script(request: Request) -> None:
        asked.append(request.message["method"])
        if asked[-1] == "tools/list":
            await request.result(tools=[])
        else:
            await request.error(-32020, 400)

    async def scene() -> None:
        async with served(script) as server, connected(server.url) as side:
            side.ask(1)
            assert (await side.messages(1))[0]["error"]["code"] == -32020
            assert asked == ["tools/call", "tools/list", "tools/call"]
            side.ask(2, "prompts/get", name="p")
            assert (await side.messages(2))[1]["error"]["code"] == -32020
            assert asked[3:] == ["prompts/get"]

    played(scene)


def test_a_refresh_that_fails_leaves_the_first_answer() -> None:
    asked: list[str] = []

    async def script(request: Request) -> None:
        asked.append(request.message["method"])
        if asked[-1] == "tools/list":
            await request.answer(b"", 500)
        else:
            await request.error(-32020, 400)

    async def scene() -> None:
        async with served(script) as server, connected(server.url) as side:
            side.ask(1)
            assert (await side.messages(1))[0]["error"]["code"] == -32020
        assert asked == ["tools/call", "tools/list"]

    played(scene)


def test_pages_without_end_are_bounded() -> None:
    asked: list[str] = []

    async def script(request: Request) -> None:
        asked.append(request.message["method"])
        if asked[-1] == "tools/list":
            await request.result(tools=[], nextCursor="more")
        elif len(asked) > 1:
            await request.result()
        else:
            await request.error(-32020, 400)

    async def scene() -> None:
        async with served(script) as server, connected(server.url, pages=5) as side:
            side.ask(1)
            assert "result" in (await side.messages(1))[0]
        assert asked == ["tools/call", *["tools/list"] * 5, "tools/call"]

    played(scene)


@proves("ERR-26")
def test_an_argument_that_no_header_can_hold() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}}

    async def script(request: Request) -> None:
        await request.result(tools=[{"name": "t", "inputSchema": schema}])

    async def scene() -> None:
        async with served(script) as server, connected(server.url) as side:
            side.ask(1, "tools/list")
            await side.messages(1)
            side.ask(2, name="t", arguments={"n": 1 << 53})
            assert (await side.loss()) == Loss(None, Cause.INVALID_REQUEST, None, False)
        assert len(server.requests) == 1

    played(scene)
