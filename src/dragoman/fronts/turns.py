"""Calls that may be asked, one at a time: so it is never a guess to which of them a question belongs (decisions T6).

It begins when a server asks the user or the model, and the transport does not say in which call. A question for roots
begins nothing: it is about the client, whatever the call. A call whose client is away to find answers does not hold up
the others; when the client comes back, it waits for its turn like a new one.

Nobody waits long: a call may run for an hour and ask nothing, and to guess is better than to hold up the others for it.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dragoman.fronts.parking import Parked
from dragoman.revisions.methods import MAY_ASK

if TYPE_CHECKING:
    from dragoman.fronts.modern import Request

NEVER = float("inf")
ASKED_OF_SOMEONE = ("elicitation", "sampling")


class Turns:
    """Who waits, in the order in which they came: a new call, or a client that is back at its parked one.

    `patience` is how long each of them waits at the most, in seconds.
    """

    def __init__(self, patience: float) -> None:
        self.are_taken = False
        self._patience = patience
        self._waiting: dict[bytes, tuple[Request, Parked | None, float]] = {}

    def __contains__(self, request: "Request") -> bool:
        return request.slot in self._waiting

    def holds(self, parked: Parked) -> bool:
        """Whether the client of a parked call is back already and waits."""
        return any(other is parked for _, other, _ in self._waiting.values())

    def must_wait(self, request: "Request", flight: "Iterable[Request]") -> bool:
        """Whether another call of those in `flight` has the turn that this one needs."""
        if not self.are_taken or not _may_be_asked(request):
            return False
        return any(other is not request and other not in self and _may_be_asked(other) for other in flight)

    def add(self, request: "Request", parked: Parked | None, now: float) -> None:
        self._waiting[request.slot] = request, parked, now + self._patience

    @property
    def wake(self) -> float:
        """When the first of them has waited long enough."""
        return next(iter(self._waiting.values()))[2] if self._waiting else NEVER

    def first(self) -> "Request | None":
        return next(iter(self._waiting.values()))[0] if self._waiting else None

    def take(self, request: "Request") -> "Parked | None":
        """It is the turn of this one; gives the parked call that its client is back at."""
        return self._waiting.pop(request.slot)[1]

    def clear(self) -> None:
        self._waiting.clear()


def _may_be_asked(request: "Request") -> bool:
    return request.method in MAY_ASK and any(request.caller.has(name) for name in ASKED_OF_SOMEONE)
