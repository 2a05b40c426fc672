"""The `_meta` that a stateless server wants on every request (SDKMETA-01, -02, -06; NEG-07, NEG-08)."""

from msgspec import Raw

from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Call
from dragoman.exchange.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION
from dragoman.revisions import Revision
from dragoman.revisions.capabilities import client_capabilities
from dragoman.wire.members import closed, encoded


def stamp(caller: Caller, revision: Revision) -> bytes:
    """The members of the `_meta`, without braces, so that a token and passed keys can follow."""
    members: dict[str, object] = {PROTOCOL_VERSION: revision.name}
    if caller.info is not None:
        members[CLIENT_INFO] = caller.info
    members[CLIENT_CAPABILITIES] = client_capabilities(caller.capabilities, caller.revision, revision)
    if caller.level is not None:
        members[LOG_LEVEL] = caller.level
    return encoded(members)[1:-1]


def passed_on(call: Call, id: bytes) -> bytes:
    """The request of a client that needs no translation: its `_meta` is its own and stays whole, but for the token."""
    pieces: list[bytes | Raw] = [
        b'{"jsonrpc":"2.0","id":', id, b',"method":', encoded(call.method), b',"params":{"_meta":{',
    ]  # fmt: skip
    if call.wants_progress:
        pieces += (b'"progressToken":', id, b",")
    pieces += (bytes(closed(call.meta or {}))[1:-1], b"}")
    if call.params:
        pieces += (b",", bytes(closed(call.params))[1:-1])
    pieces.append(b"}}")
    return b"".join(pieces)
