"""Calls that wait at the bridge for their client to come back with answers.

A server with a handshake goes on waiting with its question open; the client was told `input_required` and is gone until
it retries. One parked call is one such wait: what was asked and not yet answered, and the outcome if that comes first.
"""

from msgspec import Raw

from dragoman.exchange.events import Call, Question, ServerError
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.wire.members import Members, closed, raw

KINDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


class Open:
    """A question of the server that has no answer yet, and the name under which the client knows it, if it does."""

    __slots__ = ("call", "name", "question")

    def __init__(self, call: Call, question: Question, name: str) -> None:
        self.call = call
        self.question = question
        self.name = name

    def request(self) -> Raw:
        """The input request."""
        return raw({"method": self.question.method, "params": closed(self.question.params)})


class Parked:
    """`due` is when the gathered questions go to the client, or when its patience ends; `round` counts the asking.

    `is_held` tells that the server gets the call when its questions from before are answered.
    """

    __slots__ = ("_count", "asked", "due", "handle", "is_away", "is_held", "outcome", "owner", "round")

    def __init__(self, owner: Call, handle: str) -> None:
        self.owner = owner
        self.handle = handle
        self.asked: list[Open] = []
        self.outcome: Members | Fault | ServerError | None = None
        self.is_away = False  # the client was told to come back
        self.is_held = False
        self.round = 0
        self.due = 0.0
        self._count = 0

    def excess(self, limits: Limits) -> Fault | None:
        """Why no more may be asked: the client came back often enough, or is asked enough at one time (B89)."""
        if self.round >= limits.rounds:
            return Fault(Cause.TOO_MANY_ROUNDS, f"limit: {limits.rounds} rounds")
        if len(self.asked) >= limits.questions:
            return Fault(Cause.TOO_MANY_INPUT_REQUESTS, f"limit: {limits.questions} questions")
        return None

    def ask(self, call: Call, question: Question) -> None:
        self._count += 1
        self.asked.append(Open(call, question, f"{KINDS.get(question.method, 'input')}-{self._count}"))

    def withdraw(self, call: Call) -> bool:
        """Forget a question; whether it was one of these."""
        before = len(self.asked)
        self.asked = [open_ for open_ in self.asked if open_.call is not call]
        return len(self.asked) < before
