"""Framing: what a line is, at any chunk borders and any length."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.lines import EDGE, Lines, Overlong
from support.proofs import proves

LIMIT = 1000


def fed(framer: Lines, *chunks: bytes) -> list[bytes | Overlong]:
    return [line for chunk in chunks for line in framer.feed(chunk)]


@proves("B01", "B05", "TSTDIO-02")
@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b\nc"], [b"ab"]),
        ([b"a\r\nb\r\n"], [b"a\r", b"b\r"]),
        ([b"\n \n\t\r\na\n\n"], [b"a"]),
        (["x\u2028y\u2029z\n".encode()], ["x\u2028y\u2029z".encode()]),
        ([b"a\n", b"", b"b", b"\n"], [b"a", b"b"]),
        ([b"a", b"\nb\nc\nd", b"\n"], [b"a", b"b", b"c", b"d"]),
    ],
)
def test_only_lf_ends_a_line_and_blank_ones_are_none(chunks: list[bytes], lines: list[bytes]) -> None:
    assert fed(Lines(LIMIT), *chunks) == lines


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"\xef\xbb\xbfa\nb\n"], [b"a", b"b"]),
        ([b"\xef", b"\xbb", b"\xbf", b"a\n"], [b"a"]),
        ([b"\xef\xbb\xbf\n", b"a\n"], [b"a"]),
        ([b"\xef\xbb", b"x\n"], [b"\xef\xbbx"]),
        ([b"a\n\xef\xbb\xbfb\n"], [b"a", b"\xef\xbb\xbfb"]),
        ([b"\xef\xbb\xbf\xef\xbb\xbfa\n"], [b"\xef\xbb\xbfa"]),
        ([b"", b"\xef\xbb\xbfa\n"], [b"a"]),
    ],
)
def test_one_byte_order_mark_at_the_very_start_is_skipped(chunks: list[bytes], lines: list[bytes]) -> None:
    """However it is cut (A5); anywhere else it is content."""
    assert fed(Lines(LIMIT), *chunks) == lines


def test_a_stream_that_ends_inside_a_byte_order_mark_ends_with_that() -> None:
    framer = Lines(LIMIT)
    assert fed(framer, b"\xef\xbb") == []
    assert framer.end() == [b"\xef\xbb"]


@proves("B12")
def test_the_rest_without_a_line_end_comes_at_the_end_once() -> None:
    framer = Lines(LIMIT)
    assert fed(framer, b"a\nrest") == [b"a"]
    assert framer.end() == [b"rest"]
    assert framer.end() == []


@proves("LINE-01", "SIZE-01")
def test_a_line_of_the_limit_passes_and_a_longer_one_keeps_its_edges() -> None:
    whole, longer = b"x" * LIMIT, b"<" + b"y" * LIMIT + b">"
    lines = fed(Lines(LIMIT), whole + b"\n" + longer + b"\nnext\n")
    assert lines == [whole, Overlong(longer[:EDGE], longer[-EDGE:]), b"next"]


@proves("LINE-01", "B162")
@pytest.mark.parametrize("step", [1, 7, 256, 5000])
def test_a_long_line_is_thrown_away_as_it_comes(step: int) -> None:
    framer = Lines(LIMIT)
    line = bytes(range(1, 10)) * 5000 + b"tail"
    found: list[bytes | Overlong] = []
    for start in range(0, len(line), step):
        found += framer.feed(line[start : start + step])
        assert framer.held <= LIMIT + step + 1
    found += framer.feed(b"\nnext\n")
    assert found == [Overlong(line[:EDGE], line[-EDGE:]), b"next"]


def test_a_long_line_that_never_ends_is_told_at_the_end() -> None:
    framer = Lines(LIMIT)
    assert fed(framer, b"a" * 5000) == []
    assert framer.end() == [Overlong(b"a" * EDGE, b"a" * EDGE)]


def test_an_eager_framer_tells_at_once_that_a_line_is_too_long_and_again_when_it_ends() -> None:
    framer = Lines(LIMIT, eager=True)
    head = b'{"id":5,' + b"x" * (EDGE - 8)
    assert framer.feed(head) == []
    assert framer.feed(b"y" * LIMIT) == [Overlong(head[:EDGE], b"", ended=False)]
    assert framer.feed(b"y" * LIMIT) == []
    assert framer.feed(b"z\nnext\n") == [Overlong(head[:EDGE], b"y" * (EDGE - 1) + b"z"), b"next"]


contents = st.lists(st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"?")), max_size=12)


@proves("B11")
@given(contents, st.lists(st.integers(0, 800), max_size=20), st.integers(1, 80))
def test_lines_do_not_depend_on_chunk_borders(lines: list[bytes], cuts: list[int], limit: int) -> None:
    data = b"".join(line + b"\n" for line in lines)
    borders = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:stop] for start, stop in pairwise(borders)]
    whole = Lines(limit)
    one_by_one = Lines(limit)
    expected = fed(whole, data) + whole.end()
    assert fed(Lines(limit), *pieces) == expected
    assert fed(one_by_one, *(data[place : place + 1] for place in range(len(data)))) == expected
