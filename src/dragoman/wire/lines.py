"""Newline framing: chunks in, whole lines out.

A byte order mark at the very start of a stream is skipped, as some runtimes write one; anywhere else it is content.
Only LF ends a line; a CR before it is JSON white space. Nothing is decoded here, and no byte is searched twice, so a
line of any length costs its own length. Of a line above the limit only the first and last `EDGE` bytes are kept
(LINE-01); what is in between is thrown away as it comes.
"""

from dataclasses import dataclass

EDGE = 256
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line above the limit: how it began and how it ended. It may be told before its end is known."""

    head: bytes
    tail: bytes
    ended: bool = True


class Lines:
    """A framer for one direction of one pipe. `limit` is in bytes, without the line end.

    An `eager` framer tells of an overlong line as soon as it is one, and again when it ends (SIZE-04).
    """

    __slots__ = ("_begun", "_held", "_kept", "_overlong", "eager", "limit")

    def __init__(self, limit: int, eager: bool = False) -> None:
        self.limit = limit
        self.eager = eager
        self._begun = False
        self._kept: list[bytes] = []
        self._held = 0
        self._overlong: Overlong | None = None

    def feed(self, data: bytes) -> "list[bytes | Overlong]":
        """The lines that `data` completes, in order, blank ones left out."""
        if not self._begun:
            data = self._begin(data)
        end = data.rfind(b"\n")
        if end < 0:
            return self._keep(data)
        if self._held or self._overlong is not None:
            first, _, data = data.partition(b"\n")
            self._keep(first)
            lines = self._finish()
            end -= len(first) + 1
            if end < 0:
                return lines + self._keep(data)
        else:
            lines = []
        limit = self.limit
        # One line in the chunk is by far the most usual.
        whole = [data[:end]] if data.find(b"\n") == end else data[:end].split(b"\n")
        for line in whole:
            if len(line) > limit and _size(line) > limit:
                lines.append(Overlong(line[:EDGE], line[-EDGE:]))
            elif line and not line.isspace():
                lines.append(line)
        return lines + self._keep(data[end + 1 :]) if end + 1 < len(data) else lines

    def end(self) -> "list[bytes | Overlong]":
        """What the input ended in the middle of: a last line without its LF."""
        self._begun = True
        return self._finish() if self._held or self._overlong is not None else []

    @property
    def held(self) -> int:
        """Bytes in memory for a line that has not ended; never more than the limit and two edges."""
        return self._held

    def _begin(self, data: bytes) -> bytes:
        """What follows the byte order mark, if there is one; it may come in pieces."""
        start = b"".join((*self._kept, data))
        self._kept, self._held = [], 0
        if len(start) < len(BYTE_ORDER_MARK) and BYTE_ORDER_MARK.startswith(start):
            self._kept, self._held = [start], len(start)
            return b""
        self._begun = True
        return start.removeprefix(BYTE_ORDER_MARK)

    def _keep(self, data: bytes) -> "list[bytes | Overlong]":
        if not data:
            return []
        if self._overlong is not None:
            head, tail = self._overlong.head, self._overlong.tail
            head = head if len(head) == EDGE else (head + data)[:EDGE]
            self._overlong = Overlong(head, (tail + data)[-EDGE:])
            return []
        self._kept.append(data)
        self._held += len(data)
        if self._held > self.limit + 1:  # one more for a CR
            whole = b"".join(self._kept)
            self._overlong = Overlong(whole[:EDGE], whole[-EDGE:])
            self._kept, self._held = [], 0
            if self.eager:
                return [Overlong(whole[:EDGE], b"", ended=False)]
        return []

    def _finish(self) -> "list[bytes | Overlong]":
        if self._overlong is not None:
            line: bytes | Overlong = self._overlong
            self._overlong = None
            return [line]
        whole = b"".join(self._kept) if len(self._kept) > 1 else self._kept[0]
        self._kept, self._held = [], 0
        if _size(whole) > self.limit:
            return [Overlong(whole[:EDGE], whole[-EDGE:])]
        return [whole] if whole and not whole.isspace() else []


def _size(line: bytes) -> int:
    """The length of a line without its line end, of which a CR may be a part."""
    return len(line) - line.endswith(b"\r")
