"""The stateless back: it speaks to a server of the modern era.

* Each round of a call is a request of its own, under an id of ours, with the client's members byte for byte and a
  `_meta` that we make (FWD, PROG-03). Answers are found by id, progress by token, events by subscription (TSTDIO-03).
* A result that asks for input ends its round upstream. The back keeps the state unread and the call parked until the
  answers come, then sends the request again with them (ROUND-07 to ROUND-10). Rounds are counted here (ROUND-11).
* A line that cannot be read fails the request that it answers, if its id can be found, and nothing else (SIZE-05).
* What a modern server must not send (requests, batches, notifications of no request) is dropped with a note.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import msgspec
from msgspec import UNSET, Raw

from dragoman.backs.discovery import OTHER_ERA, REMEDY, other_revision, ready_of
from dragoman.backs.reading import Noise, error_of, overdue, unreadable
from dragoman.backs.stamp import passed_on, stamp
from dragoman.backs.watch import CANCELLED, EVENTS, Watch
from dragoman.exchange.caller import LEVELS, Caller
from dragoman.exchange.changes import ACKNOWLEDGED, CHANGES, filter_in, hears
from dragoman.exchange.events import Answer, Call, Filter, Inquiry, Reason, ServerError
from dragoman.exchange.meta import SUBSCRIPTION_ID
from dragoman.exchange.notes import Level, Notes
from dragoman.exchange.ports import FromServer
from dragoman.faults import INVALID_PARAMS, UNSUPPORTED_VERSION, Cause, Fault
from dragoman.limits import Limits
from dragoman.revisions import LATEST, Revision
from dragoman.revisions.methods import MAY_ASK
from dragoman.wire import frame as wire
from dragoman.wire.frame import Batch, Broken, Opened
from dragoman.wire.lines import Overlong
from dragoman.wire.members import (
    Members,
    closed,
    encoded,
    is_null,
    is_object,
    object_in,
    own,
    text_of,
)

COMPLETE = b'"complete"'
NOTHING = Filter()

_encode = msgspec.json.Encoder().encode


class Round:
    """One request upstream: the call that it carries, and what the next one must repeat.

    `heard` are the changes that a stream which a client opened by itself tells, from its acknowledgement on.
    """

    __slots__ = ("asked_at", "call", "heard", "id", "number", "quiet", "sent_at", "state", "waited")

    def __init__(self, call: Call, id: bytes, now: float) -> None:
        self.call = call
        self.id = id
        self.number = 1
        self.state: Raw | None = None
        self.heard = NOTHING
        self.quiet = 0
        self.sent_at = now
        self.asked_at = 0.0
        self.waited: float | None = None


class Modern:
    """`out` takes the frames for the server, each without a line end; the runtime empties it.

    With an `owner`, ids are strings that begin with that number and a dot, so that several backs can share one server.
    `is_pinned` tells that it was the user who said of which era the server is, and who has to hear when it is not.
    `opening_due` is when the wait for the answer to `server/discover` ends. `ids` counts the ids of the server's
    process or session, which another back may write to as well.
    """

    def __init__(
        self,
        middle: FromServer,
        limits: Limits,
        notes: Notes,
        revision: Revision = LATEST,
        owner: int | None = None,
        ids: Iterator[int] | None = None,
    ) -> None:
        self.middle = middle
        self.limits = limits
        self.notes = notes
        self.revision = revision
        self.out: list[bytes] = []
        self.watcher = Watch(self, limits, notes)
        self._rounds: dict[bytes, Round] = {}
        self._parked: dict[int, Round] = {}
        self._later: list[tuple[float, Round]] = []
        self._ids = count(1) if ids is None else ids
        self._id_form = b"%d" if owner is None else b'"%d.%%d"' % owner
        self._caller: Caller | None = None
        self._stamp = b""
        self._leads: dict[str, bytes] = {}  # by method: what stands between the id and what is the call's own
        self._discover: bytes | None = None
        self.opening_due = 0.0
        self._held = 0.0
        self.is_pinned = True
        self.untyped = 0  # results without the resultType that their revision demands (SDKRES-03)
        self._noise = Noise(notes)

    @property
    def discovering(self) -> bytes | None:
        """The id of the `server/discover` that waits for its answer."""
        return self._discover

    def silence(self, seconds: float) -> str:
        """The detail of an answer that did not come in time, with what the server wrote instead."""
        return self._noise.silence(seconds)

    # ------------------------------------------------------------------ from the mediator

    def open(self, caller: Caller, now: float) -> None:
        self.speaks(caller)
        self._noise.count = 0
        self._ask_discover(self.revision, now)

    def close(self) -> None:
        self._rounds.clear()
        self._parked.clear()
        self._later.clear()
        self._discover = None
        self._caller = None
        self.out.clear()
        self.watcher.forget()

    def settled(self, now: float) -> None:
        """A stateless server asks nobody before a call."""

    def speaks(self, caller: Caller) -> None:
        self._caller = caller
        self._sign(caller)

    def takes(self, caller: Caller) -> bool:
        self.speaks(caller)
        return True

    def roots_changed(self) -> None:
        """A stateless server asks for roots whenever it wants them (S4-13)."""

    def client_progress(self, params: Members) -> None:
        """A stateless server hears of no client's progress."""

    def task(self, params: Members) -> None:
        """A stateless server asks no client for a task."""

    def call(self, call: Call, now: float) -> None:
        self._send(Round(call, self.next_id(), now), None)

    def cancel(self, call: Call, reason: Reason) -> None:
        if self._parked.pop(call.key, None) is not None:
            return
        round_ = next((round_ for round_ in self._rounds.values() if round_.call is call), None)
        if round_ is not None:
            del self._rounds[round_.id]
            self.withdraw(round_.id, reason)
        self._later = [(due, round_) for due, round_ in self._later if round_.call is not call]

    def answered(self, call: Call, answers: Members, now: float) -> None:
        round_ = self._parked.pop(call.key, None)
        if round_ is None:
            return
        round_.waited = now - round_.asked_at
        round_.quiet = 0
        self._again(round_, closed(answers), now)

    def satisfied(self, inquiry: Inquiry, answer: Answer | Fault) -> None:
        """A stateless server never asks by a request of its own."""

    def watch(self, change: int, wanted: Filter, now: float) -> None:
        self.watcher.want(change, wanted, now)

    def unwatch(self, reason: Reason) -> None:
        self.watcher.stop(reason)

    # ------------------------------------------------------------------ from the server

    def receive(self, data: bytes | Overlong, now: float, of: bytes | None = None) -> None:
        """Take one line of the server, which came in the response to the request `of` when that is known."""
        self.take(wire.parse_opened(data), now, of)

    def take(self, frame: Opened | Broken | Batch, now: float, of: bytes | None = None) -> None:
        """Take one message of the server."""
        if type(frame) is Opened:
            if frame.method is UNSET:
                self._reply(frame, now)
            elif frame.id is UNSET:
                self._notice(frame.method, frame.params if frame.params is not UNSET else {}, of, now)
            else:
                self._noise.add(f"a request ({frame.method}), which no server of its revision may send")
        elif type(frame) is Broken:
            self._broken(frame, now)
        else:
            assert type(frame) is Batch
            self._noise.add("an array, which its revision does not have")

    def lane_lost(self, id: bytes, why: Fault, may_retry: bool, now: float) -> None:
        """A request of ours has no answer and gets none; the server may well live on."""
        if id == self._discover:
            self._discover = None
            self.middle.not_ready(why, now)
            return
        round_ = self._rounds.pop(id, None)
        if round_ is not None:
            self.middle.failed(round_.call, why, now)
        else:
            self.watcher.lane_lost(id, why, may_retry, now)

    def cut(self, why: Fault, now: float) -> None:
        """Every request in flight is lost; the next one may find the server alive again."""
        for id in (*self._rounds, *([self._discover] if self._discover is not None else ()), *self.watcher.ids):
            self.lane_lost(id, why, True, now)

    def renewed(self, now: float) -> None:
        """There is nothing that such a server could forget."""

    def lost(self, why: Fault, now: float) -> None:
        """The server is gone; while it was being discovered, that is the outcome."""
        discovering = self._discover is not None
        self.close()
        if not discovering:
            self.middle.gone(why, now)
            return
        self.middle.not_ready(self._noise.explains(why), now)

    # ------------------------------------------------------------------ time

    def held(self, seconds: float, now: float) -> None:
        self.opening_due += seconds
        self._held = seconds

    def resumed(self, now: float) -> None:
        self._held = 0.0
        self.opening_due = min(self.opening_due, now + self.limits.timeouts.discover)

    def released(self, signed_in: bool, now: float) -> None:
        self._held = 0.0
        if signed_in:
            self.watcher.signed_in(now)

    def wake(self) -> float | None:
        if not self._later and self._discover is None:
            return self.watcher.due
        times = [due for due, _ in self._later]
        if self._discover is not None:
            times.append(self.opening_due)
        if self.watcher.due is not None:
            times.append(self.watcher.due)
        return min(times, default=None)

    def tick(self, now: float) -> None:
        if self._discover is not None and self.opening_due <= now:
            detail = self._noise.silence(self.limits.timeouts.discover)
            self._discover = None
            self.middle.not_ready(overdue(Cause.DISCOVER_FAILED, detail, self._held), now)
        due = [round_ for at, round_ in self._later if at <= now]
        self._later = [(at, round_) for at, round_ in self._later if at > now]
        for round_ in due:
            self._again(round_, None, now)
        self.watcher.tick(now)

    # ------------------------------------------------------------------ sending

    def _sign(self, caller: Caller) -> None:
        """From now on every request says that it is this caller's."""
        self._stamp = stamp(caller, self.revision)
        self._leads.clear()

    def next_id(self) -> bytes:
        return self._id_form % next(self._ids)

    def request(self, method: str, params: dict[str, object]) -> bytes:
        """Send a request of our own making, with only our `_meta`; gives its id."""
        id = self.next_id()
        body = Raw(b'{"_meta":{' + self._stamp + b"}" + _rest(encoded(params)))
        self.out.append(wire.request(id, method, body))
        return id

    def withdraw(self, id: bytes, reason: Reason) -> None:
        """Tell the server that the answer to one of our requests is not wanted any more (CANC-02)."""
        self.out.append(wire.notice("notifications/cancelled", encoded({"requestId": Raw(id), "reason": reason.value})))

    def _send(self, round_: Round, answers: Raw | None) -> None:
        call = round_.call
        id = round_.id
        if call.caller.is_modern:
            self.out.append(passed_on(call, id))
            self._rounds[id] = round_
            return
        lead = self._leads.get(call.method)
        if lead is None:
            lead = b',"method":"%b","params":{"_meta":{%b' % (call.method.encode(), self._stamp)
            self._leads[call.method] = lead
        pieces: list[bytes | Raw] = [b'{"jsonrpc":"2.0","id":', id, lead]
        if call.wants_progress:
            pieces += (b',"progressToken":', id)
        if call.meta:
            pieces += (b",", _encode(call.meta)[1:-1])
        pieces.append(b"}")
        rest = _encode(call.params)
        if len(rest) > 2:
            pieces += (b",", rest[1:-1])
        if answers is not None:
            pieces += (b',"inputResponses":', answers)
        if round_.state is not None:
            pieces += (b',"requestState":', round_.state)
        pieces.append(b"}}")
        self.out.append(b"".join(pieces))
        self._rounds[id] = round_

    def _again(self, round_: Round, answers: Raw | None, now: float) -> None:
        round_.id = self.next_id()
        round_.number += 1
        round_.sent_at = now
        self._send(round_, answers)
        self.middle.next_round(round_.call, round_.number, now)

    def _ask_discover(self, revision: Revision, now: float) -> None:
        assert self._caller is not None
        self.revision = revision
        self._sign(self._caller)
        self._discover = self.request("server/discover", {})
        self.opening_due = now + self.limits.timeouts.discover

    # ------------------------------------------------------------------ answers

    def _reply(self, frame: Opened, now: float) -> None:
        id = bytes(frame.id) if frame.id is not UNSET else b"null"
        round_ = self._rounds.pop(id, None)
        if round_ is None:
            self._reply_to_own(id, frame, now)
            return
        call = round_.call
        if frame.result is UNSET:
            self.middle.failed(call, self._error_of(frame, round_), now)
            self._note_exchange(round_, "error", now)
            return
        result = frame.result
        if result is None:
            cause = Cause.INVALID_INPUT_REQUEST if call.method in MAY_ASK else Cause.INVALID_RESPONSE
            self.middle.failed(call, Fault(cause, "the result is not an object"), now)
            return
        kind = result.get("resultType")
        if kind is None:
            self._note_untyped(call.method)
        if kind is None or bytes(kind) == COMPLETE or text_of(kind) == "complete":
            self.middle.done(call, result, now)
            if self.notes.debugs:
                self._note_exchange(round_, "complete", now)
        elif text_of(kind) == "input_required":
            self._input_required(round_, result, now)
            self._note_exchange(round_, "input required", now)
        else:
            self.middle.failed(call, Fault(Cause.INVALID_RESPONSE, "the result is of an unknown type"), now)

    def _input_required(self, round_: Round, result: Members, now: float) -> None:
        call = round_.call
        requests, state = result.get("inputRequests"), result.get("requestState")
        requests = None if requests is None or is_null(requests) else requests
        state = None if state is None or is_null(state) else state
        fault: Fault | None = None
        if call.method not in MAY_ASK:
            fault = Fault(Cause.INVALID_RESPONSE, f"{call.method} may not ask for input")
        elif requests is not None and not is_object(requests):
            fault = Fault(Cause.INVALID_INPUT_REQUEST, "inputRequests is not an object")
        elif state is not None and text_of(state) is None:
            fault = Fault(Cause.INVALID_INPUT_REQUEST, "requestState is not a string")
        elif requests is None and state is None:
            fault = Fault(Cause.INVALID_INPUT_REQUEST, "there is neither inputRequests nor requestState")
        elif round_.number >= self.limits.rounds:
            fault = Fault(Cause.TOO_MANY_ROUNDS)
        if fault is not None:
            self.middle.failed(call, fault, now)
            return
        if call.caller.is_modern:
            self.middle.input_required(call, result, now)
            return
        round_.state = own(state) if state is not None else None
        if requests is None:
            self._reask(round_, now)
            return
        round_.asked_at = now
        self._parked[call.key] = round_
        self.middle.asked(call, requests, now)

    def _reask(self, round_: Round, now: float) -> None:
        """The server wants the same request again, with its state and no input: at once, then ever more slowly."""
        if round_.quiet == 0:
            self._again(round_, None, now)
        else:
            self._later.append((now + self.limits.reask_wait * 2 ** (round_.quiet - 1), round_))
        round_.quiet += 1

    def _reply_to_own(self, id: bytes, frame: Opened, now: float) -> None:
        if id == self._discover:
            self._discover = None
            self._discovered(frame, now)
        elif not self.watcher.reply(id, frame, now) and self.notes.debugs:
            self.notes.note(Level.DEBUG, "upstream", "an answer to no request in flight was dropped")

    def _discovered(self, frame: Opened, now: float) -> None:
        if frame.result is UNSET:
            error = self._error_of(frame, None)
            other = other_revision(error, self.revision)
            if other is not None:
                self._ask_discover(other, now)
                return
            if self.is_pinned and isinstance(error, ServerError) and error.code != UNSUPPORTED_VERSION:
                self.notes.note(Level.ERR, "upstream", OTHER_ERA.format(error.code))
            self.middle.not_ready(error, now)
            return
        ready = ready_of(frame.result, self.revision)
        if ready is None:
            detail = "the server names no revision that has no handshake"
            if self.is_pinned:
                self.notes.note(Level.ERR, "upstream", f"{detail}: {REMEDY}")
            self.middle.not_ready(Fault(Cause.DISCOVER_FAILED, detail), now)
        else:
            self.middle.ready(ready, now)

    def _error_of(self, frame: Opened, round_: Round | None) -> Fault | ServerError:
        why = error_of(frame)
        if isinstance(why, Fault) or why.code != INVALID_PARAMS or round_ is None or round_.state is None:
            return why
        lost = round_.waited or 0.0
        text = f"the server refused its own saved state after {lost:.1f} s of waiting for answers"
        self.notes.note(Level.WARN, "input", text)
        return replace(why, lost_state_after=lost)

    # ------------------------------------------------------------------ notifications and noise

    def _notice(self, method: str, params: Members, of: bytes | None, now: float) -> None:
        if method == "notifications/progress":
            token, value = params.get("progressToken"), params.get("progress")
            if token is not None and value is not None:
                round_ = self._rounds.get(bytes(token))
                if round_ is None or not round_.call.wants_progress:
                    pass
                elif round_.call.caller.is_modern:
                    self.middle.told(round_.call, method, params, now)
                else:
                    del params["progressToken"]
                    self.middle.progress(round_.call, params, now)
        elif method == "notifications/message":
            level = text_of(params.get("level"))
            if level in LEVELS and "data" in params:
                self._logged(level, params, of, now)
        elif method in EVENTS:
            if not self._streamed(method, params, now):
                self.watcher.event(method, params, now)
        elif self.notes.debugs:
            self.notes.note(Level.DEBUG, "upstream", f"{method} belongs to no request and was dropped")

    def _logged(self, level: str, params: Members, of: bytes | None, now: float) -> None:
        """A log message says nothing of its request, which is known only when the transport or the count tells."""
        if self._caller is not None and not self._caller.is_modern:
            if self._caller.level is not None:  # else none may come (LOG-03)
                self.middle.logged(level, params, now)
            return
        known = self._rounds.values() if of is None else [self._rounds[of]] if of in self._rounds else []
        wanting = [round_ for round_ in known if round_.call.caller.hears(level)]
        if len(wanting) == 1:
            self.middle.told(wanting[0].call, "notifications/message", params, now)
        elif wanting:
            self.notes.note(Level.INFO, "upstream", "a log message that could belong to several requests was dropped")

    @property
    def wants_logs(self) -> bool:
        """Whether a log message that belongs to no request in particular may be for a request of ours."""
        return any(round_.call.caller.level is not None for round_ in self._rounds.values())

    def _streamed(self, method: str, params: Members, now: float) -> bool:
        """Whether an event belongs to a stream that a client opened by itself."""
        if method == CANCELLED:
            id = params.get("requestId")
        else:
            id = (object_in(params.get("_meta")) or {}).get(SUBSCRIPTION_ID)
        round_ = self._rounds.get(bytes(id)) if id is not None else None
        if round_ is None or not round_.call.caller.is_modern:
            return False
        if method == CANCELLED:
            del self._rounds[round_.id]
            self.middle.done(round_.call, {"resultType": Raw(COMPLETE)}, now)
        elif method == ACKNOWLEDGED:
            round_.heard = filter_in(round_.call.params.get("notifications"))
            self.middle.told(round_.call, method, params, now)
        elif hears(round_.heard, CHANGES[method], params):
            self.middle.told(round_.call, method, params, now)
        return True

    def _broken(self, broken: Broken, now: float) -> None:
        if broken.id is not None and broken.id == self._discover:
            self._discover = None
            self.middle.not_ready(unreadable(broken, self.limits), now)
            return
        round_ = self._rounds.pop(broken.id, None) if broken.id is not None else None
        if round_ is not None:
            self.middle.failed(round_.call, unreadable(broken, self.limits), now)
            return
        if broken.ended:  # else its end may name the request
            self._noise.add_line(broken, self.limits)

    def _note_untyped(self, method: str) -> None:
        self.untyped += 1
        if self.notes.debugs:
            text = f"the result of {method} has no resultType, and counts as complete; so far: {self.untyped}"
            self.notes.note(Level.DEBUG, "violation", text)

    def _note_exchange(self, round_: Round, outcome: str, now: float) -> None:
        if self.notes.debugs:
            took = (now - round_.sent_at) * 1000
            text = f"round {round_.number} of {round_.call.method} ({round_.call.label}): {outcome}, {took:.0f} ms"
            self.notes.note(Level.DEBUG, "exchange", text)


def _rest(body: bytes) -> bytes:
    """The rest of an object whose first member has been written."""
    return b"}" if len(body) == 2 else b"," + body[1:]
