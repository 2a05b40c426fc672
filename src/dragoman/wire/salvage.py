"""The id of a message whose bytes do not parse (LINE-02 to LINE-06).

The bytes are walked by tokens, without a parse: strings are skipped whole and only a member of the outermost object
counts, so an id inside a nested object or inside a text is never taken. Nor is one that is no valid JSON by itself: it
goes into an answer as it is written.
"""

import re
from collections.abc import Iterator

import msgspec

_STRING = rb'"(?:[^"\\]|\\.)*+"'
_ESCAPE = rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
_VALUE = rb'"(?:[^"\\\x00-\x1f]|' + _ESCAPE + rb')*+"|-?(?:0|[1-9][0-9]*)(?![0-9.eE])'
_TOKEN = re.compile(_STRING + rb"|[{}\[\],]", re.DOTALL)
_AFTER_NAME = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*(" + _VALUE + rb")?", re.DOTALL)
_LAST = re.compile(rb'[,{][ \t\r\n]*"id"[ \t\r\n]*:[ \t\r\n]*(' + _VALUE + rb")[ \t\r\n]*\}[ \t\r\n]*\Z", re.DOTALL)


_text = msgspec.json.Decoder(str).decode


def members_at_top(data: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Names of the outermost object, without quotes and escapes, each with its value if that is a string or integer."""
    level, name_next = 0, False
    position = 0
    while token := _TOKEN.search(data, position):
        position = token.end()
        mark = data[token.start()]
        if mark == 0x22:
            if level == 1 and name_next:
                after = _AFTER_NAME.match(data, position)
                if after is not None:
                    yield _plain(token[0]), _usable(after[1])
                    position = after.end()
                name_next = False
        elif mark in b"{[":
            level += 1
            name_next = mark == 0x7B and level == 1
        elif mark in b"}]":
            level -= 1
            if level <= 0:
                return
        else:
            name_next = level == 1


def id_in(data: bytes) -> bytes | None:
    """The value of the first member `id` of the outermost object, as written, if it is a string or an integer."""
    return next((value for name, value in members_at_top(data) if name == b"id" and value is not None), None)


def last_id_in(tail: bytes) -> bytes | None:
    """The id when it is the last member of the message that `tail` ends (LINE-03)."""
    found = _LAST.search(tail)
    return _usable(found[1]) if found else None


def method_in(data: bytes) -> bool:
    """Whether the outermost object has a member `method`, so far as the bytes go."""
    return any(name == b"method" for name, _ in members_at_top(data))


def _plain(name: bytes) -> bytes:
    """A name, as it stands with its quotes, in the one spelling in which equal names are equal."""
    if b"\\" in name:
        try:
            return _text(name).encode()
        except (msgspec.DecodeError, UnicodeError):
            pass  # no valid name, so none that anybody looks for
    return name[1:-1]


def _usable(value: bytes | None) -> bytes | None:
    """The value, if its bytes are UTF-8."""
    try:
        if value is not None and not value.isascii():
            value.decode()
    except UnicodeDecodeError:
        return None
    return value
