"""A middle in which nobody listens, one in which somebody waits for the outcome of an `open`, and an idle client."""

from collections.abc import Callable

from msgspec import Raw

from dragoman.exchange.events import Call, Changed, Filter, Inquiry, Question, Ready, Reason, ServerError
from dragoman.exchange.ports import FromServer, Front
from dragoman.faults import Fault
from dragoman.wire.members import Members


class Nobody(FromServer):
    """What a server says is dropped."""

    def ready(self, ready: Ready, now: float) -> None:
        pass

    def not_ready(self, why: Fault | ServerError, now: float) -> None:
        pass

    def progress(self, call: Call, params: Members, now: float) -> None:
        pass

    def told(self, call: Call, method: str, params: Members, now: float) -> None:
        pass

    def asked(self, call: Call, requests: Raw, now: float) -> None:
        pass

    def input_required(self, call: Call, result: Members, now: float) -> None:
        pass

    def next_round(self, call: Call, number: int, now: float) -> None:
        pass

    def inquired(self, inquiry: Inquiry, now: float) -> None:
        pass

    def uninquired(self, inquiry: Inquiry, now: float) -> None:
        pass

    def done(self, call: Call, result: Members, now: float) -> None:
        pass

    def failed(self, call: Call, why: Fault | ServerError, now: float) -> None:
        pass

    def watching(self, change: int | None, granted: Filter, gap: bool, now: float) -> None:
        pass

    def not_watching(self, change: int, why: Fault | ServerError, granted: Filter, now: float) -> None:
        pass

    def watched_ended(self) -> None:
        pass

    def changed(self, what: Changed, params: Members | None, now: float) -> None:
        pass

    def logged(self, level: str, params: Members, now: float) -> None:
        pass

    def elicitation_completed(self, params: Members, now: float) -> None:
        pass

    def server_task(self, params: Members) -> None:
        pass

    def gone(self, why: Fault, now: float) -> None:
        pass


class Outcome(Nobody):
    """Hears how an `open` ends: of all that a server says, nothing else is for anybody yet."""

    def __init__(
        self, ready: Callable[[Ready, float], None], not_ready: Callable[[Fault | ServerError, float], None]
    ) -> None:
        self._ready = ready
        self._not_ready = not_ready

    def ready(self, ready: Ready, now: float) -> None:
        self._ready(ready, now)

    def not_ready(self, why: Fault | ServerError, now: float) -> None:
        self._not_ready(why, now)


class Unmoved(Front):
    """A client that does nothing about what it is told."""

    def opened(self, ready: Ready, now: float) -> None:
        pass

    def refused(self, why: Fault | ServerError, now: float) -> None:
        pass

    def progress(self, call: Call, params: Members, now: float) -> None:
        pass

    def told(self, call: Call, method: str, params: Members, now: float) -> None:
        pass

    def ask(self, call: Call, questions: list[Question], now: float) -> None:
        pass

    def withdraw(self, call: Call, reason: Reason) -> None:
        pass

    def done(self, call: Call, result: Members, now: float) -> None:
        pass

    def failed(self, call: Call, why: Fault | ServerError, now: float) -> None:
        pass

    def watching(self, change: int | None, granted: Filter, gap: bool, now: float) -> None:
        pass

    def not_watching(self, change: int, why: Fault | ServerError, granted: Filter, now: float) -> None:
        pass

    def watched_ended(self) -> None:
        pass

    def changed(self, what: Changed, params: Members | None) -> None:
        pass

    def logged(self, level: str, params: Members) -> None:
        pass

    def elicitation_completed(self, params: Members) -> None:
        pass

    def task(self, params: Members) -> None:
        pass

    def server_gone(self, why: Fault, now: float) -> None:
        pass
