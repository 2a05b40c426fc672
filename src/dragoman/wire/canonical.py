"""The one spelling of a JSON value: two texts that say the same have it in common.

Members of objects stand in the order of their names, without space, and a text in the shortest spelling. Numbers keep
their digits, as a number may say more than any type of ours can hold; so `1` and `1.0` differ.
"""

import msgspec
from msgspec import Raw

from dragoman.wire.members import first_byte, items_of, opened

_text = msgspec.json.Decoder(str).decode
_write = msgspec.json.Encoder().encode


def canonical(value: Raw | bytes) -> bytes:
    """The spelling of `value`, which nests no deeper than the limit of a message.

    Raises:
        msgspec.DecodeError: it is no JSON.
    """
    kind = first_byte(value)
    if kind == 0x7B:
        members = opened(value)
        return b"{%b}" % b",".join(_write(name) + b":" + canonical(members[name]) for name in sorted(members))
    if kind == 0x5B:
        return b"[%b]" % b",".join(canonical(item) for item in items_of(value) or ())
    if kind == 0x22:
        return _write(_text(value))
    return bytes(value).strip()
