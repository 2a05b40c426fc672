"""The endpoint: which era a client is of, what belongs to whom, and what time does."""

from typing import Any

import pytest

from dragoman.limits import Reception
from dragoman.transports.http.server.authentication import Challenge, Gate
from dragoman.transports.http.server.head import Reply
from support.listener import (
    MODERN,
    Listener,
    Server,
    call,
    elapse,
    error_of,
    initialize,
    modern,
    notice,
    obliging,
    request,
    scene,
    settle,
    text_of,
)
from support.proofs import proves

pytestmark = pytest.mark.timeout(20)

LEGACY = ("2025-03-26", "2025-06-18", "2025-11-25")
ELICITS: dict[str, Any] = {"elicitation": {"form": {}}}
QUESTION: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}},
}


class Users(Gate):
    """Whoever has a token is who the token says."""

    async def admit(self, authorization: str | None) -> str | Challenge | None:
        return authorization

    def describes(self, path: str) -> bool:
        return False

    def description(self) -> Reply:
        return Reply(404)

    def reload(self) -> None:
        pass


# ---------------------------------------------------------------------- eras


@proves("THTTP-01")
@pytest.mark.parametrize("revision", LEGACY)
@scene
async def test_a_client_that_initializes_gets_a_session_of_its_revision(revision: str) -> None:
    listener = Listener()
    session = await listener.open(revision)
    assert session.isascii()
    assert session.isprintable()
    answer = await listener.post(call(1, text="hi"), session, mcp_protocol_version=revision)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert "mcp-session-id" not in answer.headers
    assert text_of(await answer.message()) == "hi"
    await listener.close()


@proves("THTTP-01")
@scene
async def test_a_client_of_the_modern_era_needs_no_session_and_gets_none() -> None:
    listener = Listener()
    for message in (call(1, text="a"), request("1", "server/discover")):
        answer = await listener.modern(message)
        assert answer.status == 200
        assert "mcp-session-id" not in answer.headers
        assert (await answer.message())["id"] == message["id"]
    assert not listener.endpoint.directory.sessions
    await listener.close()


@scene
async def test_both_eras_share_one_server() -> None:
    listener = Listener()
    session = await listener.open()
    assert text_of(await (await listener.post(call(1, text="old"), session)).message()) == "old"
    assert text_of(await (await listener.modern(call(1, text="new"))).message()) == "new"
    assert listener.server.starts == 1
    await listener.close()


@scene
async def test_a_session_id_means_nothing_to_a_modern_request() -> None:
    listener = Listener()
    for session in (await listener.open(), "unknown"):
        answer = await listener.post(modern(call(1, text="new")), session)
        assert text_of(await answer.message()) == "new"
    await listener.close()


@proves("B118")
@scene
async def test_the_body_of_initialize_decides_and_not_its_header() -> None:
    listener = Listener()
    answer = await listener.post(initialize("2025-06-18"), mcp_protocol_version=MODERN)
    assert (await answer.message())["result"]["protocolVersion"] == "2025-06-18"
    assert answer.headers["mcp-session-id"]
    await listener.close()


@scene
async def test_each_client_has_a_server_with_a_handshake_of_its_own() -> None:
    listener = Listener(handshake="2025-11-25")
    alone = await (await listener.modern(call(7, text="alone"))).message()
    assert text_of(alone) == "alone"
    assert alone["result"]["resultType"] == "complete"
    first, second = await listener.open(), await listener.open()
    assert text_of(await (await listener.post(call(1, text="a"), first)).message()) == "a"
    assert text_of(await (await listener.post(call(1, text="b"), second)).message()) == "b"
    assert len(listener.servers) == 3
    await listener.close()


# ---------------------------------------------------------------------- what is refused

PING = request(1, "ping")
RESULT: dict[str, Any] = {"jsonrpc": "2.0", "id": "b-9", "result": {}}
NO_REQUESTS: list[tuple[Any, int, int | None]] = [
    ({**PING, "id": None}, 400, -32600),
    ({**PING, "id": True}, 400, -32600),
    ({**PING, "id": 1.5}, 400, -32600),
    ({**PING, "id": {}}, 400, -32600),
    ({**PING, "id": []}, 400, -32600),
    ({**PING, "jsonrpc": "1.0"}, 400, -32600),
    ({"jsonrpc": "2.0", "id": 1}, 400, -32600),
    (b"{", 400, -32700),
    (b"\xff", 400, -32700),
    (b"", 400, -32700),
    (b"5", 400, -32600),
    ([], 400, -32600),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 80 + b"1" + b"}" * 81, 400, -32600),
]


@proves("THTTP-03", "SDKMSG-01", "SDKMETA-07", "B28")
@pytest.mark.parametrize(("body", "status", "code"), NO_REQUESTS)
@pytest.mark.parametrize("era", ["session", "modern", "nobody"])
@scene
async def test_what_is_no_request_is_refused_and_goes_nowhere(body: Any, status: int, code: int, era: str) -> None:
    listener = Listener()
    session = await listener.open() if era == "session" else None
    before = len(listener.server.frames)
    headers = {"mcp_protocol_version": MODERN, "mcp_method": "ping"} if era == "modern" else {}
    answer = await listener.post(body, session, **headers)
    assert answer.status == status
    assert (await answer.message())["error"]["code"] == code
    assert len(listener.server.frames) == before
    await listener.close()


@proves("B106")
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("batch", [[PING], [PING, {**PING, "id": 2}], [notice("initialized")]], ids=["1", "2", "0"])
@scene
async def test_an_array_is_one_error_and_nothing_inside_is_run(revision: str, batch: list[Any]) -> None:
    listener = Listener()
    answer = await listener.post(batch, await listener.open(revision))
    assert answer.status == 400
    message = await answer.message()
    assert (message["id"], error_of(message)) == (None, (-32600, "invalid_request_shape"))
    alone = await listener.post(batch, mcp_protocol_version=MODERN)
    assert (alone.status, (await alone.message())["id"]) == (400, None)
    await listener.close()


@scene
async def test_only_2025_03_26_has_batches() -> None:
    listener = Listener()
    session = await listener.open("2025-03-26")
    both = await listener.post([call(1, text="a"), notice("initialized"), PING | {"id": 2}, {}], session)
    assert both.headers["content-type"] == "application/json"
    assert both.raw.startswith(b"[")
    await both.end()
    assert {message["id"]: "error" in message for message in both.messages} == {1: False, 2: False, None: True}
    single = await listener.post([PING], session)
    assert single.raw.startswith(b"[")
    for unanswered in ([notice("initialized")], [notice("initialized"), RESULT]):
        said = await listener.post(unanswered, session)
        assert (said.status, said.raw) == (202, b"")
    await listener.close()


@scene
async def test_a_batch_that_takes_long_is_a_stream_of_its_answers() -> None:
    listener = Listener()
    session = await listener.open("2025-03-26")
    batch = await listener.post([call(1, "slow"), PING | {"id": 2}, call(3, "slow")], session)
    await elapse(1.5)
    await batch.goes_on()
    assert [message["id"] for message in batch.messages] == [2]
    for frame in reversed(listener.server.heard("tools/call")):
        listener.server.text(frame, "x")
    await batch.end()
    assert [message["id"] for message in batch.messages] == [2, 3, 1]
    await listener.close()


# ---------------------------------------------------------------------- sessions


@scene
async def test_an_unknown_session_is_404_and_a_missing_one_400() -> None:
    listener = Listener()
    for message in (call(5), notice("initialized"), initialize(id=5)):
        answer = await listener.post(message, "nobody-s")
        assert answer.status == 404
        assert error_of(await answer.message())[1] == "not_initialized"
    answer = await listener.post(call(5))
    assert (answer.status, (await answer.message())["id"]) == (400, 5)
    assert (await listener.get("nobody-s")).status == 404
    assert (await listener.delete("nobody-s")).status == 404
    assert not listener.server.frames
    await listener.close()


@scene
async def test_a_deleted_session_is_over() -> None:
    listener = Listener()
    session = await listener.open()
    stream = await listener.get(session)
    slow = await listener.post(call(1, "slow"), session)
    assert (await listener.delete(session)).status == 204
    await stream.end()
    await slow.end()
    assert not slow.messages
    sent = await listener.server.hears()
    assert sent["id"] in listener.server.cancelled
    assert (await listener.post(call(2), session)).status == 404
    assert (await listener.delete(session)).status == 404
    await listener.close()


@scene
async def test_a_session_belongs_to_who_opened_it() -> None:
    listener = Listener(gate=Users())
    session = await listener.open(auth="ada")
    stream = await listener.get(session, authorization="ada")
    for other in ("bob", ""):
        assert (await listener.post(call(1), session, authorization=other)).status == 404
        assert (await listener.get(session, authorization=other)).status == 404
        assert (await listener.delete(session, authorization=other)).status == 404
    await stream.goes_on()
    assert (await listener.post(call(1), session, authorization="ada")).status == 200
    await listener.close()


@scene
async def test_an_sse_session_takes_posts_of_its_owner_only() -> None:
    listener = Listener(gate=Users())
    stream = await listener.get(authorization="ada")
    (session,) = listener.endpoint.directory.sessions
    assert (await listener.post_to(session, initialize("2024-11-05"))).status == 404
    assert (await listener.post(call(1), session, authorization="ada")).status == 404
    stream.hang_up()
    await listener.close()


@scene
async def test_an_initialize_that_fails_leaves_no_session() -> None:
    server = Server()
    server.cannot_start = True
    listener = Listener(server)
    answer = await listener.post(initialize())
    assert error_of(await answer.message()) == (-32603, "spawn_failed")
    assert answer.status == 200
    assert "mcp-session-id" not in answer.headers
    assert (await listener.post({**initialize(), "params": {}})).status == 200
    await elapse(1)
    assert not listener.endpoint.directory.sessions
    server.cannot_start = False
    assert await listener.open()
    await listener.close()


@scene
async def test_a_second_initialize_is_refused_in_a_session() -> None:
    listener = Listener()
    session = await listener.open()
    assert error_of(await (await listener.post(initialize(id=9), session)).message())[1] == "already_initialized"
    assert list(listener.endpoint.directory.sessions) == [session]
    await listener.close()


@proves("B119")
@pytest.mark.parametrize(
    ("version", "status"),
    [
        ("", 200),
        ("2025-11-25", 200),
        (" 2025-11-25 ", 200),
        ("2025-03-26", 200),
        ("2099-01-01", 400),
        ("rubbish", 400),
        ("2025-11-25, 2025-11-25", 400),
    ],
)
@scene
async def test_the_version_header_of_a_session_may_be_missing_but_not_unknown(version: str, status: int) -> None:
    listener = Listener()
    session = await listener.open()
    assert (await listener.post(call(1), session, mcp_protocol_version=version)).status == status
    stream = await listener.get(session, mcp_protocol_version=version)
    assert stream.status == status
    stream.hang_up()
    await listener.close()


@scene
async def test_at_the_limit_the_longest_idle_session_makes_room() -> None:
    listener = Listener(reception=Reception(sessions=3))
    first, second, third = [await listener.open() for _ in range(3)]
    slow = await listener.post(call(1, "slow"), first)
    stream = await listener.get(second)
    fourth = await listener.open()
    assert list(listener.endpoint.directory.sessions) == [first, second, fourth]
    assert (await listener.post(call(1), third)).status == 404
    stream_of_fourth = await listener.get(fourth)
    full = await listener.post(initialize())
    assert (full.status, full.headers["retry-after"]) == (503, "10")
    assert (await listener.get()).status == 503
    listener.server.text(await listener.server.hears(), "late")
    assert text_of(await slow.message()) == "late"
    for one in (stream, stream_of_fourth):
        one.hang_up()
    await listener.close()


@proves("B67")
@scene
async def test_a_silent_session_ends_and_a_busy_one_does_not() -> None:
    listener = Listener(reception=Reception(session_idle=100, unheld_idle=100))
    idle, busy, read = [await listener.open() for _ in range(3)]
    slow = await listener.post(call(1, "slow"), busy)
    stream = await listener.get(read)
    await elapse(60)
    assert (await listener.post(PING, read)).status == 200
    await elapse(60)
    assert list(listener.endpoint.directory.sessions) == [read, busy]
    assert (await listener.post(PING, idle)).status == 404
    await elapse(60)
    assert list(listener.endpoint.directory.sessions) == [busy]
    await stream.end()
    listener.server.text(await listener.server.hears(), "at last")
    await slow.end()
    await elapse(101)
    assert not listener.endpoint.directory.sessions
    await listener.close()


@scene
async def test_a_busy_client_of_sse_keeps_no_other_session_alive() -> None:
    listener = Listener(reception=Reception(session_idle=100, unheld_idle=100))
    stream = await listener.get()
    (sse,) = listener.endpoint.directory.sessions
    await listener.open()
    for _ in range(4):
        await elapse(40)
        assert (await listener.post_to(sse, PING)).status == 202
    assert list(listener.endpoint.directory.sessions) == [sse]
    stream.hang_up()
    await listener.close()


# ---------------------------------------------------------------------- exchanges


@proves("B29")
@scene
async def test_equal_ids_of_one_session_each_get_their_own_answer() -> None:
    listener = Listener()
    session = await listener.open()
    answers = [await listener.post(call(1, "slow", text), session) for text in "abc"]
    for frame in reversed(listener.server.heard("tools/call")):
        listener.server.text(frame, frame["params"]["arguments"]["text"])
    assert [text_of(await answer.message()) for answer in answers] == ["a", "b", "c"]
    await listener.close()


@proves("SDKMSG-02")
@pytest.mark.parametrize("id", [b"12345678901234567890123", b'"\\u0041\\/"', b"-0", b'""'])
@scene
async def test_an_id_comes_back_as_it_was_written(id: bytes) -> None:
    listener = Listener()
    session = await listener.open()
    body = b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % id
    assert b'"id":%b,' % id in (await listener.post(body, session)).raw
    await listener.close()


@scene
async def test_line_ends_in_a_body_do_not_reach_the_server() -> None:
    listener = Listener()
    session = await listener.open()
    body = b'{"jsonrpc":"2.0",\r\n "id":1,\n"method":"tools/call","params":{"name":"echo",\n"arguments":{"text":"x"}}}'
    assert (await listener.post(body, session)).status == 200
    assert (await listener.server.hears())["params"]["arguments"] == {"text": "x"}
    await listener.close()


@proves("THTTP-03", "B112")
@scene
async def test_notifications_and_responses_are_accepted_without_a_body() -> None:
    listener = Listener()
    session = await listener.open()
    for message in (notice("x"), notice("cancelled"), RESULT):
        said = await listener.post(message, session)
        assert (said.status, said.raw, "content-type" in said.headers) == (202, b"", False)
    said = await listener.post(notice("x"), mcp_protocol_version=MODERN)
    assert (said.status, said.raw) == (202, b"")
    await listener.close()


@proves("THTTP-03")
@pytest.mark.parametrize(("revision", "primed"), [("2025-03-26", 0), ("2025-06-18", 0), ("2025-11-25", 1)])
@scene
async def test_a_slow_answer_becomes_a_stream(revision: str, primed: int) -> None:
    listener = Listener()
    slow = await listener.post(call(1, "slow"), await listener.open(revision))
    assert slow.status == 0
    await elapse(1.3)
    assert (slow.status, slow.is_stream) == (200, True)
    assert slow.headers["x-accel-buffering"] == "no"
    assert slow.headers["cache-control"] == "no-store"
    assert len(slow.ids) == primed
    listener.server.text(await listener.server.hears(), "late")
    assert text_of(await slow.message()) == "late"
    assert len(slow.ids) == primed + 1
    await listener.close()


@scene
async def test_a_slow_modern_answer_is_a_stream_without_ids() -> None:
    listener = Listener()
    slow = await listener.modern(call(1, "slow"), progressToken="t")
    frame = await listener.server.hears()
    listener.server.progress(frame, 1)
    await slow.goes_on()
    assert slow.messages[0]["params"] == {"progressToken": "t", "progress": 1}
    listener.server.text(frame, "late")
    await slow.end()
    assert not slow.ids
    assert text_of(slow.messages[1]) == "late"
    await listener.close()


@scene
async def test_a_client_that_takes_no_events_gets_its_answer_alone_however_late() -> None:
    listener = Listener()
    session = await listener.open()
    for id, headers in ((1, {}), (2, {"session": session})):
        message = call(id, "slow") if headers else modern(call(id, "slow"), progressToken=1)
        slow = await listener.post(message, headers.get("session"), accept="application/json")
        frame = await listener.server.hears()
        await elapse(30)
        assert slow.status == 0
        listener.server.text(frame, "late")
        assert text_of(await slow.message()) == "late"
        assert slow.headers["content-type"] == "application/json"
    await listener.close()


@proves("B131")
@scene
async def test_a_quiet_stream_has_comments() -> None:
    listener = Listener(reception=Reception(comment_after=15))
    session = await listener.open()
    stream, slow = await listener.get(session), await listener.modern(call(1, "slow"))
    await elapse(2)
    for count in range(1, 27):
        await elapse(15.1)
        assert (stream.comments, slow.comments) == (count, count)
    listener.server.text(await listener.server.hears(), "after 400 s")
    assert text_of(await slow.message()) == "after 400 s"
    await listener.close()


@proves("B160")
@scene
async def test_a_slow_call_holds_up_nothing_else() -> None:
    listener = Listener()
    session = await listener.open()
    slow = await listener.post(call(2, "slow"), session)
    assert (await (await listener.post(PING, session)).message())["result"] == {}
    assert text_of(await (await listener.post(call(4, text="fast"), session)).message()) == "fast"
    assert (await listener.post(notice("cancelled", requestId=2), session)).status == 202
    await slow.end()
    assert not slow.messages
    assert len(listener.server.cancelled) == 1
    await listener.close()


@scene
async def test_a_cancelled_stream_ends_without_an_answer() -> None:
    listener = Listener()
    session = await listener.open()
    slow = await listener.post(call(2, "slow"), session)
    frame = await listener.server.hears()
    await elapse(1.5)
    await listener.post(notice("cancelled", requestId=2), session)
    listener.server.text(frame, "too late")
    await slow.end()
    assert not slow.messages
    assert listener.server.cancelled == [frame["id"]]
    await listener.close()


@proves("B86", "B87")
@scene
async def test_a_question_is_on_the_wire_at_once_and_its_answer_completes_the_call() -> None:
    listener = Listener()
    session = await listener.open(elicitation={"form": {}})
    answer = await listener.post(call(1, "book"), session)
    frame = await listener.server.hears()
    listener.server.answer(frame, resultType="input_required", inputRequests={"q": QUESTION}, requestState="s")
    await answer.goes_on()
    question = answer.messages[-1]
    assert question["method"] == "elicitation/create"
    result: dict[str, Any] = {**RESULT, "id": question["id"], "result": {"action": "accept", "content": {}}}
    assert (await listener.post(result, session)).status == 202
    again = await listener.server.hears()
    assert again["params"]["inputResponses"]["q"]["action"] == "accept"
    listener.server.text(again, "booked")
    await answer.end()
    assert text_of(answer.messages[-1]) == "booked"
    await listener.close()


@proves("FLIGHT-02")
@scene
async def test_at_the_limit_of_a_session_a_request_is_refused_at_once_and_others_go_on() -> None:
    listener = Listener(in_flight=2)
    session, other = await listener.open(), await listener.open()
    slow = [await listener.post(call(id, "slow"), session) for id in (1, 2)]
    assert error_of(await (await listener.post(call(3), session)).message()) == (-32603, "too_many_requests")
    assert (await (await listener.post(PING, session)).message())["result"] == {}
    assert text_of(await (await listener.post(call(3, text="b"), other)).message()) == "b"
    listener.server.text(listener.server.heard("tools/call")[0], "a")
    assert text_of(await slow[0].message()) == "a"
    assert text_of(await (await listener.post(call(3, text="c"), session)).message()) == "c"
    await listener.close()


@scene
async def test_clients_without_a_session_have_one_limit_together() -> None:
    listener = Listener(reception=Reception(exchanges=2))
    slow = [await listener.modern(call(1, "slow")) for _ in range(2)]
    assert error_of(await (await listener.modern(call(1))).message()) == (-32603, "too_many_requests")
    await elapse(1.5)
    slow[0].hang_up()
    await settle()
    assert text_of(await (await listener.modern(call(1, text="room"))).message()) == "room"
    await listener.close()


# ---------------------------------------------------------------------- clients that go away


@proves("THTTP-04", "SDKCXL-02", "SDKCXL-03")
@scene
async def test_a_modern_client_that_hangs_up_has_cancelled() -> None:
    listener = Listener()
    gone, stays = [await listener.modern(call(1, "slow", text)) for text in "ab"]
    first, second = listener.server.heard("tools/call")
    await elapse(1.5)
    gone.hang_up()
    await settle()
    assert listener.server.cancelled == [first["id"]]
    listener.server.text(first, "for nobody")
    listener.server.text(second, "b")
    assert text_of(await stays.message()) == "b"
    assert not gone.messages
    await listener.close()


@scene
async def test_a_legacy_client_that_hangs_up_can_come_back() -> None:
    listener = Listener(reception=Reception(resume=60))
    session = await listener.open()
    lost = await listener.post(call(1, "slow"), session)
    frame = await listener.server.hears()
    await elapse(1.5)
    lost.hang_up()
    await elapse(30)
    listener.server.text(frame, "kept")
    assert not listener.server.cancelled
    again = await listener.get(session, last_event_id=lost.ids[-1])
    await again.end()
    assert [text_of(message) for message in again.messages] == ["kept"]
    assert again.ids[0] != lost.ids[-1]
    once_more = await listener.get(session, last_event_id=again.ids[-1])
    await once_more.end()
    assert not once_more.messages
    await listener.close()


@pytest.mark.parametrize(("revision", "patience"), [("2025-06-18", 5), ("2025-11-25", 60)])
@scene
async def test_a_request_that_nobody_comes_back_for_is_cancelled(revision: str, patience: int) -> None:
    listener = Listener(reception=Reception(resume=60, abandon=5))
    session = await listener.open(revision)
    lost = await listener.post(call(1, "slow"), session)
    frame = await listener.server.hears()
    await elapse(1.5)
    lost.hang_up()
    await elapse(0.5)
    await elapse(patience - 1)
    assert not listener.server.cancelled
    await elapse(2)
    assert listener.server.cancelled == [frame["id"]]
    assert (await listener.post(PING, session)).status == 200
    listener.assert_idle()
    await listener.close()


@scene
async def test_a_client_without_events_that_hangs_up_has_a_little_time() -> None:
    listener = Listener(reception=Reception(abandon=5))
    session = await listener.open()
    lost = await listener.post(call(1, "slow"), session, accept="application/json")
    frame = await listener.server.hears()
    await elapse(1.5)
    lost.hang_up()
    await elapse(4)
    assert not listener.server.cancelled
    await elapse(2)
    assert listener.server.cancelled == [frame["id"]]
    await listener.close()


@proves("B133")
@scene
async def test_nothing_is_replayed_to_another_session() -> None:
    listener = Listener()
    session, other = await listener.open(), await listener.open()
    secret = await listener.post(call(1, "slow"), session)
    await elapse(1.5)
    listener.server.text(await listener.server.hears(), "secret")
    await secret.end()
    for event in (*secret.ids, secret.ids[0].rpartition("-")[0] + "-0", "x-0", "-", "", "0", "é-1", "x-" + "9" * 30):
        stream = await listener.get(other, last_event_id=event)
        assert stream.status == 200
        assert not stream.messages
        stream.hang_up()
        await settle()
    await listener.close()


@proves("B68")
@scene
async def test_a_newer_connection_takes_the_stream_over() -> None:
    listener = Listener(Server(tools={"listChanged": True}))
    session = await listener.open()
    older, newer = await listener.get(session), await listener.get(session)
    await older.end()
    listen = await listener.server.hears("subscriptions/listen")
    before = len(newer.messages)
    listener.server.event(listen, "tools/list_changed")
    await settle()
    assert [message["method"] for message in newer.messages[before:]] == ["notifications/tools/list_changed"]
    newer.hang_up()
    await settle()
    listener.server.event(listen, "tools/list_changed")
    back = await listener.get(session, last_event_id=newer.ids[-1])
    assert [message["method"] for message in back.messages] == ["notifications/tools/list_changed"]
    await listener.close()


@proves("B41")
@scene
async def test_a_client_that_reads_nothing_loses_its_request_and_disturbs_nobody() -> None:
    listener = Listener(reception=Reception(waiting=10_000, stall=30))
    stuck, other = await listener.modern(call(1, "slow"), progressToken=1), await listener.modern(call(1, "slow"))
    frame, fine = listener.server.heard("tools/call")
    stuck.stop_reading()
    for number in range(100):
        listener.server.progress(frame, number)
        listener.server.say(notice("message", level="info", data="x" * 200), of=frame["id"])
    listener.server.text(fine, "fine")
    assert text_of(await other.message()) == "fine"
    await elapse(31)
    await settle()
    assert listener.server.cancelled == [frame["id"]]
    await listener.close()


# ---------------------------------------------------------------------- the end


@scene
async def test_the_end_waits_for_what_is_in_flight() -> None:
    listener = Listener(reception=Reception())
    session = await listener.open()
    answers = [await listener.post(call(1, "slow"), session), await listener.modern(call(1, "slow"))]
    frames = listener.server.heard("tools/call")
    for frame in frames:
        listener.server.text(frame, "just in time")
    await listener.close(grace=1)
    assert [text_of(await answer.message()) for answer in answers] == ["just in time"] * 2


@proves("SDKSUB-05")
@scene
async def test_the_end_answers_everything() -> None:
    listener = Listener(reception=Reception())
    session = await listener.open()
    listen = await listener.modern(request(3, "subscriptions/listen", notifications={"toolsListChanged": True}))
    stream = await listener.get(session)
    answers = [await listener.post(call(1, "slow"), session), await listener.modern(call(2, "slow"))]
    await listener.close(grace=0.02)
    for answer in answers:
        assert error_of(await answer.message()) == (-32603, "shutting_down")
    await stream.end()
    await listen.end()
    assert listen.messages[-1]["result"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": 3}
    for refused in (await listener.modern(call(1)), await listener.post(initialize()), await listener.get()):
        assert refused.status == 503


@scene
async def test_the_end_answers_an_initialize_too() -> None:
    listener = Listener(Server(lambda server, frame: None))
    answer = await listener.post(initialize())
    await listener.close()
    assert error_of(await answer.message())[1] == "shutting_down"


@scene
async def test_the_end_of_a_server_with_a_handshake_ends_its_session() -> None:
    listener = Listener(handshake="2025-11-25")
    session, other = await listener.open(), await listener.open()
    slow = await listener.post(call(1, "slow"), session)
    listener.servers[0].die()
    assert error_of(await slow.message())[1] == "upstream_exited"
    await elapse(1)
    assert list(listener.endpoint.directory.sessions) == [other]
    assert (await listener.post(call(2), session)).status == 404
    await listener.close()


@scene
async def test_a_client_of_2024_11_05_hears_everything_on_one_stream() -> None:
    listener = Listener()
    stream = await listener.get()
    assert stream.raw.startswith(b"event: endpoint\ndata: /mcp?session_id=")
    (session,) = listener.endpoint.directory.sessions
    assert (await listener.post_to(session, initialize("2024-11-05"))).status == 202
    assert (await listener.post_to(session, notice("initialized"))).status == 202
    said = await listener.post_to(session, call(1, text="hi"))
    assert (said.status, said.raw) == (202, b"")
    await settle()
    assert stream.messages[0]["result"]["protocolVersion"] == "2024-11-05"
    assert text_of(stream.messages[1]) == "hi"
    assert not stream.ids
    assert (await listener.post_to(session, call(2, "slow"))).status == 202
    stream.hang_up()
    await settle()
    assert not listener.endpoint.directory.sessions
    assert len(listener.server.cancelled) == 1
    assert (await listener.post_to(session, PING)).status == 404
    await listener.close()


@scene
async def test_the_sse_endpoint_is_told_with_the_prefix_that_it_is_mounted_at() -> None:
    listener = Listener()
    stream = await listener.send("GET", headers={"accept": "text/event-stream"}, root="/tools")
    assert stream.raw.startswith(b"event: endpoint\ndata: /tools/mcp?session_id=")
    stream.hang_up()
    await listener.close()


@proves("B113")
@scene
async def test_a_get_without_a_stream_to_give_is_405() -> None:
    listener = Listener()
    answer = await listener.get(mcp_protocol_version=MODERN)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert (await listener.send("DELETE")).status == 405
    await listener.close()


# ---------------------------------------------------------------------- icons


DATA, WEB = {"src": "data:image/png;base64,AA"}, {"src": "https://a.example/i.png"}
TOOL = {"name": "a", "inputSchema": {"type": "object"}, "icons": [WEB, DATA]}
WHOSE = "io.modelcontextprotocol/serverInfo"


def iconed(server: Server, frame: dict[str, Any]) -> None:
    """Answers as a server whose list and name have icons."""
    info = {"name": "s", "version": "1", "icons": [WEB, DATA]}
    if frame.get("method") == "tools/list":
        modern_part = {"_meta": {WHOSE: info}, "ttlMs": 0, "cacheScope": "public"} if server.revision == MODERN else {}
        server.answer(frame, tools=[TOOL], **modern_part)
    elif frame.get("method") == "initialize":
        server.answer(frame, protocolVersion=server.revision, capabilities={"tools": {}}, serverInfo=info)
    else:
        obliging(server, frame)


@proves("ICON-01", "ICON-06", "ICON-07")
@pytest.mark.parametrize("is_remote", [True, False])
@pytest.mark.parametrize("handshake", [None, "2025-11-25"])
@scene
async def test_at_a_listener_icons_of_a_server_at_a_url_need_no_fetching(
    handshake: str | None, is_remote: bool
) -> None:
    """For every kind of client before every kind of server (C18, ICON-01, ICON-06, ICON-07)."""
    server = Server(iconed)
    server.is_remote = is_remote
    listener = Listener(server, handshake=handshake)
    listener.script = iconed
    kept = [DATA] if is_remote else [WEB, DATA]
    session = await listener.open()
    old = await (await listener.post(request(2, "tools/list"), session)).message()
    new = await (await listener.modern(request(2, "tools/list"))).message()
    assert old["result"]["tools"][0]["icons"] == kept
    assert new["result"]["tools"][0]["icons"] == kept
    assert new["result"]["_meta"][WHOSE].get("icons", kept) == kept
    await listener.close()
