"""The events of one response, numbered, so that they can be sent again to a client that lost its connection.

* An event is written once to the connection that is there, in order; what was written is kept for a while, bounded in
  bytes, and what was not yet written is kept until it is.
* A stream without a `name` has no event ids and nothing of it is sent twice (2026-07-28, HTTP+SSE).
* What waits is written in pieces, a large event in several, so that a client which takes nothing holds one piece in the
  connection's buffer, and the rest here, where it is counted. Of an event that is given up halfway no end is written.
* A client resumes at the number behind the last one that it has. One connection at a time reads a stream: a newer one
  takes it over (B68).
"""

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from dragoman.faults import Cause, Fault
from dragoman.transports.http.server.budget import Budget
from dragoman.transports.http.server.large_body import PIECE
from dragoman.wire import frame as wire

COMMENT = b":\n\n"


class Event(NamedTuple):
    number: int
    data: bytes


class Stream:
    """`kept` bounds what was written already, `most` what waits; both are bytes.

    When more waits than that, a stream is stuck, and whoever owns it ends its request. One that `drops` loses its
    oldest events instead: it is nobody's answer. `budget` is shared by all streams; `changed` is called when the stream
    lost its reader or is stuck.
    """

    __slots__ = (
        "_budget",
        "_changed",
        "_drops",
        "_events",
        "_is_shut",
        "_kept",
        "_most",
        "_number",
        "_offset",
        "_reader",
        "_size",
        "_written",
        "finished",
        "has_exceeded",
        "is_stuck",
        "name",
    )

    def __init__(
        self,
        name: bytes | None,
        kept: int,
        most: int,
        primed: bool = False,
        drops: bool = False,
        budget: Budget | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self.finished = False
        self.is_stuck = False
        self.has_exceeded = False
        self._is_shut = False
        self._kept = kept
        self._most = most
        self._drops = drops
        self._budget = budget if budget is not None else Budget(sys.maxsize)
        self._changed = changed
        self._events: deque[Event] = deque()
        self._number = 0
        self._written = 0
        self._offset = 0  # of the event behind the last written one: bytes of it that were written
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
        if self.is_stuck or self.has_exceeded or self._is_shut:
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
        self._offset = 0
        self._reader = Reader(self)
        return self._reader

    def taken(self) -> bytes:
        """What to write next, as it goes on the wire: the events that fill a piece, or a part of one that is larger."""
        if self._number == self._written:
            return b""
        pieces: list[bytes] = []
        size = 0
        for number, data in self._events:
            if number <= self._written:
                continue
            if len(data) > PIECE and not pieces:
                pieces += self._part(number, data)
                break
            if size + len(data) > PIECE and pieces:
                break
            pieces += (*self._head(number), b"event: message\ndata: " if data else b"data: ", data, b"\n\n")
            size += len(data)
            self._written = number
        self._forget()
        return b"".join(pieces)

    def _head(self, number: int) -> tuple[bytes, ...]:
        return (b"id: %b-%d\n" % (self.name, number),) if self.name is not None else ()

    def _part(self, number: int, data: bytes) -> list[bytes]:
        """The next part of a large event."""
        begin, self._offset = self._offset, self._offset + PIECE
        part = [bytes(memoryview(data)[begin : begin + PIECE])]
        if not begin:
            part = [*self._head(number), b"event: message\ndata: ", *part]
        if self._offset >= len(data):
            self._offset, self._written = 0, number
            part.append(b"\n\n")
        return part

    def release(self, reader: "Reader") -> None:
        if self._reader is reader:
            self._reader, self._offset = None, 0
            if self.name is None:
                self.discard()  # nobody can take it up again
            self._changed()

    def _append(self, data: bytes) -> None:
        self._number += 1
        self._events.append(Event(self._number, data))
        self._size += len(data)
        self._budget.add(self, len(data))

    def exceed(self) -> None:
        """All responses keep too much, and this one the most: it ends with an event that says so, and keeps no other.

        One that drops its oldest events drops them all, and goes on. In the middle of an event nothing is said.
        """
        self._empty()
        if self._drops:
            return
        why = Fault(Cause.CLIENT_TOO_SLOW, f"limit of all streams: {self._budget.most} bytes")
        self._number += 1
        self._events.append(Event(self._number, wire.failure(None, why.error())))
        self.finished = True
        self.has_exceeded = True
        self._wake()
        self._changed()

    def discard(self) -> None:
        """Nobody reads it any more: it keeps nothing, whatever still comes."""
        self._is_shut = True
        self._empty()

    def _empty(self) -> None:
        self._cut()
        self._events.clear()
        self._shed(self._size)

    def _shed(self, size: int) -> None:
        self._size -= size
        self._budget.remove(self, size)

    def _forget(self) -> None:
        """Let go of the oldest that were written, when they are more than is kept."""
        events = self._events
        bound = self._kept if self.name is not None else 0
        while events and events[0].number <= self._written and (self._size > bound or not bound):
            self._shed(len(events.popleft().data))

    def _overflow(self) -> None:
        if self._drops:
            self._cut()
            while self._size > self._most:
                self._shed(len(self._events.popleft().data))
        else:
            self.is_stuck = True
            self._empty()
            self._changed()

    def _cut(self) -> None:
        """An event may go of which a part was written: nothing that could follow is the rest of it."""
        if self._offset and self._reader is not None:
            self._reader.displace()
        self._offset = 0

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
