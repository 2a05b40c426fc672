"""The way to one server that many share: whose is what it says, and how it dies and comes back."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.limits import Timeouts
from support.listener import (
    NAMESPACE,
    SUBSCRIPTION,
    Clock,
    Listener,
    Server,
    call,
    elapse,
    error_of,
    initialize,
    notice,
    request,
    scene,
    settle,
    text_of,
)
from support.proofs import proves

pytestmark = pytest.mark.timeout(60)

LEVEL = {NAMESPACE + "logLevel": "info"}
LOG = notice("message", level="info", data="said")


def tokens(frames: list[Any]) -> list[str]:
    return [frame["params"]["_meta"]["progressToken"] for frame in frames]


# ---------------------------------------------------------------------- whose is it


@proves("B163", "TSTDIO-03")
@scene
async def test_answers_go_to_who_asked_in_whatever_order() -> None:
    listener = Listener()
    session, other = await listener.open(), await listener.open()
    answers = [
        await listener.post(call(1, "slow", "a"), session),
        await listener.post(call(1, "slow", "b"), other),
        await listener.modern(call(1, "slow", "c")),
    ]
    frames = listener.server.heard("tools/call")
    assert len({frame["id"] for frame in frames}) == 3
    for frame in reversed(frames):
        listener.server.text(frame, frame["params"]["arguments"]["text"])
    assert [text_of(await answer.message()) for answer in answers] == ["a", "b", "c"]
    await listener.close()


@proves("TSTDIO-03")
@scene
async def test_progress_goes_to_whose_token_it_has() -> None:
    listener = Listener()
    session = await listener.open()
    old = {**call(1, "slow"), "params": {**call(1, "slow")["params"], "_meta": {"progressToken": "t"}}}
    answers = [await listener.post(old, session), await listener.modern(call(1, "slow"), progressToken="t")]
    frames = listener.server.heard("tools/call")
    assert len(set(tokens(frames))) == 2
    for number, frame in enumerate(reversed(frames), 1):
        listener.server.progress(frame, number)
    await settle()
    assert [answer.messages[0]["params"] for answer in answers] == [
        {"progressToken": "t", "progress": 2},
        {"progressToken": "t", "progress": 1},
    ]
    await listener.close()


@proves("TSTDIO-03", "SDKSUB-02", "SDKSUB-04")
@scene
async def test_events_go_to_the_stream_that_they_are_of() -> None:
    listener = Listener(Server(tools={"listChanged": True}))
    wants = {"notifications": {"toolsListChanged": True}}
    session = await listener.open()
    stream = await listener.get(session)
    first = await listener.modern(request("x", "subscriptions/listen", **wants))
    second = await listener.modern(request("x", "subscriptions/listen", **wants))
    streams = listener.server.heard("subscriptions/listen")
    assert len(streams) == 3
    stream.messages.clear()
    for listen, counts in zip(streams, ((1, 1, 1), (1, 2, 1), (1, 2, 2)), strict=True):
        listener.server.event(listen, "tools/list_changed")
        await settle()
        assert (len(stream.messages), len(first.messages), len(second.messages)) == counts
    for answer in (first, second):
        assert answer.messages[0]["method"] == "notifications/subscriptions/acknowledged"
        assert all(message["params"]["_meta"] == {SUBSCRIPTION: "x"} for message in answer.messages)
    await listener.close()


@scene
async def test_a_stream_that_the_server_cancels_ends_for_its_client() -> None:
    listener = Listener()
    one, other = [await listener.modern(request(1, "subscriptions/listen", notifications={})) for _ in range(2)]
    listen = listener.server.heard("subscriptions/listen")[0]
    listener.server.say(notice("cancelled", requestId=listen["id"]))
    await one.end()
    assert one.messages[-1]["result"]["resultType"] == "complete"
    await other.goes_on()
    await listener.close()


@scene
async def test_a_client_that_hangs_up_its_stream_has_cancelled_it() -> None:
    listener = Listener()
    stream = await listener.modern(request(1, "subscriptions/listen", notifications={}))
    listen = await listener.server.hears("subscriptions/listen")
    stream.hang_up()
    await settle()
    assert listener.server.cancelled == [listen["id"]]
    listener.server.event(listen, "tools/list_changed")
    await listener.close()


@scene
async def test_a_log_message_is_passed_on_when_only_one_can_be_meant() -> None:
    listener = Listener()
    loud, quiet = await listener.modern(call(1, "slow"), **LEVEL), await listener.modern(call(1, "slow"))
    listener.server.say(LOG)
    await settle()
    assert (loud.messages, quiet.messages) == ([LOG], [])
    session = await listener.open()
    await listener.post(request(8, "logging/setLevel", level="info"), session)
    old = await listener.post(call(1, "slow"), session)
    listener.server.say(LOG)
    await settle()
    assert len(loud.messages) == 1
    assert not old.messages
    assert any("could belong to several" in text for text in listener.texts)
    of_old = listener.server.heard("tools/call")[-1]
    listener.server.say(LOG, of=of_old["id"])  # on HTTP it is known
    await settle()
    assert len(loud.messages) == 1
    await listener.close()


@scene
async def test_two_calls_of_modern_clients_that_want_logs_get_none_in_doubt() -> None:
    listener = Listener()
    answers = [await listener.modern(call(1, "slow"), **LEVEL) for _ in range(2)]
    listener.server.say(LOG)
    listener.server.say(LOG, of=listener.server.heard("tools/call")[1]["id"])
    await settle()
    assert [answer.messages for answer in answers] == [[], [LOG]]
    await listener.close()


@scene
async def test_a_log_message_of_a_request_that_is_over_goes_to_nobody() -> None:
    listener = Listener()
    over, other = [await listener.modern(call(1, "slow"), **LEVEL) for _ in range(2)]
    frame = listener.server.heard("tools/call")[0]
    listener.server.text(frame, "done")
    await over.end()
    listener.server.say(LOG, of=frame["id"])
    await settle()
    assert not other.messages
    await listener.close()


STRAY = [
    b"",
    b"rubbish",
    b"\xff",
    b"[]",
    b'[{"jsonrpc":"2.0","id":"1.1","result":{}}]',
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","id":null,"result":{}}',
    b'{"jsonrpc":"2.0","id":"","result":{}}',
    b'{"jsonrpc":"2.0","id":"1","result":{}}',
    b'{"jsonrpc":"2.0","id":"1.","result":{}}',
    b'{"jsonrpc":"2.0","id":"1.99","result":{"resultType":"complete"}}',
    b'{"jsonrpc":"2.0","id":"77.1","result":{"resultType":"complete"}}',
    b'{"jsonrpc":"2.0","id":"1.1","method":"sampling/createMessage","params":{}}',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"9.9","progress":1}}',
    b'{"jsonrpc":"2.0","method":"notifications/progress"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"9.9"}}',
    b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
    b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":5}}',
    b'{"jsonrpc":"2.0","method":"notifications/other","params":{}}',
    b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}',
]


@pytest.mark.parametrize("line", STRAY)
@scene
async def test_what_belongs_to_nobody_goes_to_nobody(line: bytes) -> None:
    listener = Listener()
    session = await listener.open()
    answers = [await listener.post(call(1, "slow"), session), await listener.modern(call(1, "slow"), progressToken=1)]
    listener.server.say(line)
    await settle()
    assert [answer.messages for answer in answers] == [[], []]
    for frame, answer in zip(listener.server.heard("tools/call"), answers, strict=True):
        listener.server.text(frame, "fine")
        assert text_of(await answer.message()) == "fine"
    await listener.close()


@scene
async def test_a_broken_answer_fails_its_own_request_only() -> None:
    listener = Listener()
    broken, fine = await listener.modern(call(1, "slow")), await listener.modern(call(1, "slow"))
    first, second = listener.server.heard("tools/call")
    listener.server.say(b'{"jsonrpc":"2.0","id":%b,"result":{"x":NaN}}' % json.dumps(first["id"]).encode())
    assert error_of(await broken.message())[1] == "invalid_response"
    listener.server.text(second, "fine")
    assert text_of(await fine.message()) == "fine"
    await listener.close()


@scene
async def test_a_request_that_is_lost_on_its_way_fails_alone() -> None:
    listener = Listener()
    lost, fine = await listener.modern(call(1, "slow")), await listener.modern(call(1, "slow"))
    first, second = listener.server.heard("tools/call")
    listener.server.lose(first)
    assert error_of(await lost.message())[1] == "transport_failed"
    listener.server.text(second, "fine")
    assert text_of(await fine.message()) == "fine"
    await listener.close()


# ---------------------------------------------------------------------- its life


@proves("B45")
@scene
async def test_the_server_is_started_for_the_first_request_and_once() -> None:
    listener = Listener()
    assert listener.server.starts == 0
    answers = [await listener.modern(call(1, text=str(number))) for number in range(5)]
    assert [text_of(await answer.message()) for answer in answers] == list("01234")
    assert listener.server.starts == 1
    await listener.close()


@scene
async def test_a_server_that_dies_fails_what_is_in_flight_and_serves_the_next_request() -> None:
    listener = Listener()
    session = await listener.open()
    answers = [await listener.post(call(1, "slow"), session), await listener.modern(call(1, "slow"))]
    listener.server.die()
    for answer in answers:
        assert error_of(await answer.message()) == (-32603, "upstream_exited")
    assert text_of(await (await listener.post(call(2, text="on"), session)).message()) == "on"
    assert text_of(await (await listener.modern(call(2, text="and on"))).message()) == "and on"
    assert listener.server.starts == 2
    assert any("started again" in text for text in listener.texts)
    await listener.close()


@proves("B45")
@scene
async def test_no_server_is_started_while_the_one_before_still_runs() -> None:
    listener = Listener()
    await listener.modern(call(1))
    listener.server.may_end = asyncio.Event()
    listener.server.die()
    waiting = [await listener.modern(call(number, text=str(number))) for number in (2, 3)]
    assert listener.server.starts == 1
    listener.server.may_end.set()
    assert [text_of(await answer.message()) for answer in waiting] == ["2", "3"]
    assert listener.server.starts == 2
    await listener.close()


@scene
async def test_a_server_that_dies_again_and_again_is_started_again_and_again() -> None:
    listener = Listener()
    for number in range(1, 20):
        answer = await listener.modern(call(1, "slow"))
        assert listener.server.starts == number
        listener.server.die()
        assert "error" in await answer.message()
    await listener.close()


@scene
async def test_a_server_that_cannot_be_started_fails_each_request_until_it_can() -> None:
    listener = Listener()
    listener.server.cannot_start = True
    for _ in range(2):
        assert error_of(await (await listener.modern(call(1))).message()) == (-32603, "spawn_failed")
    listener.server.cannot_start = False
    assert text_of(await (await listener.modern(call(1, text="at last"))).message()) == "at last"
    await listener.close()


@scene
async def test_a_session_outlives_its_server_and_watches_again() -> None:
    listener = Listener(Server(tools={"listChanged": True}))
    session = await listener.open()
    stream = await listener.get(session)
    stream.messages.clear()
    listener.server.die()
    await elapse(2)
    assert listener.server.starts == 2
    assert len(listener.server.heard("subscriptions/listen")) == 2
    assert [message["method"] for message in stream.messages] == ["notifications/tools/list_changed"]  # the gap
    await listener.close()


@scene
async def test_a_handshake_during_a_death_fails_and_the_next_one_succeeds() -> None:
    listener = Listener(Server(lambda server, frame: None))
    opening = await listener.post(initialize())
    listener.server.die()
    assert error_of(await opening.message())[1] == "upstream_exited"
    listener.server.script = Server().script
    assert await listener.open()
    await listener.close()


@scene
async def test_after_the_end_nothing_is_started() -> None:
    listener = Listener()
    listener.server.may_end = asyncio.Event()
    await listener.modern(call(1))
    listener.server.die()
    closing = asyncio.ensure_future(listener.close())
    await settle()
    listener.server.may_end.set()
    await closing
    assert listener.server.starts == 1


# ---------------------------------------------------------------------- no frame of one reaches another


class Party:
    """A client that marks what it asks, and looks at what it hears."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.answers: list[Any] = []

    def heard(self) -> str:
        return json.dumps([answer.messages for answer in self.answers])


steps = st.lists(
    st.tuples(
        st.sampled_from(["call", "answer", "progress", "log", "log of", "fail", "broken", "lost", "stray", "hang up"]),
        st.integers(0, 30),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_no_frame_of_one_party_reaches_another(steps: list[tuple[str, int]]) -> None:
    async def whole() -> None:
        listener = Listener()
        server = listener.server
        sessions = [await listener.open(), await listener.open(), None, None]
        parties = [Party(f"mark-{place}!") for place in range(4)]
        for what, number in steps:
            party, session = parties[number % 4], sessions[number % 4]
            frames = server.heard("tools/call")
            frame = frames[number % len(frames)] if frames else None
            if what == "call":
                meta: dict[str, Any] = {"progressToken": 1}
                message = call(1, "slow", party.mark)
                if session is None:
                    party.answers.append(await listener.modern(message, **meta, **(LEVEL if number % 3 else {})))
                else:
                    message["params"]["_meta"] = meta
                    party.answers.append(await listener.post(message, session))
            elif what == "stray":
                server.say(STRAY[number % len(STRAY)]) if frames else None
            elif what == "hang up" and party.answers:
                party.answers[number % len(party.answers)].hang_up()
            elif frame is not None:
                mark = frame["params"]["arguments"]["text"]
                said = notice("message", level="info", data=mark)
                if what == "answer":
                    server.text(frame, mark)
                elif what == "fail":
                    server.say({"jsonrpc": "2.0", "id": frame["id"], "error": {"code": -1, "message": mark}})
                elif what == "progress":
                    token = frame["params"]["_meta"]["progressToken"]
                    server.say(notice("progress", progressToken=token, progress=number, message=mark))
                elif what == "log of":
                    server.say(said, of=frame["id"])
                elif what == "log" and len({one["params"]["arguments"]["text"] for one in frames}) == 1:
                    server.say(said)
                elif what == "broken":
                    server.say(b'{"jsonrpc":"2.0","id":"%b","result":' % frame["id"].encode())
                elif what == "lost":
                    server.lose(frame)
            await settle()
        for party in parties:
            heard = party.heard()
            assert not [other.mark for other in parties if other is not party and other.mark in heard]
        await listener.close()

    with asyncio.Runner(loop_factory=Clock) as runner:
        runner.run(whole())


# ---------------------------------------------------------------------- faults of ours


def breaks(*_: object) -> None:
    raise ZeroDivisionError


@scene
async def test_a_message_at_which_we_break_costs_its_call_and_not_what_comes_with_it() -> None:
    """One read of the server, with the answers of two callers in it (B1)."""
    listener = Listener()
    session, other = await listener.open(), await listener.open()
    broken, fine = await listener.post(call(1, "slow"), session), await listener.post(call(1, "slow"), other)
    mediator: Any = listener.endpoint.directory.sessions[session].mediator
    lower, mediator._down = mediator._down, None
    frames = listener.server.heard("tools/call")
    result = {"resultType": "complete", "content": [{"type": "text", "text": "x"}]}
    listener.server.say(*({"jsonrpc": "2.0", "id": frame["id"], "result": result} for frame in frames))
    assert error_of(await broken.message())[1] == "internal"
    assert text_of(await fine.message()) == "x"
    assert len([text for text in listener.texts if "internal error: AttributeError at mediator.py:" in text]) == 1
    mediator._down = lower
    assert text_of(await (await listener.post(call(2, text="on"), session)).message()) == "on"
    await listener.close()


@scene
async def test_a_call_at_whose_end_we_break_fails_and_other_modern_calls_go_on() -> None:
    """All modern clients share one conversation: what is due for one of them is not due for the others (B1)."""
    listener = Listener(timeouts=Timeouts(call=60))
    late = await listener.modern(call(1, "slow"))
    await elapse(30)
    fine = await listener.modern(call(2, "slow"))
    first, second = listener.server.heard("tools/call")
    back: Any = listener.endpoint._stateless.back  # type: ignore[union-attr]
    cancel, back.cancel = back.cancel, breaks
    await elapse(31)
    back.cancel = cancel
    assert error_of(await late.message())[1] == "internal"
    listener.server.text(second, "x")
    assert text_of(await fine.message()) == "x"
    assert first["id"] != second["id"]
    await listener.close()
