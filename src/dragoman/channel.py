"""The seam between machines and the world: which path a frame travels on.

A *lane* answers "to which exchange does this frame belong?" once, for every transport. A pipe has the one lane `LINK`;
HTTP has one for each POST, and what belongs to none of them travels on `LINK` as well, which is then a session's
standalone stream.
"""

from typing import Protocol

LINK = 0


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
