"""The id of bytes that do not parse."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire import salvage
from support.proofs import proves


@proves("LINE-02", "LINE-06")
@pytest.mark.parametrize(
    ("data", "id"),
    [
        (b'{"jsonrpc":"2.0","id":5,"method":', b"5"),
        (b'{"id" : "a\\"b" , "x":', b'"a\\"b"'),
        (b'{"params":{"id":7},"id":-12,', b"-12"),
        (b'{"params":{"id":7', None),
        (b'{"text":"\\"id\\":7","id":8', b"8"),
        (b'{"text":",\\"id\\":7', None),
        (b"{", None),
        (b"", None),
        (b"[[[", None),
        (b'[{"id":5}]', None),
        (b'{"id":1.5,', None),
        (b'{"id":null,', None),
        (b'{"id":true}', None),
        (b'{"id":[1]}', None),
        (b'{"a":"id","b":5}', None),
        (b'{"a":[1,{"id":2}],"id":3', b"3"),
        (b'{"id":123456789012345678901234567890,', b"123456789012345678901234567890"),
        (b'{"\\u0069d":4,', b"4"),
        (b'{"id":"\\x","a":', None),
        (b'{"id":"\\u12","a":', None),
        (b'{"id":"\xff","a":', None),
        (b'{"id":"a\x01","a":', None),
        ('{"id":"é\\/","a":'.encode(), '"é\\/"'.encode()),
        (b'{"x":' + b"[" * 5000 + b"]" * 5000 + b',"id":9}', b"9"),
    ],
)
def test_only_a_member_of_the_outermost_object_that_is_valid_json_is_the_id(data: bytes, id: bytes | None) -> None:
    """Whatever the name's spelling (LINE-02); what goes into an answer is valid by itself (B2 of the second list)."""
    assert salvage.id_in(data) == id


@proves("LINE-03")
@pytest.mark.parametrize(
    ("tail", "id"),
    [
        (b'...x"}},"id":5}', b"5"),
        (b'...x"}}, "id" : "req-abc" }  ', b'"req-abc"'),
        (b'..."params":{"id":5}}', None),
        (b'...\\"id\\":5}', None),
        (b'...,"id":5', None),
        (b'...,"id":null}', None),
        (b'...,"id":"\\x"}', None),
        (b'...,"id":"\xff"}', None),
    ],
)
def test_an_id_that_is_the_last_member_is_found_from_the_end(tail: bytes, id: bytes | None) -> None:
    assert salvage.last_id_in(tail) == id


@proves("LINE-04", "B20", "B32")
@given(
    st.dictionaries(st.text(max_size=6), st.recursive(st.text() | st.none(), st.lists, max_leaves=5), max_size=5),
    st.text(max_size=6) | st.integers(),
    st.integers(0, 60),
)
def test_a_cut_message_gives_its_id_or_none_and_never_another(members: dict[str, object], id: object, cut: int) -> None:
    members.pop("id", None)
    text = json.dumps({**members, "id": id, "params": {"id": "inner"}}).encode()
    found = salvage.id_in(text[:-1] if cut == 0 else text[:-cut])
    assert found is None or json.dumps(id).encode().startswith(found[: len(json.dumps(id))]) or json.loads(found) == id
