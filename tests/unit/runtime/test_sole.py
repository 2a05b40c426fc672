"""A server with a handshake for each session: its life is the session's, and what it says is nobody else's."""

import asyncio
from typing import Any

import pytest

from dragoman.limits import Reception
from support.listener import (
    Listener,
    Server,
    call,
    elapse,
    error_of,
    initialize,
    notice,
    obliging,
    request,
    scene,
    settle,
    text_of,
)
from support.proofs import proves

pytestmark = pytest.mark.timeout(20)

REVISION = "2025-11-25"
FORM: dict[str, Any] = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}


def mute(server: Server, frame: dict[str, Any]) -> None:
    """Answers nothing."""


def refusing(server: Server, frame: dict[str, Any]) -> None:
    server.fail(frame, -32602)


@proves("B45", "B66")
@scene
async def test_a_server_is_started_by_its_session_and_ends_with_it() -> None:
    listener = Listener(handshake=REVISION)
    sessions = [await listener.open() for _ in range(3)]
    assert [server.starts for server in listener.servers] == [1, 1, 1]
    await listener.delete(sessions[1])
    await settle()
    assert [server.running for server in listener.servers] == [True, False, True]
    await listener.close()


@proves("B67")
@scene
async def test_an_idle_session_takes_its_server_along() -> None:
    listener = Listener(handshake=REVISION, reception=Reception(session_idle=100, unheld_idle=100))
    await listener.open()
    await elapse(101)
    assert not listener.endpoint.directory.sessions
    assert not listener.servers[0].running
    await listener.close()


@scene
async def test_a_connection_of_sse_takes_its_server_along() -> None:
    listener = Listener(handshake=REVISION)
    stream = await listener.get()
    (session,) = listener.endpoint.directory.sessions
    await listener.post_to(session, initialize("2024-11-05"))
    await settle()
    assert listener.servers[0].running
    stream.hang_up()
    await settle()
    assert not listener.servers[0].running
    await listener.close()


@scene
async def test_a_stream_for_everything_ends_with_its_server_and_not_before_all_is_told() -> None:
    listener = Listener(handshake=REVISION)
    stream = await listener.get()
    (session,) = listener.endpoint.directory.sessions
    await listener.post_to(session, initialize("2024-11-05"))
    await listener.post_to(session, notice("initialized"))
    listener.servers[0].script = mute
    await listener.post_to(session, call(1))
    listener.servers[0].die()
    await elapse(1)
    await stream.end()
    assert error_of(stream.messages[-1]) == (-32603, "upstream_exited")
    assert not listener.endpoint.directory.sessions
    await listener.close()


@scene
async def test_a_server_that_is_never_needed_is_never_started() -> None:
    listener = Listener(handshake=REVISION)
    await listener.post({**initialize(), "params": {}})
    stream = await listener.get()
    stream.hang_up()
    await elapse(1)
    assert not listener.endpoint.directory.sessions
    assert [server.starts for server in listener.servers] == [0, 0]
    await listener.close()


@proves("INIT-09")
@scene
async def test_a_server_that_refuses_is_ended_before_its_client_hears() -> None:
    listener = Listener(handshake=REVISION)
    listener.script = refusing
    opening = await listener.post(initialize())
    (server,) = listener.servers
    assert not server.running
    assert opening.status == 200
    assert "mcp-session-id" not in opening.headers
    assert (await opening.message())["error"]["code"] == -32602
    await elapse(1)
    assert not listener.endpoint.directory.sessions
    await listener.close()


@scene
async def test_what_a_server_says_reaches_its_own_session_only() -> None:
    listener = Listener(handshake=REVISION)
    listener.offers = {"tools": {"listChanged": True}, "logging": {}}
    first, second = await listener.open(), await listener.open()
    streams = [await listener.get(session) for session in (first, second)]
    listener.servers[1].say(notice("tools/list_changed"), notice("message", level="info", data=1))
    await settle()
    assert streams[0].messages == []
    assert [message["method"] for message in streams[1].messages] == [
        "notifications/tools/list_changed",
        "notifications/message",
    ]
    await listener.close()


@proves("B86", "B87")
@scene
async def test_a_question_of_a_server_is_asked_and_answered() -> None:
    listener = Listener(handshake=REVISION)
    session = await listener.open(elicitation={"form": {}})
    stream = await listener.get(session)
    answer = await listener.post(call(1, "book"), session)
    (server,) = listener.servers
    frame = await server.hears()
    server.say(request("q", "elicitation/create", **FORM))
    await settle()
    (question,) = [*answer.messages, *stream.messages]
    result: dict[str, Any] = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
    assert (await listener.post(result, session)).status == 202
    await settle()
    assert server.frames[-1] == {"jsonrpc": "2.0", "id": "q", "result": {"action": "decline"}}
    server.text(frame, "booked")
    await answer.end()
    assert text_of(answer.messages[-1]) == "booked"
    await listener.close()


@scene
async def test_a_server_that_dies_in_the_handshake_fails_it() -> None:
    listener = Listener(handshake=REVISION)
    listener.script = mute
    opening = await listener.post(initialize())
    listener.servers[0].die()
    assert error_of(await opening.message())[1] == "upstream_exited"
    await elapse(1)
    assert not listener.endpoint.directory.sessions
    listener.script = obliging
    assert await listener.open()
    await listener.close()


@scene
async def test_the_end_waits_for_every_server() -> None:
    listener = Listener(handshake=REVISION)
    for _ in range(2):
        await listener.open()
    may_end = asyncio.Event()
    for server in listener.servers:
        server.may_end = may_end
    closing = asyncio.ensure_future(listener.close())
    await settle()
    assert not closing.done()
    may_end.set()
    await closing


@scene
async def test_a_message_at_which_we_break_costs_its_call_only() -> None:
    """B1"""
    listener = Listener(handshake=REVISION)
    session = await listener.open()
    broken, fine = [await listener.post(call(id, "slow"), session) for id in (1, 2)]
    front: Any = listener.endpoint.directory.sessions[session].front
    done = front.done

    def breaks_once(*_: object) -> None:
        front.done = done
        raise ZeroDivisionError

    front.done = breaks_once
    for frame in listener.servers[0].heard("tools/call"):
        listener.servers[0].text(frame, "x")
    assert error_of(await broken.message())[1] == "internal"
    assert text_of(await fine.message()) == "x"
    await listener.close()
