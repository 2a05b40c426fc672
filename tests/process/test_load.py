"""Many things at once: order, pairs, the limit of calls in flight, races, and a peer that does not read."""

import random
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from support.processes import Bridge, Scripted, call, cause_of, eventually, initialize, text_of
from support.proofs import proves

pytestmark = pytest.mark.process
no_windows = pytest.mark.skipif(sys.platform == "win32", reason="its standard streams are pipes")
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured through /proc")

Make = Callable[..., Scripted]
SLOTS = 256
LISTENS = ("--capabilities", '{"tools": {"listChanged": true}}')


@proves("ORDER-01", "ORDER-02")
def test_a_change_reaches_the_client_before_the_result_of_the_call_that_made_it(scripted: Make) -> None:
    with Bridge(scripted(*LISTENS).command) as bridge:
        bridge.open()
        assert bridge.receive()["method"] == "notifications/tools/list_changed"  # of the stream's begin
        for number in range(1000):
            bridge.call(number, "change")
            assert bridge.receive()["method"] == "notifications/tools/list_changed"
            assert bridge.receive()["id"] == number


def test_changes_keep_their_place_among_results_when_many_calls_are_open(scripted: Make) -> None:
    with Bridge(scripted(*LISTENS).command) as bridge:
        bridge.open()
        assert bridge.receive()["method"] == "notifications/tools/list_changed"
        bridge.send(*(call(number, "change") for number in range(SLOTS)))
        got = [bridge.receive() for _ in range(2 * SLOTS)]
        assert [frame.get("id", "change") for frame in got] == [x for n in range(SLOTS) for x in ("change", n)]


@proves("B163", "ORDER-07", "FLIGHT-01")
def test_of_300_large_calls_at_once_each_gets_its_own_answer_or_a_refusal(scripted: Make) -> None:
    texts = {id: f"{id}:" + chr(0x4E00 + id) * (50 * 1024 // 3) for id in range(300)}
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.send(*(call(id, "gather", count=SLOTS, text=text) for id, text in texts.items()))
        answers = [bridge.receive() for _ in texts]
    refused = [answer for answer in answers if "error" in answer]
    assert len(refused) == 300 - SLOTS
    assert {cause_of(answer) for answer in refused} == {(-32603, "too_many_requests")}
    assert answers[: len(refused)] == refused
    for answer in answers[len(refused) :]:
        assert text_of(answer) == texts[answer["id"]]
    assert len(server.received("tools/call")) == SLOTS


@proves("FLIGHT-02", "FLIGHT-03", "FLIGHT-04", "ERR-34")
def test_at_the_limit_of_calls_everything_else_goes_on(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.send(*(call(id, "hold") for id in range(SLOTS)))
        bridge.call("over", "echo")
        assert cause_of(bridge.answer("over")) == (-32603, "too_many_requests")
        bridge.request("p", "ping")
        bridge.request("l", "logging/setLevel", level="error")
        bridge.request("d", "server/discover")
        assert bridge.answer("p")["result"] == {}
        assert bridge.answer("l")["result"] == {}
        assert cause_of(bridge.answer("d")) == (-32601, "method_not_found")
        bridge.notice("cancelled", requestId=17)
        assert text_of(bridge.tool("release")) == "released"
        assert sorted(
            frame["id"] for frame in bridge.frames if isinstance(frame.get("id"), int) and frame["id"] < 1000
        ) == [id for id in range(SLOTS) if id != 17]
        assert len(server.received("notifications/cancelled")) == 1


@proves("FLIGHT-03")
def test_the_end_of_the_input_is_seen_at_the_limit_of_calls(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        bridge.send(*(call(id, "hold") for id in range(SLOTS + 1)))
        bridge.answer(SLOTS)
        started = time.monotonic()
        assert bridge.end() == 0
        assert time.monotonic() - started < 8
        assert bridge.rest() == []


@proves("B160", "CANC-02", "CANC-03")
def test_a_slow_call_blocks_neither_other_calls_nor_its_own_cancel(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.call(2, "hold")
        bridge.request(3, "tools/list")
        bridge.call(4, "echo", text="fast")
        assert "tools" in bridge.answer(3)["result"]
        assert text_of(bridge.answer(4)) == "fast"
        bridge.notice("cancelled", requestId=2, reason="enough")
        bridge.tool("release")
        assert 2 not in [frame.get("id") for frame in bridge.frames]
    (held,) = [frame for frame in server.received("tools/call") if frame["params"]["name"] == "hold"]
    (cancelled,) = server.received("notifications/cancelled")
    assert cancelled["params"]["requestId"] == held["id"]
    assert cancelled["params"]["reason"]


@proves("CANC-01")
def test_a_cancel_of_another_type_or_of_nothing_cancels_nothing(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.call(2, "hold", text="two")
        bridge.call("2", "hold", text="text two")
        for id in (1, 2.5, True, None, "b-1"):
            bridge.notice("cancelled", requestId=id)
        bridge.notice("cancelled")
        bridge.notice("cancelled", requestId="2")
        bridge.tool("release")
        assert text_of(bridge.answer(2)) == "two"
        assert "2" not in [frame.get("id") for frame in bridge.frames]
    assert len(server.received("notifications/cancelled")) == 1


@proves("B36", "CANC-09")
def test_a_hundred_races_of_answer_and_cancel_harm_nothing(scripted: Make) -> None:
    chance = random.Random(36)
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        due: list[tuple[float, Any]] = []
        start = time.monotonic() + 0.05
        for id in range(100):
            at = start + id * 0.004
            due.append((at, call(id, "delayed", seconds=0.01)))
            notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}
            due.append((at + chance.uniform(0, 0.02), notice))
        for at, frame in sorted(due, key=lambda pair: pair[0]):
            time.sleep(max(0.0, at - time.monotonic()))  # the race is the point
            bridge.send(frame)
        time.sleep(0.02)
        bridge.call(500, "delayed", seconds=0.02)
        assert text_of(bridge.answer(500)) == "late"
        answered = [frame["id"] for frame in bridge.frames if isinstance(frame.get("id"), int) and frame["id"] < 100]
        assert len(answered) == len(set(answered))
        assert all("result" in frame for frame in bridge.frames)
        cancelled = len(server.received("notifications/cancelled"))
        assert len(answered) + cancelled == 100
        assert answered
        assert cancelled


@proves("B33", "PROG-01", "PROG-05")
def test_calls_with_the_same_token_each_get_their_own_progress(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        for id in (0, 1):
            frame = call(id, "progress", count=3, size=1)
            frame["params"]["_meta"] = {"progressToken": 0}
            bridge.send(frame)
        bridge.answer(0)
        bridge.answer(1)
        notices = [frame["params"] for frame in bridge.frames if frame.get("method") == "notifications/progress"]
        assert [(params["progressToken"], params["progress"]) for params in notices] == [(0, 1), (0, 2), (0, 3)] * 2


def progress_call(id: int, count: int, size: int) -> dict[str, Any]:
    frame = call(id, "progress", count=count, size=size)
    frame["params"]["_meta"] = {"progressToken": "t"}
    return frame


@needs_proc
def test_a_client_that_does_not_read_stops_the_server_and_not_the_memory(scripted: Make) -> None:
    count, size = 4000, 16_000
    with Bridge(scripted().command, reads=False) as bridge:
        bridge.send(initialize())
        bridge.read_one()
        memory, read = bridge.memory("VmRSS"), bridge.bytes_read()
        bridge.send(progress_call(1, count, size))
        eventually("the bridge reads from the server", lambda: bridge.bytes_read() - read > 1 << 20)
        last = -1
        while last != (last := bridge.bytes_read()):
            time.sleep(0.3)  # the event that is waited for is that nothing happens any more
        assert bridge.memory() - memory < 16 << 20
        assert last - read < count * size // 4
        bridge.request(2, "ping")
        bridge.read()
        assert text_of(bridge.answer(1)) == "progressed"
        values = [
            frame["params"]["progress"] for frame in bridge.frames if frame.get("method") == "notifications/progress"
        ]
        assert values == list(range(1, count + 1))
        assert bridge.answer(2)["result"] == {}


@pytest.mark.parametrize("sockets", [False, pytest.param(True, marks=no_windows)])
def test_a_client_that_does_not_read_can_still_end_everything(scripted: Make, sockets: bool) -> None:
    server = scripted()
    with Bridge(server.command, reads=False, sockets=sockets) as bridge:
        bridge.send(initialize())
        bridge.read_one()
        bridge.send(progress_call(1, 1000, 16_000))
        eventually("the server has the call", lambda: server.received("tools/call"))
        started = time.monotonic()
        assert bridge.end() == 0
        assert time.monotonic() - started < 8 + 1.5


@no_windows
def test_a_client_whose_end_is_a_socket_is_still_heard_while_it_does_not_read(scripted: Make) -> None:
    """Hosts written in Node give sockets for pipes; a write to one must not block either."""
    server = scripted()
    with Bridge(server.command, reads=False, sockets=True) as bridge:
        bridge.send(initialize())
        bridge.read_one()
        bridge.call(1, "big", size=4_000_000)
        eventually("the server has the first call", lambda: len(server.received("tools/call")) == 1)
        time.sleep(0.3)  # let the answer fill what the socket takes
        bridge.call(2, "echo", text="second")
        eventually("the server has the second call", lambda: len(server.received("tools/call")) == 2)
        bridge.read()
        assert len(text_of(bridge.answer(1))) == 4_000_000
        assert text_of(bridge.answer(2)) == "second"


def test_a_server_that_reads_nothing_for_a_while_blocks_no_ping_and_loses_no_call(scripted: Make) -> None:
    """A server that is busy writing reads nothing; large calls wait for it while the client is still read."""
    with Bridge(scripted().command, reads=False) as bridge:
        bridge.send(initialize())
        bridge.read_one()
        bridge.send(progress_call(1, 500, 16_000), *(call(id, "echo", text="y" * 500_000) for id in range(2, 8)))
        bridge.request("p", "ping")
        bridge.read()
        assert bridge.answer("p")["result"] == {}
        assert text_of(bridge.answer(1)) == "progressed"
        for id in range(2, 8):
            assert text_of(bridge.answer(id)) == "y" * 500_000
