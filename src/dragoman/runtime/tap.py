"""Where every frame is recorded, when the user wants that."""

from typing import Protocol

from dragoman.revisions.plan import Loss


class Tap(Protocol):
    """Records what passes, as it was on the wire (CHECK-05)."""

    def record(self, face: str, direction: str, frame: bytes, losses: list[Loss], lane: str = ...) -> None: ...
