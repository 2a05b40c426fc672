"""Requests of a client that wait for their answer, with what only a front with a handshake needs to answer them."""

from msgspec import Raw

from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Call
from dragoman.wire.frame import notice
from dragoman.wire.members import Members, encoded

SHOWN = 60  # bytes of an id in a log line


class Pace:
    """The progress of one call so far: the last value, and how many notifications this second has had."""

    __slots__ = ("count", "last", "second")

    def __init__(self) -> None:
        self.last = float("-inf")
        self.second = 0.0
        self.count = 0

    def admits(self, progress: Raw, rate: int | None, now: float) -> bool:
        """Whether a notification with this value may follow, which is then the last one.

        Only progress that rises may (H-03), and no more than `rate` in a second (PROG-06).
        """
        try:
            value = float(bytes(progress))
        except ValueError:
            return False
        if value <= self.last:
            return False
        if rate is not None:
            if now - self.second >= 1.0:
                self.second, self.count = now, 0
            self.count += 1
            if self.count > rate:
                return False
        self.last = value
        return True


def progress_notice(token: bytes | Raw, params: Members) -> bytes:
    """The notification under the client's own token."""
    return notice("notifications/progress", encoded({"progressToken": Raw(token), **params}))


class Waiting(Call):
    """A call under the client's own id and progress token, both as the client wrote them.

    `slot` is its place in the front's table of what is in flight.
    """

    __slots__ = ("id", "pace", "slot", "token")

    def __init__(
        self,
        key: int,
        method: str,
        params: Members,
        caller: Caller,
        meta: Members | None,
        id: bytes,
        token: bytes | None,
        slot: bytes,
        lane: int,
    ) -> None:
        super().__init__(key, method, params, caller, meta, token is not None)
        self.lane = lane
        self.slot = slot
        self.id = id
        self.token = token
        self.pace = Pace() if token is not None else None

    @property
    def label(self) -> str:
        """The client's id for it, cut to a length that a log line can hold."""
        return f"id {self.id[:SHOWN].decode('utf-8', 'replace')}"

    def progress_frame(self, params: Members, rate: int | None, now: float) -> bytes | None:
        """The notification for the client; `None` when there is to be none.

        Only a client that gave a token hears of progress (PROG-01), and only of what its pace admits.
        """
        value = params.get("progress")
        if self.token is None or self.pace is None or value is None or not self.pace.admits(value, rate, now):
            return None
        return progress_notice(self.token, params)


class Opening:
    """The `initialize` in flight."""

    __slots__ = ("id", "lane")

    def __init__(self, id: bytes, lane: int) -> None:
        self.id = id
        self.lane = lane
