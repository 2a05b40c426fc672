"""What an answer to initialize agrees on, and the headers that repeat it (revisions 5.3, B118).

* `MCP-Protocol-Version` is the revision of the answer, for every revision: those that do not know the header pass over
  it. Before the answer there is none.
* `Mcp-Session-Id` goes to the origin that made it and to no other, whatever is redirected (HTTP-11).
"""

import re
from dataclasses import dataclass
from enum import Enum

import msgspec

from dragoman.faults import METHOD_NOT_FOUND
from dragoman.revisions import Trait, named
from dragoman.transports.http.answer import Said
from dragoman.transports.http.endpoint import Origin, Reserved
from dragoman.transports.http.loss import Lost, invalid
from dragoman.wire.members import Members, object_in, text_of

SESSION_ID = "Mcp-Session-Id"
BAD_REQUEST, NOT_FOUND, GONE = 400, 404, 410
OF_SESSIONS = frozenset({-32000, -32001, -32002, -32600})
_OF_SESSIONS = re.compile(r"session|initiali[sz]", re.IGNORECASE)

_VISIBLE = re.compile(r"[\x21-\x7e]+")


class Ending(Enum):
    """How a server tells that it does not know a session; only a plain word says that a request was not begun."""

    TOLD = "the server said so"
    LIKELY = "the server refused a request without a reason"


def is_about_sessions(answer: Said) -> bool:
    """Whether an error speaks of the session, or of initialisation."""
    if answer.code not in OF_SESSIONS:
        return False
    try:
        message = text_of((object_in(answer.error) or {}).get("message"))
    except msgspec.DecodeError:
        return False
    return message is not None and _OF_SESSIONS.search(message) is not None


@dataclass(slots=True, eq=False)
class Session:
    """`worked` tells that a request was served in it, `doubted` that its end was told just after it had begun."""

    version: str | None
    headers: dict[str, str]
    reserved: Reserved | None
    has_batches: bool
    worked: bool = False
    doubted: bool = False

    def is_over(self, status: int, answer: Said | None, id: bytes) -> "Ending | None":
        """Whether the server no longer knows this session, by its response to the request `id`.

        404 and 410 say so, and in a session that worked an error whose text is about sessions does, too, whatever its
        status (decisions T26); 400 without an answer may mean it once (B108, B110). Any other JSON-RPC error of the
        request itself is the server's answer.
        """
        if self.reserved is None:
            return None
        own = answer if answer is not None and answer.id == id else None
        if status in (NOT_FOUND, GONE):
            return Ending.TOLD if own is None or own.code != METHOD_NOT_FOUND else None
        if not self.worked or self.doubted:
            return None
        if answer is not None and is_about_sessions(answer):
            return Ending.TOLD
        return Ending.LIKELY if status == BAD_REQUEST and own is None else None


def agreed(result: Members, id: str | None, origin: Origin) -> Session:
    """The session that begins with `result`, whose response had the session id `id` and came from `origin`.

    Raises:
        Lost: no request can carry the id.
    """
    if id is not None and not _VISIBLE.fullmatch(id):
        raise Lost(invalid(200, "the session id has a character that none may have"))
    try:
        version = text_of(result.get("protocolVersion"))
    except msgspec.DecodeError:
        version = None
    revision = named(version)
    has_batches = revision is not None and revision.has(Trait.BATCHES)
    headers = {"MCP-Protocol-Version": version} if version is not None and _VISIBLE.fullmatch(version) else {}
    reserved = Reserved(origin, {SESSION_ID: id}) if id is not None else None
    return Session(version, headers, reserved, has_batches)
