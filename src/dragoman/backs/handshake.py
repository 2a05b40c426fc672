"""What is said to a server in `initialize`, and what its answer means (NEG-01, NEG-02)."""

from dragoman import __version__
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Ready, ServerError
from dragoman.faults import INVALID_PARAMS, URL_ELICITATION_REQUIRED, Cause, Fault
from dragoman.revisions import Era, Revision, named
from dragoman.revisions.capabilities import client_capabilities
from dragoman.revisions.tolerance import declared
from dragoman.wire.members import EMPTY, Members, encoded, items_of, object_in, own, text_of

NAMELESS = {"name": "dragoman", "version": __version__}
"""Who asks, for a client that does not say its name; the handshake needs one."""


def initialize_params(caller: Caller, revision: Revision) -> bytes:
    """The params of an `initialize` that offers `revision`: the caller's name, and what it can do in that revision."""
    return encoded(
        {
            "protocolVersion": revision.name,
            "capabilities": client_capabilities(caller.capabilities, caller.revision, revision),
            "clientInfo": caller.info if caller.info is not None else NAMELESS,
        }
    )


def introduction(caller: Caller, revision: Revision) -> bytes:
    """What a server that is offered `revision` has to know of a caller from the start.

    Whether roots may change is left out: a server that was told of roots only hears of their changes all the same.
    """
    told = client_capabilities(caller.capabilities, caller.revision, revision)
    return encoded([caller.info, {name: EMPTY if name == "roots" else value for name, value in told.items()}])


def read_result(result: Members | None) -> Ready | Fault:
    """What the server says of itself; a fault when it picks no revision with a handshake that we know (B52)."""
    if result is None:
        return Fault(Cause.INITIALIZE_FAILED, "the result is not an object")
    revision = named(text_of(result.get("protocolVersion")))
    if revision is None or revision.era is not Era.LEGACY:
        return Fault(Cause.INITIALIZE_FAILED, "the server picked a revision that the bridge does not know")
    said = declared(result.get("capabilities"))
    info, instructions = result.get("serverInfo"), result.get("instructions")
    return Ready(
        revision,
        said.members,
        own(info) if info is not None else None,
        own(instructions) if instructions is not None and text_of(instructions) is not None else None,
        said.flaws,
    )


def other_revision(why: Fault | ServerError, offered: Revision) -> Revision | None:
    """The newest revision with a handshake that the server names when it refuses the one that was offered."""
    if not isinstance(why, ServerError) or why.code != INVALID_PARAMS:
        return None
    data = object_in((object_in(why.error) or {}).get("data")) or {}
    told = [named(text_of(item)) for item in items_of(data.get("supported")) or ()]
    common = [revision for revision in told if revision is not None and revision.era is Era.LEGACY]
    newest = max(common, key=lambda revision: revision.place, default=None)
    return None if newest is offered else newest


def refusal(why: Fault | ServerError) -> Fault:
    """An error of the server for `initialize`, with its code and its message as the detail (ERR-10)."""
    if isinstance(why, Fault):
        return why
    code = None if why.code == URL_ELICITATION_REQUIRED else why.code
    return Fault(Cause.INITIALIZE_FAILED, text_of((object_in(why.error) or {}).get("message")), code)
