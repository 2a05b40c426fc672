"""The back for a server with a handshake: to its server it is an older client.

* `open` sends `initialize` and offers the newest revision with a handshake, whatever the client speaks (NEG-01): the
  server picks, and each side then works in its own revision. A server that refuses the offer and names others is asked
  once more. The time limit is that of discovery (TIME-06).
* `notifications/initialized` goes to the server when the client itself has said that it is ready, or with its first
  request or wish, for a client that forgets to say it: nothing but `ping` comes before it on the wire. The server's
  questions that come earlier are kept until then.
* Each call is one request under an id of ours, with the client's members byte for byte (FWD). Answers are found by id,
  progress by token, and what comes late is dropped (CANC).
* The server's `ping` is answered at once and at any time (B94). What it asks of the client becomes an inquiry.
* Tasks are between two sides of the one revision that has them, and pass as they are; to all others they are never
  offered, so `tasks/*` is a method that we do not have (S3-14).
* A line that cannot be read fails the request that it answers, if its id can be found, and nothing else (SIZE-05).
"""

from collections.abc import Iterator
from itertools import count

import msgspec
from msgspec import UNSET, Raw

from dragoman.backs.handshake import initialize_params, introduction, other_revision, read_result, refusal
from dragoman.backs.inquiries import Inquiries
from dragoman.backs.reading import Noise, error_of, overdue, refused, unreadable
from dragoman.backs.tasks import Tasks
from dragoman.backs.wishes import Wishes
from dragoman.exchange.caller import LEVELS, Caller
from dragoman.exchange.changes import CHANGES
from dragoman.exchange.events import Answer, Call, Filter, Inquiry, Reason, ServerError
from dragoman.exchange.notes import Level, Notes, note_cancelled
from dragoman.exchange.ports import FromServer
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.revisions import LATEST_LEGACY, Revision, Trait
from dragoman.revisions.capabilities import client_capabilities, has_flag, server_capabilities
from dragoman.revisions.methods import TASK_STATUS, TASKS, asks
from dragoman.wire import frame as wire
from dragoman.wire.frame import Batch, Broken, Opened, is_id
from dragoman.wire.lines import Overlong
from dragoman.wire.members import EMPTY, Members, closed, encoded, text_of
from dragoman.wire.salvage import method_in

QUESTIONS = frozenset({"elicitation/create", "roots/list", "sampling/createMessage"})

_encode = msgspec.json.Encoder().encode


class Sent:
    """A call that the server works on."""

    __slots__ = ("call", "id", "sent_at")

    def __init__(self, call: Call, id: bytes, sent_at: float) -> None:
        self.call = call
        self.id = id
        self.sent_at = sent_at


class Legacy:
    """`out` takes the frames for the server, each without a line end; the runtime empties it.

    `opening_due` is when the wait for the answer to `initialize` ends. `ids` counts the ids of the server's process or
    session, which another back may write to as well (`backs.probe`).
    """

    def __init__(
        self,
        middle: FromServer,
        limits: Limits,
        notes: Notes,
        revision: Revision = LATEST_LEGACY,
        ids: Iterator[int] | None = None,
    ) -> None:
        self.middle = middle
        self.limits = limits
        self.notes = notes
        self.revision = self._offer = revision
        self.out: list[bytes] = []
        self.inquiries = Inquiries(self, limits)
        self.wishes = Wishes(self, limits)
        self._noise = Noise(notes)
        self._caller: Caller | None = None
        self._ids = count(1) if ids is None else ids
        self._flight: dict[bytes, Sent] = {}
        self._initialize: bytes | None = None
        self._held = 0.0
        self.opening_due = 0.0
        self._has_tried_other = False
        self._declared: Members | None = None  # by the server, from the end of the handshake on
        self._is_settled = False
        self._tells_roots = False
        self._tasks = Tasks()
        self._set_level: bytes | None = None
        self._level: str | None = None

    # ------------------------------------------------------------------ from the mediator

    def open(self, caller: Caller, now: float) -> None:
        self._caller = caller
        self._noise.count = 0
        self._has_tried_other = False
        self._ask_initialize(self._offer, now)

    def close(self) -> None:
        self._flight.clear()
        self._initialize = self._set_level = self._level = None
        self._caller = self._declared = None
        self._is_settled = False
        self._tasks = Tasks()
        self.inquiries.clear()
        self.wishes.forget()
        self.out.clear()

    def settled(self, now: float) -> None:
        if self._is_settled or self._declared is None:
            return
        self._is_settled = True
        self.out.append(wire.notice("notifications/initialized"))
        self._tell_level()
        self.inquiries.release(now)

    def speaks(self, caller: Caller) -> None:
        self._caller = caller
        if self._is_settled:
            self._tell_level()

    def takes(self, caller: Caller) -> bool:
        if self._is_settled or self._caller is None:
            return False
        if introduction(self._caller, self._offer) != introduction(caller, self._offer):
            return False
        self._caller = caller
        if self._declared is not None:
            self._agree(self._declared)
        return True

    def silence(self, seconds: float) -> str:
        """The detail of an answer that did not come in time, with what the server wrote instead."""
        return self._noise.silence(seconds)

    def roots_changed(self) -> None:
        if self._is_settled and self._tells_roots:
            self.out.append(wire.notice("notifications/roots/list_changed"))

    def client_progress(self, params: Members) -> None:
        if self._is_settled:
            self.out.append(wire.notice("notifications/progress", closed(params)))

    def task(self, params: Members) -> None:
        if self._tasks.of_client:
            self.out.append(wire.notice(TASK_STATUS, closed(params)))

    def call(self, call: Call, now: float) -> None:
        self.settled(now)
        id = b"%d" % next(self._ids)
        self._flight[id] = Sent(call, id, now)
        if not (call.wants_progress or call.meta):
            self.out.append(wire.request(id, call.method, _encode(call.params)))
            return
        pieces: list[bytes] = [b'{"_meta":{']
        if call.wants_progress:
            pieces += (b'"progressToken":', id)
        if call.meta:
            pieces += (b"," if call.wants_progress else b"", _encode(call.meta)[1:-1])
        pieces += (b"}," if call.params else b"}", _encode(call.params)[1:])
        self.out.append(wire.request(id, call.method, b"".join(pieces)))

    def cancel(self, call: Call, reason: Reason) -> None:
        sent = next((sent for sent in self._flight.values() if sent.call is call), None)
        if sent is not None:
            del self._flight[sent.id]
            self.withdraw(sent.id, reason)

    def answered(self, call: Call, answers: Members, now: float) -> None:
        """A server with a handshake never asks by a result."""

    def satisfied(self, inquiry: Inquiry, answer: Answer | Fault) -> None:
        self.inquiries.answer(inquiry, answer)

    def watch(self, change: int, wanted: Filter, now: float) -> None:
        self.settled(now)
        self.wishes.want(change, wanted, now)

    def unwatch(self, reason: Reason) -> None:
        self.wishes.stop()
        self.inquiries.dismiss(Fault(Cause.CANCELED, reason.value))

    # ------------------------------------------------------------------ from the server

    def receive(self, data: bytes | Overlong, now: float, of: bytes | None = None) -> None:
        """Take one line of the server; `of` is our id of the request in whose response it came, if it came in one."""
        frame = wire.parse_opened(data)
        if type(frame) is Opened and frame.method is UNSET:
            self._reply(frame, now)
        elif type(frame) is not Batch:
            self._take(frame, of, now)
        elif self._declared is not None and self.revision.has(Trait.BATCHES) and frame.entries:
            for entry in frame.entries:
                self._take(wire.parse_opened(bytes(entry)), of, now)
        else:
            self._noise.add("an array, which its revision does not have")

    def lane_lost(self, id: bytes, why: Fault, may_retry: bool, now: float) -> None:
        """A request of ours has no answer and gets none; the server may well live on."""
        self._fail(id, why, now)

    def renewed(self, now: float) -> None:
        """The server has forgotten what it was asked before, as a new session took the place of ours."""
        if self._is_settled:
            self._level = None
            self._tell_level()
            self.wishes.renew(now)

    def lost(self, why: Fault, now: float) -> None:
        """The server is gone; while it was being initialized, that is the outcome."""
        initializing = self._initialize is not None
        self.close()
        if not initializing:
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

    def wake(self) -> float | None:
        return self.opening_due if self._initialize is not None else self.wishes.due

    def tick(self, now: float) -> None:
        if self._initialize is not None and self.opening_due <= now:
            detail = self._noise.silence(self.limits.timeouts.discover)
            self._initialize = None
            self.middle.not_ready(overdue(Cause.INITIALIZE_FAILED, detail, self._held), now)
        self.wishes.tick(now)

    # ------------------------------------------------------------------ sending

    def request(self, method: str, params: bytes) -> bytes:
        """Send a request of our own making; gives its id."""
        id = b"%d" % next(self._ids)
        self.out.append(wire.request(id, method, params))
        return id

    def withdraw(self, id: bytes, reason: Reason) -> None:
        """Tell the server that the answer to one of our requests is not wanted any more (CANC-02)."""
        self.out.append(wire.notice("notifications/cancelled", encoded({"requestId": Raw(id), "reason": reason.value})))

    def _ask_initialize(self, revision: Revision, now: float) -> None:
        assert self._caller is not None
        self.revision = revision
        self._initialize = self.request("initialize", initialize_params(self._caller, revision))
        self.opening_due = now + self.limits.timeouts.discover

    def _tell_level(self) -> None:
        """Only a server that logs is asked to, and what it answers changes nothing (B100)."""
        level = self._caller.level if self._caller is not None else None
        if level is not None and level != self._level and "logging" in (self._declared or {}):
            self._level = level
            self._set_level = self.request("logging/setLevel", encoded({"level": level}))

    # ------------------------------------------------------------------ answers

    def _take(self, frame: Opened | Broken | Batch, of: bytes | None, now: float) -> None:
        if type(frame) is Opened:
            if frame.method is UNSET:
                self._reply(frame, now)
            elif frame.id is UNSET:
                self._notice(frame.method, frame.params if frame.params is not UNSET else {}, of, now)
            else:
                self._request(frame.method, bytes(frame.id), frame.params, of, now)
        elif type(frame) is Broken:
            self._broken(frame, now)
        else:
            self._noise.add("an array inside an array")

    def _reply(self, frame: Opened, now: float) -> None:
        id = bytes(frame.id) if frame.id is not UNSET else b"null"
        if id == self._initialize:
            self._initialized(frame, now)
            return
        if frame.result is UNSET:
            self._fail(id, error_of(frame), now)
            return
        sent = self._flight.pop(id, None)
        if sent is None:
            self._reply_to_own(id, None, now)
        elif frame.result is None:
            self.middle.failed(sent.call, Fault(Cause.INVALID_RESPONSE, "the result is not an object"), now)
        else:
            if self._tasks.of_server and sent.call.wants_progress:
                self._tasks.begin(id, frame.result, sent.call)
            self.middle.done(sent.call, frame.result, now)
            if self.notes.debugs:
                self._note_exchange(sent, "complete", now)

    def _fail(self, id: bytes, why: Fault | ServerError, now: float) -> None:
        """A request of ours, of whatever kind, has failed."""
        if id == self._initialize:
            self._not_initialized(why, now)
            return
        sent = self._flight.pop(id, None)
        if sent is None:
            self._reply_to_own(id, why, now)
            return
        self.middle.failed(sent.call, why, now)
        if self.notes.debugs:
            self._note_exchange(sent, "error", now)

    def _reply_to_own(self, id: bytes, failure: Fault | ServerError | None, now: float) -> None:
        if id == self._set_level:
            self._set_level = None
            if failure is not None and self.notes.debugs:
                self.notes.note(Level.DEBUG, "upstream", "the server refused logging/setLevel; its log stays as it is")
        elif not self.wishes.reply(id, failure, now) and self.notes.debugs:
            self.notes.note(Level.DEBUG, "upstream", "an answer to no request in flight was dropped")

    def _initialized(self, frame: Opened, now: float) -> None:
        if frame.result is UNSET:
            self._not_initialized(error_of(frame), now)
            return
        ready = read_result(frame.result)
        if isinstance(ready, Fault):
            self._not_initialized(ready, now)
            return
        assert self._caller is not None
        self._initialize = None
        self.revision = ready.revision
        self._declared = ready.capabilities
        self._agree(ready.capabilities)
        self.middle.ready(ready, now)

    def _agree(self, declared: Members) -> None:
        """Work out what client and server have in common."""
        assert self._caller is not None
        told = client_capabilities(self._caller.capabilities, self._caller.revision, self.revision)
        offered = server_capabilities(declared, self.revision, self._caller.revision)
        self._tasks = Tasks("tasks" in told, "tasks" in offered)
        self._tells_roots = has_flag(told, "roots", "listChanged")

    def _not_initialized(self, why: Fault | ServerError, now: float) -> None:
        other = other_revision(why, self.revision)
        if other is not None and not self._has_tried_other:
            self._has_tried_other = True
            self._ask_initialize(other, now)
            return
        self._initialize = None
        self.middle.not_ready(refusal(why), now)

    # ------------------------------------------------------------------ what the server says on its own

    def _request(
        self, method: str, id: bytes, params: Members | msgspec.UnsetType, of: bytes | None, now: float
    ) -> None:
        fault: Fault | None = None
        if not is_id(id):
            self.out.append(wire.failure(None, Fault(Cause.INVALID_REQUEST_SHAPE).error()))
            return
        if id in self.inquiries:
            fault = Fault(Cause.DUPLICATE_ID)
        elif method == "ping":
            self.out.append(wire.reply(id, EMPTY))
            return
        elif self._declared is None:
            fault = Fault(Cause.NOT_INITIALIZED)
        elif not (method in QUESTIONS or (method in TASKS and self._tasks.of_client)) or method not in asks(
            self.revision
        ):
            fault = Fault(Cause.METHOD_NOT_FOUND)
        if fault is not None:
            self.out.append(wire.failure(id, fault.error()))
            return
        sent = self._flight.get(of) if of is not None else None
        call = sent.call if sent is not None else None
        given = params if params is not UNSET else None
        keeps_task = self._tasks.of_client or self._tasks.of_server
        is_same = self._caller is not None and self._caller.revision is self.revision
        self.inquiries.add(id, method, given, call, now, keeps_task=keeps_task, keeps_token=is_same)

    def _notice(self, method: str, params: Members, of: bytes | None, now: float) -> None:
        if method == "notifications/progress":
            token = params.pop("progressToken", None)
            sent = self._flight.get(bytes(token)) if token is not None else None
            call = sent.call if sent is not None else self._tasks.of(bytes(token)) if token is not None else None
            if call is not None and "progress" in params and call.wants_progress:
                self.middle.progress(call, params, now)
        elif self._declared is None:
            self._note_dropped(method)
        elif method == "notifications/message":
            level = text_of(params.get("level"))
            if level in LEVELS and "data" in params:
                self._logged(level, params, of, now)
        elif method == "notifications/cancelled":
            note_cancelled(self.notes, params)
            id = params.get("requestId")
            if id is not None:
                self.inquiries.withdraw(bytes(id), now)
        elif method == "notifications/elicitation/complete" and self.revision.has(Trait.ELICITATION_MODES):
            if text_of(params.get("elicitationId")) is not None:
                self.middle.elicitation_completed(params, now)
        elif method == TASK_STATUS and self._tasks.of_server:
            self._tasks.status(params)
            self.middle.server_task(params)
        elif method in CHANGES:
            self.wishes.event(method, params, now)
        else:
            self._note_dropped(method)

    def _logged(self, level: str, params: Members, of: bytes | None, now: float) -> None:
        """A log message is of the request that the transport names; a client of the modern era wants it by request."""
        sent = self._flight.get(of) if of is not None else None
        if sent is None or not sent.call.caller.is_modern:
            self.middle.logged(level, params, now)
        elif sent.call.caller.hears(level):
            self.middle.told(sent.call, "notifications/message", params, now)

    def _broken(self, broken: Broken, now: float) -> None:
        id, asks = broken.id, method_in(broken.excerpt)
        known = (self._initialize, self._set_level, *self._flight)
        if id is not None and not asks and (id in known or self.wishes.awaits(id)):
            self._fail(id, unreadable(broken, self.limits), now)
            return
        if not broken.ended:
            return  # its end may name the request
        self._noise.add_line(broken, self.limits)
        if id is not None and asks and id not in self.inquiries:
            self.out.append(wire.failure(id, refused(broken).error()))

    # ------------------------------------------------------------------ notes

    def _note_dropped(self, method: str) -> None:
        if self.notes.debugs:
            self.notes.note(Level.DEBUG, "upstream", f"{method} belongs to no request and was dropped")

    def _note_exchange(self, sent: Sent, outcome: str, now: float) -> None:
        took = (now - sent.sent_at) * 1000
        text = f"{sent.call.method} ({sent.call.label}): {outcome}, {took:.0f} ms"
        self.notes.note(Level.DEBUG, "exchange", text)
