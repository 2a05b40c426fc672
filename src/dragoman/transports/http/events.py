"""Server-sent events: chunks in, whole events out.

* A line ends with LF, CR or CRLF, also mixed, also with a chunk border inside the CRLF (B126).
* The lines of the field `data` are joined with LF (B128). Comments, unknown fields and a byte order mark at the begin
  are skipped (B129).
* `id` names the last whole event that had one, also one without data; `retry` counts from its line on. Both are for
  revisions whose streams can be resumed.
* Everything stays bytes: no character is cut, wherever a chunk ends, and no byte is searched twice.
* An event, or a line of any kind, above the limit makes the parser `too_long` at once; it takes nothing more (SIZE-04).
* An event that the end of the stream cuts off is none.
"""

import re
from typing import NamedTuple

BOM = b"\xef\xbb\xbf"
MESSAGE = b"message"
FIELD = len(b"data: ")
LONGEST = 4096
"""Bytes of a line with an id or a time; a longer id is none, as few servers would take it back in a header."""

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    kind: bytes
    data: bytes


class Events:
    """`limit` is in bytes of the data of one event (SIZE-03), `retry` in milliseconds. An empty `id` is a reset."""

    __slots__ = (
        *("_after_cr", "_begun", "_data", "_held", "_id", "_kind", "_size", "_waiting"),
        *("id", "limit", "retry", "too_long"),
    )

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.too_long = False
        self.id: bytes | None = None
        self.retry: int | None = None
        self._id: bytes | None = None
        self._begun = False
        self._after_cr = False
        self._held: list[bytes] = []
        self._waiting = 0
        self._kind = MESSAGE
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that `chunk` completes, in order."""
        if not self._begun:
            chunk = self._begin(chunk)
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk[0] == 0x0A:
                chunk = chunk[1:]
        if self.too_long or not chunk:
            return []
        self._after_cr = chunk[-1] == 0x0D
        lines = _LINE_END.split(chunk) if b"\r" in chunk else chunk.split(b"\n")
        rest = lines.pop()
        events: list[Event] = []
        for line in lines:
            if self._held:
                self._held.append(line)
                line = b"".join(self._held)
                self._held, self._waiting = [], 0
            if line:
                self._take(line)
            elif self._data:
                self._finish(events)
            else:
                self._kind, self.id = MESSAGE, self._id
            if self.too_long:
                return events
        if rest:
            self._held.append(rest)
            self._waiting += len(rest)
            if self._size + self._waiting > self.limit + FIELD:
                self._give_up()
        return events

    def _begin(self, chunk: bytes) -> bytes:
        chunk = b"".join(self._held) + chunk
        if len(chunk) < len(BOM) and BOM.startswith(chunk):
            self._held = [chunk]
            return b""
        self._begun, self._held = True, []
        return chunk.removeprefix(BOM)

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._size += len(value) + bool(self._data)
            self._data.append(value)
            if self._size > self.limit:
                self._give_up()
        elif name == b"event":
            self._kind = value or MESSAGE
        elif len(line) > self.limit + FIELD:
            self._give_up()
        elif len(line) > LONGEST:
            pass
        elif name == b"id" and b"\0" not in value:
            self._id = value
        elif name == b"retry" and value.isdigit():
            self.retry = int(value)

    def _finish(self, events: list[Event]) -> None:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        if data:
            events.append(Event(self._kind, data))
        self._kind, self._data, self._size, self.id = MESSAGE, [], 0, self._id

    def _give_up(self) -> None:
        self.too_long = True
        self._held, self._waiting, self._data, self._size = [], 0, [], 0
