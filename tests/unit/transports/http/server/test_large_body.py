"""Bodies that are too large for the buffer of a connection."""

from dragoman.transports.http.server.budget import Budget
from dragoman.transports.http.server.large_body import PIECE, LargeBody


def test_a_body_comes_in_pieces_and_counts_until_it_is_written() -> None:
    """C9"""
    budget, aborts = Budget(1 << 30), list[int]()
    data = bytes(range(256)) * (PIECE // 100)
    with LargeBody(data, budget, lambda: aborts.append(1)) as body:
        pieces = list(body.pieces())
        assert budget.used == len(data)
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= PIECE
    assert (budget.used, aborts) == (0, [])


def test_the_largest_is_given_up_and_its_connection_ends_if_a_part_was_written() -> None:
    """C9"""
    budget, aborts = Budget(4 * PIECE), list[str]()
    with LargeBody(b"x" * 3 * PIECE, budget, lambda: aborts.append("first")) as first:
        pieces = first.pieces()
        assert next(pieces)
        with LargeBody(b"y" * 2 * PIECE, budget, lambda: aborts.append("second")) as second:
            assert (first.has_exceeded, second.has_exceeded) == (True, False)
            assert aborts == ["first"]
            assert not list(pieces)
            with LargeBody(b"z" * 3 * PIECE, budget, lambda: aborts.append("third")) as third:
                assert third.has_exceeded
                assert aborts == ["first"]
        assert budget.used == 0
