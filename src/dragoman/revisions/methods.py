"""Which methods a revision has, and who sends them.

Derived from what the steps gain and drop. `sampling/createMessage`, `elicitation/create` and `roots/list` count as
asked by the server in every revision that has them, also where they travel inside results.
"""

from functools import cache

from dragoman.revisions import Revision
from dragoman.revisions.rows import STEPS
from dragoman.revisions.step import Kind, Method, Sender

FORWARDED: frozenset[str] = frozenset(
    {
        "completion/complete",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "tools/call",
        "tools/list",
    }
)

TASKS = frozenset({"tasks/cancel", "tasks/get", "tasks/list", "tasks/result"})
"""What is asked about a task, by whoever asked for it."""

TASK_STATUS = "notifications/tasks/status"

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The requests that list something, each with the array of its result; they have pages."""

MAY_ASK = frozenset({"prompts/get", "resources/read", "tools/call"})
"""The requests in whose course a server may ask for input."""


@cache
def methods(revision: Revision) -> dict[str, Method]:
    """Every method of a revision by its name."""
    known: dict[str, Method] = {}
    for step in STEPS[: revision.place + 1]:
        known = {name: method for name, method in known.items() if name not in step.drops}
        known |= {method.name: method for method in step.gains}
    return known


@cache
def requests(revision: Revision) -> frozenset[str]:
    """The requests that a client sends."""
    return _named(revision, Kind.REQUEST, Sender.CLIENT)


@cache
def dropped(revision: Revision) -> frozenset[str]:
    """The requests of older revisions that this one has no more."""
    return frozenset(name for step in STEPS for name in step.drops) - requests(revision)


@cache
def asks(revision: Revision) -> frozenset[str]:
    """The requests that a server asks, on their own or inside a result."""
    return _named(revision, Kind.REQUEST, Sender.SERVER)


@cache
def notices(revision: Revision, *, from_server: bool) -> frozenset[str]:
    """The notifications of one side."""
    return _named(revision, Kind.NOTICE, Sender.SERVER if from_server else Sender.CLIENT)


def _named(revision: Revision, kind: Kind, sender: Sender) -> frozenset[str]:
    known = methods(revision).values()
    return frozenset(m.name for m in known if m.kind is kind and m.sender in (sender, Sender.BOTH))


@cache
def known_anywhere() -> frozenset[str]:
    """Every method of any revision."""
    return frozenset(method.name for step in STEPS for method in step.gains)


def row_of_absence(name: str, target: Revision) -> str | None:
    """The row that tells why `target` does not have a method: it came later, or it went. `None` when it is there."""
    if name in methods(target) or name not in known_anywhere():
        return None
    went = [step.drops[name] for step in STEPS[: target.place + 1] if name in step.drops]
    return went[-1] if went else next(m.row for step in STEPS for m in step.gains if m.name == name)
