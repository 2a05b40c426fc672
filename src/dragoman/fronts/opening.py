"""A client on a pipe until its first request tells its era (revisions 4.3, EMB-03).

A request whose `_meta` names a revision begins the modern conversation, `initialize` the one with a handshake; each
stays until the end of the input. What comes before, and is no such request, is answered as before a handshake. A
profile that pins the revision of the handshake serves no other era.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import UNSET

from dragoman.exchange.events import Reason
from dragoman.exchange.meta import PROTOCOL_VERSION
from dragoman.fronts.legacy import Legacy
from dragoman.wire import frame as wire
from dragoman.wire.frame import Frame
from dragoman.wire.lines import Overlong
from dragoman.wire.members import Members, object_in

if TYPE_CHECKING:
    from dragoman.fronts.modern import Modern

MARK = PROTOCOL_VERSION.encode()


class Opening:
    """`begin_modern` gives the front of the modern conversation, joined to everything behind it.

    `is_open` tells that there is a handshake for sure.
    """

    def __init__(self, legacy: Legacy, begin_modern: Callable[[], "Modern"], is_open: bool = False) -> None:
        self._legacy = legacy
        self._begin_modern = begin_modern
        self._is_open = is_open or legacy.profile.reply_revision is not None
        self.front: Legacy | Modern = legacy

    def receive(self, lines: "list[bytes | Overlong]", now: float) -> None:
        """Take the lines of one read."""
        place = 0
        while not self._is_open and place < len(lines):
            if _is_modern(lines[place]):
                self.front = self._begin_modern()
                self._is_open = True
            elif _is_initialize(lines[place]):
                self._is_open = True
            else:
                self.front.receive(lines[place : place + 1], now)
                place += 1
        if place < len(lines):
            self.front.receive(lines[place:] if place else lines, now)

    def leave(self, reason: Reason, now: float) -> None:
        self.front.leave(reason, now)


def is_modern(frame: Frame) -> bool:
    """Whether a message says by itself which revision it is of."""
    return PROTOCOL_VERSION in parts(frame)[1]


def parts(frame: Frame) -> tuple[Members, Members]:
    """The params of a message and its `_meta`; what it has not, or what is no object, is empty."""
    params = (object_in(frame.params) or {}) if frame.params is not UNSET else {}
    return params, object_in(params.get("_meta")) or {}


def _is_modern(line: bytes | Overlong) -> bool:
    if not isinstance(line, bytes) or MARK not in line:
        return False
    frame = wire.parse(line)
    return isinstance(frame, Frame) and frame.method not in (UNSET, "initialize") and is_modern(frame)


def _is_initialize(line: bytes | Overlong) -> bool:
    if not isinstance(line, bytes) or b"initialize" not in line:
        return False
    frame = wire.parse(line)
    return isinstance(frame, Frame) and frame.method == "initialize"
