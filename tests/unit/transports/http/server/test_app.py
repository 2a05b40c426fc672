"""The ASGI application: what is refused before anything is read, bodies, and its life in a host."""

import asyncio
import time
from typing import Any

import pytest

from dragoman.limits import Reception
from dragoman.transports.http.server.authentication import Token
from support.listener import Listener, call, elapse, error_of, initialize, mirrored, modern, scene, settle, text_of
from support.proofs import proves

pytestmark = pytest.mark.timeout(20)

JSON = {"content-type": "application/json"}


@proves("THTTP-02")
@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/mcp", JSON, 200),
        ("POST", "/mcp/", JSON, 200),
        ("POST", "/mcp", {"content-type": "Application/JSON; charset=utf-8"}, 200),
        ("POST", "/mcp", {**JSON, "accept": ""}, 200),
        ("POST", "/mcp", {**JSON, "accept": "*/*"}, 200),
        ("POST", "/mcp", {**JSON, "accept": "application/*;q=0.5"}, 200),
        ("POST", "/mcp", {**JSON, "accept": "APPLICATION/JSON"}, 200),
        ("POST", "/mcp", {**JSON, "accept": "text/event-stream"}, 200),
        ("POST", "/mcp", {**JSON, "accept": "text/html"}, 406),
        ("POST", "/mcp", {}, 415),
        ("POST", "/mcp", {"content-type": "text/plain"}, 415),
        ("POST", "/mcp", {"content-type": "application/json-rpc"}, 415),
        ("POST", "/", JSON, 404),
        ("POST", "/MCP", JSON, 404),
        ("POST", "/mcp/more", JSON, 404),
        ("GET", "/.well-known/oauth-protected-resource", {}, 404),
        ("GET", "/mcp", {"accept": "application/json"}, 406),
        ("PUT", "/mcp", JSON, 405),
        ("PATCH", "/mcp", JSON, 405),
        ("HEAD", "/mcp", {}, 405),
        ("OPTIONS", "/mcp", {}, 204),
    ],
)
@scene
async def test_a_request_is_refused_for_what_its_head_says(
    method: str, path: str, headers: dict[str, str], status: int
) -> None:
    listener = Listener()
    answer = await listener.send(method, initialize(), headers, path=path, asked={"0": "initialize"})
    assert answer.status == status
    if status in (204, 405):
        assert {"GET", "POST", "DELETE"} <= set(answer.headers["allow"].split(", "))
    assert listener.server.starts == int(status == 200)
    await listener.close()


@scene
async def test_a_mounted_application_knows_its_place() -> None:
    listener = Listener()
    message = modern(call(1, text="in"))
    for path, status in (("/mcp", 200), ("/other", 404)):
        headers = {**JSON, **mirrored(message)}
        answer = await listener.send("POST", message, headers, path=path, root="/tools", asked={"1": "tools/call"})
        assert answer.status == status
    await listener.close()


@scene
async def test_a_body_in_pieces_is_one_message() -> None:
    listener = Listener()
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    session = await listener.open()
    headers = {**JSON, "mcp-session-id": session}
    pieces = [body[at : at + 7] for at in range(0, len(body), 7)]
    answer = await listener.send("POST", None, headers, pieces=[*pieces, b""], asked={"1": "ping"})
    assert (await answer.message())["result"] == {}
    await listener.close()


@proves("THTTP-05")
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("pieces", [1, 5])
@scene
async def test_a_body_above_the_limit_is_refused(told: bool, pieces: int) -> None:
    listener = Listener(reception=Reception(body=100))
    headers = {**JSON, "content-length": "101"} if told else JSON
    body = [b" " * 101] if pieces == 1 else [b" " * 21] * 5
    answer = await listener.send("POST", None, headers, pieces=body)
    assert answer.status == 413
    assert error_of(await answer.message()) == (-32600, "line_too_long")
    await listener.close()


@scene
async def test_a_body_at_the_limit_is_fine() -> None:
    listener = Listener(reception=Reception(body=1000))
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'.ljust(1000)
    answer = await listener.send("POST", body, {**JSON, "mcp-session-id": await listener.open()}, asked={"1": "ping"})
    assert answer.status == 200
    await listener.close()


@scene
async def test_a_client_that_hangs_up_in_its_body_gets_nothing() -> None:
    listener = Listener()
    scope: Any = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"host", b"localhost")]}
    scope["headers"].append((b"content-type", b"application/json"))
    given: list[Any] = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return given.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await listener.app(scope, receive, send)
    assert (given, sent) == ([], [])
    await listener.close()


@scene
async def test_a_body_that_does_not_come_is_given_up() -> None:
    listener = Listener(reception=Reception(body_time=60))
    waiting = await listener.send("POST", None, JSON, pieces=[])
    await elapse(50)
    assert waiting.status == 0
    await elapse(11)
    assert (waiting.status, waiting.headers["connection"]) == (408, "close")
    await listener.close()


@pytest.mark.parametrize(
    ("authorization", "challenge"),
    [
        ("", "Bearer"),
        ("Basic s3cr3t", "Bearer"),
        ("Bearer", "Bearer"),
        ("Bearer other", 'Bearer error="invalid_token"'),
        ("Bearer s3cr3t", None),
        ("bearer  s3cr3t ", None),
    ],
)
@scene
async def test_a_token_is_asked_for_before_anything_is_read(authorization: str, challenge: str | None) -> None:
    listener = Listener(gate=Token("s3cr3t"))
    answer = await listener.post(initialize(), authorization=authorization)
    assert answer.status == (200 if challenge is None else 401)
    assert answer.headers.get("www-authenticate") == challenge
    if challenge is not None:
        assert (await listener.send("DELETE", headers={"authorization": authorization})).status == 401
        assert (await listener.get(authorization=authorization)).status == 401
    await listener.close()


@scene
async def test_a_host_starts_and_ends_it_by_the_lifespan_protocol() -> None:
    listener = Listener()
    ended: list[bool] = []
    given = ["lifespan.startup", "lifespan.shutdown"]
    sent: list[str] = []

    async def close() -> None:
        ended.append(True)

    async def receive() -> Any:
        return {"type": given.pop(0)}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    listener.app._close = close  # pyright: ignore[reportPrivateUsage]
    await listener.app({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert ended == [True]
    with pytest.raises(NotImplementedError):
        await listener.app({"type": "websocket"}, receive, send)
    await listener.close()


SURROGATES = [
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\\ud800"},"_meta":%b}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800","arguments":{},"_meta":%b}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","\\ud800":{"\\ud800":1},"_meta":%b}}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list","params":{"_meta":%b}}',
    b'{"jsonrpc":"2.0","id":1,"method":"\\ud800","params":{"_meta":%b}}',
]
STAMP = b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}%b}'
STAMPS = [STAMP % b"", STAMP % b',"\\ud800":1', STAMP % b',"progressToken":"\\ud800"', b'{"\\ud800":1}', b"5"]


@pytest.mark.parametrize("stamp", STAMPS)
@pytest.mark.parametrize("body", SURROGATES)
@pytest.mark.parametrize("era", ["session", "modern", "nobody"])
@scene
async def test_half_a_surrogate_pair_is_never_a_fault_of_ours(body: bytes, stamp: bytes, era: str) -> None:
    listener = Listener()
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo"}
    session = {"mcp-session-id": await listener.open()} if era == "session" else {}
    given = {**JSON, **(headers if era == "modern" else session)}
    answer = await listener.send("POST", body % stamp, given, asked={"1": "tools/call"})
    await settle()
    assert answer.status in (0, 200, 400, 404)
    answer.hang_up()
    assert text_of(await (await listener.modern(call(1, text="fine"))).message()) == "fine"


def test_many_headers_cost_their_number() -> None:
    """C4: twice as many, each of them twice, take about twice as long; the best of several runs is looked at."""

    async def refused(count: int) -> float:
        app = Listener().app
        fields = [(b"x-%d" % number, b"v" * 20) for number in range(count)] * 2
        scope: Any = {"type": "http", "method": "POST", "path": "/mcp", "root_path": "", "query_string": b""}
        scope["headers"] = [*fields, (b"host", b"elsewhere.example")]
        statuses: list[int] = []

        async def receive() -> Any:
            raise AssertionError("a refused request is not read")

        async def send(message: Any) -> None:
            statuses.append(message.get("status", 0))

        best = float("inf")
        for _ in range(7):
            begin = time.perf_counter()
            await app(scope, receive, send)
            best = min(best, time.perf_counter() - begin)
        assert statuses[0] == 403
        return best

    async def scene() -> None:
        small, large = await refused(2_000), await refused(16_000)
        assert large < small * 8 * 4

    asyncio.run(scene())
