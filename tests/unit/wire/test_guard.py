"""What is checked before anything is read: UTF-8, depth, half surrogate pairs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire import guard
from support.proofs import proves


@pytest.mark.parametrize(
    ("data", "valid"),
    [
        (b"plain", True),
        ("é界😀".encode(), True),
        (b"\xff\xfe", False),
        (b"\xc0\xaf", False),
        (b"\xed\xa0\x80", False),
        ("é".encode() * 100_000, True),
        ("é".encode() * 100_000 + b"\xc3", False),
        (b"x" + "界".encode() * 50_000, True),
        (b"x" * 70_000 + b"\x80", False),
    ],
)
def test_all_of_the_bytes_are_checked_whatever_their_length(data: bytes, valid: bool) -> None:
    assert guard.is_utf8(data) is valid


@given(st.text(max_size=200_000 // 4))
def test_every_text_is_valid(text: str) -> None:
    assert guard.is_utf8(text.encode("utf-8", "surrogatepass")) is not any("\ud800" <= c <= "\udfff" for c in text)


@proves("SIZE-02", "SIZE-06")
@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("5", 0),
        ("{}", 1),
        ('{"a":[{"b":[]}]}', 4),
        ('{"a":"[[[[","b":"\\"[{"}', 1),
        ("[" * 64 + "]" * 64, 64),
        ("[" * 1_000_000, 1_000_000),
        ('{"a":' * 70, 70),
        ("[]" * 500, 1),
    ],
)
def test_depth_counts_brackets_outside_of_strings(text: str, levels: int) -> None:
    assert guard.depth(text.encode()) == levels
    assert guard.is_deeper(text.encode(), 64) is (levels > 64)


values = st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


def measured(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max((measured(item) for item in value.values()), default=0)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list):
        return 1 + max((measured(item) for item in value), default=0)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return 0


@given(values)
def test_depth_is_that_of_the_value(value: object) -> None:
    assert guard.depth(json.dumps(value).encode()) == measured(value)


@proves("B18")
@pytest.mark.parametrize(
    ("data", "mended"),
    [
        (rb'"x\ud800y"', rb'"x\ufffdy"'),
        (rb'"\udc00"', rb'"\ufffd"'),
        (rb'"\ud83d\ude00"', None),
        (rb'"\\ud800"', None),
        (rb'"\\\ud800"', rb'"\\\ufffd"'),
        (rb'"\ud800\ud83d\ude00\udfff"', rb'"\ufffd\ud83d\ude00\ufffd"'),
        (rb'"\u00e9"', None),
    ],
)
def test_only_halves_of_pairs_are_replaced(data: bytes, mended: bytes | None) -> None:
    assert guard.mend(data) == mended


@given(st.text(st.characters(codec=None), max_size=40))
def test_mending_gives_what_python_would_replace(text: str) -> None:
    data = json.dumps(text).encode()
    mended = guard.mend(data) or data
    assert json.loads(mended) == json.loads(data).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
