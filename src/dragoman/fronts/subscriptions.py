"""What a legacy client has subscribed to, and the changes of that which are under way.

Changes run one at a time in the order of their arrival (CHANGE-01, LISTEN-04). A change that changes nothing is
answered at once (CHANGE-02); every other one becomes a wish for a filter with all URIs, and is answered when that is
heard of. The first wish has no request behind it: `notifications/initialized` opens the stream.
"""

from collections import deque
from dataclasses import dataclass
from functools import partial

from dragoman.exchange.events import Filter, Ready
from dragoman.revisions.capabilities import has_flag


@dataclass(frozen=True, slots=True)
class Change:
    """A resources/subscribe (`adds`) or resources/unsubscribe, with the client's id for it and the front's slot."""

    key: int
    id: bytes
    slot: bytes
    lane: int
    uri: str
    adds: bool


class Subscriptions:
    """`lists` says which lists the client was promised changes of."""

    def __init__(self, lists: Filter, may_subscribe: bool) -> None:
        self.lists = lists
        self.may_subscribe = may_subscribe
        self.started = False
        self.uris: tuple[str, ...] = ()
        self.running: Change | None = None
        self.waiting: deque[Change] = deque()

    @property
    def opens_a_stream(self) -> bool:
        return bool(self.lists) or self.may_subscribe

    def filter(self, uris: tuple[str, ...]) -> Filter:
        return Filter(self.lists.tools, self.lists.prompts, self.lists.resources, uris)

    def add(self, change: Change) -> None:
        self.waiting.append(change)

    def next(self) -> tuple[Change, Filter | None] | None:
        """The next change to run, with the filter it wishes for; no filter when there is nothing to do for it."""
        if self.running is not None or not self.waiting:
            return None
        change = self.waiting.popleft()
        if (change.uri in self.uris) == change.adds:
            return change, None
        self.running = change
        return change, self.filter(self._uris_after(change))

    def succeed(self) -> Change:
        """The running change is in force."""
        change = self.fail()
        self.uris = self._uris_after(change)
        return change

    def fail(self) -> Change:
        """The running change is not in force; everything stays as it was (CHANGE-07)."""
        change, self.running = self.running, None
        assert change is not None
        return change

    def drop(self, id: bytes) -> None:
        """Forget a change that the client cancelled before its turn."""
        self.waiting = deque(change for change in self.waiting if change.id != id)

    def _uris_after(self, change: Change) -> tuple[str, ...]:
        others = tuple(uri for uri in self.uris if uri != change.uri)
        return (*others, change.uri) if change.adds else others


def promised(ready: Ready) -> Subscriptions:
    """What the client was promised when it was told what the server declared."""
    says = partial(has_flag, ready.capabilities)
    lists = Filter(says("tools", "listChanged"), says("prompts", "listChanged"), says("resources", "listChanged"))
    return Subscriptions(lists, says("resources", "subscribe"))
