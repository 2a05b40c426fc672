"""Calls that a server refuses until its user has been to a web page, for clients that are asked by results.

A server of 2025-11-25 says so with the error -32042. It means that the call was not carried out, so it may be sent
again; nothing else is ever sent twice (translation 4.2b).

* The pages go to the client as questions. If it declines one, the call has failed, with what the server said.
* If it accepts them all, the call is sent again at once: the user may be done already. If the server refuses it again,
  the bridge waits for the server's notice that the pages are done with, a while, and sends it once more.
* Refused after that, the call is refused anew: the client is asked about the pages that the server names now. The
  limit for rounds counts these, too (ROUND-11).
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from msgspec import Raw

from dragoman.core import questions
from dragoman.exchange.events import Answer, Call, ServerError
from dragoman.exchange.notes import Level
from dragoman.faults import INTERNAL_ERROR, Cause, Fault
from dragoman.limits import Patience
from dragoman.revisions.errors import unfollowed
from dragoman.revisions.plan import Plan, Policy
from dragoman.wire.members import Members, closed, items_of, object_in, opened, raw, text_of

if TYPE_CHECKING:
    from dragoman.core.mediator import Mediator

NEVER = float("inf")
URL_MODE: dict[str, object] = {"elicitation": {"url": {}}}


@dataclass(eq=False, slots=True)
class Visit:
    """`pages` are the server's ids of those pages of which it has not said that they are done with.

    `due` is set while the call waits for that notice; the call is with the client while `asked` is set.
    """

    call: Call
    error: Members
    pages: set[str]
    asked: questions.Round | None
    number: int = 1
    due: float = NEVER
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])


class Visits:
    def __init__(self, mediator: "Mediator", policy: Policy) -> None:
        self._mediator = mediator
        self._policy = policy
        self.open: dict[int, Visit] = {}  # by the key of the call

    def __contains__(self, call: Call) -> bool:
        return call.key in self.open

    @property
    def wake(self) -> float:
        return min((visit.due for visit in self.open.values()), default=NEVER)

    def questions_of(self, call: Call) -> int:
        """How many questions of a call are with the client."""
        visit = self.open.get(call.key)
        return len(visit.asked.questions) if visit is not None and visit.asked is not None else 0

    # ------------------------------------------------------------------ from the server

    def refused(self, call: Call, why: ServerError, down: Plan, now: float) -> Fault | ServerError | None:
        """The server refuses a call until pages have been visited; `None` when it goes on, else how it ends."""
        visit = self.open.get(call.key)
        if visit is not None and visit.pages:
            visit.due = now + self._mediator.limits.visit_wait
            self._mediator.inflight.wait_for(call, Patience.INPUT, now)
            return None
        error = opened(why.error)
        wanted = items_of((object_in(error.get("data")) or {}).get("elicitations")) or []
        pages = [object_in(entry) or {} for entry in wanted]
        if not pages or any(text_of(page.get("mode")) != "url" for page in pages):
            return _in_words(error)
        if not call.caller.has("elicitation", "url"):
            return Fault(Cause.MISSING_CAPABILITY, extra=(("requiredCapabilities", URL_MODE),))
        number = visit.number + 1 if visit is not None else 1
        if number > self._mediator.limits.rounds:
            return Fault(Cause.TOO_MANY_ROUNDS)
        return self._ask(Visit(call, error, _ids(pages), None, number), pages, down, now)

    def _ask(self, visit: Visit, pages: list[Members], down: Plan, now: float) -> Fault | ServerError | None:
        mediator, call = self._mediator, visit.call
        requests = raw(
            {
                f"page-{number}": {"method": questions.ELICITATION, "params": closed(page)}
                for number, page in enumerate(pages, 1)
            }
        )
        round_ = questions.read_round(requests, call.caller, down, self._policy, mediator.limits, mediator.losses)
        mediator.report(questions.ELICITATION)
        if isinstance(round_, Fault):
            return round_
        for text in round_.notes:
            mediator.notes.note(Level.WARN, "input", text)
        if round_.ready:  # a page that no user should be sent to: declined for the user, and with it the call
            return _in_words(visit.error)
        visit.asked = round_
        self.open[call.key] = visit
        mediator.inflight.wait_for(call, Patience.INPUT, now)
        mediator.front.ask(call, [replace(question, url=None) for question in round_.questions], now)
        return None

    def completed(self, page: str | None, now: float) -> None:
        """The server says that the user is done with a page."""
        for visit in list(self.open.values()):
            visit.pages.discard(page or "")
            if visit.due is not NEVER and not visit.pages:
                self._again(visit, now)

    # ------------------------------------------------------------------ from the client

    def answered(self, call: Call, answers: dict[str, Answer], up: Plan, now: float) -> None:
        """Answers of the client, all at once or one by one."""
        visit = self.open[call.key]
        if visit.asked is None:
            return
        visit.answers |= answers
        if any(key not in visit.answers for key in visit.asked.originals):
            return
        mediator = self._mediator
        judged = questions.judge(visit.asked, visit.answers, call.caller, up, self._policy, mediator.losses)
        mediator.report(call.method, "server")
        if isinstance(judged, Fault | ServerError):
            mediator.fail(call, judged, now)
        elif all(text_of(opened(answer)["action"]) == "accept" for answer in judged.values()):
            visit.asked = None
            visit.answers.clear()
            self._again(visit, now)
        else:
            self._declined(visit, now)

    def _declined(self, visit: Visit, now: float) -> None:
        call, text = visit.call, text_of(visit.error.get("message")) or ""
        if call.method == "tools/call":
            result: Members = {"content": raw([{"type": "text", "text": text}]), "isError": Raw(b"true")}
            self._mediator.done(call, result, now)
        else:
            self._mediator.fail(call, _in_words(visit.error), now)

    def _again(self, visit: Visit, now: float) -> None:
        """Send the call once more."""
        visit.due = NEVER
        self._mediator.next_round(visit.call, visit.number + 1, now)
        self._mediator.back.call(visit.call, now)

    # ------------------------------------------------------------------ the end

    def over(self, call: Call) -> None:
        """The call has its answer, or needs none."""
        self.open.pop(call.key, None)

    def tick(self, now: float) -> None:
        """The notices that did not come in time are not waited for any longer."""
        for visit in [visit for visit in self.open.values() if visit.due <= now]:
            visit.pages.clear()
            self._again(visit, now)


def _ids(pages: list[Members]) -> set[str]:
    return {id for page in pages if (id := text_of(page.get("elicitationId"))) is not None}


def _in_words(error: Members) -> ServerError:
    return ServerError(INTERNAL_ERROR, closed(unfollowed(error)))
