"""Error codes between revisions.

A code travels as it is, with its message and data, except for these (in this order):

1. -32042 asks the user to visit a page. Only 2025-11-25 has it, so it becomes -32603 without the data that nobody
   could follow (S3-03, S4-15). Where the visit can be asked otherwise, the machine does that before it comes here.
2. -32002 is a missing resource, and must not be sent by a modern server: it becomes -32602 (S4-16), also when one has
   sent it. The URI that was read is added to the data, unless the server told one.
3. -32020 to -32022 are codes of a modern server alone. Some clients with a handshake take every code that they do not
   know for a broken connection, so they are sent -32600, with the code in the data (decisions T29).

Codes of a legacy server in the range that belongs to the specification from 2026-07-28 on pass as well: they say more
to whoever reads them than a general one would, and the range is for what is defined in future.
"""

import msgspec
from msgspec import Raw

from dragoman.revisions import Era, Revision
from dragoman.wire.members import Members, closed, is_null, object_in, raw, value_of

INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
INTERNAL = -32603
RESOURCE_MISSING = -32002
URL_REQUIRED = -32042
MODERN = frozenset({-32020, -32021, -32022})
"""What only a server without a handshake says: of a header, of a capability, of a revision."""


def translated(
    error: Members, source: Revision, target: Revision, *, method: str, params: Members | None = None
) -> Members:
    """The error object for a peer of `target`; the very same one when nothing has to change."""
    code = _code(error.get("code"))
    if code is None or (source is target and target.era is Era.LEGACY):
        return error
    if code == URL_REQUIRED:
        return unfollowed(error) if source is not target else error
    if target.era is Era.LEGACY:
        return error
    if code == RESOURCE_MISSING:
        return _recoded(error, INVALID_PARAMS) | _told_uri(error, method, params)
    return error


def enclosed(error: Members) -> Members:
    """An error of a modern server for a client that may not know its code: -32600, and the code beside its data."""
    code = _code(error.get("code"))
    if code not in MODERN:
        return error
    given = error.get("data")
    data = object_in(given)
    if data is None:
        data = {} if given is None or is_null(given) else {"data": given}
    return _recoded(error, INVALID_REQUEST) | {"data": closed({**data, "code": raw(code)})}


def row_of_recoding(before: Members, after: Members) -> str | None:
    """The row by which an error got another code, on whichever way; `None` when it has the same."""
    codes = _code(before.get("code")), _code(after.get("code"))
    if codes[0] == codes[1]:
        return None
    if codes[0] in MODERN:
        return "S4-27"
    return "S3-03" if codes[0] == URL_REQUIRED else "S4-16"


def unfollowed(error: Members) -> Members:
    """A request to visit a page, for a client that cannot be sent to one: -32603 with the message and without data."""
    return {name: value for name, value in _recoded(error, INTERNAL).items() if name != "data"}


def _code(code: Raw | None) -> int | None:
    try:
        value = value_of(code) if code is not None else None
    except msgspec.DecodeError:  # a number beyond every double
        return None
    return int(value) if isinstance(value, int | float) and value == int(value) else None


def _recoded(error: Members, code: int) -> Members:
    return error | {"code": raw(code)}


def _told_uri(error: Members, method: str, params: Members | None) -> Members:
    """`data` with the URI, when it was a read, the URI is known, and there is room for it."""
    data = error.get("data")
    uri = params.get("uri") if params is not None and method == "resources/read" else None
    if uri is None:
        return {}
    if data is None or is_null(data):
        return {"data": closed({"uri": uri})}
    told = object_in(data)
    return {} if told is None or "uri" in told else {"data": closed(told | {"uri": uri})}
