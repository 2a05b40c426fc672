"""The neutral things that fronts, mediator and backs hand to each other.

A call is one object from its request to its answer: the front makes it (and may extend it with what only the front
needs), the mediator counts it, the back keeps its rounds beside it. Nothing here has an id, a token or a revision's
spelling.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from msgspec import Raw

from dragoman.channel import LINK
from dragoman.exchange.caller import Caller
from dragoman.limits import Patience
from dragoman.revisions import Revision
from dragoman.wire.members import Members


class Call:
    """A request of the client that the server shall answer.

    `params` are the members of its params without those that belong to the hop (`_meta`, `task`); `meta` are the keys
    of its `_meta` that may travel on. `wants_progress` tells the back to ask for progress. `patience`, `due`,
    `started` and `report_at` belong to the mediator's count of what is in flight. `lane` is the exchange it came on.
    `owner` is set for a question in the form of a call: the call that it belongs to, if that is known; `owner_is_told`
    when it is the transport that says so, and not that there was no other.
    """

    __slots__ = (
        "caller",
        "due",
        "key",
        "lane",
        "meta",
        "method",
        "owner",
        "owner_is_told",
        "params",
        "patience",
        "report_at",
        "started",
        "wants_progress",
    )

    def __init__(
        self, key: int, method: str, params: Members, caller: Caller, meta: Members | None, wants_progress: bool
    ) -> None:
        self.key = key
        self.method = method
        self.params = params
        self.caller = caller
        self.meta = meta
        self.wants_progress = wants_progress
        self.lane = LINK
        self.owner: Call | None = None
        self.owner_is_told = False
        self.patience = Patience.CALL
        self.due = 0.0
        self.started = 0.0
        self.report_at = 0.0

    @property
    def label(self) -> str:
        """How the log names this call; a front that knows what its client calls it says that."""
        return f"call {self.key}"


@dataclass(frozen=True, slots=True)
class Question:
    """One input request: a method of the client, and its params as the client's revision spells them.

    `url` is set for a question that sends the user to a web page, `empty_form` for a form without a property.
    """

    key: str
    method: str
    params: Members
    url: str | None = None
    empty_form: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """The client's result for a question, as it came."""

    result: Raw


@dataclass(frozen=True, slots=True)
class Erred:
    """The client's error for a question: its error object, or `None` when its line could not be read."""

    error: Raw | None


Answer = Answered | Erred


@dataclass(eq=False, slots=True)
class Inquiry:
    """A question that a server with a handshake asks by a request of its own.

    `request` is its method and params as one object, in the spelling of the server's revision. `call` is the call
    that it belongs to, when the transport tells it. `told` is set for a question that the bridge asks itself: it is
    called with the action of the answer, or with `None` when there will be none.
    """

    key: int
    request: Raw
    call: Call | None = None
    told: Callable[[str | None], None] | None = None


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error object of the upstream server, as it came.

    `lost_state_after` is set when the error refuses a saved state: the seconds spent waiting for the answers
    (STATE-01, LOGL-02).
    """

    code: int
    error: Raw
    lost_state_after: float | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """What the server said of itself; capability members are objects and nothing else.

    `flaws` say what of it was written otherwise than it was read.
    """

    revision: Revision
    capabilities: Members
    info: Raw | None = None
    instructions: Raw | None = None
    flaws: tuple[str, ...] = ()


class Changed(Enum):
    """A list or resource of the server that changed."""

    TOOLS = "tools"
    PROMPTS = "prompts"
    RESOURCES = "resources"
    RESOURCE = "resource"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which changes the client wants to hear of."""

    tools: bool = False
    prompts: bool = False
    resources: bool = False
    uris: tuple[str, ...] = field(default=())

    def __bool__(self) -> bool:
        return self.tools or self.prompts or self.resources or bool(self.uris)


class Reason(Enum):
    """Why something that was asked is withdrawn; the texts travel in `notifications/cancelled` (PEND-07 to PEND-10)."""

    CLIENT_CANCELLED = "the client cancelled the request"
    CLIENT_LEFT = "the client closed the connection"
    SERVER_STOPPED = "the upstream server stopped"
    NO_ANSWER = "no answer came in time"
    CALL_FAILED = "the request that asked has failed"
    REPLACED = "a newer subscription took its place"
    TIMED_OUT = "the request took longer than its limit"
    CALL_ENDED = "the request that asked is over"
    SERVER_WITHDREW = "the upstream server withdrew its request"
    SIGN_IN_OVER = "the sign-in is over"
