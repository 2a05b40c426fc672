"""To which call a question belongs that a server asks by a request of its own (decisions T6).

The transport knows it when the question comes in the response of a call. A pipe does not tell, and then every open
call that may ask is a candidate. A client with a handshake can be asked without a call, so nothing is guessed for it
that could do harm: only the end of the *owner* makes a question void, and a question has an owner when the transport
names it or when there is but one candidate. A question for roots is about the connection, and has an owner only if the
transport names it. Meanwhile all candidates may be waiting for the answer, so the limit of none of them runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from dragoman.core.questions import ROOTS
from dragoman.exchange.events import Call, Inquiry
from dragoman.revisions.methods import MAY_ASK


@dataclass(frozen=True, slots=True)
class Attribution:
    """`owner` is the call without which the question is void; `waiting` are those that may wait for its answer."""

    owner: Call | None
    waiting: tuple[Call, ...]


def attributed(inquiry: Inquiry, method: str, calls: Iterable[Call]) -> Attribution:
    """The attribution of a question with this method among the open `calls`."""
    if inquiry.call is not None:
        return Attribution(inquiry.call, (inquiry.call,))
    candidates = tuple(call for call in calls if call.method in MAY_ASK)
    owner = candidates[0] if len(candidates) == 1 and method != ROOTS else None
    return Attribution(owner, candidates)
