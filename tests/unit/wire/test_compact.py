"""The same text in fewer bytes, where that matters, and nothing else."""

import json

import pytest
from msgspec import Raw

from dragoman.wire.compact import LARGE, compact
from dragoman.wire.frame import reply_with

LONG = "é界😀" * (LARGE // 12)


def escaped(value: object) -> Raw:
    return Raw(json.dumps(value).encode())


@pytest.mark.parametrize("value", [LONG, [1, LONG], {"a": {"text": LONG}, "b": [LONG, '"\\\n']}])
def test_a_large_value_says_the_same_in_fewer_bytes(value: object) -> None:
    given = escaped(value)
    shorter = bytes(compact(given))
    assert json.loads(shorter) == value
    assert b"\\u" not in shorter
    assert len(shorter) < len(given)


def test_numbers_and_small_values_keep_their_spelling() -> None:
    given = Raw(b'{"n":1.50e3,"s":"\\u00e9","big":%b}' % bytes(escaped(LONG)))
    assert bytes(compact(given)).startswith(b'{"n":1.50e3,"s":"\\u00e9","big":')


@pytest.mark.parametrize("given", [b'"\\ud800%b"' % (b"x" * LARGE), b'"%b"' % (b"x" * LARGE), b'"\\u00e9"'])
def test_what_has_nothing_to_win_stays_as_it_came(given: bytes) -> None:
    assert bytes(compact(Raw(given))) == given


def test_a_result_that_a_client_would_refuse_for_its_length_reaches_it() -> None:
    text = "é" * (2 << 20)
    frame = reply_with(b"1", {"content": escaped([{"type": "text", "text": text}])})
    assert len(frame) < 10 << 20
    assert json.loads(frame)["result"]["content"][0]["text"] == text
