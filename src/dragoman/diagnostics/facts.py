"""What a visit to a server showed, as one value; the reports are made of nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from msgspec import Raw

from dragoman.exchange.events import Ready
from dragoman.faults import Fault

LISTS = {
    "tools/list": ("tools", "tools"),
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("resources", "resourceTemplates"),
}
"""The lists that a server may have: by method, the capability that promises it, and the member with its items."""


class Wire(Enum):
    """How a server is spoken to."""

    STDIO = "stdio"
    STREAMABLE = "Streamable HTTP"
    SESSION = "Streamable HTTP with a session"
    SSE = "HTTP+SSE"
    UNKNOWN = "HTTP"


@dataclass(frozen=True, slots=True)
class Listed:
    """What one list holds. `failure` says why it could not be read (to its end)."""

    items: tuple[Raw, ...] = ()
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """`ready` is what the server said of itself, `fault` why there is nothing of the kind.

    `versions` are the revisions that it lists by itself. `first_answer` is in seconds, from the first thing that was
    done for the visit, and so is `discovered`, when `server/discover` was answered; `discover_error` is the code of
    that answer if it is an error. `noise` counts what it wrote that is no message, `starts` how often it was started.
    `end` is how it ended on its own, in words that continue "the server's process", and `opening` the system's word for
    why there is no way to it. `way_in` says how to sign in to a server that wants to know who asks. `program` is the
    command's name.
    """

    wire: Wire
    ready: Ready | None = None
    versions: tuple[str, ...] = ()
    lists: Mapping[str, Listed] = field(default_factory=dict[str, Listed])
    first_answer: float | None = None
    noise: int = 0
    starts: int = 1
    fault: Fault | None = None
    end: str | None = None
    opening: str | None = None
    way_in: str | None = None
    program: str | None = None
    discovered: float | None = None
    discover_error: int | None = None

    @property
    def is_fine(self) -> bool:
        """Whether the server was reached and understood."""
        return self.ready is not None
