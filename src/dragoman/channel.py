"""The seam between machines and the world: which path a frame travels on.

A *lane* answers "to which exchange does this frame belong?" once, for every transport. A pipe has the one lane
`LINK`; HTTP has one for each request, one standalone stream for each session and one for each listen stream.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class LaneKind(Enum):
    LINK = "link"
    REPLY = "reply"
    STANDALONE = "standalone"
    LISTEN = "listen"


@dataclass(frozen=True, slots=True)
class Lane:
    kind: LaneKind
    key: int = 0


LINK = Lane(LaneKind.LINK)


class Channel(Protocol):
    """One peer's frames, in both directions. What comes in is handed to the `Receiver` that opened the channel."""

    def send(self, frames: list[bytes], /) -> None:
        """Write frames, each whole and in order; returns at once and keeps what the peer does not take yet."""
        ...

    @property
    def backlog(self) -> int:
        """Bytes that the peer has not taken yet."""
        ...

    def pause(self) -> None:
        """Read nothing more until `resume`."""
        ...

    def resume(self) -> None: ...

    def kill(self) -> None:
        """End the peer's side at once and without waiting; callable from any thread."""
        ...

    async def aclose(self) -> None:
        """End the peer's side in bounded time; afterwards nothing more is received."""
        ...
