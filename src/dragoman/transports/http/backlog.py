"""What the server has not taken yet, in bytes."""

from collections.abc import Callable


class Backlog:
    """`drained` is called when the last of it was taken."""

    def __init__(self, drained: Callable[[], None]) -> None:
        self.size = 0
        self._drained = drained
        self._untaken: dict[bytes, int] = {}

    def add(self, id: bytes, size: int) -> None:
        self.size += size
        self._untaken[id] = size

    def take(self, id: bytes) -> None:
        """The request `id` is with the server, or will never be."""
        size = self._untaken.pop(id, 0)
        if size:
            self.size -= size
            if self.size == 0:
                self._drained()
