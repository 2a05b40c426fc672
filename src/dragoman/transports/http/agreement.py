"""What an answer to initialize agrees on, and the headers that repeat it (revisions 5.3, B118).

* `MCP-Protocol-Version` is the revision of the answer, for every revision: those that do not know the header pass over
  it. Before the answer there is none.
* `Mcp-Session-Id` goes to the origin that made it and to no other, whatever is redirected (HTTP-11).
"""

import re
from dataclasses import dataclass

import msgspec

from dragoman.faults import METHOD_NOT_FOUND
from dragoman.revisions import Trait, named
from dragoman.transports.http.answer import Said
from dragoman.transports.http.endpoint import Origin, Reserved
from dragoman.transports.http.loss import Lost, invalid
from dragoman.wire.members import Members, text_of

SESSION_ID = "Mcp-Session-Id"
BAD_REQUEST, NOT_FOUND = 400, 404

_VISIBLE = re.compile(r"[\x21-\x7e]+")


@dataclass(slots=True, eq=False)
class Session:
    """`worked` tells that a request was served in it, `doubted` that a 400 came in it just after a new beginning."""

    version: str | None
    headers: dict[str, str]
    reserved: Reserved | None
    has_batches: bool
    worked: bool = False
    doubted: bool = False

    def is_over(self, status: int, answer: Said | None, id: bytes) -> bool:
        """Whether the server no longer knows this session, by its response to the request `id`.

        404 says so, and 400 may mean it once (B108, B110). A JSON-RPC error of the request itself is the server's
        answer when it comes with 400, or with 404 for a method that is not there.
        """
        if self.reserved is None:
            return False
        own = answer if answer is not None and answer.id == id else None
        if status == NOT_FOUND:
            return own is None or own.code != METHOD_NOT_FOUND
        return status == BAD_REQUEST and own is None and self.worked and not self.doubted


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
