"""The mark of a test that proves something."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def proves(*ids: str) -> Callable[[T], T]:
    """Says which rules and faults a test proves, or the state machine whose runs do.

    Args:
        ids: such as `ROUND-09` for a rule or `B33` for a fault of another bridge; `requirements` knows them all.

    Returns:
        A decorator that changes nothing: `requirements` reads the ids in the source.
    """
    assert ids

    def mark(proof: T) -> T:
        return proof

    return mark
