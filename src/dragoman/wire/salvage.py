"""The id of a message whose bytes do not parse (LINE-02 to LINE-06).

The bytes are walked by tokens, without a parse: strings are skipped whole and only a member of the outermost object
counts, so an id inside a nested object or inside a text is never taken.
"""

import re
from collections.abc import Iterator

_STRING = rb'"(?:[^"\\]|\\.)*+"'
_VALUE = rb'"(?:[^"\\\x00-\x1f]|\\.)*+"|-?(?:0|[1-9][0-9]*)(?![0-9.eE])'
_TOKEN = re.compile(_STRING + rb"|[{}\[\],]", re.DOTALL)
_AFTER_NAME = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*(" + _VALUE + rb")?", re.DOTALL)
_LAST = re.compile(rb'[,{][ \t\r\n]*"id"[ \t\r\n]*:[ \t\r\n]*(' + _VALUE + rb")[ \t\r\n]*\}[ \t\r\n]*\Z", re.DOTALL)


def members_at_top(data: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Names of the outermost object, as written without quotes, each with its value if that is a string or integer."""
    level, name_next = 0, False
    position = 0
    while token := _TOKEN.search(data, position):
        position = token.end()
        mark = data[token.start()]
        if mark == 0x22:
            if level == 1 and name_next:
                after = _AFTER_NAME.match(data, position)
                if after is not None:
                    yield token[0][1:-1], after[1]
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
    return found[1] if found else None


def method_in(data: bytes) -> bool:
    """Whether the outermost object has a member `method`, so far as the bytes go."""
    return any(name == b"method" for name, _ in members_at_top(data))
