"""Bytes on real pipes: where a line ends, what it may hold, and what becomes of one that is no message."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.processes import Bridge, Scripted, cause_of, parsed, text_of
from support.proofs import proves

pytestmark = pytest.mark.process

Make = Callable[..., Scripted]


def complete(content: bytes, more: bytes = b"", id: bytes = b"$ID") -> str:
    """A server's answer with that JSON text of a text block, for the tool `raw`."""
    block = b'{"type":"text","text":"%s"}' % content
    frame = b'{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[%s]%s}}' % (id, block, more)
    return (frame + b"\n").decode("latin-1")


@proves("B01")
def test_line_and_paragraph_separators_do_not_end_a_line(scripted: Make) -> None:
    text = "before\u2028mid\u2029after\x85end"
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        assert text_of(bridge.tool("raw", data=complete(text.encode()))) == text
        assert text_of(bridge.tool("echo", text=text)) == text
    assert server.received("tools/call")[1]["params"]["arguments"] == {"text": text}


@proves("B03")
def test_a_line_that_is_not_utf8_costs_only_itself(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        assert text_of(bridge.tool("raw", data="\xff\xfe\n" + complete(b"fine"))) == "fine"
        assert text_of(bridge.tool("echo", text="again")) == "again"
        bridge.says(b"not valid UTF-8")
        warnings = [line for line in bridge.log_lines() if ": warning: " in line]
        assert len(warnings) == 1


@proves("B05")
def test_a_server_may_end_its_lines_with_cr_and_lf(scripted: Make) -> None:
    with Bridge(scripted("--crlf").command) as bridge:
        bridge.open()
        bridge.request(1, "tools/list")
        assert bridge.answer(1)["result"]["tools"][0]["name"] == "echo"
        assert text_of(bridge.tool("echo", text="fine")) == "fine"


@proves("B05", "TSTDIO-02")
def test_a_client_may_end_its_lines_with_cr_and_lf(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}\r\n')
        assert text_of(bridge.answer(1)) == ""
    assert not [line for line in server.lines() if line.endswith(b"\r")]


@proves("B07")
def test_a_banner_is_skipped_logged_in_short_and_never_shown_to_the_client(scripted: Make) -> None:
    noise = "Starting demo server v1\n\n=====\n" + "n" * 10_000 + "\n"
    with Bridge(scripted("--banner", noise).command) as bridge:
        bridge.open()
        assert text_of(bridge.tool("echo", text="fine")) == "fine"
        bridge.says(b"nnn")
        warnings = [line for line in bridge.log_lines() if ": warning: " in line]
        assert len(warnings) == 3
        assert "Starting demo server v1" in warnings[0]
        assert max(map(len, warnings)) < 400
        assert len(bridge.frames) == 2


@proves("B09")
def test_lines_of_a_million_characters_pass_whole_both_ways(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        assert text_of(bridge.tool("big", size=1_000_000)) == "x" * 1_000_000
        text = "".join(chr(0x4E00 + number % 20_000) for number in range(350_000))
        assert text_of(bridge.tool("echo", text=text)) == text
    assert server.received("tools/call")[1]["params"]["arguments"] == {"text": text}


@proves("B11")
def test_a_character_may_be_cut_by_the_end_of_a_write(scripted: Make) -> None:
    text = "界" * 30_000
    with Bridge(scripted().command) as bridge:
        bridge.open()
        answer = bridge.tool("raw", data=complete(text.encode()), piece=4095)
        assert text_of(answer) == text


def test_a_client_s_message_may_come_byte_by_byte_and_several_in_one_write(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        line = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"é"}}}\n'
        for byte in line.encode():
            bridge.send(bytes([byte]))
        bridge.expect(line.encode())
        assert text_of(bridge.answer(1)) == "é"
        bridge.send(*(parsed(line.replace('"id":1', f'"id":{id}').encode()) for id in range(2, 30)))
        assert [bridge.answer(id)["id"] for id in range(2, 30)] == list(range(2, 30))


@proves("B12")
def test_answers_in_one_write_and_a_last_one_without_line_end_all_arrive(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        bridge.call(2, "hold")
        bridge.call(3, "hold")
        data = complete(b"two", id=b"$HELD0") + complete(b"three", id=b"$HELD1") + complete(b"four").rstrip("\n")
        bridge.call(4, "raw", data=data, exit=0)
        assert [text_of(bridge.answer(id)) for id in (2, 3, 4)] == ["two", "three", "four"]
        bridge.says(b"the server's process")
        bridge.call(5, "echo")
        assert cause_of(bridge.answer(5)) == (-32603, "upstream_exited")
        assert bridge.end() == 1


@proves("B16")
def test_an_answer_with_a_number_that_json_lacks_fails_its_call_only(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        for value in (b"NaN", b"Infinity", b"-Infinity"):
            answer = bridge.tool("raw", data=complete(b"x", b',"structuredContent":{"mean":%s}' % value))
            assert cause_of(answer) == (-32603, "invalid_response")
            assert "not valid JSON" in answer["error"]["data"]["detail"]
        assert text_of(bridge.tool("echo", text="fine")) == "fine"


@proves("B18")
def test_half_a_surrogate_pair_of_the_server_is_delivered_as_valid_text(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        assert text_of(bridge.tool("raw", data=complete(rb"x\ud800y"))) in ("x\ud800y", "x\ufffdy")
        assert text_of(bridge.tool("raw", data=complete(rb"\ud83d\ude00"))) == "😀"


@proves("B19")
def test_half_a_surrogate_pair_of_the_client_loses_no_call(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.send(
            rb'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hold","arguments":{"text":"\udc00"}}}'
            b"\n"
        )
        bridge.tool("release")
        assert text_of(bridge.answer(2)) in ("\udc00", "\ufffd")


@proves("B19")
def test_an_id_with_half_a_surrogate_pair_comes_back_as_it_was_written(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        bridge.send(rb'{"jsonrpc":"2.0","id":"\ud800","method":"tools/call","params":{"name":"echo"}}' + b"\n")
        answer = bridge.receive()
        assert "result" in answer
        assert rb'"id":"\ud800"' in bridge.raw[-1]


def nested_call(id: int, levels: int) -> bytes:
    """A call whose message has so many levels, itself and its params among them."""
    nested = b'{"a":' * (levels - 3) + b"{}" + b"}" * (levels - 3)
    return b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":%s}}\n' % (id, nested)


@proves("B20", "SIZE-02", "ERR-36")
def test_arguments_nested_too_deep_cost_only_their_own_call(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        for id, levels in enumerate((65, 5_000, 200_000)):
            bridge.send(nested_call(id, levels))
            answer = bridge.answer(id)
            assert cause_of(answer) == (-32600, "too_deep")
            assert "64" in answer["error"]["data"]["detail"]
        assert text_of(bridge.tool("echo", text="fine")) == "fine"
    assert len(server.received("tools/call")) == 1


@proves("SIZE-02")
def test_arguments_at_the_limit_of_levels_pass(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        bridge.send(nested_call(2, 64))
        assert text_of(bridge.answer(2)) == ""


@proves("SIZE-06")
def test_a_line_of_a_million_brackets_breaks_nothing(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        bridge.send(b"[" * 1_000_000 + b"\n")
        answer = bridge.receive()
        assert answer["id"] is None
        assert text_of(bridge.tool("echo", text="fine")) == "fine"


@proves("B22")
def test_no_name_occurs_twice_in_params_that_reach_the_server(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.send(
            b'{"jsonrpc":"2.0","id":2,"method":"tools/call",'
            b'"params":{"name":"hold","name":"echo","arguments":{"text":"a"}}}\n'
        )
        bridge.answer(2)
    for line in server.lines():
        json.loads(line, object_pairs_hook=_without_repetition)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), f"a repeated name in {pairs}"
    return dict(pairs)


TWICE = (
    b'"id":1,"id":2,"method":"tools/call"',
    b'"id":1,"method":"tools/list","method":"tools/call"',
    rb'"id":1,"method":"tools/list","m\u0065thod":"tools/call"',
    b'"id":1,"jsonrpc":"2.0","method":"tools/call"',
)


@proves("B22")
def test_an_envelope_that_says_something_twice_is_refused(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        for members in TWICE:
            bridge.send(b'{"jsonrpc":"2.0",%s,"params":{"name":"echo"}}\n' % members)
            assert cause_of(bridge.receive()) == (-32600, "invalid_request_shape")
        assert text_of(bridge.tool("echo", text="fine")) == "fine"
    assert len(server.received("tools/call")) == 1
    assert not server.received("tools/list")


IDS = (
    *("0", '"req-abc"', "42", '"42"', '""', "-5"),
    *("1774232524389", "9007199254740993", "18446744073709551616", "123456789012345678901234567890"),
)


@proves("B24", "B26", "B27", "BCLI-06")
def test_an_answer_has_the_id_of_its_request_digit_by_digit(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        for id in IDS:
            for method in ("tools/list", "ping", "unknown"):
                bridge.send(b'{"jsonrpc":"2.0","id":%s,"method":"%s"}\n' % (id.encode(), method.encode()))
                assert ("result" in bridge.receive()) == (method != "unknown")
                assert f'"id":{id},'.encode() in bridge.raw[-1]


@proves("B14")
def test_digits_of_numbers_are_the_same_on_both_sides(scripted: Make) -> None:
    server = scripted()
    digits = b'{"id":1915883588174806058,"f":0.1000000000000000055511151231257827,"e":1E400,"z":-0,"d":1.0}'
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.tool("raw", data=complete(b"n", b',"structuredContent":' + digits))
        assert digits in bridge.raw[-1]
        bridge.send(
            b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":%s}}\n' % digits
        )
        bridge.answer(2)
    assert any(digits in line for line in server.lines())


@proves("B28", "ERR-38")
def test_an_id_that_is_none_is_refused_and_the_server_sees_nothing_of_it(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        for id in (b"null", b"true", b"1.5", b"{}", b"[]"):
            bridge.send(b'{"jsonrpc":"2.0","id":%s,"method":"tools/list"}\n' % id)
            answer = bridge.receive()
            assert answer["id"] is None
            assert cause_of(answer) == (-32600, "invalid_request_shape")
        assert text_of(bridge.tool("echo", text="fine")) == "fine"
    assert not server.received("tools/list")


@proves("B32", "LINE-09", "LINE-10", "ERR-37")
def test_a_line_that_is_no_json_is_answered_with_the_id_null_and_disturbs_nobody(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        bridge.call(0, "hold", text="mine")
        for line in (b"{", b'{"jsonrpc":"2.0",', b"\xff\xfe", b"nonsense", b'{"a":\x01}'):
            bridge.send(line + b"\n")
            answer = bridge.receive()
            assert answer["id"] is None
            assert cause_of(answer) == (-32700, "parse_error")
        bridge.call(1, "release")
        assert text_of(bridge.answer(0)) == "mine"
        assert text_of(bridge.answer(1)) == "released"


@proves("LINE-07", "LINE-08")
def test_a_response_that_answers_nothing_gets_no_answer(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        bridge.send(
            b'{"jsonrpc":"2.0","id":null,"result":{}}\n',
            b'{"jsonrpc":"2.0","id":1.5,"result":{}}\n',
            b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}\n',
            b'{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}\n',
            b'{"jsonrpc":"2.0","id":"b-77","result":{}}\n',
        )
        bridge.request(1, "ping")
        assert bridge.receive()["id"] == 1
