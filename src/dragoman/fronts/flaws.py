"""What is wrong with bytes of a client that are no message, as the fault that answers them (LINE)."""

from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.wire.frame import Broken, Flaw

CAUSES = {
    Flaw.NOT_JSON: Cause.PARSE_ERROR,
    Flaw.NOT_UTF8: Cause.PARSE_ERROR,
    Flaw.TOO_LONG: Cause.LINE_TOO_LONG,
    Flaw.TOO_DEEP: Cause.TOO_DEEP,
    Flaw.NOT_A_MESSAGE: Cause.INVALID_REQUEST_SHAPE,
}


def fault_of(broken: Broken, limits: Limits) -> Fault:
    detail = None
    if broken.flaw is Flaw.TOO_LONG:
        detail = f"limit: {limits.line} bytes"
    elif broken.flaw is Flaw.TOO_DEEP:
        detail = f"limit: {limits.depth} levels"
    return Fault(CAUSES[broken.flaw], detail)
