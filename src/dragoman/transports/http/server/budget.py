"""What all responses of a listener keep together, in bounds.

Each has a bound of its own, but many that nobody reads would fill the memory together. Past the bound of all of them
the one that keeps the most ends.
"""

from typing import Protocol


class Keeper(Protocol):
    """A response that keeps bytes until its client takes them."""

    @property
    def size(self) -> int:
        """Bytes that it keeps."""
        ...

    def exceed(self) -> None:
        """End, and keep nothing."""
        ...


class Budget:
    """`most` is in bytes. `used` is what is kept now."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0
        self._keepers: dict[int, Keeper] = {}

    def add(self, keeper: Keeper, size: int) -> None:
        """A response keeps so much more; the largest of all ends when that is too much."""
        self.used += size
        self._keepers[id(keeper)] = keeper
        while self.used > self.most and self._keepers:
            largest = max(self._keepers.values(), key=lambda each: each.size)
            self._keepers.pop(id(largest))
            largest.exceed()

    def remove(self, keeper: Keeper, size: int) -> None:
        """A response keeps so much less."""
        self.used -= size
        if keeper.size == 0:
            self._keepers.pop(id(keeper), None)
