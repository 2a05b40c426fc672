"""One JSON-RPC message, with its members as bytes.

A frame is classified by what it has, never by who sent it: `is_request`, `is_notice`, `is_reply`. Ids are kept as the
peer wrote them; `id_key` gives the form in which two spellings of one id are equal. Writing is in plain joins of
bytes, so an id or a value goes out as it came in.

`parse` raises nothing: what cannot be read is a `Broken` with its cause, and the id if the bytes show one.
"""

from dataclasses import dataclass
from enum import Enum

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.wire import guard, salvage
from dragoman.wire.compact import compact
from dragoman.wire.lines import Overlong
from dragoman.wire.members import Members, first_byte, is_null, object_in


class Frame(msgspec.Struct, gc=False):
    """The members of a message that the envelope defines; others are not kept."""

    jsonrpc: str | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class Opened(msgspec.Struct, gc=False):
    """A message whose params and result are opened one level in the same pass; `None` where that is no object."""

    jsonrpc: str | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Members | UnsetType = UNSET
    result: Members | UnsetType | None = UNSET
    error: Raw | UnsetType = UNSET


class Flaw(Enum):
    """Why bytes are no usable message."""

    NOT_JSON = "not valid JSON"
    NOT_UTF8 = "not valid UTF-8"
    TOO_LONG = "longer than the line limit"
    TOO_DEEP = "nested deeper than the limit"
    NOT_A_MESSAGE = "not a JSON-RPC 2.0 message"


@dataclass(frozen=True, slots=True)
class Broken:
    """Bytes that are no message. `id` is as written, `answers` tells that the bytes look like a response.

    A line that is too long may still be on its way: then it has not `ended`.
    """

    flaw: Flaw
    id: bytes | None = None
    answers: bool = False
    excerpt: bytes = b""
    ended: bool = True


@dataclass(frozen=True, slots=True)
class Batch:
    """A JSON array of messages, which one revision knows; each entry as bytes."""

    entries: list[Raw]


Parsed = Frame | Broken | Batch

_opened = msgspec.json.Decoder(Opened).decode
_frame = msgspec.json.Decoder(Frame).decode
_any = msgspec.json.Decoder(Raw).decode
_entries = msgspec.json.Decoder(list[Raw]).decode
_text = msgspec.json.Decoder(str).decode
_write_text = _write_members = msgspec.json.Encoder().encode

LARGE = 1 << 15  # bytes of a member above which the encoder's extra copy costs more than a join

REFUSED = 8 << 20  # bytes of a response from which on it may come near the 10 MiB that some clients refuse

EXCERPT = 120


def parse(data: bytes | Overlong, depth_limit: int | None = None) -> Parsed:
    """What `data` says. With `depth_limit` a deeper message is broken, whatever else it is (SIZE-02)."""
    if type(data) is Overlong:
        return _overlong(data)
    assert isinstance(data, bytes)
    if not (data.isascii() or guard.is_utf8(data)):
        return _broken(Flaw.NOT_UTF8, data)
    if (
        depth_limit is not None
        and data.count(b"{") + data.count(b"[") > depth_limit  # else it cannot be deeper, as nearly always
        and guard.is_deeper(data, depth_limit)
    ):
        return _broken(Flaw.TOO_DEEP, data)
    try:
        return _frame(data)
    except RecursionError:
        return _broken(Flaw.TOO_DEEP, data)
    except msgspec.DecodeError as error:
        return _second_look(data, error)


def parse_opened(data: bytes | Overlong) -> Opened | Broken | Batch:
    """`parse`, for a reader who opens every body anyway: a large result is walked once and not twice."""
    if type(data) is bytes and (data.isascii() or guard.is_utf8(data)):
        try:
            return _settled(_opened(data))
        except (msgspec.DecodeError, RecursionError):
            pass  # the slow path says what it is
    frame = parse(data)
    if not isinstance(frame, Frame):
        return frame
    params = object_in(frame.params) if frame.params is not UNSET else UNSET
    result = object_in(frame.result) if frame.result is not UNSET else UNSET
    opened = Opened(frame.jsonrpc, frame.id, frame.method, {} if params is None else params, result, frame.error)
    return _settled(opened)


def _settled(frame: Opened) -> Opened:
    """A response whose result is no object has an error if it has one at all (decisions T21)."""
    if frame.result is None and frame.error is not UNSET and not is_null(frame.error):
        frame.result = UNSET
    return frame


def _second_look(data: bytes, error: msgspec.DecodeError) -> Parsed:
    """The slow path: an array, a wrong type, half a surrogate pair, or no JSON at all."""
    try:
        if isinstance(error, msgspec.ValidationError):
            _any(data)  # JSON as a whole? the decoder may have stopped at the first wrong type
            if first_byte(data) == 0x5B:
                return Batch(_entries(data))
            return _broken(Flaw.NOT_A_MESSAGE, data)
        mended = guard.mend(data)
        if mended is None:
            return _broken(Flaw.NOT_JSON, data)
        frame = parse(mended)
        if isinstance(frame, Frame) and frame.id is not UNSET:
            written = salvage.id_in(data)  # the peer knows its request by the id that it wrote (B19)
            if written is not None:
                frame.id = Raw(written)
    except RecursionError:
        return _broken(Flaw.TOO_DEEP, data)
    except msgspec.DecodeError:
        return _broken(Flaw.NOT_JSON, data)
    return frame


def _broken(flaw: Flaw, data: bytes) -> Broken:
    names = dict(salvage.members_at_top(data))
    answers = b"method" not in names and (b"result" in names or b"error" in names)
    return Broken(flaw, names.get(b"id"), answers, data[:EXCERPT])


def _overlong(line: Overlong) -> Broken:
    names = dict(salvage.members_at_top(line.head))
    found = names.get(b"id") or salvage.last_id_in(line.tail)
    answers = b"method" not in names and (b"result" in names or b"error" in names)
    return Broken(Flaw.TOO_LONG, found, answers, line.head[:EXCERPT], line.ended)


def is_repeated(data: bytes, frame: Frame) -> bool:
    """Whether a member of the envelope stands twice in `data` (decisions T17).

    The decoder keeps the last of two members, so a message whose length is just that of the members it kept has no
    second one: a repeated member takes seven bytes at least. The spaces that many writers put behind `:` and `,` are
    also seven at most, of which a spaced message has spent one behind its first name. Only a message with other
    spacing, or with members that no envelope has, is walked.
    """
    if (
        frame.params is not UNSET
        and frame.method is not UNSET
        and frame.id is not UNSET
        and frame.jsonrpc == "2.0"
        and len(data) == 45 + len(frame.id) + len(frame.method) + len(frame.params)
    ):
        return False  # a request as most clients write it
    length, count = 1, 0
    if frame.jsonrpc is not UNSET:
        length, count = length + 13 + len(frame.jsonrpc), count + 1
    if frame.id is not UNSET:
        length, count = length + 6 + len(frame.id), count + 1
    if frame.method is not UNSET:
        length, count = length + 12 + len(frame.method), count + 1
    if frame.params is not UNSET:
        length, count = length + 10 + len(frame.params), count + 1
    if frame.result is not UNSET:
        length, count = length + 10 + len(frame.result), count + 1
    if frame.error is not UNSET:
        length, count = length + 9 + len(frame.error), count + 1
    if len(data) == length or (len(data) == length + 2 * count - 1 and _is_spaced(data)):
        return False
    seen: set[bytes] = set()
    for name, _ in salvage.members_at_top(data):
        if name in ENVELOPE:
            if name in seen:
                return True
            seen.add(name)
    return False


def _is_spaced(data: bytes) -> bool:
    """Whether the first name of the object is followed by a colon and a space."""
    return data[:2] == b'{"' and data.startswith(b": ", data.find(b'"', 2) + 1)


ENVELOPE = frozenset({b"jsonrpc", b"id", b"method", b"params", b"result", b"error"})


def is_id(raw: bytes) -> bool:
    """Whether a JSON value may be an id: a string or an integer, never null (revisions 1.3)."""
    return raw.isdigit() or raw[:1] == b'"' or (raw[:1] == b"-" and raw[1:].isdigit())


def id_key(raw: bytes) -> bytes:
    """The id in the one spelling in which equal ids are equal bytes; type and value stay apart (LIFE-25)."""
    if b"\\" not in raw:
        return raw
    try:
        return _write_text(_text(raw))
    except msgspec.DecodeError:
        return raw  # half a surrogate pair: the spelling is the value


def request(id: bytes, method: str, params: bytes | Raw | None = None) -> bytes:
    """A request as it goes on the wire, without a line end."""
    if params is None:
        return b'{"jsonrpc":"2.0","id":%b,"method":%b}' % (id, _write_text(method))
    return b"".join((b'{"jsonrpc":"2.0","id":', id, b',"method":', _write_text(method), b',"params":', params, b"}"))


def notice(method: str, params: bytes | Raw | None = None) -> bytes:
    """A notification as it goes on the wire."""
    if params is None:
        return b'{"jsonrpc":"2.0","method":%b}' % _write_text(method)
    return b"".join((b'{"jsonrpc":"2.0","method":', _write_text(method), b',"params":', params, b"}"))


def reply(id: bytes, result: bytes | Raw) -> bytes:
    """A successful response as it goes on the wire."""
    return b"".join((b'{"jsonrpc":"2.0","id":', id, b',"result":', result, b"}"))


def reply_with(id: bytes, members: Members) -> bytes:
    """A successful response whose result has these members. A large one is copied once, not twice.

    One that is so large that some clients would refuse it is written in as few bytes as JSON allows.
    """
    for value in members.values():
        if len(value) > LARGE:
            whole = _joined(id, members)
            if len(whole) > REFUSED and b"\\" in whole and b"\\u" in whole:  # the first search is many times faster
                whole = _joined(id, {name: compact(each) for name, each in members.items()})
            return whole
    return b"".join((b'{"jsonrpc":"2.0","id":', id, b',"result":', _write_members(members), b"}"))


def _joined(id: bytes, members: Members) -> bytes:
    pieces: list[bytes | Raw] = [b'{"jsonrpc":"2.0","id":', id, b',"result":']
    lead = b"{"
    for name, each in members.items():
        pieces += (lead, _write_text(name), b":", each)
        lead = b","
    pieces.append(b"}}")
    return b"".join(pieces)


def failure(id: bytes | None, error: bytes | Raw) -> bytes:
    """An error response as it goes on the wire; without an id the id is null (LINE-06)."""
    return b"".join((b'{"jsonrpc":"2.0","id":', b"null" if id is None else id, b',"error":', error, b"}"))
