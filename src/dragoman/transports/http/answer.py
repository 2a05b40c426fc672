"""What a server's message is to the request in whose response it came.

* The *answer* is a result or an error with the request's id. An error without an id, or with the id null, is the
  answer too: nothing else was asked there. It is given the id.
* Other messages with a method go along the same way. A response with another id is of no use here and must not reach
  the request that has this id, so it is *foreign*; what is no message is *broken*, unless it belongs elsewhere.
* A message leaves as one line: white space between tokens may hold line ends (pretty-printed bodies, several `data`
  lines), and a line end inside of a string is not JSON.
"""

from dataclasses import dataclass
from enum import Enum

import msgspec
from msgspec import UNSET, Raw

from dragoman.transports.http.events import BOM
from dragoman.wire import frame as wire
from dragoman.wire.frame import Batch, Broken, Opened
from dragoman.wire.members import Members, object_in

_code = msgspec.json.Decoder(int).decode


class Sort(Enum):
    ANSWER = "answer"
    MESSAGE = "message"
    FOREIGN = "a response to another request"
    BROKEN = "not a JSON-RPC message"


@dataclass(slots=True)
class Said:
    """`result` and `error` are of an answer; `line` is what is handed over, `id` what was written there."""

    sort: Sort
    line: bytes
    result: Members | None = None
    error: Raw | None = None
    id: bytes | None = None

    @property
    def code(self) -> int | None:
        """The code, when this is an error with one."""
        members = object_in(self.error)
        try:
            return _code(members["code"]) if members is not None else None
        except (KeyError, msgspec.DecodeError):
            return None


def said(data: bytes, id: bytes | None) -> Said:
    """`data` as a message in the response to the request `id`."""
    data = data.removeprefix(BOM)
    frame = wire.parse_opened(data)
    if isinstance(frame, Broken):
        return Said(Sort.BROKEN if frame.id is None or frame.id == id else Sort.FOREIGN, data)
    if isinstance(frame, Batch):
        return Said(Sort.BROKEN, data)
    if b"\n" in data or b"\r" in data:
        data = data.strip().replace(b"\r", b" ").replace(b"\n", b" ")
        frame = wire.parse_opened(data)
        assert isinstance(frame, Opened)
    if frame.method is not UNSET:
        return Said(Sort.MESSAGE, data)
    if frame.result is UNSET and frame.error is UNSET:
        return Said(Sort.BROKEN, data)
    written = bytes(frame.id) if frame.id is not UNSET else b"null"
    if written == id:
        error = frame.error if frame.error is not UNSET else None
        result = frame.result if frame.result is not UNSET else None
        return Said(Sort.ANSWER, data, result, error, written)
    if written == b"null" and frame.error is not UNSET and id is not None:
        return Said(Sort.ANSWER, wire.failure(id, frame.error), None, frame.error)
    return Said(Sort.FOREIGN, data, id=written)
