"""The status of an answer that is one JSON object."""

import pytest
from msgspec import Raw

from dragoman.exchange.events import ServerError
from dragoman.faults import Cause, Fault
from dragoman.transports.http.server.status import status_of
from support.proofs import proves


def erred(code: int) -> ServerError:
    return ServerError(code, Raw(b"{}"))


@proves("SDKMETA-07")
@pytest.mark.parametrize(
    ("why", "modern", "legacy"),
    [
        (None, 200, 200),
        (Fault(Cause.PARSE_ERROR), 400, 400),
        (Fault(Cause.INVALID_REQUEST_SHAPE), 400, 400),
        (Fault(Cause.TOO_DEEP), 400, 400),
        (Fault(Cause.LINE_TOO_LONG), 400, 400),
        (Fault(Cause.MISSING_META), 400, 400),
        (Fault(Cause.HEADER_MISMATCH), 400, 200),
        (Fault(Cause.UNSUPPORTED_VERSION), 400, 200),
        (Fault(Cause.METHOD_NOT_FOUND), 404, 200),
        (Fault(Cause.TIMEOUT), 200, 200),
        (Fault(Cause.TIMEOUT, code=-32601), 404, 200),
        (Fault(Cause.TOO_MANY_REQUESTS), 200, 200),
        (erred(-32020), 400, 200),
        (erred(-32021), 400, 200),
        (erred(-32022), 400, 200),
        (erred(-32601), 404, 200),
        (erred(-32602), 200, 200),
        (erred(-32603), 200, 200),
        (erred(-32700), 200, 200),
        (erred(7), 200, 200),
    ],
)
def test_only_the_modern_era_gives_codes_a_status(why: Fault | ServerError | None, modern: int, legacy: int) -> None:
    assert (status_of(why, True), status_of(why, False)) == (modern, legacy)
