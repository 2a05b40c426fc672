"""Lines above the limit: refused under their own id, thrown away as they come, and forgotten by the next line."""

import json
import sys
from collections.abc import Callable

import pytest

from support.processes import Bridge, Scripted, call, cause_of, text_of
from support.proofs import proves

pytestmark = pytest.mark.process
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured through /proc")

Make = Callable[..., Scripted]
LIMIT = 4096
HUGE = 200 << 20
ALLOWANCE = 16 << 20  # what a process may grow by, whatever passes: pipes, read buffers, the allocator's habits


def call_of_size(id: int, size: int) -> bytes:
    """A call of `echo` whose line has `size` bytes, without its line end."""
    empty = len(json.dumps(call(id, "echo", text="")))
    return json.dumps(call(id, "echo", text="x" * (size - empty))).encode()


@proves("SIZE-01", "CLI-06", "ERR-35", "LINE-04", "LINE-10")
def test_a_client_s_line_at_the_limit_passes_and_one_byte_more_is_refused_under_its_id(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command, "--max-line-bytes", str(LIMIT)) as bridge:
        bridge.open()
        bridge.send(call_of_size(1, LIMIT) + b"\n", call_of_size(2, LIMIT + 1) + b"\n")
        assert text_of(bridge.answer(1)).startswith("xxx")
        answer = bridge.answer(2)
        assert cause_of(answer) == (-32600, "line_too_long")
        assert str(LIMIT) in answer["error"]["data"]["detail"]
        assert text_of(bridge.tool("echo", text="fine")) == "fine"
    assert len(server.received("tools/call")) == 2


def test_the_line_end_does_not_count_however_the_line_arrives(scripted: Make) -> None:
    with Bridge(scripted().command, "--max-line-bytes", str(LIMIT)) as bridge:
        bridge.open()
        bridge.send(call_of_size(1, LIMIT) + b"\r\n")
        assert text_of(bridge.answer(1)).startswith("xxx")
        line = call_of_size(2, LIMIT) + b"\r\n"
        bridge.send(line[:-2])
        bridge.expect(line)
        bridge.send(line[-2:])
        assert text_of(bridge.answer(2)).startswith("xxx")


@proves("SIZE-01", "SIZE-05")
def test_a_server_s_line_at_the_limit_passes_and_one_byte_more_fails_its_call_only(scripted: Make) -> None:
    head = '{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","content":[{"type":"text","text":"'
    tail = '"}]}}'
    with Bridge(scripted().command, "--max-line-bytes", str(LIMIT)) as bridge:
        bridge.open()
        room = LIMIT - len(head.replace("$ID", "1") + tail)  # ids of the bridge have one digit here
        bridge.call(1, "long_line", size=room, head=head, tail=tail)
        assert text_of(bridge.answer(1)) == "a" * room
        bridge.call(2, "long_line", size=room + 1, head=head, tail=tail)
        answer = bridge.answer(2)
        assert cause_of(answer) == (-32603, "invalid_response")
        assert str(LIMIT) in answer["error"]["data"]["detail"]
        assert text_of(bridge.tool("echo", text="fine")) == "fine"


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_server_s_huge_answer_fails_the_call_that_it_answers(scripted: Make, place: str) -> None:
    head = '{"jsonrpc":"2.0",' + ('"id":$ID,' if place == "first" else "") + '"result":{"content":[{"text":"'
    tail = '"}]}' + (',"id":$ID' if place == "last" else "") + "}"
    with Bridge(scripted().command, "--max-line-bytes", str(LIMIT)) as bridge:
        bridge.open()
        bridge.call(1, "hold", text="mine")
        bridge.call(2, "long_line", size=1 << 20, head=head, tail=tail)
        assert cause_of(bridge.answer(2)) == (-32603, "invalid_response")
        bridge.tool("release")
        assert text_of(bridge.answer(1)) == "mine"


LONG = b"x" * (2 * LIMIT)
WITH_IDS = (
    (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"t":"%s"}}', b"7"),
    (b'{"jsonrpc":"2.0","id":"a\\u0062","method":"tools/call","params":{"t":"%s"}}', b'"a\\u0062"'),
    (b'{"jsonrpc":"2.0","id":12345678901234567890123,"method":"x","params":{"t":"%s"}}', b"12345678901234567890123"),
    (b'{"jsonrpc":"2.0","method":"tools/call","params":{"t":"%s"},"id":9}', b"9"),
    (b'{"params":{"id":1,"t":"%s"},"jsonrpc":"2.0","method":"tools/call" , "id" : "last" }', b'"last"'),
    (b'{"jsonrpc":"2.0","method":"tools/call","params":{"id":5,"t":"%s"}}', b"null"),
    (b'{"jsonrpc":"2.0","method":"tools/call","params":{"t":"\\"id\\":5, %s ,\\"id\\":6}"}}', b"null"),
    (b'{"jsonrpc":"2.0","method":"tools/call","params":{"t":"%s","id":5}}', b"null"),
    (b"%s", b"null"),
)


@proves("LINE-02", "LINE-03", "LINE-04", "LINE-06")
def test_the_id_of_a_line_that_is_too_long_is_found_where_it_is_one(scripted: Make) -> None:
    with Bridge(scripted().command, "--max-line-bytes", str(LIMIT)) as bridge:
        bridge.open()
        for line, id in WITH_IDS:
            bridge.send(line % LONG + b"\n")
            assert cause_of(bridge.receive()) == (-32600, "line_too_long")
            assert b'"id":%s,' % id in bridge.raw[-1], line
            assert text_of(bridge.tool("echo", text="fine")) == "fine"


@proves("LINE-05", "ANS-04")
def test_an_answer_that_is_too_long_resolves_its_question_as_cancelled_and_gets_no_answer(scripted: Make) -> None:
    with Bridge(scripted().command, "--max-line-bytes", str(LIMIT)) as bridge:
        bridge.open(capabilities={"elicitation": {"form": {}}})
        bridge.call(1, "ask")
        question = bridge.question()
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"name": "x"}}}
        before = len(bridge.frames)
        bridge.send(json.dumps(answer).replace('"x"', f'"{"x" * LIMIT}"').encode() + b"\n")
        assert json.loads(text_of(bridge.answer(1))) == {"who": {"action": "cancel"}}
        assert len(bridge.frames) == before + 1


@proves("B162", "LINE-01")
@needs_proc
def test_the_memory_for_a_client_s_endless_line_has_a_bound(scripted: Make) -> None:
    with Bridge(scripted().command, "--max-line-bytes", str(1 << 20)) as bridge:
        bridge.open()
        bridge.tool("echo", text="warm")
        before = bridge.memory()
        bridge.send(b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"t":"')
        block = b"a" * (1 << 20)
        for _ in range(HUGE >> 20):
            bridge.send(block)
        bridge.send(b'"}}\n')
        assert cause_of(bridge.answer(5)) == (-32600, "line_too_long")
        assert bridge.memory() - before < ALLOWANCE
        assert text_of(bridge.tool("echo", text="fine")) == "fine"


@proves("B162")
@needs_proc
def test_the_memory_for_a_server_s_endless_line_has_a_bound(scripted: Make) -> None:
    with Bridge(scripted().command, "--max-line-bytes", str(1 << 20)) as bridge:
        bridge.open()
        bridge.tool("echo", text="warm")
        before = bridge.memory()
        assert text_of(bridge.tool("long_line", size=HUGE)) == "still here"
        assert bridge.memory() - before < ALLOWANCE
        assert text_of(bridge.tool("echo", text="fine")) == "fine"
