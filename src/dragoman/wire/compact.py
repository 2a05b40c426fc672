"""The same JSON in fewer bytes: characters beyond ASCII as themselves and not as escapes.

Some clients refuse a line above 10 MiB, and some servers write every character beyond ASCII with six bytes or twelve.
Only a large value is looked at, and only strings are written anew: they stand for the same text. What cannot be written
otherwise (half a surrogate pair) stays as it came.
"""

import msgspec
from msgspec import Raw

from dragoman.wire.members import first_byte

LARGE = 1 << 20
"""Bytes of a value that is worth a look."""

_items = msgspec.json.Decoder(list[Raw]).decode
_members = msgspec.json.Decoder(dict[str, Raw]).decode
_string = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


def compact(value: Raw) -> Raw:
    """`value`, or the same with the strings of its large parts in fewer bytes."""
    if len(value) < LARGE or b"\\u" not in bytes(value):
        return value
    kind = first_byte(value)
    try:
        if kind == 0x22:
            shorter = _encode(_string(value))
            return Raw(shorter) if len(shorter) < len(value) else value
        if kind == 0x5B:
            return Raw(_encode([compact(item) for item in _items(value)]))
        if kind == 0x7B:
            return Raw(_encode({name: compact(member) for name, member in _members(value).items()}))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass
    return value
