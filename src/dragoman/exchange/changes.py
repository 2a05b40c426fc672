"""The notifications that tell of changes, by what changed and the other way round; changes that come too early."""

from dragoman.exchange.events import Changed, Filter
from dragoman.wire.members import Members, own, text_of

Change = tuple[Changed, Members]

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
CHANGES = {
    "notifications/tools/list_changed": Changed.TOOLS,
    "notifications/prompts/list_changed": Changed.PROMPTS,
    "notifications/resources/list_changed": Changed.RESOURCES,
    "notifications/resources/updated": Changed.RESOURCE,
}
NOTICES = {what: method for method, what in CHANGES.items()}

MOST_EARLY = 1024
"""Resources of which an early change is kept for one who is not acknowledged yet."""


def is_wanted(filter_: Filter, what: Changed) -> bool:
    """Whether changes of this kind are wanted at all."""
    return {
        Changed.TOOLS: filter_.tools,
        Changed.PROMPTS: filter_.prompts,
        Changed.RESOURCES: filter_.resources,
        Changed.RESOURCE: bool(filter_.uris),
    }[what]


class Early:
    """Changes that are told later, each once: that something changed again meanwhile is no news."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Changed, str | None], Members] = {}

    def add(self, what: Changed, params: Members | None) -> None:
        given = params or {}
        if len(self._kept) < MOST_EARLY:
            self._kept[what, text_of(given.get("uri"))] = {name: own(value) for name, value in given.items()}

    def taken(self) -> list[Change]:
        """All of them in their order; nothing is left."""
        taken = [(what, params) for (what, _), params in self._kept.items()]
        self._kept.clear()
        return taken
