"""One JSON-RPC message as one POST: which headers repeat which part of the body (HTTP-01, HTTP-02).

* `MCP-Protocol-Version` repeats the revision in the request's `_meta`, `Mcp-Method` the method, and `Mcp-Name` the name
  or URI of the three methods that have one.
* A value that is not plain visible ASCII travels as `=?base64?` + the Base64 of its UTF-8 + `?=`. So does a value that
  looks like that form itself, or the server would decode what was never encoded.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from functools import lru_cache

import msgspec
from msgspec import UNSET, Raw

from dragoman.exchange.meta import PROTOCOL_VERSION
from dragoman.wire import frame as wire
from dragoman.wire.frame import Opened
from dragoman.wire.members import Members, object_in, text_of

JSON = "application/json"
EVENT_STREAM = "text/event-stream"
ACCEPT = f"{JSON}, {EVENT_STREAM}"

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""The name of a header: a token of HTTP."""

KEPT = 4096
"""Bytes of a `_meta` that is looked into only once."""

_OPEN, _CLOSE = "=?base64?", "?="
_PLAIN = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?")


class Unmirrorable(ValueError):
    """A part of the params that has to be repeated in a header and cannot be (ERR-26)."""


@dataclass(slots=True)
class Post:
    """A message for the server. `id` is as written; a notification has none."""

    id: bytes | None
    method: str
    params: Members
    body: bytes


def post_of(body: bytes) -> Post:
    """The message that `body` holds, which is one of our own making."""
    frame = wire.parse_opened(body)
    assert isinstance(frame, Opened)
    assert frame.method is not UNSET
    id = bytes(frame.id) if frame.id is not UNSET else None
    return Post(id, frame.method, frame.params if frame.params is not UNSET else {}, body)


def headers_of(post: Post) -> dict[str, str]:
    """The headers that repeat parts of the body; those of single arguments are in `annotations`.

    Raises:
        Unmirrorable: the name is no text that UTF-8 has.
    """
    headers = {"Content-Type": JSON, "Accept": ACCEPT, "Mcp-Method": post.method}
    meta = post.params.get("_meta")
    version = _version_in(bytes(meta)) if meta is not None else None
    if version is not None:
        headers["MCP-Protocol-Version"] = version
    member = NAMED_BY.get(post.method)
    name = text_in(post.params.get(member)) if member is not None else None
    if name is not None:
        headers["Mcp-Name"] = sealed(name)
    return headers


@lru_cache(maxsize=16)
def _known_version(meta: bytes) -> str | None:
    members = object_in(meta)
    return text_of(members.get(PROTOCOL_VERSION)) if members is not None else None


def _version_in(meta: bytes) -> str | None:
    """The revision that a `_meta` names; most requests of a client carry the same."""
    return _known_version(meta) if len(meta) <= KEPT else _known_version.__wrapped__(meta)


def text_in(value: Raw | None) -> str | None:
    """The string that `value` spells, or `None`.

    Raises:
        Unmirrorable: it holds half a surrogate pair.
    """
    try:
        return text_of(value)
    except msgspec.DecodeError as error:
        raise Unmirrorable from error


def sealed(value: str) -> str:
    """`value` as the value of a header.

    Raises:
        Unmirrorable: it holds half a surrogate pair.
    """
    if _PLAIN.fullmatch(value) and not (value.startswith(_OPEN) and value.endswith(_CLOSE)):
        return value
    try:
        data = value.encode()
    except UnicodeEncodeError as error:
        raise Unmirrorable from error
    return _OPEN + base64.b64encode(data).decode("ascii") + _CLOSE


def unsealed(value: str) -> str | None:
    """What a header's value stands for; `None` when it is marked as Base64 and is none."""
    if not (value.startswith(_OPEN) and value.endswith(_CLOSE) and len(value) >= len(_OPEN) + len(_CLOSE)):
        return value
    inner = value[len(_OPEN) : -len(_CLOSE)]
    try:
        data = base64.b64decode(inner, validate=True)
        # The decoder takes unused bits that are not zero; two spellings of one value must not both be right.
        return data.decode() if base64.b64encode(data).decode("ascii") == inner else None
    except (binascii.Error, ValueError):
        return None
