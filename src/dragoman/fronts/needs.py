"""What a question of a server needs of the request that it belongs to (SDKMETA-05)."""

from collections.abc import Sequence

from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Call, Question, ServerError
from dragoman.wire.members import object_in, text_of

ELICITATION = "elicitation/create"
ROOTS = "roots/list"
SAMPLING = "sampling/createMessage"
CAPABILITIES = frozenset({"elicitation", "roots", "sampling"})
REQUIRED = ("requiredCapabilities", "required")


def needed(question: Question) -> dict[str, dict[str, object]]:
    """The capability that a question needs."""
    if question.method == ROOTS:
        return {"roots": {}}
    if question.method == SAMPLING:
        return {"sampling": {"tools": {}} if {"tools", "toolChoice"} & question.params.keys() else {}}
    return {"elicitation": {"url" if text_of(question.params.get("mode")) == "url" else "form": {}}}


def may_be_asked(caller: Caller, question: Question) -> bool:
    """Whether a client declared, with this request, what a question needs."""
    return all(caller.has(name, next(iter(parts), None)) for name, parts in needed(question).items())


def oldest(running: Sequence[Call], away: Sequence[Call], question: Question) -> Call | None:
    """The oldest call whose client may be asked, of those that run, or else of those whose client is away; if there is
    none, the oldest of all (decisions T6)."""
    for calls in (running, away):
        fitting = [call for call in calls if may_be_asked(call.caller, question)]
        if fitting:
            return min(fitting, key=lambda call: call.key)
    return min((*running, *away), key=lambda call: call.key, default=None)


def named_in(error: ServerError, caller: Caller) -> dict[str, object] | None:
    """The capabilities that an error names as required, when the client has none of them.

    Older revisions have no code for this, and servers put it into `data` under a name of their own.
    """
    data = object_in((object_in(error.error) or {}).get("data")) or {}
    for name in REQUIRED:
        required = object_in(data.get(name))
        if required and all(each in CAPABILITIES and not caller.has(each) for each in required):
            return dict(required)
    return None
