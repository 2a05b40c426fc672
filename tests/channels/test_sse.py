"""The channel to a server of HTTP+SSE: the endpoint, the order of messages, losses, the end."""

import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import pytest

from channels.scripted_http import Request, event, played, served
from channels.scripted_session import LOG, QUICK, accept, no_stream, result
from channels.scripted_sse import Stream, streaming
from dragoman.faults import Cause
from support.proofs import proves


def test_a_conversation() -> None:
    question: dict[str, Any] = {"jsonrpc": "2.0", "id": "q", "method": "roots/list"}

    async def scene() -> None:
        stream = Stream()
        async with streaming(stream, headers={"Authorization": "Bearer abc"}) as (server, side):
            await side.initialize()
            side.notify("notifications/initialized")
            side.call(1)
            await side.answer(1)
            await stream.say(question)
            await side.messages(3)
            side.say({"id": "q", "result": {"roots": []}})
            await side.until_idle()
            assert side.said == [result(0, text="fine"), result(1, text="fine"), question]
            assert side.of == [None] * 3
            assert not side.notes
            assert side.channel.backlog == 0
        names = [one.get("method", "") for one in stream.messages]
        assert names == ["initialize", "notifications/initialized", "tools/call", ""]
        get, *posts = server.requests
        assert (get.target, get["Accept"]) == ("/mcp/sse", "text/event-stream")
        for request in server.requests:
            assert request["Authorization"] == "Bearer abc"
            assert request["Accept-Encoding"] == "identity"
            assert request["Mcp-Session-Id"] is request["MCP-Protocol-Version"] is request["Last-Event-ID"] is None
        assert {one.target for one in posts} == {"/post?s=1"}
        assert {one["Content-Type"] for one in posts} == {"application/json"}

    played(scene)


@proves("B126", "B128", "B129")
@pytest.mark.parametrize("step", [1, 3, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_stream_in_any_chunks(end: str, step: int) -> None:
    async def get(request: Request) -> None:
        text = "\ufeff: hi\n\nevent: endpoint\ndata: /post\n\nevent: message\nid: 1\ndata: " + json.dumps(LOG)
        answer = json.dumps(result(0, text="界😀"), ensure_ascii=False)
        data = f"{text}\n\ndata:{answer[:12]}\ndata: {answer[12:]}\n\nevent: ping\ndata: x\n\n".replace("\n", end)
        await request.stream(
            *(data.encode()[place : place + step] for place in range(0, len(data.encode()), step)), end=False
        )
        await request.gone()

    async def scene() -> None:
        async with streaming(Stream(get=get, post=accept)) as (_, side):
            side.call(0)
            assert await side.messages(2) == [LOG, result(0, text="界😀")]
            assert not any(b"\n" in line for line in side.lines)

    played(scene)


# ---------------------------------------------------------------------- the endpoint


@pytest.mark.parametrize(
    ("endpoint", "target"),
    [
        ("/post?s=1", "/post?s=1"),
        ("post?s=1", "/mcp/post?s=1"),
        ("?s=1", "/mcp/sse?s=1"),
        ("../a%2Fb", "/a%2Fb"),
        ("http://127.0.0.1:PORT/x?y=%41", "/x?y=%41"),
        ("//127.0.0.1:PORT/z", "/z"),
    ],
)
def test_the_endpoint_is_resolved_against_the_url(endpoint: str, target: str) -> None:
    async def scene() -> None:
        stream = Stream()
        async with streaming(stream) as (server, side):
            stream.endpoint = endpoint.replace("PORT", str(server.port))
            await side.initialize()
            assert server.requests[1].target == target

    played(scene)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://127.0.0.1:1/post",
        "https://127.0.0.1:PORT/x",
        "//h.example/x",
        "http://localhost:PORT/x",
        "ftp://a/",
        "é",
    ],
)
def test_an_endpoint_elsewhere_is_refused(endpoint: str) -> None:
    async def scene() -> None:
        stream = Stream()
        async with streaming(stream) as (server, side):
            stream.endpoint = endpoint.replace("PORT", str(server.port))
            side.call(0, "initialize")
            loss = await side.loss()
            assert (loss.status, loss.kind) == (200, Cause.INVALID_RESPONSE)
            assert "endpoint event" in (loss.detail or "")
            assert "h.example" not in (loss.detail or "")
            assert not side.ends
            side.losses.clear()
            stream.endpoint = "/post"
            await side.initialize()
        assert [one.method for one in server.requests] == ["GET", "GET", "POST"]

    played(scene)


@proves("B124")
@pytest.mark.parametrize("endpoint", ["/messages?s=1", "http://127.0.0.1:PORT/messages?s=1"])
def test_a_server_behind_a_prefix_is_found_below_it(endpoint: str) -> None:
    async def scene() -> None:
        async def post(request: Request) -> None:
            if request.target.startswith("/mcp/"):
                await stream.serve(request)
            else:
                await request.answer(b"", 404, None)

        stream = Stream(post=post)
        async with streaming(stream) as (server, side):
            stream.endpoint = endpoint.replace("PORT", str(server.port))
            await side.initialize()
            side.call(1)
            await side.answer(1)
            assert [one.target for one in server.requests[1:]] == [
                "/messages?s=1",
                "/mcp/messages?s=1",
                "/mcp/messages?s=1",
            ]

    played(scene)


@proves("B124")
@pytest.mark.parametrize(("endpoint", "tries"), [("/messages", 2), ("messages", 1), ("?s=1", 1)])
def test_an_endpoint_that_is_nowhere_is_told(endpoint: str, tries: int) -> None:
    async def post(request: Request) -> None:
        await request.answer(b"", 404, None)

    async def scene() -> None:
        stream = Stream(endpoint, post=post)
        async with streaming(stream) as (_, side):
            side.call(0, "initialize")
            loss = await side.loss()
            assert (loss.status, loss.kind) == (404, Cause.TRANSPORT_FAILED)
            assert (loss.detail or "").startswith("HTTP status 404")
            assert len(stream.messages) == tries
            assert not side.ends

    played(scene)


def test_a_404_after_the_first_post_is_no_reason_to_look_elsewhere() -> None:
    async def scene() -> None:
        async def post(request: Request) -> None:
            if request.id == 1:
                await request.answer(b"", 404, None)
            else:
                await stream.serve(request)

        stream = Stream(post=post)
        async with streaming(stream) as (_, side):
            await side.initialize()
            side.call(1)
            assert (await side.loss()).detail == "HTTP status 404"
        assert len(stream.messages) == 2

    played(scene)


async def silent(request: Request) -> None:
    await request.stream(b": wait\n\n", end=False)
    await request.gone()


async def ended(request: Request) -> None:
    await request.stream(event(LOG))


async def text(request: Request) -> None:
    await request.answer(b"hello", 200, "text/plain")


async def document(request: Request) -> None:
    await request.answer(b"{}")


async def unauthorized(request: Request) -> None:
    await request.answer(b"", 401, None)


@pytest.mark.parametrize(
    ("get", "status", "kind"),
    [
        (silent, None, Cause.TRANSPORT_FAILED),
        (ended, 200, Cause.TRANSPORT_FAILED),
        (text, 200, Cause.INVALID_RESPONSE),
        (document, 200, Cause.INVALID_RESPONSE),
        (no_stream, 405, Cause.TRANSPORT_FAILED),
        (unauthorized, 401, Cause.TRANSPORT_FAILED),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_without_an_endpoint_every_waiting_request_is_lost_and_the_next_one_tries_again(
    get: Any, status: int | None, kind: Cause
) -> None:
    async def scene() -> None:
        stream = Stream(get=get)
        limit = 0.05 if get is silent else 30.0
        async with streaming(stream, endpoint=limit) as (_, side):
            side.call(0, "initialize")
            side.notify("notifications/x")
            side.call(1)
            await side.until(lambda: len(side.losses) == 2)
            assert {(loss.status, loss.kind) for _, loss in side.losses} == {(status, kind)}
            assert [id for id, _ in side.losses] == [b"0", b"1"]
            assert not side.ends
            side.losses.clear()
            side.lines.clear()
            stream.get = stream.open
            await side.initialize()
            await side.until_true(lambda: side.channel.backlog == 0)

    played(scene)


# ---------------------------------------------------------------------- order and losses


def test_messages_are_posted_one_after_the_other() -> None:
    async def scene() -> None:
        go = asyncio.Event()

        async def post(request: Request) -> None:
            if len(stream.messages) == 2:
                await go.wait()
            await stream.serve(request)

        stream = Stream(post=post)
        async with streaming(stream) as (_, side):
            await side.initialize()
            side.notify("notifications/initialized")
            for id in range(1, 20):
                side.call(id)
            await side.until_true(lambda: len(stream.messages) == 2)
            await asyncio.sleep(0.005)
            assert len(stream.messages) == 2
            go.set()
            for id in range(1, 20):
                await side.answer(id)
        assert [one["id"] for one in stream.messages[2:]] == list(range(1, 20))

    played(scene)


def test_a_request_that_is_accepted_only_when_it_is_served_holds_up_nothing_for_ever() -> None:
    async def scene() -> None:
        answered = asyncio.Event()

        async def post(request: Request) -> None:
            if "method" not in request.message:
                answered.set()
            elif request.message["method"] == "tools/call":
                await stream.say({"jsonrpc": "2.0", "id": "q", "method": "roots/list"})
                await answered.wait()
            await stream.serve(request)

        stream = Stream(post=post)
        async with streaming(stream, turn=0.001) as (_, side):
            await side.initialize()
            side.call(1)
            await side.messages(2)
            side.say({"id": "q", "result": {"roots": []}})
            await side.answer(1)

    played(scene)


@pytest.mark.parametrize("status", [200, 202, 204])
def test_any_good_status_accepts(status: int) -> None:
    async def scene() -> None:
        async def post(request: Request) -> None:
            await request.answer(b"" if status == 204 else b"Accepted", status, "text/plain")
            await stream.say(result(request.id))

        stream = Stream(post=post)
        async with streaming(stream) as (server, side):
            for id in (1, 2, 3):
                side.call(id)
                await side.answer(id)
        assert server.connections == 2  # the stream's, and one for all messages

    played(scene)


@proves("HTTP-10", "B122")
def test_a_post_that_fails_is_told_of_its_request_alone() -> None:
    async def scene() -> None:
        async def post(request: Request) -> None:
            message = request.message
            if message.get("id") == 1 or message["method"] == "notifications/x":
                await request.answer(b"", 500, None)
            elif message.get("id") == 2:
                request.reset()
            else:
                await stream.serve(request)

        stream = Stream(post=post)
        async with streaming(stream) as (_, side):
            await side.initialize()
            side.call(1)
            side.notify("notifications/x")
            side.call(2)
            side.call(3)
            await side.until(lambda: len(side.lines) == 2 and len(side.losses) == 2)
            assert [(id, loss.status) for id, loss in side.losses] == [(b"1", 500), (b"2", None)]
            assert side.notes == ["notifications/x was lost: HTTP status 500"]
            assert not side.ends

    played(scene)


@pytest.mark.parametrize("how", ["end", "reset", "long"])
def test_the_end_of_the_stream_is_the_end_of_the_server(how: str) -> None:
    async def scene() -> None:
        stream = Stream(post=accept)
        async with streaming(stream, response=2000) as (server, side):
            side.call(1)
            await side.until_true(lambda: bool(stream.messages))
            if how == "end":
                await stream.streams[0].raw(b"0\r\n\r\n")
            elif how == "reset":
                stream.streams[0].reset()
            else:
                await stream.streams[0].chunk(b"data: " + b"x" * 5000)
            await side.until(lambda: bool(side.ends))
            ((words, cause),) = side.ends
            assert cause is {"end": Cause.CLOSED, "reset": Cause.TRANSPORT_FAILED, "long": Cause.INVALID_RESPONSE}[how]
            assert words.startswith(("closed", "is lost"))
            count = len(server.requests)
            side.call(2)
            await asyncio.sleep(0)
            assert len(server.requests) == count
            assert not side.losses

    played(scene)


@pytest.mark.parametrize("begun", [False, True])
def test_a_cancel_is_posted_if_its_request_was(begun: bool) -> None:
    async def scene() -> None:
        go = asyncio.Event()

        async def post(request: Request) -> None:
            if request.message.get("method") == "notifications/slow":
                await go.wait()
            await accept(request)

        stream = Stream(post=post)
        async with streaming(stream) as (_, side):
            side.call(1)
            await side.until_true(lambda: bool(stream.messages) and side.channel.backlog == 0)
            side.cancel(1)
            side.cancel(1)
            side.notify("notifications/slow")
            side.call(2)
            if begun:
                await side.until_true(lambda: len(stream.messages) == 3)
            side.cancel(2)
            side.notify("notifications/last")
            await side.until_true(lambda: len(stream.messages) == 3)
            await asyncio.sleep(0.005)
            assert len(stream.messages) == 3  # what takes the place of the request waits as it would have waited
            assert side.channel.backlog == 0
            go.set()
            await side.until_true(lambda: len(stream.messages) == 4)
        names = [one["method"] for one in stream.messages]
        assert names == ["tools/call", "notifications/cancelled", "notifications/slow", "notifications/last"]
        assert stream.messages[1]["params"]["requestId"] == 1

    played(scene)


def test_more_requests_than_the_limit_are_refused_at_once() -> None:
    async def scene() -> None:
        async with streaming(Stream(post=accept), limits=replace(QUICK, in_flight=2), streams=1) as (_, side):
            for id in range(1, 5):
                side.call(id)
            assert not side.losses
            loss = await side.loss()
            assert (side.losses[0][0], loss.kind) == (b"4", Cause.TOO_MANY_REQUESTS)

    played(scene)


def test_while_paused_nothing_flows() -> None:
    async def scene() -> None:
        stream = Stream()
        async with streaming(stream) as (_, side):
            await side.initialize()
            side.channel.pause()
            side.call(1)
            await side.until_true(lambda: len(stream.messages) == 2 and side.channel.backlog == 0)
            await asyncio.sleep(0.005)
            assert len(side.lines) == 1
            side.channel.resume()
            await side.answer(1)

    played(scene)


@proves("HTTP-11")
def test_a_redirected_stream_takes_its_endpoint_along_and_no_header_of_the_users() -> None:
    async def scene() -> None:
        stream = Stream("/post")

        async def moved(request: Request) -> None:
            await request.answer(b"", 302, None, f"Location: http://127.0.0.1:{second.port}/there/sse")

        async with (
            served(stream) as second,
            streaming(moved, headers={"Authorization": "Bearer abc"}) as (first, side),
        ):
            await side.initialize()
            assert first.requests[0]["Authorization"] == "Bearer abc"
            assert [one.target for one in second.requests] == ["/there/sse", "/post"]
            assert all(one["Authorization"] is None for one in second.requests)

    played(scene)


@pytest.mark.parametrize("state", ["before", "open"])
def test_the_end_is_quick_and_nothing_is_told_after_it(state: str) -> None:
    async def scene() -> None:
        stream = Stream(get=silent if state == "before" else None, post=accept)
        async with streaming(stream) as (server, side):
            side.call(1)
            await side.until_true(lambda: bool(server.requests if state == "before" else stream.messages))
            begin = time.monotonic()
        assert time.monotonic() - begin < 0.5
        count = len(server.requests)
        side.call(2)
        await asyncio.sleep(0)
        assert not side.losses
        assert not side.ends
        assert len(server.requests) == count

    played(scene)
