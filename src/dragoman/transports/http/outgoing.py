"""One message of the client's side that goes to a server with a handshake, as one POST."""

from dataclasses import dataclass

from msgspec import UNSET

from dragoman.wire import frame as wire
from dragoman.wire.frame import Opened
from dragoman.wire.members import Members

INITIALIZE = "initialize"
INITIALIZED = "notifications/initialized"
CANCELLED = "notifications/cancelled"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """`id` is as written; a notification has none. A response has no method."""

    id: bytes | None
    method: str | None
    params: Members
    body: bytes

    @property
    def name(self) -> str:
        """What the log calls it."""
        return self.method if self.method is not None else "a response"


def outgoing(body: bytes) -> Outgoing:
    """The message that `body` holds, which is one of our own making."""
    frame = wire.parse_opened(body)
    assert isinstance(frame, Opened)
    id = bytes(frame.id) if frame.id is not UNSET else None
    method = frame.method if frame.method is not UNSET else None
    return Outgoing(id, method, frame.params if frame.params is not UNSET else {}, body)
