"""May this be asked, and is that an answer: the input requests of one round, judged as a whole.

`read_round` checks every input request before any question goes out (ROUND-02). For each of them, in this order: it
has the shape of its type; the client's revision can say it; the client declared it; a form compiles, and sampling
messages keep the order of tools. The first failure fails the call, with a detail that names the key and the condition.
A URL that no user should be sent to fails nothing: the server is told at once that the user declined (URLR-05).

`judge` turns the client's answers into what the server gets, one member per input request and in their order
(ROUND-06). Only sampling and roots can make the call fail by an error of the client; an error for an elicitation means
that the user closed it.
"""

from dataclasses import dataclass, field

import msgspec
from msgspec import Raw

from dragoman.core import shapes
from dragoman.core.addresses import is_offered
from dragoman.core.sampling import disorder, wants_tools
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Answer, Answered, Erred, Question, ServerError
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.revisions.plan import Loss, Part, Plan, Policy, Refusal
from dragoman.wire.members import EMPTY, Members, closed, encoded, items_of, object_in, opened, own, raw, text_of

ELICITATION = "elicitation/create"
SAMPLING = "sampling/createMessage"
ROOTS = "roots/list"

CANCELLED = raw({"action": "cancel"})
DECLINED = raw({"action": "decline"})

SHOWN = 120  # characters of a key in a detail


class _Error(msgspec.Struct, gc=False):
    code: int
    message: str


_error = msgspec.json.Decoder(_Error).decode


@dataclass(frozen=True, slots=True)
class Original:
    """What the server asked, as far as its answer is judged by it. `form` is set for a form that has fields."""

    method: str
    form: shapes.Form | None = None
    empty_form: bool = False


@dataclass(slots=True)
class Round:
    """A round that may be asked.

    `order` holds the keys of all its input requests, `originals` those that are asked as `questions`, and `ready` the
    answers that the bridge gives itself.
    """

    order: list[str]
    questions: list[Question] = field(default_factory=list[Question])
    originals: dict[str, Original] = field(default_factory=dict[str, Original])
    ready: dict[str, Raw] = field(default_factory=dict[str, Raw])
    notes: list[str] = field(default_factory=list[str])


class _Failed(Exception):
    """A check failed. It ends as a fault, and never leaves this module."""

    def __init__(self, cause: Cause, condition: str, extra: tuple[tuple[str, str], ...] = ()) -> None:
        self.cause = cause
        self.condition = condition
        self.extra = extra

    def fault(self, key: str) -> Fault:
        return Fault(self.cause, f"{_named(key)}: {self.condition}", extra=self.extra)


@dataclass(frozen=True, slots=True)
class _Way:
    """The translation to the other side."""

    plan: Plan
    policy: Policy
    report: list[Loss]

    def translated(self, method: str, part: Part, members: Members) -> Members:
        """
        Raises:
            _Failed: the other side's revision has no words for it.
        """
        outcome = self.plan.apply(method, part, members, self.policy, self.report)
        if not isinstance(outcome, Refusal):
            return outcome
        cause = Cause.INEXPRESSIBLE_INPUT_REQUEST if part is Part.PARAMS else Cause.INVALID_CLIENT_ANSWER
        extra = (("rule", outcome.row), ("from", outcome.source), ("to", outcome.target))
        raise _Failed(cause, outcome.detail, extra)


def read_round(
    requests: Raw, caller: Caller, plan: Plan, policy: Policy, limits: Limits, report: list[Loss]
) -> Round | Fault:
    """The round that `requests` describe, or why it cannot be asked. `plan` leads from the server to the client."""
    asked = object_in(requests)
    if asked is None:
        return Fault(Cause.INVALID_INPUT_REQUEST, "inputRequests is no object")
    if len(asked) > limits.questions:
        counted = f"{len(asked)} input requests in one round, limit: {limits.questions}"
        return Fault(Cause.TOO_MANY_INPUT_REQUESTS, counted)
    round_ = Round(list(asked))
    way = _Way(plan, policy, report)
    for key, request in asked.items():
        try:
            _read(round_, key, request, caller, way)
        except _Failed as failed:
            return failed.fault(key)
    return round_


def _read(round_: Round, key: str, request: Raw, caller: Caller, way: _Way) -> None:
    members = object_in(request) or {}
    method = text_of(members.get("method"))
    given = members.get("params", EMPTY)
    if method == ELICITATION:
        mode = text_of((object_in(given) or {}).get("mode"))
        if mode == "url":
            _read_page(round_, key, given, caller, way)
        else:
            _read_form(round_, key, given, caller, way)
    elif method == SAMPLING:
        _read_sampling(round_, key, given, caller, way)
    elif method == ROOTS:
        params = _lowered(ROOTS, shapes.ROOTS, given, way)
        _declared(caller, "roots")
        _ask(round_, Question(key, ROOTS, params), Original(ROOTS))
    else:
        raise _Failed(Cause.INVALID_INPUT_REQUEST, "it is no object with a method that asks for input")


def _read_form(round_: Round, key: str, given: Raw, caller: Caller, way: _Way) -> None:
    params = _lowered(ELICITATION, shapes.FORM, given, way)
    _declared(caller, "elicitation", "form")
    schema = opened(given)["requestedSchema"]
    try:
        form = shapes.Form(schema)
    except ValueError:
        raise _Failed(Cause.INVALID_INPUT_REQUEST, "its requestedSchema does not compile") from None
    empty = not opened(opened(schema)["properties"])
    original = Original(ELICITATION, None if empty else form, empty)
    _ask(round_, Question(key, ELICITATION, params, empty_form=empty), original)


def _read_page(round_: Round, key: str, given: Raw, caller: Caller, way: _Way) -> None:
    params = _lowered(ELICITATION, shapes.PAGE, given, way)
    _declared(caller, "elicitation", "url")
    url = text_of(opened(given)["url"]) or ""
    if is_offered(url):
        _ask(round_, Question(key, ELICITATION, params, url=url), Original(ELICITATION))
    else:
        round_.ready[key] = DECLINED
        round_.notes.append(f"{_named(key)}: its URL is not safe to show to a user, so the bridge declined it")


def _read_sampling(round_: Round, key: str, given: Raw, caller: Caller, way: _Way) -> None:
    params = _lowered(SAMPLING, shapes.SAMPLING, given, way)
    _declared(caller, "sampling")
    asked = opened(given)
    if wants_tools(asked):
        _declared(caller, "sampling", "tools")
    wrong = disorder(asked)
    if wrong is not None:
        raise _Failed(Cause.INVALID_INPUT_REQUEST, wrong)
    _ask(round_, Question(key, SAMPLING, params), Original(SAMPLING))


def _lowered(method: str, shape: str, given: Raw, way: _Way) -> Members:
    """The params as the client's revision spells them, after the check of their shape (CHK-03, QUES-01)."""
    flaw = shapes.flaw(shape, given)
    if flaw is not None:
        raise _Failed(Cause.INVALID_INPUT_REQUEST, f"its params have the wrong shape: {flaw}")
    params = opened(given)
    params.pop("task", None)
    return way.translated(method, Part.PARAMS, params)


def _declared(caller: Caller, capability: str, part: str | None = None) -> None:
    if not caller.has(capability, part):
        name = capability if part is None else f"{capability}.{part}"
        raise _Failed(Cause.UNDECLARED_INPUT_REQUEST, f"the client did not declare {name}")


def _ask(round_: Round, question: Question, original: Original) -> None:
    round_.questions.append(question)
    round_.originals[question.key] = original


def judge(
    round_: Round, answers: dict[str, Answer], caller: Caller, back_plan: Plan, policy: Policy, report: list[Loss]
) -> dict[str, Raw] | Fault | ServerError:
    """What the server gets for the round, or why the call fails. `back_plan` leads from the client to the server.

    One refused sampling or roots question ends the call, whether or not the others have their answer.
    """
    for key, original in round_.originals.items():
        answer = answers.get(key)
        if original.method != ELICITATION and isinstance(answer, Erred) and answer.error is not None:
            return _refused(key, answer.error)
    way = _Way(back_plan, policy, report)
    judged = dict(round_.ready)
    for key, original in round_.originals.items():
        try:
            judged[key] = _judged(original, answers.get(key, Erred(None)), way)
        except _Failed as failed:
            return failed.fault(key)
    return {key: judged[key] for key in round_.order}


def _refused(key: str, error: Raw) -> ServerError | Fault:
    """The client's error, which becomes that of the call with its code, message and data (ANS-06)."""
    try:
        return ServerError(_error(error).code, own(error))
    except msgspec.DecodeError:
        return _Failed(Cause.INVALID_CLIENT_ANSWER, "its answer is an error without a code and a message").fault(key)


def _judged(original: Original, answer: Answer, way: _Way) -> Raw:
    if isinstance(answer, Answered):
        if original.method == ELICITATION:
            return _judged_elicitation(original, answer.result, way)
        if original.method == SAMPLING:
            return closed(_lifted(SAMPLING, shapes.SAMPLING_RESULT, answer.result, way))
        return _judged_roots(answer.result, way)
    if original.method == ELICITATION:
        return CANCELLED
    raise _Failed(Cause.INVALID_CLIENT_ANSWER, "its answer cannot be read")


def _judged_elicitation(original: Original, given: Raw, way: _Way) -> Raw:
    """The action, and content for nothing but the accept of a form (ANS-01 to ANS-03, CONT-05)."""
    result = _lifted(ELICITATION, shapes.ELICIT_RESULT, given, way)
    content = result.pop("content", EMPTY)
    kept: Members = dict(result)
    if text_of(result["action"]) == "accept":
        if original.empty_form:
            kept["content"] = EMPTY
        elif original.form is not None:
            if not original.form.accepts(content):
                raise _Failed(Cause.INVALID_CLIENT_ANSWER, "its answer does not fit the requestedSchema")
            kept["content"] = content
    return closed(kept)


def _judged_roots(given: Raw, way: _Way) -> Raw:
    """The roots of the file system, and no others (ANS-08)."""
    result = _lifted(ROOTS, shapes.ROOTS_RESULT, given, way)
    roots = items_of(result["roots"]) or ()
    kept = [root for root in roots if (text_of(opened(root)["uri"]) or "").startswith("file://")]
    if len(kept) < len(roots):
        result["roots"] = Raw(encoded(kept))
    return closed(result)


def _lifted(method: str, shape: str, given: Raw, way: _Way) -> Members:
    """The client's result as the server's revision spells it, after the check of its shape (ANS-09)."""
    flaw = shapes.flaw(shape, given)
    if flaw is not None:
        raise _Failed(Cause.INVALID_CLIENT_ANSWER, f"its answer has the wrong shape: {flaw}")
    return way.translated(method, Part.RESULT, opened(given))


def _named(key: str) -> str:
    return f"input request {key[:SHOWN]!r}"
