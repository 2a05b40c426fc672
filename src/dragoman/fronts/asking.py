"""The questions that are open at a legacy client, and the steps it takes in a web browser.

* A question is a request of ours, under an id of the profile's prefix and a number that never comes again (ROUND-04).
  Its entry exists before it is written and is gone before it is withdrawn (PEND-01, PEND-04).
* A *step* is a URL that the user accepted. Its elicitation id is told to be complete when the server no longer asks
  for that URL, or when the call ends (ELID). While it is open, the URL is not shown again: the user is asked to
  continue (CONT).
"""

from dataclasses import replace

from msgspec import Raw

from dragoman.exchange.events import Answer, Answered, Call, Erred, Question, Reason
from dragoman.exchange.outlet import Outlet
from dragoman.revisions import Trait
from dragoman.wire import frame as wire
from dragoman.wire.members import Members, encoded, object_in, own, raw, text_of

FINISH_IN_BROWSER = "Finish the step in your web browser, then choose Continue."
COMPLETE = "notifications/elicitation/complete"


class _Asked:
    __slots__ = ("call", "question", "step")

    def __init__(self, call: Call, question: Question, step: "_Step | None") -> None:
        self.call = call
        self.question = question
        self.step = step


class _Step:
    __slots__ = ("accepted", "id", "url")

    def __init__(self, id: str, url: str) -> None:
        self.id = id
        self.url = url
        self.accepted = False


class _Exchange:
    """One call's questions and steps."""

    __slots__ = ("answers", "open", "steps")

    def __init__(self) -> None:
        self.open: dict[bytes, _Asked] = {}
        self.answers: dict[str, Answer] = {}
        self.steps: dict[str, _Step] = {}


class Asking:
    def __init__(self, prefix: str, out: Outlet) -> None:
        self._prefix = prefix
        self._out = out
        self._pending: dict[bytes, _Asked] = {}
        self._exchanges: dict[Call, _Exchange] = {}
        self._count = 0
        self._steps = 0

    def is_ours(self, id: bytes) -> bool:
        """Whether an id is of the form that our questions have (LINE-05)."""
        return id.startswith(b'"' + self._prefix.encode())

    def __len__(self) -> int:
        return len(self._pending)

    def ask(self, call: Call, questions: list[Question]) -> None:
        """Write a whole round (ROUND-03); steps that the server no longer asks for are complete (ELID-02, ELID-03)."""
        exchange = self._exchanges.setdefault(call, _Exchange())
        self._complete(call, exchange, keep={question.url for question in questions if question.url is not None})
        written: list[bytes] = []
        for question in questions:
            params, step = self._shown(call, question, exchange)
            self._count += 1
            id = encoded(f"{self._prefix}{self._count}")
            asked = _Asked(call, replace(question, params={}), step)
            self._pending[id] = exchange.open[id] = asked
            written.append(wire.request(id, question.method, encoded(params)))
        for frame in written:
            self._out.tell(call.lane, frame)

    def take(self, id: bytes, answer: Answer) -> tuple[Call, dict[str, Answer]] | None:
        """Take an answer; gives the call and its answers when none is missing any more.

        Raises:
            KeyError: no question of that id is open (PEND-03).
        """
        asked = self._pending.pop(id)
        exchange = self._exchanges[asked.call]
        del exchange.open[id]
        exchange.answers[asked.question.key] = answer
        if asked.step is not None and isinstance(answer, Answered) and _action(answer.result) == "accept":
            asked.step.accepted = True
        refused = (
            isinstance(answer, Erred) and answer.error is not None and asked.question.method != "elicitation/create"
        )
        if exchange.open and not refused:
            return None
        answers, exchange.answers = exchange.answers, {}
        self._forget_empty(asked.call, exchange)
        return asked.call, answers

    def withdraw(self, call: Call, reason: Reason) -> None:
        """No answer is wanted any more: forget the questions, then tell the client (PEND-04, PEND-05, CANC-07)."""
        exchange = self._exchanges.get(call)
        if exchange is None:
            return
        ids = list(exchange.open)
        for id in ids:
            del self._pending[id]
        exchange.open.clear()
        self._forget_empty(call, exchange)
        for id in ids:
            params = encoded({"requestId": Raw(id), "reason": reason.value})
            self._out.tell(call.lane, wire.notice("notifications/cancelled", params))

    def finish(self, call: Call) -> None:
        """The call is over: every accepted step is complete (ELID-04, ELID-05)."""
        exchange = self._exchanges.pop(call, None)
        if exchange is not None:
            self._complete(call, exchange, keep=set())

    def _forget_empty(self, call: Call, exchange: _Exchange) -> None:
        """An exchange without a question or a step has nothing to remember; nobody tells when an inquiry is over."""
        if not exchange.open and not exchange.steps:
            del self._exchanges[call]

    def _shown(self, call: Call, question: Question, exchange: _Exchange) -> tuple[Members, _Step | None]:
        """The params that the client sees."""
        if question.empty_form:
            return self._continue_form(call, question.params["message"]), None
        if question.url is None:
            return question.params, None
        step = exchange.steps.get(question.url)
        if step is not None and step.accepted and call.caller.has("elicitation", "form"):
            return self._continue_form(call, raw(FINISH_IN_BROWSER)), step
        if step is None:
            self._steps += 1
            step = exchange.steps[question.url] = _Step(f"elicitation-{self._steps}", question.url)
        return {**question.params, "elicitationId": raw(step.id)}, step

    def _continue_form(self, call: Call, message: Raw) -> Members:
        schema = {
            "type": "object",
            "properties": {
                "continue": {"type": "string", "title": "Continue", "enum": ["Continue"], "default": "Continue"}
            },
            "required": ["continue"],
        }
        form: Members = {"mode": raw("form"), "message": own(message), "requestedSchema": raw(schema)}
        if not call.caller.revision.has(Trait.ELICITATION_MODES):
            del form["mode"]
        return form

    def _complete(self, call: Call, exchange: _Exchange, keep: set[str]) -> None:
        for step in list(exchange.steps.values()):
            if step.url not in keep:
                del exchange.steps[step.url]
                if step.accepted:
                    self._out.tell(call.lane, wire.notice(COMPLETE, encoded({"elicitationId": step.id})))


def _action(result: Raw) -> str | None:
    return text_of((object_in(result) or {}).get("action"))
