"""What must be true of a message's bytes before anything reads them.

The JSON decoder checks structure, literals and escapes of all it skips, but neither UTF-8 nor depth, and it refuses
an escape of half a surrogate pair, which JavaScript and Python both write when they cut a text. So:

1. `is_utf8` decides about the bytes of the whole message;
2. `depth` measures nesting without recursion and without a parse (SIZE-06);
3. `mend` replaces lone surrogate escapes by U+FFFD, so that the message can be delivered (decisions T16).
"""

import codecs
import re
from itertools import accumulate

PIECE = 1 << 16

_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_LEVELS = bytes.maketrans(b"{[}]", b"\x01\x01\xff\xff")
_NO_LEVELS = bytes(set(range(256)) - set(b"{[}]"))
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def is_utf8(data: bytes) -> bool:
    """Whether all of `data` is valid UTF-8; large messages are read in pieces, so no large string is made."""
    if data.isascii():
        return True
    try:
        if len(data) <= PIECE:
            str(data, "utf-8")
            return True
        view, start = memoryview(data), 0
        while start < len(data):
            end = min(start + PIECE, len(data))
            _, used = codecs.utf_8_decode(view[start:end], "strict", end == len(data))
            start += used
    except UnicodeDecodeError:
        return False
    return True


def is_deeper(data: bytes, limit: int) -> bool:
    """Whether `data` nests objects and arrays more than `limit` levels; brackets in strings do not count.

    A message with fewer brackets than the limit is answered by two counts; only others are measured.
    """
    if data.count(b"{") + data.count(b"[") <= limit:
        return False
    return depth(data) > limit


def depth(data: bytes) -> int:
    """The deepest nesting of `data`, of any bytes, in memory of the order of `data`."""
    levels = _STRINGS.sub(b"", data).translate(_LEVELS, _NO_LEVELS)
    return max(accumulate(memoryview(levels).cast("b")), default=0)


def mend(data: bytes) -> bytes | None:
    """`data` with U+FFFD for each escaped half of a surrogate pair; `None` when there is none."""
    found = False

    def replace(match: re.Match[bytes]) -> bytes:
        nonlocal found
        if match[1] is None:
            return match[0]
        found = True
        return rb"\ufffd"

    mended = _ESCAPES.sub(replace, data)
    return mended if found else None
