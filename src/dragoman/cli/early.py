"""What was done before the command line was read: a value, without an import."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.transports.spawn import Spawned


class Early:
    """`data` was read from standard input; `spawned` was started for it, or `error` is why it could not be."""

    __slots__ = ("data", "error", "spawned")

    def __init__(self) -> None:
        self.data = b""
        self.spawned: Spawned | None = None
        self.error: OSError | None = None
