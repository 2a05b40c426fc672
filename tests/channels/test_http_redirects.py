"""Where a POST is redirected, what goes along, and what is remembered."""

import pytest

from channels.scripted_http import Request, connected, html, played, response, served
from dragoman.faults import Cause
from support.proofs import proves


@proves("B115")
def test_a_redirect_keeps_the_post_and_its_place() -> None:
    async def script(request: Request) -> None:
        if request.target == "/mcp":
            await request.answer(b"moved", 307, "text/plain", "Location: /mid?x=1")
        elif request.target == "/mid?x=1":
            await request.answer(b"", 308, None, f"Location: http://{request['Host']}/mcp/")
        else:
            await request.result()

    async def scene() -> None:
        async with served(script) as server, connected(server.url, {"Authorization": "Bearer abc"}) as side:
            side.ask(1, arguments={"a": 1})
            assert await side.messages(1) == [response(1)]
            side.ask(2)
            await side.messages(2)
        assert [request.target for request in server.requests] == ["/mcp", "/mid?x=1", "/mcp/", "/mcp/"]
        first = server.requests[0]
        for request in server.requests[1:3]:
            assert (request.method, request.body) == ("POST", first.body)
            assert sorted(request.headers) == sorted(first.headers)
        assert server.connections == 1

    played(scene)


def test_a_place_that_fails_is_forgotten() -> None:
    async def script(request: Request) -> None:
        if request.target == "/mcp" and len(targets) < 2:
            await request.answer(b"", 307, None, "Location: /new")
        elif request.target == "/new" and len(targets) == 2:
            await html(request)
        else:
            await request.result()
        targets.append(request.target)

    targets: list[str] = []

    async def scene() -> None:
        async with served(script) as server, connected(server.url) as side:
            side.ask(1)
            await side.messages(1)
            side.ask(2)
            assert (await side.loss()).status == 404
            side.losses.clear()
            side.ask(3)
            await side.messages(2)
        assert targets == ["/mcp", "/new", "/new", "/mcp"]

    played(scene)


@proves("HTTP-12")
@pytest.mark.parametrize(
    ("status", "location"),
    [
        (307, "/mcp"),
        (308, None),
        (308, "ftp://h/"),
        (307, "http://h.example/"),
        (301, "/x"),
        (302, "/x"),
        (303, "/x"),
    ],
)
def test_redirects_that_are_not_followed(status: int, location: str | None) -> None:
    seen: list[Request] = []

    async def script(request: Request) -> None:
        seen.append(request)
        lines = [] if location is None else [f"Location: {location}"]
        await request.answer(b"", status, None, *lines)

    async def scene() -> None:
        async with served(script) as server, connected(server.url) as side:
            side.ask(1)
            loss = await side.loss()
            assert (loss.status, loss.kind, loss.may_retry) == (status, Cause.TRANSPORT_FAILED, False)
        assert len(seen) == (4 if location == "/mcp" else 1)  # three hops at most

    played(scene)


@proves("HTTP-11")
def test_another_origin_gets_no_header_of_the_users() -> None:
    async def scene() -> None:
        async def other(request: Request) -> None:
            if request.target == "/back":
                await request.answer(b"", 307, None, f"Location: {first.url}?home")
            else:
                await request.result()

        async def written(request: Request) -> None:
            if request.target == "/mcp":
                to = "/back" if request.id == 2 else "/there"
                await request.answer(b"", 308, None, f"Location: http://127.0.0.1:{second.port}{to}")
            else:
                await request.result()

        secrets = {"Authorization": "Bearer abc", "X-Api-Key": "abc"}
        async with served(written) as first, served(other) as second, connected(first.url, secrets) as side:
            for id in (1, 2):
                side.ask(id)
                await side.messages(id)
            for request in first.requests:
                away = request.target != "/mcp"
                assert (request["Authorization"] is None) is (request["X-Api-Key"] is None) is away
            for request in second.requests:
                assert request["Authorization"] is request["X-Api-Key"] is None
                assert (request["Mcp-Method"], request["Mcp-Name"]) == ("tools/call", "echo")
            assert [request.target for request in first.requests] == ["/mcp", "/mcp", "/mcp?home"]
            assert [request.target for request in second.requests] == ["/there", "/back"]

    played(scene)
