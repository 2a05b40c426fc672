"""How a request can end without its response, and whether a stream of changes is opened again after it (LOSS).

`detail` is for `data.detail` of the error: it begins with `HTTP status <n>` whenever a status is known (HTTP-10,
ERR-07), and it never holds a part of the URL, a header or a text of the server.
"""

from dataclasses import dataclass

from dragoman.faults import Cause

TOO_MANY = 429
TIMED_OUT = 408
NOT_IMPLEMENTED = 501


@dataclass(frozen=True, slots=True)
class Loss:
    """`may_retry` tells whether a listen stream that ends so is opened again after a wait (LOSS-05, LOSS-07).

    `facts` are those of `Fault`.
    """

    status: int | None
    kind: Cause
    detail: str | None
    may_retry: bool
    facts: tuple[tuple[str, str], ...] = ()


class Lost(Exception):
    """Carries a loss to the place that reports it."""

    def __init__(self, loss: Loss) -> None:
        super().__init__(loss.detail)
        self.loss = loss


def refused(status: int, why: str = "") -> Loss:
    """The server answered with a status and no JSON-RPC error of this request."""
    return Loss(status, Cause.TRANSPORT_FAILED, _with(status, why), is_passing(status))


def invalid(status: int, why: str) -> Loss:
    """The status promised a response, and what came is none."""
    return Loss(status, Cause.INVALID_RESPONSE, _with(status, why), False)


def unusable(status: int, why: str) -> Loss:
    """The body is no response: `invalid` when the status promised one, else `refused`, which needs no reason."""
    return invalid(status, why) if is_fine(status) else refused(status)


def cut(status: int | None, why: str) -> Loss:
    """There is no connection, or it ended too early."""
    return Loss(status, Cause.TRANSPORT_FAILED, why if status is None else _with(status, why), True)


def is_fine(status: int) -> bool:
    return 200 <= status <= 299


def is_passing(status: int) -> bool:
    """Whether the same request may fare better after a wait."""
    return status in (TIMED_OUT, TOO_MANY) or (500 <= status <= 599 and status != NOT_IMPLEMENTED)


def _with(status: int, why: str) -> str:
    return f"HTTP status {status}: {why}" if why else f"HTTP status {status}"
