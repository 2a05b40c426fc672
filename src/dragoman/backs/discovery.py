"""What the answer to `server/discover` says of a server (revisions 4.4)."""

from dragoman.exchange.events import Ready, ServerError
from dragoman.exchange.meta import SERVER_INFO
from dragoman.faults import (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    OF_SIGN_IN,
    UNSUPPORTED_VERSION,
    Cause,
    Fault,
    is_of_no_era,
)
from dragoman.revisions import Era, Revision, named
from dragoman.revisions.tolerance import declared
from dragoman.wire.members import Members, items_of, object_in, own, text_of

REMEDY = "name it by its URL alone, and a handshake is tried as well"
OTHER_ERA = (
    "the upstream server answered server/discover with error {}: it seems to speak an older revision, with a "
    f"handshake; {REMEDY}"
)
MODERN_ERRORS = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})
OF_NO_ERA = OF_SIGN_IN | {
    *(Cause.SPAWN_FAILED, Cause.CONNECT_FAILED, Cause.TOO_MANY_REQUESTS, Cause.INTERNAL, Cause.SHUTTING_DOWN)
}


def ready_of(result: Members | None, revision: Revision) -> Ready | None:
    """What the server is, when it serves that revision; `None` when it does not, or says nothing usable."""
    versions = [text_of(item) for item in items_of(result.get("supportedVersions")) or ()] if result else []
    if result is None or revision.name not in versions:
        return None
    meta = object_in(result.get("_meta")) or {}
    said = declared(result.get("capabilities"))
    info, instructions = meta.get(SERVER_INFO), result.get("instructions")
    return Ready(
        revision,
        said.members,
        own(info) if info is not None else None,
        own(instructions) if instructions is not None and text_of(instructions) is not None else None,
        said.flaws,
    )


def other_revision(error: Fault | ServerError, revision: Revision) -> Revision | None:
    """A common modern revision, when the server refuses `revision` and says what it speaks (S4-27)."""
    if not isinstance(error, ServerError) or error.code != UNSUPPORTED_VERSION:
        return None
    data = object_in((object_in(error.error) or {}).get("data")) or {}
    for item in items_of(data.get("supported")) or ():
        other = named(text_of(item))
        if other is not None and other.era is Era.MODERN and other is not revision:
            return other
    return None


def suggests_other_era(why: Fault | ServerError) -> bool:
    """Whether the first request of an era failed as it does with a server of the other one (revisions 4.4).

    Errors that only a modern server has speak against it. So do failures that a server of either era may have on its
    way: no connection, no permission, too busy (B47). Everything else that is no usable answer speaks for it, as an
    older server may answer what it does not know with anything, with nothing, or with its end (B42, B43, B48).
    """
    if isinstance(why, ServerError):
        return why.code not in MODERN_ERRORS
    if why.cause is Cause.TRANSPORT_FAILED:
        return why.status is not None and why.status >= 400 and not is_of_no_era(why.status)
    return why.cause not in OF_NO_ERA
