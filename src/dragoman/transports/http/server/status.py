"""Which status an answer has when it is one JSON object (revisions 3.3, decisions T10)."""

from dragoman.exchange.events import ServerError
from dragoman.faults import (
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    TABLE,
    UNSUPPORTED_VERSION,
    Cause,
    Fault,
)

UNUSABLE = frozenset(
    {Cause.PARSE_ERROR, Cause.INVALID_REQUEST_SHAPE, Cause.LINE_TOO_LONG, Cause.TOO_DEEP, Cause.MISSING_META}
)
BAD = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})


def status_of(why: Fault | ServerError | None, is_modern: bool) -> int:
    """The HTTP status. Only the modern revisions give one to the codes of JSON-RPC."""
    if why is None:
        return 200
    if isinstance(why, Fault) and why.cause in UNUSABLE:
        return 400
    if not is_modern:
        return 200
    code = why.code if isinstance(why, ServerError) or why.code is not None else TABLE[why.cause][0]
    if code in BAD:
        return 400
    return 404 if code == METHOD_NOT_FOUND else 200
