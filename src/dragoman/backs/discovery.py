"""What the answer to `server/discover` says of a server (revisions 4.4)."""

from dragoman.exchange.events import Ready, ServerError
from dragoman.exchange.meta import SERVER_INFO
from dragoman.faults import UNSUPPORTED_VERSION, Fault
from dragoman.revisions import Era, Revision, named
from dragoman.wire.members import Members, is_object, items_of, object_in, own, text_of

OTHER_ERA = (
    "the upstream server answered server/discover with error {}: it seems to speak an older revision, with a "
    "handshake; connect the client to it without this bridge"
)


def ready_of(result: Members | None, revision: Revision) -> Ready | None:
    """What the server is, when it serves that revision; `None` when it does not, or says nothing usable."""
    versions = [text_of(item) for item in items_of(result.get("supportedVersions")) or ()] if result else []
    if result is None or revision.name not in versions:
        return None
    meta = object_in(result.get("_meta")) or {}
    declared = object_in(result.get("capabilities")) or {}
    info, instructions = meta.get(SERVER_INFO), result.get("instructions")
    return Ready(
        revision,
        {name: own(value) for name, value in declared.items() if is_object(value)},
        own(info) if info is not None else None,
        own(instructions) if instructions is not None and text_of(instructions) is not None else None,
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
