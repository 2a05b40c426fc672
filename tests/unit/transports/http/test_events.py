"""The stream of events: every line end, every chunk border, every bound."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.transports.http.events import FIELD, Event, Events
from support.proofs import proves

LIMIT = 1000


def parsed(*chunks: bytes, limit: int = LIMIT) -> list[tuple[bytes, bytes]]:
    events = Events(limit)
    return [(event.kind, event.data) for chunk in chunks for event in events.feed(chunk)]


def message(data: bytes) -> tuple[bytes, bytes]:
    return b"message", data


@proves("B126", "B128")
@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"event: message\ndata: {}\n\n", [message(b"{}")]),
        (b"event: message\r\ndata: {}\r\n\r\n", [message(b"{}")]),
        (b"event: message\rdata: {}\r\r", [message(b"{}")]),
        (b"event: message\r\ndata: {}\n\rdata: 1\r\r\n", [message(b"{}"), message(b"1")]),
        (b'data: {"a":\ndata: 1}\n\n', [message(b'{"a":\n1}')]),
        (b"data:{}\n\n", [message(b"{}")]),
        (b"data:  {}\n\n", [message(b" {}")]),
        (b"data\ndata: a\n\n", [message(b"\na")]),
        (b"data\n\ndata:\n\n\n\n", []),
        (b": ping\n\n:\n:x\ndata: a\n: y\n\n", [message(b"a")]),
        (b"id: 1\nretry: 5\nunknown: z\nDATA: no\n data: no\ndata: a\n\n", [message(b"a")]),
        (b"event: ping\ndata: a\n\ndata: b\n\n", [(b"ping", b"a"), message(b"b")]),
        (b"event: ping\n\ndata: b\n\n", [message(b"b")]),
        (b"event:\ndata: b\n\n", [message(b"b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [message(b"a")]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [message(b"b")]),
        (b"data: a\n\ndata: cut off\n", [message(b"a")]),
        ("data: a\u2028b\u0085\x0b\x0c界😀\n\n".encode(), [message("a\u2028b\u0085\x0b\x0c界😀".encode())]),
        (b"\n\r\r\n\n", []),
        (b"data: a:b: c\n\n", [message(b"a:b: c")]),
        (b"data: \x00\xff\n\n", [message(b"\x00\xff")]),
    ],
)
def test_what_a_stream_says(stream: bytes, events: list[tuple[bytes, bytes]]) -> None:
    assert parsed(stream) == events
    assert parsed(*(stream[place : place + 1] for place in range(len(stream)))) == events


def test_an_event_that_is_cut_off_is_none() -> None:
    assert parsed(b"data: a\n\ndata: b\n") == [message(b"a")]
    assert parsed(b"data: b") == []


PIECES = [
    b"data: ",
    b"data:",
    b"event: ",
    b": ",
    b"id: ",
    b"\n",
    b"\r",
    b"\r\n",
    "界😀é".encode(),
    b"{}",
    b"\xef\xbb\xbf",
]


@proves("B129")
@given(st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join), st.lists(st.integers(0, 80), max_size=12))
def test_chunk_borders_do_not_matter(stream: bytes, borders: list[int]) -> None:
    places = [0, *sorted(min(border, len(stream)) for border in borders), len(stream)]
    chunks = [stream[begin:end] for begin, end in pairwise(places)]
    assert parsed(*chunks) == parsed(stream)


@proves("B126")
@given(st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join))
def test_line_ends_do_not_matter(stream: bytes) -> None:
    plain = stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert parsed(stream) == parsed(plain) == parsed(plain.replace(b"\n", b"\r\n"))


@proves("SIZE-03")
def test_an_event_of_the_limit_passes_and_the_limit_is_of_one_event() -> None:
    largest = b"data: " + b"x" * LIMIT + b"\n\n"
    assert parsed(largest * 5) == [message(b"x" * LIMIT)] * 5
    assert parsed(*(bytes([byte]) for byte in largest)) == [message(b"x" * LIMIT)]


@proves("SIZE-04")
@pytest.mark.parametrize(
    "begin",
    [
        b"data: " + b"x" * (LIMIT + 1),
        b"data: " + b"x" * LIMIT + b"\ndata: y\n",
        b"data: x\n" * LIMIT,
        b"data:\n" * (LIMIT + 2),
        b": " + b"x" * (LIMIT + FIELD),
        b"x" * (LIMIT + FIELD + 1) + b"\n",
        b"event: " + b"x" * LIMIT,
    ],
)
@pytest.mark.parametrize("step", [1, 64, 1 << 16])
def test_too_much_is_told_before_the_rest_arrives(begin: bytes, step: int) -> None:
    events = Events(LIMIT)
    assert events.feed(b"data: before\n\n") == [Event(b"message", b"before")]
    for place in range(0, len(begin), step):
        assert events.feed(begin[place : place + step]) == []
    assert events.too_long
    assert events.feed(b"\n\ndata: after\n\n") == []


def test_what_stands_before_too_much_in_one_chunk_is_told() -> None:
    events = Events(LIMIT)
    assert events.feed(b"data: a\n\ndata: " + b"x" * LIMIT * 2) == [Event(b"message", b"a")]
    assert events.too_long


def test_a_large_event_costs_its_own_length() -> None:
    size = 8 << 20
    events = Events(size)
    found: list[Event] = []
    for chunk in [b"data: ", *[b"x" * (1 << 12)] * (size >> 12), b"\n\n"]:
        found += events.feed(chunk)
    assert [len(event.data) for event in found] == [size]


@pytest.mark.parametrize(
    ("stream", "id", "retry"),
    [
        (b"id: 7\ndata: a\n\n", b"7", None),
        (b"id: 7\ndata:\n\n", b"7", None),
        (b"id: 7\n\n", b"7", None),
        (b"id: 7\ndata: a\n", None, None),
        (b"id: 7\ndata: a\n\nid: 8\ndata: b\n", b"7", None),
        (b"id: 7\ndata: a\n\ndata: b\n\n", b"7", None),
        (b"id: 7\n\nid:\n\n", b"", None),
        (b"id: 7\n\nid\n\n", b"", None),
        (b"id: 7\n\nid: a\x00b\n\n", b"7", None),
        (b"id: 7\n\nid: " + b"x" * 5000 + b"\n\n", b"7", None),
        (b"id: a\nid: b: c\n\n", b"b: c", None),
        (b"retry: 1500\n", None, 1500),
        (b"retry: 1500\nretry: -1\nretry: 2s\nretry:\n\n", None, 1500),
        (b"retry:0\n\n", None, 0),
    ],
)
def test_where_a_stream_can_be_resumed_and_when(stream: bytes, id: bytes | None, retry: int | None) -> None:
    for step in (1, len(stream)):
        events = Events(1 << 16)
        for place in range(0, len(stream), step):
            events.feed(stream[place : place + step])
        assert (events.id, events.retry) == (id, retry)
        assert not events.too_long
