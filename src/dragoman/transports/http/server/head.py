"""What of the head of an HTTP request decides what happens with it, and a response without anything to wait for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dragoman.exchange.events import ServerError
from dragoman.faults import Fault
from dragoman.wire import frame as wire

SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
LAST_EVENT = "last-event-id"
JSON = b"application/json"


@dataclass(frozen=True, slots=True)
class Head:
    """`headers` have their names in lower case; `post_to` names the HTTP+SSE session that a POST is for."""

    headers: Mapping[str, str]
    accepts_events: bool = True
    principal: str | None = None
    post_to: str | None = None

    @property
    def session(self) -> str | None:
        return self.headers.get(SESSION)

    @property
    def version(self) -> str | None:
        return self.headers.get(VERSION)

    @property
    def last_event(self) -> str | None:
        return self.headers.get(LAST_EVENT)


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole response."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = field(default=())


def refusal(status: int, why: Fault | ServerError, id: bytes | None = None, *headers: tuple[bytes, bytes]) -> Reply:
    """A response that is an error, under the id of the request when that is known."""
    error = why.error() if isinstance(why, Fault) else why.error
    return Reply(status, wire.failure(id, error), headers)
