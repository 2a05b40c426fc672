"""The `_meta` that a stateless server wants on every request (SDKMETA-01, -02, -06; NEG-07, NEG-08)."""

from dragoman.exchange.caller import Caller
from dragoman.revisions import Revision
from dragoman.revisions.capabilities import client_capabilities
from dragoman.wire.members import encoded

PREFIX = "io.modelcontextprotocol/"
PROTOCOL_VERSION = PREFIX + "protocolVersion"
CLIENT_INFO = PREFIX + "clientInfo"
CLIENT_CAPABILITIES = PREFIX + "clientCapabilities"
LOG_LEVEL = PREFIX + "logLevel"
SUBSCRIPTION_ID = PREFIX + "subscriptionId"
SERVER_INFO = PREFIX + "serverInfo"


def stamp(caller: Caller, revision: Revision) -> bytes:
    """The members of the `_meta`, without braces, so that a token and passed keys can follow."""
    members: dict[str, object] = {PROTOCOL_VERSION: revision.name}
    if caller.info is not None:
        members[CLIENT_INFO] = caller.info
    members[CLIENT_CAPABILITIES] = client_capabilities(caller.capabilities, caller.revision, revision)
    if caller.level is not None:
        members[LOG_LEVEL] = caller.level
    return encoded(members)[1:-1]
