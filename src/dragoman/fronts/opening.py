"""A client on a pipe until its first request tells its era (revisions 4.3, EMB-03, DISC, decisions T20).

* A request whose `_meta` names a revision begins the modern conversation, `initialize` the one with a handshake; each
  stays until the end of the input.
* `server/discover` selects nothing, however often it comes and however it is answered: it is served as the first
  request of a modern client, and an `initialize` after it begins the conversation with a handshake all the same.
* What else comes first selects nothing either, and is answered as before a handshake.
* A profile that refuses `server/discover` has it answered as an older server does. One that pins the revision of the
  handshake serves no other era.
"""

from collections.abc import Callable, Sequence
from enum import Enum
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

DISCOVER = "server/discover"


class Sign(Enum):
    """What a message tells of its sender's era."""

    NOTHING = "nothing"
    HANDSHAKE = "handshake"
    DISCOVERY = "discovery"
    MODERN = "modern"


class Opening:
    """`begin_modern` gives the front of the modern conversation, joined to everything behind it; `begin_handshake`
    joins the other front in its place.

    `is_open` tells that there is a handshake for sure.
    """

    def __init__(
        self,
        legacy: Legacy,
        begin_modern: Callable[[], "Modern"],
        begin_handshake: Callable[[], None],
        is_open: bool = False,
    ) -> None:
        self._legacy = legacy
        self._begin_modern = begin_modern
        self._begin_handshake = begin_handshake
        self._modern: Modern | None = None
        self._is_open = is_open or legacy.profile.reply_revision is not None
        self.front: Legacy | Modern = legacy

    def receive(self, lines: "Sequence[bytes | Overlong]", now: float) -> None:
        """Take the lines of one read."""
        place = 0
        while not self._is_open and place < len(lines):
            sign = self._sign(lines[place])
            if sign is Sign.MODERN or sign is Sign.DISCOVERY:
                self.front = self._modern = self._modern or self._begin_modern()
            elif sign is Sign.HANDSHAKE and self._modern is not None:
                self._modern.hand_over(now)
                self._begin_handshake()
                self.front = self._legacy
            self._is_open = sign is Sign.MODERN or sign is Sign.HANDSHAKE
            if not self._is_open:
                self.front.receive(lines[place : place + 1], now)
                place += 1
        if place < len(lines):
            self.front.receive(lines[place:] if place else lines, now)

    def leave(self, reason: Reason, now: float) -> None:
        self.front.leave(reason, now)

    def _sign(self, line: bytes | Overlong) -> Sign:
        frame = wire.parse(line, self._legacy.limits.depth)
        if not isinstance(frame, Frame) or frame.method is UNSET:
            return Sign.NOTHING
        if frame.method == "initialize":
            return Sign.HANDSHAKE
        if not is_modern(frame):
            return Sign.NOTHING
        if frame.method != DISCOVER:
            return Sign.MODERN
        return Sign.NOTHING if self._legacy.profile.refuses_discover else Sign.DISCOVERY


def is_modern(frame: Frame) -> bool:
    """Whether a message says by itself which revision it is of."""
    return PROTOCOL_VERSION in parts(frame)[1]


def parts(frame: Frame) -> tuple[Members, Members]:
    """The params of a message and its `_meta`; what it has not, or what is no object, is empty."""
    params = (object_in(frame.params) or {}) if frame.params is not UNSET else {}
    return params, object_in(params.get("_meta")) or {}
