"""Requests, notifications and answers of the channel to a server with sessions: headers, order, cancel, the end."""

import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import pytest

from channels.scripted_http import Request, event, played
from channels.scripted_session import LATEST, LOG, QUICK, Sessions, accept, echo, held, no_stream, opened, result
from dragoman.faults import Cause
from support.proofs import proves


def test_the_headers_of_a_session() -> None:
    async def scene() -> None:
        async with opened(Sessions(get=held)) as (server, side):
            side.call(1)
            assert await side.answer(1) == result(1, text="fine")
        first, *later = server.requests
        assert first.message["method"] == "initialize"
        assert first["Mcp-Session-Id"] is first["MCP-Protocol-Version"] is None
        assert [request.method for request in later] == ["POST", "GET", "POST", "DELETE"]
        for request in later:
            assert (request["Mcp-Session-Id"], request["MCP-Protocol-Version"]) == ("s1", LATEST)
        for request in server.requests:
            assert request["Accept-Encoding"] == "identity"
            assert request["Mcp-Method"] is request["Mcp-Name"] is request["Last-Event-ID"] is None
            if request.method == "POST":
                assert request["Accept"] == "application/json, text/event-stream"
                assert request["Content-Type"] == "application/json"
        assert later[1]["Accept"] == "text/event-stream"

    played(scene)


@proves("B118")
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_agreed_revision_is_repeated_and_not_the_wished_one(revision: str) -> None:
    async def scene() -> None:
        async with opened(Sessions(revisions=(revision,))) as (server, side):
            side.call(1)
            await side.answer(1)
        assert {request["MCP-Protocol-Version"] for request in server.requests[1:]} == {revision}

    played(scene)


def test_a_server_without_sessions_gets_no_session_id_and_no_delete() -> None:
    async def script(request: Request) -> None:
        if request.method == "GET":
            await no_stream(request)
        elif b'"id"' not in request.body:
            await accept(request)
        elif request.message["method"] == "initialize":
            await request.answer(result(request.id, protocolVersion=LATEST))
        elif request.id == 1:
            await request.answer(b"", 404, None)
        else:
            await echo(request)

    async def scene() -> None:
        async with opened(script) as (server, side):
            side.call(1)
            assert (await side.loss()).detail == "HTTP status 404"
            side.losses.clear()
            side.call(2)
            await side.answer(2)
        assert all(request["Mcp-Session-Id"] is None for request in server.requests)
        assert [request.method for request in server.requests] == ["POST", "POST", "GET", "POST", "POST"]

    played(scene)


def test_a_session_id_that_cannot_be_sent_back_fails_initialize() -> None:
    async def script(request: Request) -> None:
        await request.answer(result(request.id, protocolVersion=LATEST), 200, "application/json", "Mcp-Session-Id: a b")

    async def scene() -> None:
        async with opened(script, handshake=False) as (_, side):
            side.call(0, "initialize")
            loss = await side.loss()
            assert (loss.status, loss.kind) == (200, Cause.INVALID_RESPONSE)

    played(scene)


# ---------------------------------------------------------------------- order


@proves("B111")
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (202, b"", None),
        (202, b"body", "text/plain"),
        (200, b"", None),
        (200, b"{}", "application/json"),
        (200, b"<p>", "text/html"),
        (204, b"", None),
        (400, b"", None),
        (500, b"<p>", "text/html"),
    ],
)
def test_initialized_is_accepted_before_anything_follows(status: int, body: bytes, kind: str | None) -> None:
    async def scene() -> None:
        asked, go = asyncio.Event(), asyncio.Event()

        async def notify(request: Request) -> None:
            asked.set()
            await go.wait()
            await request.answer(body, status, kind)

        sessions = Sessions(notify=notify)
        async with opened(sessions) as (_, side):
            side.call(1)
            await asked.wait()
            for _ in range(100):
                await asyncio.sleep(0)
            assert sessions.seen == ["POST initialize", "POST notifications/initialized"]
            go.set()
            await side.answer(1)
            assert bool(side.notes) is (status >= 400)
            assert all(f"HTTP status {status}" in note for note in side.notes)
        assert sessions.seen[2:4] == ["GET", "POST tools/call"]

    played(scene)


@proves("B111")
def test_a_chunked_empty_response_accepts_too() -> None:
    async def notify(request: Request) -> None:
        await request.raw(b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")

    async def scene() -> None:
        async with opened(Sessions(notify=notify)) as (_, side):
            side.call(1)
            await side.answer(1)
            assert not side.notes

    played(scene)


def test_a_notification_that_is_never_accepted_is_not_waited_for_for_ever() -> None:
    async def notify(request: Request) -> None:
        await request.gone()

    async def scene() -> None:
        async with opened(Sessions(notify=notify), replace(QUICK, grace=0.05), accept=0.001) as (_, side):
            side.call(1)
            await side.answer(1)

    played(scene)


def test_notifications_keep_their_place_before_what_follows() -> None:
    async def scene() -> None:
        go = asyncio.Event()

        async def notify(request: Request) -> None:
            if request.message["method"] == "notifications/progress":
                await go.wait()
            await accept(request)

        sessions = Sessions(notify=notify)
        async with opened(sessions) as (_, side):
            side.call(1)
            await side.answer(1)
            before = len(sessions.seen)
            side.notify("notifications/progress", progressToken=1, progress=1)
            side.notify("notifications/roots/list_changed")
            side.call(2)
            side.say({"id": 7, "result": {}})
            await asyncio.sleep(0.01)
            assert sessions.seen[before:] == ["POST notifications/progress"]
            go.set()
            await side.answer(2)
            await side.until(lambda: len(sessions.seen) >= before + 4)
        assert sessions.seen[before + 1] == "POST notifications/roots/list_changed"
        assert sorted(sessions.seen[before + 2 : before + 4]) == ["POST", "POST tools/call"]

    played(scene)


def test_the_first_call_waits_for_the_response_to_the_get_but_not_for_long() -> None:
    async def scene() -> None:
        go = asyncio.Event()

        async def get(request: Request) -> None:
            await go.wait()
            await held(request)

        for seconds in (5.0, 0.001):
            go.clear()
            sessions = Sessions(get=get)
            async with opened(sessions, listen=seconds) as (_, side):
                side.call(1)
                if seconds == 5.0:
                    await asyncio.sleep(0.02)
                    assert sessions.seen[-1] == "GET"
                    go.set()
                await side.answer(1)

    played(scene)


# ---------------------------------------------------------------------- what responses carry


@proves("HTTP-04")
def test_what_a_stream_carries_is_of_its_request_and_comes_in_order() -> None:
    question: dict[str, Any] = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {}}

    async def call(request: Request) -> None:
        await request.stream(event(b"", b"") + event(LOG), event(question), event(result(request.id, a=1)), end=False)
        await request.gone()

    async def scene() -> None:
        sessions = Sessions(call=call)
        async with opened(sessions) as (server, side):
            side.call(1)
            assert await side.messages(3) == [LOG, question, result(1, a=1)]
            assert side.of == [b"1"] * 3
            side.say({"id": "q", "result": {"action": "decline"}})
            await side.idle()
            answer = server.requests[-1]
            assert answer.message == {"jsonrpc": "2.0", "id": "q", "result": {"action": "decline"}}
            assert answer["Mcp-Session-Id"] == "s1"
            assert not side.notes

    played(scene)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
def test_a_batch_is_taken_apart_for_the_revision_that_has_it(kind: str, revision: str) -> None:
    async def call(request: Request) -> None:
        batch = json.dumps([LOG, result(request.id, a=1.0), LOG], indent=1).encode()
        body = batch if kind == "application/json" else b"data: " + batch.replace(b"\n", b"\ndata: ") + b"\n\n"
        await request.answer(body, 200, kind)

    async def scene() -> None:
        async with opened(Sessions(call=call, revisions=(revision,))) as (_, side):
            side.call(1)
            if revision == "2025-03-26":
                assert await side.messages(3) == [LOG, LOG, result(1, a=1.0)]
                assert side.of == [b"1"] * 3
                assert not any(b"\n" in line for line in side.lines)
            else:
                assert (await side.loss()).status == 200

    played(scene)


@proves("HTTP-10", "B122")
@pytest.mark.parametrize(
    ("status", "body", "kind", "cause"),
    [
        (500, b"<html>", "text/html", Cause.TRANSPORT_FAILED),
        (502, b"", None, Cause.TRANSPORT_FAILED),
        (401, b"", None, Cause.TRANSPORT_FAILED),
        (403, b"{}", "application/json", Cause.TRANSPORT_FAILED),
        (400, b"nonsense", "application/json", Cause.TRANSPORT_FAILED),
        (200, b"<html>", "text/html", Cause.INVALID_RESPONSE),
        (200, b"{}", "application/json", Cause.INVALID_RESPONSE),
        (202, b"", None, Cause.INVALID_RESPONSE),
    ],
)
def test_a_status_without_a_response_is_told_and_the_session_lives(
    status: int, body: bytes, kind: str | None, cause: Cause
) -> None:
    async def call(request: Request) -> None:
        if request.id == 1:
            await request.answer(body, status, kind)
        else:
            await echo(request)

    async def scene() -> None:
        sessions = Sessions(call=call)
        async with opened(sessions) as (_, side):
            side.call(1)
            loss = await side.loss()
            assert (loss.status, loss.kind) == (status, cause)
            assert (loss.detail or "").startswith(f"HTTP status {status}")
            side.losses.clear()
            side.call(2)
            await side.answer(2)
            assert side.channel.backlog == 0
        assert sessions.count == 1

    played(scene)


@pytest.mark.parametrize("status", [200, 400, 500])
def test_an_error_of_the_server_is_the_response_with_any_status(status: int) -> None:
    error: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}

    async def call(request: Request) -> None:
        if request.id == 1:
            await request.answer(error, status)
        else:
            await echo(request)

    async def scene() -> None:
        sessions = Sessions(call=call)
        async with opened(sessions) as (_, side):
            side.call(2)
            await side.answer(2)
            side.call(1)
            assert await side.answer(1) == error
        assert sessions.count == 1

    played(scene)


def test_a_response_to_something_else_does_not_reach_the_request() -> None:
    async def call(request: Request) -> None:
        await request.stream(event(result(9)), event(result(request.id)))

    async def scene() -> None:
        async with opened(Sessions(call=call)) as (_, side):
            side.call(1)
            assert await side.messages(1) == [result(1)]
            assert len(side.notes) == 1

    played(scene)


# ---------------------------------------------------------------------- cancel, pressure, the end


def test_a_cancel_is_posted_and_the_response_given_up() -> None:
    async def scene() -> None:
        arrived, closed = asyncio.Event(), asyncio.Event()

        async def call(request: Request) -> None:
            await request.stream(event(LOG), end=False)
            arrived.set()
            await request.gone()
            closed.set()

        sessions = Sessions(call=call)
        async with opened(sessions) as (server, side):
            side.call(1)
            await arrived.wait()
            side.cancel(1)
            side.cancel(1)
            side.cancel(9)
            await closed.wait()
            await side.idle()
            told = [one for one in server.requests if b"notifications/cancelled" in one.body]
            assert [one.message["params"]["requestId"] for one in told] == [1]
            assert told[0]["Mcp-Session-Id"] == "s1"
            assert not side.losses

    played(scene)


@pytest.mark.parametrize("begun", [False, True])
def test_a_cancel_of_what_was_never_posted_is_not_posted(begun: bool) -> None:
    async def scene() -> None:
        go = asyncio.Event()

        async def notify(request: Request) -> None:
            await go.wait()
            await accept(request)

        sessions = Sessions(notify=notify)
        async with opened(sessions) as (_, side):
            side.call(1)
            if begun:
                await asyncio.sleep(0)
            side.cancel(1)
            side.call(2)
            go.set()
            await side.answer(2)
            assert side.channel.backlog == 0
        assert sessions.seen.count("POST tools/call") == 1
        assert "POST notifications/cancelled" not in sessions.seen

    played(scene)


def test_while_paused_nothing_flows_from_any_stream() -> None:
    async def scene() -> None:
        written = asyncio.Semaphore(0)

        async def call(request: Request) -> None:
            await request.stream(event(LOG), event(result(request.id)))
            written.release()

        async def get(request: Request) -> None:
            await request.stream(b":\n\n", end=False)
            await go.wait()
            await request.chunk(event(LOG))
            written.release()
            await request.gone()

        go = asyncio.Event()
        async with opened(Sessions(call=call, get=get)) as (_, side):
            side.call(1)
            await side.messages(2)
            side.channel.pause()
            go.set()
            side.call(2)
            for _ in range(3):
                await written.acquire()
            await asyncio.sleep(0.01)
            assert len(side.lines) == 2
            side.channel.resume()
            await side.until(lambda: len(side.lines) == 5)
            assert side.of.count(None) == 1

    played(scene)


def test_more_requests_than_the_limit_are_refused_at_once() -> None:
    async def call(request: Request) -> None:
        await request.gone()

    async def scene() -> None:
        async with opened(Sessions(call=call), replace(QUICK, in_flight=2), streams=1) as (_, side):
            for id in range(1, 5):
                side.call(id)
            assert not side.losses
            loss = await side.loss()
            assert (side.losses[0][0], loss.kind) == (b"4", Cause.TOO_MANY_REQUESTS)

    played(scene)


@proves("B123")
@pytest.mark.parametrize("status", [200, 202, 404, 405, 501, None])
def test_the_end_is_one_delete_and_any_status_is_fine(status: int | None) -> None:
    async def delete(request: Request) -> None:
        if status is None:
            await request.gone()
        else:
            await request.answer(b"", status, None)

    async def scene() -> None:
        sessions = Sessions(delete=delete, get=held)
        async with opened(sessions, replace(QUICK, grace=0.2)) as (_, side):
            side.call(1)
            await side.answer(1)
            begin = time.monotonic()
        assert time.monotonic() - begin < 1.0
        assert sessions.seen.count("DELETE") == 1
        assert not side.notes

    played(scene)


def test_a_cancel_just_before_the_end_still_goes_out_before_delete() -> None:
    async def scene() -> None:
        arrived = asyncio.Event()

        async def call(request: Request) -> None:
            arrived.set()
            await request.gone()

        sessions = Sessions(call=call)
        async with opened(sessions) as (_, side):
            side.call(1)
            await arrived.wait()
            side.cancel(1)
        assert sessions.seen[-2:] == ["POST notifications/cancelled", "DELETE"]

    played(scene)


def test_after_the_end_nothing_is_told_and_nothing_is_sent() -> None:
    async def scene() -> None:
        arrived = asyncio.Event()

        async def call(request: Request) -> None:
            arrived.set()
            await request.gone()

        sessions = Sessions(call=call, get=held)
        async with opened(sessions) as (_, side):
            side.call(1)
            await arrived.wait()
        count = len(sessions.seen)
        side.call(2)
        await asyncio.sleep(0)
        assert not side.losses
        assert not side.lines
        assert len(sessions.seen) == count

    played(scene)
