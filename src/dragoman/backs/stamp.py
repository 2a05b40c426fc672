"""The `_meta` that a stateless server wants on every request (SDKMETA-01, -02, -06; NEG-07, NEG-08)."""

from dragoman.exchange.caller import Caller
from dragoman.exchange.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION
from dragoman.revisions import Revision
from dragoman.wire.members import encoded


def stamp(caller: Caller, revision: Revision) -> bytes:
    """The members of the `_meta`, without braces, so that a token and passed keys can follow."""
    members: dict[str, object] = {PROTOCOL_VERSION: revision.name}
    if caller.info is not None:
        members[CLIENT_INFO] = caller.info
    members[CLIENT_CAPABILITIES] = caller.capabilities
    if caller.level is not None:
        members[LOG_LEVEL] = caller.level
    return encoded(members)[1:-1]
