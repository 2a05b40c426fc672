"""A JSON object opened one level, and no further.

`Members` maps the names of an object to the *bytes* of their values, in the order in which they came. A value
that no rule opens is written exactly as it was received: digits, escapes, spacing and inner duplicates survive.
Only the level that was opened is punctuated anew, and there a name that stood twice is written once.
"""

from typing import Any, TypeVar

import msgspec
from msgspec import Raw

T = TypeVar("T")

Members = dict[str, Raw]

_members = msgspec.json.Decoder(dict[str, Raw]).decode
_items = msgspec.json.Decoder(list[Raw]).decode
_string = msgspec.json.Decoder(str).decode
_value = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode

SPACE = b" \t\r\n"
EMPTY = Raw(b"{}")


def opened(raw: Raw | bytes) -> Members:
    """The members of a JSON object.

    Raises:
        msgspec.DecodeError: the value is no object (`ValidationError`), or no JSON at all.
    """
    return _members(raw)


def object_in(raw: Raw | bytes | None) -> Members | None:
    """The members when `raw` is an object; `None` for every other value and for an absent one."""
    if raw is None:
        return None
    try:
        return _members(raw)  # most often it is one: asking first would cost more than the decoder does
    except msgspec.ValidationError:
        return None


def items_of(raw: Raw | bytes | None) -> list[Raw] | None:
    """The items when `raw` is an array; `None` for every other value and for an absent one."""
    return _items(raw) if raw is not None and first_byte(raw) == 0x5B else None


def text_of(raw: Raw | bytes | None) -> str | None:
    """The string that `raw` spells; `None` for every other value and for an absent one."""
    return _string(raw) if raw is not None and first_byte(raw) == 0x22 else None


def value_of(raw: Raw | bytes) -> Any:
    """The whole value as Python objects. Numbers lose their spelling: never write the result back."""
    return _value(raw)


def closed(members: Members) -> Raw:
    """The object that holds `members`, as bytes."""
    return Raw(_encode(members))


def encoded(value: object) -> bytes:
    """Any value of our own making as JSON; `Raw` values inside it stay as they are."""
    return _encode(value)


def raw(value: object) -> Raw:
    """`encoded`, as a member's value."""
    return Raw(_encode(value))


def first_byte(raw: Raw | bytes) -> int:
    """The first byte that is not white space, or -1."""
    view = memoryview(raw)
    if view and view[0] > 0x20:
        return view[0]
    for byte in view:
        if byte not in SPACE:
            return byte
    return -1


def may_name(data: bytes, name: bytes) -> bool:
    """Whether JSON text can hold a name or a text, however it is spelled: `\\/` is `/`, and `\\u0061` is `a`."""
    return name in data or b"\\" in data


def is_object(raw: Raw | bytes) -> bool:
    return first_byte(raw) == 0x7B


def is_true(raw: Raw | None) -> bool:
    """Only the JSON value `true` counts (IRES-10)."""
    return raw is not None and bytes(raw).strip() == b"true"


def is_null(raw: Raw | None) -> bool:
    return raw is not None and bytes(raw).strip() == b"null"


def own(raw: Raw) -> Raw:
    """A copy that does not keep the whole received buffer alive; for what is stored beyond one step."""
    return raw.copy()
