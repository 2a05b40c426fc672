"""The events of one response: what is kept, what is sent again, who reads."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.transports.http.server.budget import Budget
from dragoman.transports.http.server.large_body import PIECE
from dragoman.transports.http.server.stream import COMMENT, Reader, Stream
from support.listener import elapse, scene, settle
from support.proofs import proves


def frames(data: bytes) -> list[bytes]:
    return [block.rpartition(b"data: ")[2] for block in data.split(b"\n\n")[:-1]]


def test_an_event_has_the_id_of_its_stream_and_place() -> None:
    stream = Stream(b"s-3", 1000, 1000)
    stream.put(b"{}")
    stream.put(b"[]")
    assert stream.taken() == b"id: s-3-1\nevent: message\ndata: {}\n\nid: s-3-2\nevent: message\ndata: []\n\n"
    assert stream.taken() == b""


def test_a_primed_stream_begins_with_an_id_and_no_data() -> None:
    stream = Stream(b"s", 1000, 1000, primed=True)
    assert not stream.is_resumable
    assert stream.taken() == b"id: s-1\ndata: \n\n"
    assert stream.is_resumable


def test_a_stream_without_a_name_has_no_ids_and_keeps_nothing() -> None:
    stream = Stream(None, 1000, 1000, primed=True)
    stream.put(b"{}")
    assert stream.taken() == b"event: message\ndata: {}\n\n"
    assert (stream.size, stream.is_resumable, stream.is_empty) == (0, False, True)


def test_what_waits_above_its_bound_makes_the_stream_stuck() -> None:
    stream = Stream(None, 0, 10)
    stream.put(b"x" * 50)  # a single one may be as large as it is
    assert not stream.is_stuck
    stream.put(b"y")
    assert (stream.is_stuck, stream.size) == (True, 0)
    stream.put(b"z")
    assert stream.taken() == b""


def test_a_stream_that_drops_loses_its_oldest_events() -> None:
    stream = Stream(b"s", 10, 10, drops=True)
    for letter in b"abcdef":
        stream.put(bytes([letter]) * 4)
    assert not stream.is_stuck
    assert frames(stream.taken()) == [b"eeee", b"ffff"]


def test_only_so_much_of_what_was_written_is_kept() -> None:
    stream = Stream(b"s", 10, 1000)
    for letter in b"abc":
        stream.put(bytes([letter]) * 4)
        stream.taken()
    stream.rewind(0)
    assert frames(stream.taken()) == [b"bbbb", b"cccc"]


@pytest.mark.parametrize(("number", "again"), [(0, 3), (1, 2), (3, 0), (99, 0), (-5, 3)])
def test_a_client_goes_on_behind_what_it_has(number: int, again: int) -> None:
    stream = Stream(b"s", 1000, 1000)
    for _ in range(3):
        stream.put(b"{}")
    stream.taken()
    stream.rewind(number)
    assert len(frames(stream.taken())) == again


@given(
    st.lists(st.one_of(st.binary(min_size=1, max_size=6).map(bytes.hex), st.integers(0, 12), st.just("take"))),
    st.integers(0, 40),
)
def test_events_come_in_order_and_none_that_is_kept_is_missing(steps: list[str | int], kept: int) -> None:
    stream = Stream(b"s", kept, 1 << 20)
    put: list[bytes] = []
    place = written = 0
    for step in steps:
        if isinstance(step, int):
            place = min(step, written)
            stream.rewind(place)
        elif step == "take":
            taken = frames(stream.taken())
            assert taken == put[len(put) - len(taken) :]
            assert len(taken) <= len(put) - place
            place = written = len(put)
            assert stream.size <= kept
        else:
            put.append(step.encode())
            stream.put(put[-1])


# ---------------------------------------------------------------------- large events


@pytest.mark.parametrize("name", [b"s", None])
@pytest.mark.parametrize("extra", [1, 100, PIECE, 5 * PIECE])
def test_a_large_event_is_written_in_pieces_and_counts_until_its_last(name: bytes | None, extra: int) -> None:
    """C9"""
    budget = Budget(1 << 30)
    stream = Stream(name, 0, 1 << 30, budget=budget)
    large = b"x" * (PIECE + extra)
    for frame in (b"before", large, b"behind"):
        stream.put(frame)
    pieces: list[bytes] = []
    while piece := stream.taken():
        assert len(piece) < PIECE + 200
        pieces.append(piece)
        assert budget.used >= (len(large) if not piece.endswith(b"\n\n") else 0)
    assert frames(b"".join(pieces)) == [b"before", large, b"behind"]
    assert budget.used == stream.size == 0


def test_who_takes_a_stream_up_in_the_middle_of_an_event_gets_it_from_its_begin() -> None:
    stream = Stream(b"s", 1 << 20, 1 << 20)
    large = b"x" * (2 * PIECE)
    stream.put(large)
    stream.read()
    assert len(stream.taken()) < len(large)
    stream.read()
    assert frames(stream.taken() + stream.taken()) == [large]


@scene
async def test_a_stream_that_is_given_up_in_the_middle_of_an_event_says_nothing_more() -> None:
    """C9: what follows would stand in the event."""
    budget = Budget(3 * PIECE)
    stream, other = (Stream(None, 0, 1 << 30, budget=budget) for _ in range(2))
    reader = stream.read()
    stream.put(b"x" * (2 * PIECE))
    assert await reader.next(15)
    other.put(b"y" * (PIECE + 1))
    assert await reader.next(15) is None
    assert reader.ends
    assert stream.has_exceeded
    assert budget.used == other.size


@scene
async def test_a_stream_that_drops_a_half_written_event_goes_on_with_whole_ones() -> None:
    """C9: who read the first half gets no more, and the next reader no half."""
    stream = Stream(b"s", 3 * PIECE, 3 * PIECE, drops=True)
    reader = stream.read()
    stream.put(b"x" * (2 * PIECE))
    assert await reader.next(15)
    stream.put(b"y" * (2 * PIECE))
    assert await reader.next(15) is None
    reader.close()
    following = stream.read()
    rest = [await following.next(15) for _ in range(2)]
    assert frames(b"".join(piece or b"" for piece in rest)) == [b"y" * (2 * PIECE)]


# ---------------------------------------------------------------------- reading


def reading(reader: Reader, patience: float = 15) -> "asyncio.Task[bytes | None]":
    return asyncio.ensure_future(reader.next(patience))


@scene
async def test_a_reader_gets_what_comes_and_then_the_end() -> None:
    stream = Stream(None, 0, 1000)
    reader = stream.read()
    first = reading(reader)
    await settle()
    assert not first.done()
    stream.put(b"{}")
    assert frames(await first or b"") == [b"{}"]
    stream.put(b"[]", last=True)
    assert frames(await reader.next(1) or b"") == [b"[]"]
    assert await reader.next(1) is None
    assert not reader.ends


@proves("B131")
@scene
async def test_silence_is_a_comment() -> None:
    stream = Stream(None, 0, 1000)
    reader = stream.read()
    quiet = reading(reader)
    await elapse(14)
    assert not quiet.done()
    await elapse(2)
    assert await quiet == COMMENT


@pytest.mark.parametrize("how", ["hung up", "displaced", "stuck", "finished"])
@scene
async def test_a_waiting_reader_ends(how: str) -> None:
    stream = Stream(None, 0, 1)
    reader = stream.read()
    waiting = reading(reader)
    await settle()
    if how == "hung up":
        reader.hang_up()
    elif how == "displaced":
        stream.read()
    elif how == "stuck":
        stream.put(b"xx")
        stream.put(b"yy")
    else:
        stream.finish()
    assert await waiting is None
    assert reader.ends is (how != "finished")


@proves("B68")
@scene
async def test_only_the_newest_reader_counts() -> None:
    stream = Stream(None, 0, 1000)
    older, newer = stream.read(), stream.read()
    older.close()
    assert stream.is_read
    newer.close()
    assert not stream.is_read
