"""Messages: what is one, what it is, and that its parts stay the bytes they were."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from dragoman.wire import frame as wire
from dragoman.wire.frame import Batch, Broken, Flaw, Frame, Opened, id_key, is_id
from dragoman.wire.lines import Overlong
from dragoman.wire.members import closed
from support.proofs import proves

CALL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"n":1.0e0}}'


def frame_of(data: bytes) -> Frame:
    found = wire.parse(data)
    assert isinstance(found, Frame)
    return found


@proves("SDKMSG-02", "B26", "B27")
@pytest.mark.parametrize(
    "id",
    [b"0", b"-5", b"9007199254740993", b"123456789012345678901234567890", b'"a\\u00e9\\/b"', b'""', '"界"'.encode()],
)
def test_an_id_is_kept_as_it_was_written(id: bytes) -> None:
    frame = frame_of(CALL.replace(b"7", id, 1))
    assert frame.id is not UNSET
    assert bytes(frame.id) == id
    assert is_id(id)


@proves("B28")
@pytest.mark.parametrize("id", [b"null", b"true", b"1.5", b"1e3", b"{}", b"[]", b"-"])
def test_other_values_are_no_ids(id: bytes) -> None:
    assert not is_id(id)


@proves("LIFE-25")
def test_ids_are_equal_by_type_and_value() -> None:
    assert id_key(b'"\\u0061"') == id_key(b'"a"')
    assert id_key(b'"1"') != id_key(b"1")
    assert id_key(b'"\\ud800"') == b'"\\ud800"'


@proves("SDKMSG-01", "B16", "SIZE-02", "LINE-09")
@pytest.mark.parametrize(
    ("data", "flaw"),
    [
        (b"{", Flaw.NOT_JSON),
        (b"rubbish", Flaw.NOT_JSON),
        (b'{"id":2,"result":{"mean":NaN}}', Flaw.NOT_JSON),
        (b'{"id":2,"result":{"x":-Infinity}}', Flaw.NOT_JSON),
        (b'{"id":1} {"id":2}', Flaw.NOT_JSON),
        (b'{"id":2,"x":"\xff"}', Flaw.NOT_UTF8),
        (b'{"id":2,"x":' + b"[" * 64 + b"]" * 64 + b"}", Flaw.TOO_DEEP),
        (b"[" * 1_000_000, Flaw.TOO_DEEP),
        (b"5", Flaw.NOT_A_MESSAGE),
        (b'"x"', Flaw.NOT_A_MESSAGE),
        (b'{"method":5,"id":1}', Flaw.NOT_A_MESSAGE),
        (b'{"method":5,"id":', Flaw.NOT_JSON),
        (b"\xef\xbb\xbf{}", Flaw.NOT_JSON),
    ],
)
def test_what_is_no_message_is_broken_with_its_flaw(data: bytes, flaw: Flaw) -> None:
    found = wire.parse(data, 64)
    assert isinstance(found, Broken)
    assert found.flaw is flaw


@proves("SIZE-02")
def test_sixty_four_levels_pass() -> None:
    assert isinstance(wire.parse(b'{"id":2,"x":' + b"[" * 63 + b"]" * 63 + b"}", 64), Frame)


def test_depth_without_a_limit_ends_where_the_decoder_ends() -> None:
    deep = b'{"id":2,"result":{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    for found in (wire.parse(deep), wire.parse_opened(deep)):
        assert isinstance(found, Broken)
        assert (found.flaw, found.id, found.answers) == (Flaw.TOO_DEEP, b"2", True)


def test_a_broken_line_shows_its_id_and_what_it_looked_like() -> None:
    request = wire.parse(b'{"jsonrpc":"2.0","id":"x","method":"m","params":{')
    answer = wire.parse(b'{"jsonrpc":"2.0","id":"x","result":{')
    assert isinstance(request, Broken)
    assert isinstance(answer, Broken)
    assert (request.id, request.answers) == (b'"x"', False)
    assert (answer.id, answer.answers) == (b'"x"', True)


def test_an_overlong_line_is_known_by_its_edges() -> None:
    head = wire.parse(Overlong(b'{"jsonrpc":"2.0","id":5,"result":{"x":"aaa', b"aaa"))
    tail = wire.parse(Overlong(b'{"jsonrpc":"2.0","method":"m","params":{"x":"aaa', b'aaa"},"id":"z"}'))
    neither = wire.parse(Overlong(b"aaa", b"aaa"))
    assert isinstance(head, Broken)
    assert isinstance(tail, Broken)
    assert isinstance(neither, Broken)
    assert (head.flaw, head.id, head.answers) == (Flaw.TOO_LONG, b"5", True)
    assert (tail.id, tail.answers) == (b'"z"', False)
    assert neither.id is None


@proves("B19")
def test_half_a_surrogate_pair_does_not_lose_the_message() -> None:
    frame = frame_of(rb'{"jsonrpc":"2.0","id":"\ud800","method":"m","params":{"t":"x\udc00y"}}')
    assert frame.id is not UNSET
    assert frame.params is not UNSET
    assert bytes(frame.id) == rb'"\ud800"'
    assert bytes(frame.params) == rb'{"t":"x\ufffdy"}'


def test_an_array_is_a_batch_of_whatever_it_holds() -> None:
    found = wire.parse(b'[{"id":1},5]')
    assert isinstance(found, Batch)
    assert [bytes(entry) for entry in found.entries] == [b'{"id":1}', b"5"]


@proves("B22")
@pytest.mark.parametrize(
    ("data", "repeated"),
    [
        (CALL, False),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}', False),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', True),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}', True),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}', True),
        (b'{"jsonrpc":"2.0","id":1,"\\u0069d":2,"method":"ping"}', True),
        (b'{"jsonrpc" :"2.0" , "id":1 , "method" :"ping"}', False),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","x":{"id":1,"id":2}}', False),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","x":1,"x":2}', False),
        (b'{"jsonrpc":"2.0","id":1,"method":"p","params":{"a":[1,{"method":"x"}]},"id":1}', True),
    ],
)
def test_a_member_of_the_envelope_that_stands_twice_is_seen(data: bytes, repeated: bool) -> None:
    assert wire.is_repeated(data, frame_of(data)) is repeated


envelopes = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": st.integers() | st.text(max_size=5), "method": st.text(max_size=8)},
    optional={"params": st.dictionaries(st.text(max_size=3), st.integers(), max_size=3), "x": st.text(max_size=3)},
)


@given(envelopes, st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : ")]), st.booleans())
def test_no_plain_message_looks_repeated_and_each_repetition_does(
    envelope: dict[str, object], separators: tuple[str, str], ascii_only: bool
) -> None:
    text = json.dumps(envelope, separators=separators, ensure_ascii=ascii_only)
    assert not wire.is_repeated(text.encode(), frame_of(text.encode()))
    for name, value in (("id", "1"), ("jsonrpc", '"2.0"'), ("method", '"m"')):
        twice = f'{text[:-1]}{separators[0]}"{name}"{separators[1]}{value}}}'.encode()
        assert wire.is_repeated(twice, frame_of(twice))


@pytest.mark.parametrize(
    ("data", "params", "result"),
    [
        (b'{"method":"n","params":{"a":1.0}}', {"a": b"1.0"}, UNSET),
        (b'{"method":"n","params":[1]}', {}, UNSET),
        (b'{"id":1,"result":{"a":1e9}}', UNSET, {"a": b"1e9"}),
        (b'{"id":1,"result":5}', UNSET, None),
        (b'{"id":1,"result":null}', UNSET, None),
        (rb'{"id":1,"result":{"a":"\ud800"}}', UNSET, {"a": rb'"\ufffd"'}),
    ],
)
def test_bodies_are_opened_in_the_same_pass_or_told_to_be_none(data: bytes, params: object, result: object) -> None:
    def plain(value: object) -> object:
        return {k: bytes(v) for k, v in value.items()} if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    found = wire.parse_opened(data)
    assert isinstance(found, Opened)
    assert plain(found.params) == params
    assert plain(found.result) == result


@given(st.binary(max_size=80) | st.text(max_size=60).map(str.encode))
def test_no_bytes_make_the_reader_raise(data: bytes) -> None:
    assert isinstance(wire.parse(data, 64), Frame | Broken | Batch)
    assert isinstance(wire.parse_opened(data), Opened | Broken | Batch)


@given(st.dictionaries(st.text(max_size=4), st.integers(0, 3).map(lambda size: size * 20_000), min_size=1, max_size=4))
def test_large_and_small_results_are_written_alike(sizes: dict[str, int]) -> None:
    members = {name: Raw(b'"%b"' % (b"x" * size)) for name, size in sizes.items()}
    expected = b'{"jsonrpc":"2.0","id":7,"result":%b}' % bytes(closed(members))
    assert wire.reply_with(b"7", members) == expected


def test_what_is_written_is_one_message_with_the_given_bytes() -> None:
    assert wire.request(b'"b-1"', "roots/list", b"{}") == (
        b'{"jsonrpc":"2.0","id":"b-1","method":"roots/list","params":{}}'
    )
    assert wire.request(b"1", "ping") == b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    assert wire.notice("n") == b'{"jsonrpc":"2.0","method":"n"}'
    assert wire.notice("n", b"{}") == b'{"jsonrpc":"2.0","method":"n","params":{}}'
    assert wire.reply(b"1.0", b"{ }") == b'{"jsonrpc":"2.0","id":1.0,"result":{ }}'
    assert wire.failure(None, b"{}") == b'{"jsonrpc":"2.0","id":null,"error":{}}'
