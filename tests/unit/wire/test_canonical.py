"""The one spelling of a JSON value."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.canonical import canonical

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":1,"b":[true,null]}', b' { "b" : [ true , null ] , "a" : 1 } '),
        (b'"a/b"', b'"a\\/b"'),
        (b'"\\u0061"', b'"a"'),
        (b'{"\\u0061":1}', b'{"a":1}'),
        (b"[1e999]", b"[ 1e999 ]"),
        (b"9" * 5000, b" " + b"9" * 5000),
    ],
)
def test_texts_that_say_the_same_have_one_spelling(one: bytes, other: bytes) -> None:
    """No number is read, so none is too large (B1)."""
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(("one", "other"), [(b"1", b"2"), (b"1", b'"1"'), (b"[1,2]", b"[2,1]"), (b"{}", b"[]")])
def test_texts_that_say_something_else_do_not(one: bytes, other: bytes) -> None:
    assert canonical(one) != canonical(other)


@given(JSON)
def test_it_says_what_the_text_said(value: object) -> None:
    text = canonical(json.dumps(value).encode())
    assert json.loads(text) == value
    assert canonical(text) == text
