"""Requests and answers of the channel to a server at a URL: what is sent, what is handed over, cancel, the end."""

import asyncio
import json
import socket
import sys
import time
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from channels.scripted_http import (
    PROGRESS,
    Request,
    Side,
    connected,
    event,
    fine,
    played,
    response,
    served,
)
from dragoman.faults import Cause
from dragoman.limits import Limits
from dragoman.transports.http.connection import probing_socket
from support.proofs import proves


@proves("HTTP-01", "HTTP-02", "B120")
def test_a_request_is_a_post_with_all_headers() -> None:
    async def scene() -> None:
        async with served(fine) as server, connected(server.url, {"Authorization": "Bearer abc", "X-A": "é"}) as side:
            side.ask(1, "tools/call", name="世界", arguments={"a": 1.0})
            side.ask(2, "resources/read", uri="file:///a")
            side.ask(3, "tools/list")
            await side.messages(3)
        call, read, tools = sorted(server.requests, key=lambda request: request.id)
        assert (call.method, call.target, call["Host"]) == ("POST", "/mcp", f"127.0.0.1:{server.port}")
        assert call["Content-Type"] == "application/json"
        assert call["Accept"] == "application/json, text/event-stream"
        assert call["Accept-Encoding"] == "identity"
        assert call["MCP-Protocol-Version"] == "2026-07-28"
        assert (call["Mcp-Method"], call["Mcp-Name"]) == ("tools/call", "=?base64?5LiW55WM?=")
        assert (read["Mcp-Method"], read["Mcp-Name"]) == ("resources/read", "file:///a")
        assert (tools["Mcp-Method"], tools["Mcp-Name"]) == ("tools/list", None)
        for request in server.requests:
            assert request["Authorization"] == "Bearer abc"
            assert request["X-A"] == "é".encode().decode("latin-1")
            assert request["Cookie"] is request["Mcp-Session-Id"] is request["Transfer-Encoding"] is None
        assert b'"a": 1.0' in call.body

    played(scene)


@proves("B117")
@pytest.mark.parametrize("rest", ["/mcp/", "/mcp", "/a%2Fb?x=1", "", "?x=%41", "/a/../b"])
def test_the_target_is_what_the_user_wrote(rest: str) -> None:
    async def scene() -> None:
        async with served(fine) as server, connected(f"http://127.0.0.1:{server.port}{rest}") as side:
            side.ask(1)
            await side.messages(1)
        assert server.requests[0].target == (rest if rest.startswith("/") else "/" + rest)

    played(scene)


def test_connections_are_kept_and_so_are_cookies_for_the_origin_that_set_them() -> None:
    """T27: a load balancer finds its node again."""

    async def script(request: Request) -> None:
        if request.id % 2:
            lines = (
                f"Set-Cookie: node={request.id}; Path=/; Domain=example.com",
                "Set-Cookie: other=x; Path=/elsewhere",
            )
            await request.answer(response(request.id), 200, "application/json", *lines)
        else:
            await request.stream(event(response(request.id)))

    async def scene() -> None:
        async with served(script) as server, connected(server.url) as side:
            for id in range(1, 7):
                side.ask(id)
                await side.messages(id)
                await side.idle()
        assert server.connections == 1
        assert [request["Cookie"] for request in server.requests] == [None, *["node=1"] * 2, *["node=3"] * 2, "node=5"]

    played(scene)


def test_the_cookies_of_an_origin_go_nowhere_else_and_stand_beside_the_user_s() -> None:
    """T27: a port of its own is another origin."""

    async def other(request: Request) -> None:
        await request.answer(response(request.id), 200, "application/json", "Set-Cookie: theirs=1")

    async def scene() -> None:
        async with served(other) as second:

            async def script(request: Request) -> None:
                if request.id == 2:
                    await request.answer(b"", 307, None, f"Location: {second.url}")
                else:
                    await request.answer(response(request.id), 200, "application/json", "Set-Cookie: ours=1")

            async with served(script) as first, connected(first.url, {"Cookie": "mine=1"}) as side:
                for id in range(1, 4):
                    side.ask(id)
                    await side.messages(id)
                assert [request["Cookie"] for request in first.requests] == ["mine=1", *["mine=1; ours=1"] * 2]
                assert [request["Cookie"] for request in second.requests] == [None]

    played(scene)


def test_a_server_that_is_gone_without_a_word_is_asked_for_by_the_system() -> None:
    """T27: a firewall that drops a silent connection."""
    with closing(probing_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 1)))) as made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if sys.platform == "linux":
            options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
            assert [made.getsockopt(socket.IPPROTO_TCP, option) for option in options] == [60, 15, 4]


@proves("B160")
def test_sixty_four_requests_at_once_in_any_order() -> None:
    async def scene() -> None:
        waiting: list[Request] = []
        all_here = asyncio.Event()

        async def script(request: Request) -> None:
            waiting.append(request)
            if len(waiting) == 64:
                all_here.set()
            await all_here.wait()
            await request.result(text=str(request.id))

        async with served(script) as server, connected(server.url) as side:
            for id in range(1, 65):
                side.ask(id)
            assert side.channel.backlog > 64 * 100
            said = await side.messages(64)
            assert {message["id"]: message["result"]["text"] for message in said} == {
                id: str(id) for id in range(1, 65)
            }
            assert (side.channel.backlog, side.drains) == (0, 1)

    played(scene)


def test_more_requests_than_the_limit_are_refused_at_once() -> None:
    async def scene() -> None:
        async def script(request: Request) -> None:
            await request.gone()

        limits = replace(Limits(), in_flight=2, grace=1.0)
        async with served(script) as server, connected(server.url, limits=limits, streams=1) as side:
            for id in range(1, 5):
                side.ask(id)
            assert not side.losses  # nothing is called back from within send
            loss = await side.loss()
            assert (side.losses[0][0], loss.kind) == (b"4", Cause.TOO_MANY_REQUESTS)

    played(scene)


@pytest.mark.parametrize("size", [2 << 20])
def test_a_large_request_goes_whole(size: int) -> None:
    async def scene() -> None:
        async with served(fine) as server, connected(server.url) as side:
            side.ask(1, arguments={"a": "x" * size})
            await side.messages(1)
        assert len(server.requests[0].message["params"]["arguments"]["a"]) == size
        assert server.requests[0]["Content-Length"] == str(len(server.requests[0].body))

    played(scene)


@proves("B111")
@pytest.mark.parametrize(("status", "body", "kind"), [(202, b"", None), (204, b"", None), (200, b"<p>", "text/html")])
def test_a_notification_is_posted_and_its_response_ignored(status: int, body: bytes, kind: str | None) -> None:
    async def scene() -> None:
        arrived = asyncio.Event()

        async def script(request: Request) -> None:
            if b'"id"' in request.body:
                await request.result()
            else:
                await request.answer(body, status, kind)
                arrived.set()

        async with served(script) as server, connected(server.url) as side:
            side.channel.send([b'{"jsonrpc":"2.0","method":"notifications/other"}'])
            await arrived.wait()
            side.ask(1)
            await side.messages(1)
            assert not side.notes
        assert server.requests[0]["Mcp-Method"] == "notifications/other"

    played(scene)


def test_a_notification_that_is_refused_is_noted() -> None:
    async def script(request: Request) -> None:
        await request.answer(b"", 400)

    async def scene() -> None:
        async with served(script) as server, connected(server.url) as side:
            side.channel.send([b'{"jsonrpc":"2.0","method":"notifications/other"}'])
            await side.until(lambda: bool(side.notes))
            assert side.notes == ["notifications/other was refused: HTTP status 400"]

    played(scene)


@proves("HTTP-04", "B126", "B128", "B129")
@pytest.mark.parametrize("step", [1, 3, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_an_event_stream_in_any_chunks(end: str, step: int) -> None:
    async def script(request: Request) -> None:
        answer = json.dumps(response(request.id, text="界😀"), ensure_ascii=False)
        text = "\ufeff: hello\n\n" + f"event: message\ndata: {json.dumps(PROGRESS)}\nid: 4\nretry: 1\n\n"
        text += "event: ping\ndata: {}\n\ndata:\n\n" + f"data:{answer[:12]}\ndata: {answer[12:]}\n\n"
        data = text.replace("\n", end).encode()
        await request.stream(*(data[place : place + step] for place in range(0, len(data), step)))

    async def scene() -> None:
        async with served(script) as server, connected(server.url) as side:
            side.ask(1)
            assert await side.messages(2) == [PROGRESS, response(1, text="界😀")]
            assert not any(b"\n" in line for line in side.lines)

    played(scene)


def test_an_answer_is_given_before_its_stream_ends() -> None:
    async def scene() -> None:
        async def script(request: Request) -> None:
            await request.stream(event(response(request.id)), end=False)
            await request.gone()
            closed.set()

        closed = asyncio.Event()
        async with served(script) as server, connected(server.url) as side:
            side.ask(1)
            await side.messages(1)
            await closed.wait()  # a stream that its server never ends is closed

    played(scene)


@pytest.mark.parametrize(
    "kind", ["application/json", "Application/JSON; charset=utf-8", "application/vnd.x+json", "text/event-stream"]
)
def test_messages_in_a_row_stay_in_order(kind: str) -> None:
    async def script(request: Request) -> None:
        if kind == "text/event-stream":
            body = b"".join(event({**PROGRESS, "n": number}) for number in range(100)) + event(response(request.id))
        else:
            body = json.dumps(response(request.id), indent=2).encode()
        await request.answer(body, 200, kind)

    async def scene() -> None:
        async with served(script) as server, connected(server.url) as side:
            side.ask(1)
            said = await side.messages(101 if kind == "text/event-stream" else 1)
            assert said[-1] == response(1)
            assert [message["n"] for message in said[:-1]] == list(range(len(said) - 1))

    played(scene)


@pytest.mark.parametrize("status", [200, 400, 404, 500, 503])
@pytest.mark.parametrize("id", ["own", "null", "absent"])
def test_an_error_of_the_server_is_an_answer_with_any_status(status: int, id: str) -> None:
    async def script(request: Request) -> None:
        error: dict[str, Any] = {"jsonrpc": "2.0", "error": {"code": -32601, "message": "no", "data": [1]}}
        if id != "absent":
            error["id"] = request.id if id == "own" else None
        await request.answer(error, status)

    async def scene() -> None:
        async with served(script) as server, connected(server.url) as side:
            side.ask(1)
            error = {"code": -32601, "message": "no", "data": [1]}
            assert await side.messages(1) == [{"jsonrpc": "2.0", "id": 1, "error": error}]

    played(scene)


def test_what_belongs_to_another_request_does_not_reach_it() -> None:
    async def script(request: Request) -> None:
        await request.stream(event(response(2)), event(b"no JSON"), event(response(1)))

    async def scene() -> None:
        async with served(script) as server, connected(server.url) as side:
            side.ask(1)
            await side.until(lambda: len(side.lines) == 2)
            assert side.lines[0] == b"no JSON"  # told by the back, as a line of a pipe is
            assert json.loads(side.lines[1]) == response(1)
            assert len(side.notes) == 1

    played(scene)


@proves("SIZE-03")
def test_a_large_answer_and_one_of_the_limit_pass() -> None:
    size = 1 << 20

    async def script(request: Request) -> None:
        empty = len(json.dumps(response(request.id, text="")))
        answer = response(request.id, text="x" * (size - empty))
        if request.id == 1:
            await request.answer(answer)
        else:
            await request.stream(event(answer))

    async def scene() -> None:
        async with served(script) as server, connected(server.url, response=size) as side:
            for id in (1, 2):
                side.ask(id)
                await side.messages(id)
                assert len(side.lines[-1]) == size

    played(scene)


@proves("HTTP-05")
@pytest.mark.parametrize("begun", [False, True])
def test_a_cancel_closes_the_response_and_sends_nothing(begun: bool) -> None:
    async def scene() -> None:
        arrived, closed = asyncio.Event(), asyncio.Event()

        async def script(request: Request) -> None:
            if request.id == 2:
                await request.result()
                return
            if begun:
                await request.stream(event(PROGRESS), end=False)
            arrived.set()
            await request.gone()
            closed.set()

        async with served(script) as server, connected(server.url) as side:
            side.ask(1)
            await arrived.wait()
            if begun:
                await side.messages(1)
                side.lines.clear()
            side.cancel(1)
            side.cancel(1)
            side.cancel(7)
            await closed.wait()
            side.ask(2)
            await side.messages(1)
            assert side.channel.backlog == 0
        assert [request.message["method"] for request in server.requests] == ["tools/call"] * 2

    played(scene)


def test_a_cancel_before_anything_is_sent() -> None:
    async def scene() -> None:
        async with served(fine) as server, connected(server.url) as side:
            side.ask(1)
            side.cancel(1)
            side.ask(2)
            assert (await side.messages(1))[0]["id"] == 2
            assert (side.channel.backlog, side.drains) == (0, 1)
        assert len(server.requests) == 1

    played(scene)


def test_while_paused_nothing_flows_and_the_server_feels_it() -> None:
    async def scene() -> None:
        count, paused, written = 512, asyncio.Event(), asyncio.Event()
        writers: list[asyncio.StreamWriter] = []

        async def script(request: Request) -> None:
            await request.stream(event(PROGRESS), end=False)
            await paused.wait()
            one = event({**PROGRESS, "pad": "x" * (1 << 16)})
            request.writer.write((b"%x\r\n%b\r\n" % (len(one), one)) * count)
            writers.append(request.writer)
            written.set()
            await request.chunk(event(response(request.id)))

        async with served(script) as server, connected(server.url) as side:
            side.ask(1)
            await side.messages(1)
            side.channel.pause()
            paused.set()
            await written.wait()
            for _ in range(1000):  # enough for all that can flow
                await asyncio.sleep(0)
            assert len(side.lines) == 1
            assert writers[0].transport.get_write_buffer_size() > count << 15
            side.channel.resume()
            await side.until(lambda: len(side.lines) == count + 2)

    played(scene)


def test_the_end_closes_all_and_tells_nothing_more() -> None:
    async def scene() -> None:
        arrived = asyncio.Semaphore(0)

        async def script(request: Request) -> None:
            if request.id % 2:
                await request.stream(event(PROGRESS), end=False)
            arrived.release()
            await request.gone()
            arrived.release()

        async with served(script) as server:
            side: Side
            async with connected(server.url) as side:
                for id in range(1, 11):
                    side.ask(id)
                for _ in range(10):
                    await arrived.acquire()
                side.channel.pause()
                begin = time.monotonic()
            assert time.monotonic() - begin < 1
            for _ in range(10):
                await arrived.acquire()
            count = len(side.lines)
            side.ask(99)
            assert not side.losses
            assert len(side.lines) == count
            assert len(server.requests) == 10

    played(scene)
