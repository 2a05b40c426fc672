"""The notifications that tell of changes, by what changed and the other way round; changes that come too early."""

from msgspec import Raw

from dragoman.exchange.events import Changed, Filter
from dragoman.wire.members import Members, is_true, items_of, object_in, own, raw, text_of

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


def hears(filter_: Filter, what: Changed, params: Members | None) -> bool:
    """Whether just this change is wanted; a server may also tell of a URI below one that is wanted."""
    if what is not Changed.RESOURCE:
        return is_wanted(filter_, what)
    uri = text_of((params or {}).get("uri"))
    if uri is None:
        return False
    return uri in filter_.uris or any(uri.startswith(parent.rstrip("/") + "/") for parent in filter_.uris)


def filter_in(notifications: Raw | None) -> Filter:
    """The filter that a listen request, or its acknowledgement, spells; what it is silent about is not wanted."""
    given = object_in(notifications) or {}
    uris = [uri for item in items_of(given.get("resourceSubscriptions")) or () if (uri := text_of(item)) is not None]
    return Filter(
        is_true(given.get("toolsListChanged")),
        is_true(given.get("promptsListChanged")),
        is_true(given.get("resourcesListChanged")),
        tuple(dict.fromkeys(uris)),
    )


def spelled(filter_: Filter) -> Raw:
    """The filter as a listen request, or its acknowledgement, spells it."""
    members: dict[str, object] = {}
    if filter_.tools:
        members["toolsListChanged"] = True
    if filter_.prompts:
        members["promptsListChanged"] = True
    if filter_.resources:
        members["resourcesListChanged"] = True
    if filter_.uris:
        members["resourceSubscriptions"] = list(filter_.uris)
    return raw(members)


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
