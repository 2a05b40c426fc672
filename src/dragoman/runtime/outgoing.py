"""What is said to a server in one turn of the loop, written in one go: many clients speak in the same turn."""

import asyncio
from collections.abc import Callable

from dragoman.channel import Channel


class Outgoing:
    """`channel` gives the way to the server when it is written, or `None` when there is none any more."""

    def __init__(self, channel: Callable[[], Channel | None]) -> None:
        self._channel = channel
        self._frames: list[bytes] = []

    def put(self, frames: list[bytes]) -> None:
        """Take these over; the list is empty afterwards."""
        if not self._frames:
            asyncio.get_running_loop().call_soon(self.flush)
        self._frames += frames
        frames.clear()

    def flush(self) -> None:
        frames, self._frames = self._frames, []
        channel = self._channel()
        if frames and channel is not None:
            channel.send(frames)

    def clear(self) -> None:
        self._frames.clear()
