"""What a peer may be told of the other peer's capabilities.

A capability counts when its value is an object (`tolerance.declared` reads what is nearly one). Between equal revisions
all that counts passes. Else what the protocol names is passed in the bytes in which it was declared, and nothing is
added (CAP-02, CAP-03), with these exceptions:

* `roots` is `{}` wherever one side is modern, because only legacy peers tell that roots changed (CAP-04, S4-13).
* `sampling` and `elicitation` lose the modes that one of the two revisions does not have; a client that can show only
  pages then has no elicitation at all, since an older server would send it forms (S3-01, S3-10, S3-13).
* `experimental` and `extensions` keep their objects, and go when none is left (CAP-05).
* `completions` is made up for a server of the one revision that completes without a way to say so (S1-05).
* `tasks` is declared between two peers of the one revision that has them, and the tasks extension never: the calls
  between other faces carry none (CAP-06, CAP-07, IRES-04).
"""

from collections.abc import Callable

from msgspec import Raw

from dragoman.revisions import Era, Revision, Trait
from dragoman.wire.members import EMPTY, Members, closed, is_object, is_true, object_in

TASKS_EXTENSION = "io.modelcontextprotocol/tasks"
FLAGS = ("listChanged", "subscribe")
BOOLEANS = (b"true", b"false")

_Judge = Callable[[Raw, Revision, Revision], Raw | None]


def client_capabilities(declared: Members, source: Revision, target: Revision) -> Members:
    """What a client of `source` can do, as a server of `target` may know it."""
    return _judged(declared, source, target, _CLIENT)


def server_capabilities(declared: Members, source: Revision, target: Revision) -> Members:
    """What a server of `source` can do, as a client of `target` may know it."""
    kept = _judged(declared, source, target, _SERVER)
    unsaid = target.has(Trait.COMPLETIONS) and not source.has(Trait.COMPLETIONS)
    if unsaid and "completions" not in kept and ("prompts" in kept or "resources" in kept):
        kept["completions"] = EMPTY
    return kept


def has_flag(declared: Members, capability: str, flag: str) -> bool:
    """Whether a capability is declared with a flag that is true."""
    return is_true((object_in(declared.get(capability)) or {}).get(flag))


def _judged(declared: Members, source: Revision, target: Revision, judges: dict[str, _Judge]) -> Members:
    kept: Members = {}
    for name, value in declared.items():
        judge = judges.get(name)
        if judge is None and source is target and is_object(value):
            kept[name] = value
        verdict = judge(value, source, target) if judge is not None and is_object(value) else None
        if verdict is not None:
            kept[name] = verdict
    return kept


def _as_declared(value: Raw, source: Revision, target: Revision) -> Raw:
    return value


def _with_flags(value: Raw, source: Revision, target: Revision) -> Raw:
    """As declared, without a flag that is no boolean: it would make the whole result invalid, and promises nothing."""
    members = object_in(value) or {}
    kept = {name: flag for name, flag in members.items() if name not in FLAGS or bytes(flag).strip() in BOOLEANS}
    return value if len(kept) == len(members) else closed(kept)


def _roots(value: Raw, source: Revision, target: Revision) -> Raw:
    if Era.MODERN in (source.era, target.era):
        return EMPTY
    changes = (object_in(value) or {}).get("listChanged")
    return value if changes is None or bytes(changes).strip() in BOOLEANS else EMPTY


def _sampling(value: Raw, source: Revision, target: Revision) -> Raw | None:
    if not _has_object_parts(value, "tools", "context"):
        return None
    return value if source.has(Trait.SAMPLING_TOOLS) and target.has(Trait.SAMPLING_TOOLS) else EMPTY


def _elicitation(value: Raw, source: Revision, target: Revision) -> Raw | None:
    if not (source.has(Trait.ELICITATION) and target.has(Trait.ELICITATION)):
        return None
    if not source.has(Trait.ELICITATION_MODES):
        return EMPTY
    if not _has_object_parts(value, "form", "url"):
        return None
    if target.has(Trait.ELICITATION_MODES):
        return value
    modes = object_in(value) or {}
    return EMPTY if "form" in modes or "url" not in modes else None


def _tasks(value: Raw, source: Revision, target: Revision) -> Raw | None:
    both = source.has(Trait.TASKS) and target.has(Trait.TASKS)
    return value if both and _has_object_parts(value, "cancel", "list", "requests") else None


def _has_object_parts(value: Raw, *names: str) -> bool:
    parts = object_in(value) or {}
    return all(is_object(parts[name]) for name in names if name in parts)


def _objects(value: Raw, source: Revision, target: Revision) -> Raw | None:
    members = object_in(value) or {}
    kept = {name: part for name, part in members.items() if is_object(part) and name != TASKS_EXTENSION}
    if not kept:
        return None
    return value if len(kept) == len(members) else closed(kept)


_CLIENT: dict[str, _Judge] = {
    "roots": _roots,
    "sampling": _sampling,
    "elicitation": _elicitation,
    "tasks": _tasks,
    "experimental": _objects,
    "extensions": _objects,
}

_SERVER: dict[str, _Judge] = {
    "tools": _with_flags,
    "prompts": _with_flags,
    "resources": _with_flags,
    "completions": _as_declared,
    "logging": _as_declared,
    "tasks": _tasks,
    "experimental": _objects,
    "extensions": _objects,
}
