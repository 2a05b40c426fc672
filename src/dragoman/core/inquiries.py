"""The questions that a server asks by requests of its own, from `inquired` to the one answer that it gets.

Each is judged by itself, as a round of one question: may this client be asked, what does its revision say instead, and
is that an answer (`questions`). A question that may not be asked is refused to the server and never shown. What a
client sees is what the server wrote, in the client's revision: nothing stands in for an empty form or a page here, and
the server's own elicitation ids reach the client, who meets them again in the notice that the page is done with.

A question is open until it is answered, withdrawn by the server, or void because its call is over (`attribution`), but
no longer than the limit for answers of the client (TIME-05). Every end but the server's own gives the server an answer.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from dragoman.core import questions
from dragoman.core.attribution import Attribution, attributed
from dragoman.core.inflight import Inflight
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Answer, Answered, Call, Erred, Inquiry, Question, Reason, ServerError
from dragoman.exchange.notes import Level
from dragoman.faults import INVALID_PARAMS, METHOD_NOT_FOUND, Cause, Fault
from dragoman.limits import Patience, patience_of
from dragoman.revisions.capabilities import client_capabilities
from dragoman.revisions.methods import MAY_ASK, TASKS
from dragoman.revisions.plan import Plan, Policy
from dragoman.wire.members import EMPTY, Members, closed, encoded, object_in, opened, raw, text_of

if TYPE_CHECKING:
    from dragoman.core.mediator import Mediator


EVERYTHING = {
    "roots": raw({}),
    "sampling": raw({"context": {}, "tools": {}}),
    "elicitation": raw({"form": {}, "url": {}}),
}


class Asked(Call):
    """An open question, in the form of a call so that it goes through the same doors as the questions of calls.

    Without a `round` it is about tasks, and its answer is judged by nobody but the server.
    """

    __slots__ = ("attribution", "inquiry", "round")

    def __init__(
        self, inquiry: Inquiry, method: str, caller: Caller, round_: questions.Round | None, attribution: Attribution
    ) -> None:
        super().__init__(inquiry.key, method, {}, caller, None, False)
        if attribution.owner is not None:
            self.owner = attribution.owner
            self.lane = attribution.owner.lane  # a client may have no other stream on which it hears of it
        self.owner_is_told = inquiry.call is not None
        self.inquiry = inquiry
        self.round = round_
        self.attribution = attribution

    @property
    def label(self) -> str:
        return f"question {self.key} of the server" if self.inquiry.told is None else "the question for a sign-in"


class Inquiries:
    """`policy` is that of the plans; caller and plans are known from `begin` on."""

    def __init__(self, mediator: "Mediator", policy: Policy) -> None:
        self._mediator = mediator
        self._policy = policy
        self._open = Inflight(mediator.limits)
        self.asked: dict[int, Asked] = {}  # by key; what is in here has no answer yet
        self._shown = 0
        self._declared: Caller
        self._caller: Caller
        self._up: Plan
        self._down: Plan

    def begin(self, caller: Caller, up: Plan, down: Plan) -> None:
        """The handshake is over: `up` leads to the server. It may ask for what its own revision let it be told, and in
        calls of a client without a handshake for what each of them declares, which only the front knows."""
        declared = EVERYTHING if caller.is_modern else caller.capabilities
        told = client_capabilities(declared, caller.revision, down.source)
        self._declared = caller
        self._caller = replace(caller, capabilities=told)
        self._up, self._down = up, down

    def __len__(self) -> int:
        return len(self.asked)

    @property
    def wake(self) -> float:
        return self._open.wake

    # ------------------------------------------------------------------ from the server

    def ask(self, inquiry: Inquiry, now: float) -> None:
        mediator = self._mediator
        request = opened(inquiry.request)
        method = text_of(request["method"]) or ""
        params = object_in(request.get("params")) or {}
        if self._is_of_tasks(method, params):
            call = inquiry.call  # a task outlives the call that it came from
            own = Attribution(call, (call,) if call is not None else ())
            self._put(Asked(inquiry, method, self._declared, None, own), params, now)
            return
        asked = closed({method: inquiry.request})
        round_ = questions.read_round(asked, self._caller, self._down, self._policy, mediator.limits, mediator.losses)
        mediator.report(method)
        if isinstance(round_, Fault):
            self._refuse(inquiry, method, round_)
            return
        for text in round_.notes:
            mediator.notes.note(Level.WARN, "input", text)
        if not round_.questions:
            mediator.back.satisfied(inquiry, Answered(round_.ready[method]))
            return
        question = round_.questions[0]
        needs_id = question.url is not None and not self._declared.is_modern
        if needs_id and text_of(question.params.get("elicitationId")) is None:
            self._refuse(inquiry, method, Fault(Cause.INVALID_INPUT_REQUEST, "it names no elicitationId"))
            return
        attribution = attributed(inquiry, method, mediator.inflight)
        self._put(Asked(inquiry, method, self._declared, round_, attribution), question.params, now)

    def _is_of_tasks(self, method: str, params: Members) -> bool:
        """Whether this is about a task that the client works on, or asks for one: that is between server and client."""
        tasks = object_in(self._caller.capabilities.get("tasks"))
        if tasks is None or method in TASKS or "task" not in params:
            return tasks is not None and method in TASKS
        kind, _, what = method.partition("/")
        return what in (object_in((object_in(tasks.get("requests")) or {}).get(kind)) or {})

    def _put(self, call: Asked, params: Members, now: float) -> None:
        mediator = self._mediator
        self.asked[call.key] = call
        self._open.enter(call, Patience.INPUT, now)
        for waiting in call.attribution.waiting:
            mediator.inflight.wait_for(waiting, Patience.INPUT, now)
        mediator.front.ask(call, [Question(call.method, call.method, params)], now)

    def show(self, url: str, message: str, told: Callable[[str | None], None], now: float) -> Inquiry:
        """Have the client show a page that all its calls wait for. The question is the bridge's own (OAUTH-13)."""
        self._shown += 1
        owner = self.shower
        inquiry = Inquiry(-self._shown, EMPTY, owner, told)
        params: dict[str, object] = {"mode": "url", "message": message, "url": url}
        if owner is None:
            params["elicitationId"] = self.page(inquiry)
        caller = owner.caller if owner is not None else self._declared
        waiting = Attribution(owner, tuple(self._mediator.inflight))
        self._put(Asked(inquiry, questions.ELICITATION, caller, None, waiting), opened(encoded(params)), now)
        return inquiry

    @property
    def shower(self) -> Call | None:
        """The open call by whose result a client without a handshake can be shown a page; the oldest of them."""
        if not self._declared.is_modern:
            return None
        able = (call for call in self._mediator.inflight if call.caller.has("elicitation", "url"))
        return next((call for call in able if call.method in MAY_ASK), None)

    def page(self, inquiry: Inquiry) -> str:
        """The elicitation id of a page that the bridge has shown."""
        return f"sign-in-{-inquiry.key}"

    def withdraw(self, inquiry: Inquiry, now: float) -> None:
        """Who asked needs no answer any more."""
        call = self.asked.get(inquiry.key)
        if call is not None and self._leave(call, now):
            reason = Reason.SERVER_WITHDREW if inquiry.told is None else Reason.SIGN_IN_OVER
            self._mediator.front.withdraw(call, reason)

    # ------------------------------------------------------------------ from the client

    def answered(self, call: Asked, answers: dict[str, Answer], now: float) -> None:
        if not self._leave(call, now):
            return
        answer = answers[call.method]
        if call.inquiry.told is not None:
            result = object_in(answer.result) if isinstance(answer, Answered) else None
            call.inquiry.told(text_of((result or {}).get("action")))
            return
        if call.round is None and isinstance(answer, Answered) and object_in(answer.result) is None:
            wrong = Fault(Cause.INVALID_CLIENT_ANSWER, f"{call.method}: the result is not an object")
            self._mediator.back.satisfied(call.inquiry, wrong)
            return
        if call.round is None or (isinstance(answer, Erred) and answer.error is not None):
            self._mediator.back.satisfied(call.inquiry, answer)
            return
        judged = questions.judge(call.round, answers, self._caller, self._up, self._policy, self._mediator.losses)
        self._mediator.report(call.method, "server")
        assert not isinstance(judged, ServerError)
        if isinstance(judged, Fault):
            if judged.extra and call.method == questions.SAMPLING:  # the server's revision has no words for it
                judged = replace(judged, code=METHOD_NOT_FOUND)
            self._mediator.back.satisfied(call.inquiry, judged)
        else:
            self._mediator.back.satisfied(call.inquiry, Answered(judged[call.method]))

    # ------------------------------------------------------------------ other ends

    def call_over(self, owner: Call, reason: Reason, now: float) -> None:
        """A call is over, and with it the questions that belong to it."""
        for call in list(self.asked.values()):
            if call.attribution.owner is owner:
                self._end(call, reason, Fault(Cause.CANCELED, reason.value), now)

    def all_over(self, reason: Reason, now: float) -> None:
        """One side is gone."""
        for call in list(self.asked.values()):
            self._end(call, reason, Fault(Cause.CANCELED, reason.value), now)

    def tick(self, now: float) -> None:
        if self._open.wake > now:
            return
        for call in self._open.overdue(now):
            limit = self._open.limit(Patience.INPUT)
            self._end(call, Reason.NO_ANSWER, Fault(Cause.INPUT_TIMEOUT, f"limit: {limit:g} s"), now)
        for call in self._open.slow(now):
            elapsed = now - call.started
            text = f"{call.method} ({call.label}) waits for the client, {elapsed:.0f} s"
            self._mediator.notes.note(Level.INFO, "call", text)
        self._open.plan_wake()

    def _end(self, call: Call, reason: Reason, why: Fault, now: float) -> None:
        assert isinstance(call, Asked)
        if self._leave(call, now):
            self._mediator.front.withdraw(call, reason)
            if call.inquiry.told is not None:
                call.inquiry.told(None)
            else:
                self._mediator.back.satisfied(call.inquiry, why)

    def _leave(self, call: Asked, now: float) -> bool:
        """Take a question out; the calls that waited for it, and for no other, are given their own limit again."""
        if not self._open.leave(call):
            return False
        del self.asked[call.key]
        inflight = self._mediator.inflight
        for waiting in call.attribution.waiting:
            others = any(waiting in other.attribution.waiting for other in self.asked.values())
            if waiting in inflight and not others:
                inflight.wait_for(waiting, patience_of(waiting.method, 2), now)
        return True

    def _refuse(self, inquiry: Inquiry, method: str, why: Fault) -> None:
        self._mediator.notes.note(Level.WARN, "input", f"{method} of the server is refused: {why.cause}, {why.detail}")
        self._mediator.back.satisfied(inquiry, replace(why, code=self._code(inquiry, method, why)))

    def _code(self, inquiry: Inquiry, method: str, why: Fault) -> int:
        """-32602 for params that are wrong, or of a mode that was not declared; -32601 for all that is not there."""
        if why.cause is Cause.INVALID_INPUT_REQUEST:
            return INVALID_PARAMS
        if method == questions.ELICITATION and self._declared.has("elicitation"):
            params = object_in(opened(inquiry.request).get("params")) or {}
            if why.cause is Cause.UNDECLARED_INPUT_REQUEST or text_of(params.get("mode")) == "url":
                return INVALID_PARAMS
        return METHOD_NOT_FOUND
