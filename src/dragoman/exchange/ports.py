"""What the four kinds of machine expect of each other.

The events between a front and a back are the methods of these Protocols. They are called, not queued: a step is one
stack of plain calls that ends with frames in the machines' outboxes, so nothing can come between cause and effect.
"""

from typing import Protocol

from msgspec import Raw

from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Answer, Call, Changed, Filter, Inquiry, Question, Ready, Reason, ServerError
from dragoman.faults import Fault
from dragoman.wire.members import Members


class FromClient(Protocol):
    """What a front tells the mediator."""

    def open(self, caller: Caller, now: float) -> None:
        """The client wants to begin, or begins anew as another. Answered by `Front.opened` or `Front.refused`."""
        ...

    def abandon(self, now: float) -> None:
        """The client no longer wants what it began with `open`."""
        ...

    def settled(self, now: float) -> None:
        """The client has taken in what it was told at the beginning, and can be asked."""
        ...

    def call(self, call: Call, now: float) -> None:
        """Answered by `Front.done` or `Front.failed`, exactly once, unless it is cancelled first."""
        ...

    def cancel(self, call: Call, reason: Reason, now: float) -> None:
        """Nothing about the call comes back any more."""
        ...

    def answered(self, call: Call, answers: dict[str, Answer], now: float) -> None:
        """All questions of a round have their answer."""
        ...

    def watch(self, change: int, wanted: Filter, now: float) -> None:
        """Hear of other changes from now on. Answered by `Front.watching` or `Front.not_watching` with `change`.

        The first wish is number 0 and is answered by nothing but what is heard.
        """
        ...

    def speaks(self, caller: Caller) -> None:
        """What the client says of itself changed (its log level): true from the next request on."""
        ...

    def roots_changed(self) -> None:
        """A list of the client's roots that was asked for earlier is out of date."""
        ...

    def client_progress(self, params: Members) -> None:
        """The client tells how far it is with a question, to a server of its own revision."""
        ...

    def client_task(self, params: Members) -> None:
        """A task that the client works on has another status."""
        ...

    def left(self, reason: Reason, now: float) -> None:
        """The client is gone."""
        ...


class Front(Protocol):
    """What the mediator tells a front."""

    def opened(self, ready: Ready, now: float) -> None: ...

    def refused(self, why: Fault | ServerError, now: float) -> None: ...

    def progress(self, call: Call, params: Members, now: float) -> None:
        """`params` are those of the notification, without a token."""
        ...

    def told(self, call: Call, method: str, params: Members, now: float) -> None:
        """A notification that belongs to the call, for a client that knows it as it is."""
        ...

    def ask(self, call: Call, questions: list[Question], now: float) -> None:
        """Put a whole round to the client; `FromClient.answered` follows when every question has its answer."""
        ...

    def withdraw(self, call: Call, reason: Reason) -> None:
        """The questions of this call need no answer any more."""
        ...

    def done(self, call: Call, result: Members, now: float) -> None: ...

    def failed(self, call: Call, why: Fault | ServerError, now: float) -> None: ...

    def watching(self, change: int | None, granted: Filter, gap: bool, now: float) -> None:
        """Changes are heard of. `gap` tells that some may have been missed."""
        ...

    def not_watching(self, change: int, why: Fault | ServerError, granted: Filter, now: float) -> None: ...

    def watched_ended(self) -> None:
        """No change will be heard of any more, unless the client asks again."""
        ...

    def changed(self, what: Changed, params: Members | None) -> None: ...

    def logged(self, level: str, params: Members) -> None: ...

    def elicitation_completed(self, params: Members) -> None:
        """The user is done with a page, which `params` name by an elicitation id that the server chose."""
        ...

    def task(self, params: Members) -> None:
        """A task that the server works on has another status."""
        ...

    def server_gone(self, why: Fault, now: float) -> None:
        """Every call that is still open has been failed before this."""
        ...


class Timed(Protocol):
    """A front with waits of its own."""

    def wake(self) -> float:
        """The first moment at which `tick` may have something to do."""
        ...

    def tick(self, now: float) -> None: ...


class FromServer(Protocol):
    """What a back tells the mediator."""

    def ready(self, ready: Ready, now: float) -> None: ...

    def not_ready(self, why: Fault | ServerError, now: float) -> None: ...

    def progress(self, call: Call, params: Members, now: float) -> None: ...

    def told(self, call: Call, method: str, params: Members, now: float) -> None: ...

    def asked(self, call: Call, requests: Raw, now: float) -> None:
        """The server wants input before it goes on; `requests` is the object of its input requests."""
        ...

    def input_required(self, call: Call, result: Members, now: float) -> None:
        """The same for a client that takes such a result as it is, and calls again with the answers."""
        ...

    def next_round(self, call: Call, number: int, now: float) -> None:
        """The call went to the server again."""
        ...

    def inquired(self, inquiry: Inquiry, now: float) -> None:
        """The server asks on its own account. Answered by `Back.satisfied`, unless it is withdrawn first."""
        ...

    def uninquired(self, inquiry: Inquiry, now: float) -> None:
        """The server needs no answer to this any more."""
        ...

    def done(self, call: Call, result: Members, now: float) -> None: ...

    def failed(self, call: Call, why: Fault | ServerError, now: float) -> None: ...

    def watching(self, change: int | None, granted: Filter, gap: bool, now: float) -> None: ...

    def not_watching(self, change: int, why: Fault | ServerError, granted: Filter, now: float) -> None: ...

    def watched_ended(self) -> None: ...

    def changed(self, what: Changed, params: Members | None, now: float) -> None: ...

    def logged(self, level: str, params: Members, now: float) -> None: ...

    def elicitation_completed(self, params: Members, now: float) -> None: ...

    def server_task(self, params: Members) -> None:
        """A task that the server works on has another status."""
        ...

    def gone(self, why: Fault, now: float) -> None:
        """The server is lost for good; the mediator fails what is open."""
        ...


class Back(Protocol):
    """What the mediator tells a back."""

    def open(self, caller: Caller, now: float) -> None:
        """Answered by `FromServer.ready` or `FromServer.not_ready`."""
        ...

    def takes(self, caller: Caller) -> bool:
        """The client that the server was opened for begins anew, as this caller.

        Whether that holds for the server as it is; `False` when it was told of a client that differs.
        """
        ...

    def close(self) -> None:
        """Forget the server; what is in flight is not answered any more."""
        ...

    def settled(self, now: float) -> None: ...

    def speaks(self, caller: Caller) -> None: ...

    def roots_changed(self) -> None: ...

    def client_progress(self, params: Members) -> None:
        """The client tells how far it is with a question."""
        ...

    def task(self, params: Members) -> None:
        """A task that the client works on has another status."""
        ...

    def call(self, call: Call, now: float) -> None: ...

    def cancel(self, call: Call, reason: Reason) -> None: ...

    def answered(self, call: Call, answers: Members, now: float) -> None: ...

    def satisfied(self, inquiry: Inquiry, answer: Answer | Fault) -> None:
        """The answer to a question that the server asked on its own account."""
        ...

    def watch(self, change: int, wanted: Filter, now: float) -> None: ...

    def unwatch(self, reason: Reason) -> None: ...

    def held(self, seconds: float, now: float) -> None:
        """A person signs in to the server, which may take so long; what opens it waits so much longer (INIT-13)."""
        ...

    def resumed(self, now: float) -> None:
        """What was waited for was no sign-in but a token; the server has its usual time, from now."""
        ...

    def released(self, signed_in: bool, now: float) -> None:
        """The sign-in is over, with success or without."""
        ...

    def wake(self) -> float | None: ...

    def tick(self, now: float) -> None: ...
