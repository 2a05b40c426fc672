"""The events of one response, numbered, so that they can be sent again to a client that lost its connection.

* An event is written once to the connection that is there, in order; what was written is kept for a while, bounded in
  bytes, and what was not yet written is kept until it is.
* A stream without a `name` has no event ids and nothing of it is sent twice (2026-07-28, HTTP+SSE).
* A client resumes at the number behind the last one that it has. One connection at a time reads a stream: a newer one
  takes it over (B68).
"""

import asyncio
from collections import deque
from typing import NamedTuple

COMMENT = b":\n\n"


class Event(NamedTuple):
    number: int
    data: bytes


class Stream:
    """`kept` bounds what was written already, `most` what waits; both are bytes.

    When more waits than that, a stream is stuck, and whoever owns it ends its request. One that `drops` loses its
    oldest events instead: it is nobody's answer.
    """

    __slots__ = (
        "_drops",
        "_events",
        "_kept",
        "_most",
        "_number",
        "_reader",
        "_size",
        "_written",
        "finished",
        "is_stuck",
        "name",
    )

    def __init__(self, name: bytes | None, kept: int, most: int, primed: bool = False, drops: bool = False) -> None:
        self.name = name
        self.finished = False
        self.is_stuck = False
        self._kept = kept
        self._most = most
        self._drops = drops
        self._events: deque[Event] = deque()
        self._number = 0
        self._written = 0
        self._size = 0
        self._reader: Reader | None = None
        if primed and name is not None:
            self._append(b"")

    @property
    def is_read(self) -> bool:
        """Whether a connection takes what comes."""
        return self._reader is not None

    @property
    def size(self) -> int:
        """Bytes that it keeps."""
        return self._size

    def put(self, frame: bytes, last: bool = False) -> None:
        """Add an event; after the last one the response ends."""
        if self.is_stuck:
            return
        self._append(frame)
        self.finished = self.finished or last
        self._forget()
        if self._size > self._most and len(self._events) > 1:
            self._overflow()
        self._wake()

    def finish(self) -> None:
        """Nothing more comes."""
        self.finished = True
        self._wake()

    @property
    def is_resumable(self) -> bool:
        """Whether a client may have the id of an event, and so a place to go on from."""
        return self.name is not None and self._written > 0

    @property
    def is_empty(self) -> bool:
        """Whether everything that came was written."""
        return self._written == self._number

    def rewind(self, number: int) -> None:
        """A client that has everything up to `number` takes the stream up again."""
        self._written = min(max(number, 0), self._number)

    def read(self) -> "Reader":
        """The one connection that reads from now on."""
        if self._reader is not None:
            self._reader.displace()
        self._reader = Reader(self)
        return self._reader

    def taken(self) -> bytes:
        """Everything that has not been written yet, as it goes on the wire."""
        if self._number == self._written:
            return b""
        pieces: list[bytes] = []
        for number, data in self._events:
            if number > self._written:
                if self.name is not None:
                    pieces.append(b"id: %b-%d\n" % (self.name, number))
                pieces += (b"event: message\ndata: ", data, b"\n\n") if data else (b"data: \n\n",)
        self._written = self._number
        self._forget()
        return b"".join(pieces)

    def release(self, reader: "Reader") -> None:
        if self._reader is reader:
            self._reader = None

    def _append(self, data: bytes) -> None:
        self._number += 1
        self._events.append(Event(self._number, data))
        self._size += len(data)

    def _forget(self) -> None:
        """Let go of the oldest that were written, when they are more than is kept."""
        events = self._events
        bound = self._kept if self.name is not None else 0
        while events and events[0].number <= self._written and (self._size > bound or not bound):
            self._size -= len(events.popleft().data)

    def _overflow(self) -> None:
        if self._drops:
            while self._size > self._most:
                self._size -= len(self._events.popleft().data)
        else:
            self.is_stuck = True
            self._events.clear()
            self._size = 0

    def _wake(self) -> None:
        if self._reader is not None:
            self._reader.wake()


class Reader:
    """A connection that writes a stream out."""

    __slots__ = ("_event", "_stream", "is_displaced", "is_gone")

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._event = asyncio.Event()
        self.is_gone = False
        self.is_displaced = False

    def wake(self) -> None:
        self._event.set()

    def displace(self) -> None:
        self.is_displaced = True
        self._event.set()

    def hang_up(self) -> None:
        """The connection is closed."""
        self.is_gone = True
        self._event.set()

    def close(self) -> None:
        self._stream.release(self)

    @property
    def ends(self) -> bool:
        """Whether there is nothing more to write to this connection."""
        return self.is_gone or self.is_displaced or self._stream.is_stuck

    async def next(self, patience: float) -> bytes | None:
        """What to write now; a comment when nothing came for `patience` seconds (B131), `None` at the end."""
        while True:
            if self.ends:
                return None
            data = self._stream.taken()
            if data:
                return data
            if self._stream.finished:
                return None
            self._event.clear()
            try:
                async with asyncio.timeout(patience):
                    await self._event.wait()
            except TimeoutError:
                return COMMENT
