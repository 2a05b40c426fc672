"""What the bridge would do with one reply of a server, found out by doing it: on the machines, without any I/O.

A client of the one revision makes a request, the back of the other revision sends it to nobody, and is handed the
reply. Mediator, plans, policy, quirks and error codes are those of a running bridge, so the outcome is its outcome.
What only a running bridge knows is left out: the server's name, which a modern client finds in each result (S4-03), and
steps in a web browser, which take a longer conversation.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from msgspec import UNSET, Raw

from dragoman.backs.legacy import Legacy
from dragoman.backs.modern import Modern
from dragoman.core.mediator import Mediator
from dragoman.diagnostics.trace import Traced
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Call, Question, ServerError
from dragoman.exchange.nobody import Unmoved
from dragoman.exchange.notes import Level
from dragoman.faults import Fault
from dragoman.limits import Limits
from dragoman.profile import Profile
from dragoman.revisions import Era, Revision, Trait
from dragoman.revisions.errors import row_of_recoding
from dragoman.revisions.methods import FORWARDED
from dragoman.revisions.plan import Loss, Refusal, lowering
from dragoman.revisions.rows import ROWS
from dragoman.wire import frame as wire
from dragoman.wire.frame import Frame
from dragoman.wire.members import EMPTY, Members, closed, encoded, is_object, object_in, opened, raw

BOM = b"\xef\xbb\xbf"
TELLTALES = {
    "tools": "tools/list",
    "resourceTemplates": "resources/templates/list",
    "resources": "resources/list",
    "prompts": "prompts/list",
    "contents": "resources/read",
    "messages": "prompts/get",
    "completion": "completion/complete",
    "content": "tools/call",
    "structuredContent": "tools/call",
    "inputRequests": "tools/call",
    "requestState": "tools/call",
}
"""Members of a result that tell to which request it is the answer; three requests may be asked for input, alike."""
OF_ERRORS = "tools/call"  # an error says nothing of its request, and only resources/read treats some differently


class Unreadable(ValueError):
    """What is to be checked is no reply; the sentence says why and repeats nothing of it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A result or an error, and the `method` of its request. `id` is `None` for a bare result; `told_by` is the member
    that told the method, empty when it was told from outside."""

    method: str
    told_by: str = ""
    id: bytes | None = None
    result: Raw | None = None
    error: Raw | None = None


class Verdict(Enum):
    FORWARDED = "forwarded"
    DOWNGRADED = "downgraded"  # forwarded, with a loss that was allowed or has a fallback by itself
    ASKED = "asked"  # what comes to the client is a question
    REPEATED = "repeated"  # nothing comes to the client: the server wants its request again
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Finding:
    """`frames` are what the client gets: the reply, an error in its place, or questions. `rules` fired, in this order.

    `remarks` are sentences on repairs of the profile and on questions. For a refusal there is `fault`, and `refusal` if
    it was a rule; `would_help` names the policies under which the reply would be forwarded.
    """

    verdict: Verdict
    rules: tuple[Loss, ...]
    frames: tuple[bytes, ...]
    remarks: tuple[str, ...] = ()
    fault: Fault | None = None
    refusal: Refusal | None = None
    would_help: tuple[str, ...] = ()


def read_reply(data: bytes, method: str | None = None) -> Reply:
    """The reply in `data`: a JSON-RPC response, or a bare result. `method` is that of its request, when it is known.

    Raises:
        Unreadable: there is none, or the method is missing and nothing in the reply tells it, or it is one whose reply
            the bridge does not pass on.
    """
    if method is not None and method not in FORWARDED:
        raise Unreadable(f"replies are passed on for these methods only: {', '.join(sorted(FORWARDED))}")
    data = data.removeprefix(BOM).strip()
    frame = wire.parse(data)
    if not isinstance(frame, Frame) or not is_object(data):
        raise Unreadable("it holds no JSON object" if not isinstance(frame, wire.Broken) else f"it is {_flaw(frame)}")
    if frame.method is not UNSET:
        raise Unreadable("it holds a request or a notification, and no reply")
    if frame.result is UNSET and frame.error is UNSET:
        if frame.jsonrpc is not UNSET:
            raise Unreadable("it holds a message with neither a result nor an error")
        bare = _one_line(data)
        return _named(Reply("", result=bare), bare, method)
    id = _one_line(frame.id) if frame.id is not UNSET else b"null"
    if frame.result is UNSET:
        assert frame.error is not UNSET
        return Reply(method or OF_ERRORS, "" if method else "error", bytes(id), error=_one_line(frame.error))
    result = _one_line(frame.result)
    return _named(Reply("", id=bytes(id), result=result), result, method)


def examine(reply: Reply, source: Revision, target: Revision, profile: Profile, is_remote: bool = False) -> Finding:
    """What becomes of `reply` on its way from a server of `source` to a client of `target`.

    `is_remote` is for a server at a URL, whose icons do not all pass.
    """
    found = _found(reply, source, target, profile, is_remote)
    if found.verdict is not Verdict.REFUSED:
        return found
    helpful: list[str] = []
    for flag in ("allow_downgrade", "allow_reencode"):
        other = _found(reply, source, target, replace(profile, **{flag: True}), is_remote)
        if other.verdict is not Verdict.REFUSED:
            helpful.append(flag)
    return replace(found, would_help=tuple(helpful))


def _found(reply: Reply, source: Revision, target: Revision, profile: Profile, is_remote: bool) -> Finding:
    scene = _Scene(profile, is_remote)
    back = Legacy(scene, scene.limits, scene.notes, source) if source.era is Era.LEGACY else None
    scene.back = back = back or Modern(scene, scene.limits, scene.notes, source)
    scene.front = client = _Client()
    scene.join(target, source)
    caller = Caller(target, capable(target), raw({"name": "check", "version": "0"}))
    back.speaks(caller)
    scene.call(Call(1, reply.method, _params(reply), caller, None, False), 0.0)
    sent = [frame for each in back.out if isinstance(frame := wire.parse(each), Frame)]
    back.out.clear()
    if sent:
        id = bytes(sent[-1].id or EMPTY)
        line = wire.failure(id, reply.error) if reply.error is not None else wire.reply(id, reply.result or EMPTY)
        back.receive(line, 0.0)
    return _told(reply, scene, client)


class _Notes:
    """Keeps what is said of repairs and questions."""

    debugs = False

    def __init__(self) -> None:
        self.remarks: list[str] = []

    def note(self, level: Level, scope: str, text: str) -> None:
        if scope in ("quirk", "input", "tools"):
            self.remarks.append(text)


class _Scene(Mediator):
    """A mediator whose way down is traced."""

    def __init__(self, profile: Profile, is_remote: bool) -> None:
        self.kept = _Notes()
        super().__init__(profile, Limits(), self.kept, is_remote)

    def join(self, client: Revision, server: Revision) -> None:
        super().join(client, server)
        self._down = self.trace = Traced(lowering(server, client))


class _Client(Unmoved):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.result: Members | None = None
        self.failure: Fault | ServerError | None = None
        self.questions: list[Question] = []

    def done(self, call: Call, result: Members, now: float) -> None:
        self.result = result

    def failed(self, call: Call, why: Fault | ServerError, now: float) -> None:
        self.failure = why

    def ask(self, call: Call, questions: list[Question], now: float) -> None:
        self.questions = questions


def capable(revision: Revision) -> Members:
    """The capabilities of a client of `revision` that can be asked everything."""
    declared: dict[str, object] = {"roots": {}, "sampling": {}}
    if revision.has(Trait.SAMPLING_TOOLS):
        declared["sampling"] = {"tools": {}, "context": {}}
    if revision.has(Trait.ELICITATION):
        declared["elicitation"] = {"form": {}, "url": {}} if revision.has(Trait.ELICITATION_MODES) else {}
    return {name: raw(value) for name, value in declared.items()}


# ---------------------------------------------------------------------- the outcome


def _told(reply: Reply, scene: _Scene, client: _Client) -> Finding:
    rules, remarks = [*scene.trace.fired], tuple(scene.kept.remarks)
    ends = scene.trace.source, scene.trace.target
    if client.result is not None:
        verdict = Verdict.DOWNGRADED if any(rule.kind in ("F", "R") for rule in rules) else Verdict.FORWARDED
        result = closed(client.result)
        frame = bytes(result) if reply.id is None else wire.reply(reply.id, result)
        return Finding(verdict, tuple(rules), (frame,), remarks)
    if isinstance(client.failure, ServerError):
        row = row_of_recoding(opened(reply.error or EMPTY), opened(client.failure.error))
        if row is not None:
            rules.append(Loss(row, ROWS[row].kind(*ends), "code", "changed to a code that is known there"))
        return Finding(Verdict.FORWARDED, tuple(rules), (_failure(reply, client.failure.error),), remarks)
    if client.failure is not None:
        frame = _failure(reply, client.failure.error())
        return Finding(Verdict.REFUSED, tuple(rules), (frame,), remarks, client.failure, scene.trace.refusal)
    if client.questions:
        if reply.error is not None:
            rules.append(Loss("S4-15", ROWS["S4-15"].kind(*ends), "code", "asked as a question instead"))
        return Finding(Verdict.ASKED, tuple(rules), tuple(_asked(reply, client.questions, scene)), remarks)
    return Finding(Verdict.REPEATED, tuple(rules), (), remarks)


def _failure(reply: Reply, error: Raw) -> bytes:
    return bytes(error) if reply.id is None else wire.failure(reply.id, error)


def _asked(reply: Reply, questions: list[Question], scene: _Scene) -> Iterator[bytes]:
    """The questions as the client gets them: requests, or one result, to which a running bridge adds a state."""
    if scene.trace.target.era is Era.LEGACY:
        for number, question in enumerate(questions, 1):
            id = encoded(f"{scene.profile.request_id_prefix}{number}")
            yield wire.request(id, question.method, closed(question.params))
    else:
        requests = {each.key: {"method": each.method, "params": closed(each.params)} for each in questions}
        result = raw({"resultType": "input_required", "inputRequests": requests})
        yield bytes(result) if reply.id is None else wire.reply(reply.id, result)


# ---------------------------------------------------------------------- reading


def _named(reply: Reply, result: Raw, method: str | None) -> Reply:
    """`reply` with the method that was said, or that a member of its result tells."""
    if method is not None:
        return replace(reply, method=method)
    for name in object_in(result) or {}:
        if name in TELLTALES:
            return replace(reply, method=TELLTALES[name], told_by=name)
    raise Unreadable("nothing in it tells to which request it is the reply; say the method")


def _params(reply: Reply) -> Members:
    """As much of the request as its reply tells: an error may name the resource that was read (S4-16)."""
    data = object_in((object_in(reply.error) or {}).get("data")) or {}
    return {"uri": data["uri"]} if reply.method == "resources/read" and "uri" in data else {}


def _one_line(value: bytes | Raw) -> Raw:
    """As it would be on a wire. A line end inside of a string is no JSON, so only white space is touched."""
    return Raw(bytes(value).strip().replace(b"\r", b" ").replace(b"\n", b" "))


def _flaw(broken: wire.Broken) -> str:
    return "no JSON-RPC message" if broken.flaw is wire.Flaw.NOT_A_MESSAGE else broken.flaw.value
