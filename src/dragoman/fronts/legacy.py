"""The handshake front: to its client it is a server of an older revision.

* Four states (LIFE-01); what a request gets in each is the table `ON_REQUEST`. Only `initialize` starts anything.
* Requests that came in the same read as `initialize` wait for its outcome; later ones are refused until it is known
  (INIT-08, LIFE-13). Notifications never get an answer.
* A request is known by its id, type and value; a second one with an id in flight is refused (decisions T15).
* Nothing is written for a request after its answer, and nothing at all for one that was cancelled (CANC-03, PROG-07).
"""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
from msgspec import UNSET, Raw

from dragoman.channel import LINK
from dragoman.exchange.caller import LEVELS, Caller
from dragoman.exchange.changes import NOTICES
from dragoman.exchange.events import Answered, Call, Changed, Erred, Filter, Question, Ready, Reason, ServerError
from dragoman.exchange.meta import PROTOCOL_VERSION
from dragoman.exchange.notes import Level, Notes, note_cancelled
from dragoman.exchange.outlet import Outlet
from dragoman.exchange.ports import FromClient
from dragoman.faults import INVALID_PARAMS, Cause, Fault
from dragoman.fronts.asking import COMPLETE, Asking
from dragoman.fronts.flaws import fault_of
from dragoman.fronts.handshake import Identity, initialize_result, read_initialize
from dragoman.fronts.lifecycle import ON_REQUEST, Action, Kind, State
from dragoman.fronts.lost_state import lost_state
from dragoman.fronts.subscriptions import Change, Subscriptions, promised
from dragoman.fronts.waiting import Opening, Waiting
from dragoman.limits import Limits
from dragoman.profile import Profile
from dragoman.revisions import Revision, Trait, tolerance
from dragoman.revisions.methods import FORWARDED, TASK_STATUS, TASKS
from dragoman.wire import frame as wire
from dragoman.wire.frame import Batch, Broken, Frame, Parsed, id_key, is_id
from dragoman.wire.lines import Overlong
from dragoman.wire.members import EMPTY, Members, closed, encoded, first_byte, is_null, is_object, object_in, text_of

_members = msgspec.json.Decoder(dict[str, Raw]).decode


class Legacy:
    """`out` takes the frames for the client."""

    def __init__(
        self, middle: FromClient, profile: Profile, limits: Limits, notes: Notes, identity: Identity, out: Outlet
    ) -> None:
        self.middle = middle
        self.profile = profile
        self.limits = limits
        self.notes = notes
        self.identity = identity
        self.out = out
        self.state = State.AWAITING_INITIALIZE
        self.asking = Asking(profile.request_id_prefix, self.out)
        self.subscriptions = Subscriptions(Filter(), may_subscribe=False)
        self.level: str | None = None
        self.gone = Fault(Cause.UPSTREAM_EXITED)
        self._is_same = False  # both sides speak one revision
        self._shares_tasks = False  # both sides are of the revision that has tasks
        self._of_tasks: frozenset[str] = frozenset()  # what the client may ask about those of the server
        self._caller: Caller | None = None
        self._flight: dict[bytes, Waiting | Change | Opening] = {}
        self._held: list[tuple[Frame, bytes, int]] = []
        self._holding = False
        self._lane = LINK
        self._told_modern = False
        self._keys = 0

    @property
    def revision(self) -> Revision | None:
        """The revision of the conversation, once the client has begun it."""
        return self._caller.revision if self._caller is not None else None

    def has_in_flight(self, id: bytes) -> bool:
        """Whether a request with this id still waits for its answer."""
        return id_key(id) in self._flight

    def waiting_on(self, lane: int) -> int:
        """How many requests of that lane still wait for their answer."""
        return sum(waiting.lane == lane for waiting in self._flight.values())

    # ------------------------------------------------------------------ from the client

    def receive(self, lines: "Sequence[bytes | Overlong]", now: float) -> None:
        """Take the lines of one read."""
        for data in lines:
            self._take(data, wire.parse(data, self.limits.depth), now)
        self._holding = False

    def receive_on(self, lane: int, data: bytes, frame: Parsed, now: float) -> None:
        """Take one message that came on a lane of its own, on which the answers to its requests go.

        There, ids of other lanes do not count: each exchange gets its own answer (decisions T15, B29).
        """
        self._lane = lane
        self._take(data, frame, now)
        self._lane, self._holding = LINK, False

    def _take(self, data: bytes | Overlong, frame: Parsed, now: float) -> None:
        if type(frame) is Frame:
            assert isinstance(data, bytes)
            self._frame(data, frame, now)
        elif type(frame) is Broken:
            self._broken(frame, now)
        else:
            assert type(frame) is Batch
            self._batch(frame, now)

    def lane_closed(self, lane: int, now: float) -> None:
        """Nobody waits for the answers on that lane any more, and nobody can."""
        for slot in [slot for slot, waiting in self._flight.items() if waiting.lane == lane]:
            self._withdraw(self._flight.pop(slot), Reason.CLIENT_LEFT, now)

    def end(self, now: float) -> None:
        """The client's input has ended: nothing is answered any more (CANC-08, LIFE-19)."""
        self.leave(Reason.CLIENT_LEFT, now)

    def leave(self, reason: Reason, now: float) -> None:
        if self.state is State.CLIENT_LEFT:
            return
        self.state = State.CLIENT_LEFT
        if self._flight:
            text = f"the input ended; requests that got no answer: {len(self._flight)}"
            self.notes.note(Level.INFO, "client", text)
        for waiting in list(self._flight.values()):
            if isinstance(waiting, Waiting):
                self.asking.withdraw(waiting, reason)
                self.asking.finish(waiting)
        self._flight.clear()
        self._held = []
        self.middle.left(reason, now)

    def _frame(self, data: bytes, frame: Frame, now: float) -> None:
        if wire.is_repeated(data, frame) or frame.jsonrpc != "2.0":
            self._misshapen(frame, now)
        elif frame.method is UNSET:
            self._response(frame, now)
        elif frame.id is UNSET:
            self._notice(frame.method, frame.params, now)
        else:
            id = bytes(frame.id)
            if is_id(id):
                self._request(frame, id, now)
            else:
                self._fail(None, Fault(Cause.INVALID_REQUEST_SHAPE))

    def _batch(self, batch: Batch, now: float) -> None:
        caller = self._caller
        if (
            self.state is not State.READY
            or caller is None
            or not caller.revision.has(Trait.BATCHES)
            or not batch.entries
        ):
            self._fail(None, Fault(Cause.INVALID_REQUEST_SHAPE))
            return
        for entry in batch.entries:
            data = bytes(entry)
            frame = wire.parse(data)
            if type(frame) is Frame and frame.method != "initialize":
                self._frame(data, frame, now)
            else:
                found = frame.id if isinstance(frame, Frame | Broken) and frame.id is not UNSET else None
                id = bytes(found) if found is not None and is_id(bytes(found)) else None
                self._fail(id, Fault(Cause.INVALID_REQUEST_SHAPE))

    def _request(self, frame: Frame, id: bytes, now: float) -> None:
        method = frame.method
        assert method is not UNSET
        if self._slot(id) in self._flight:
            self._fail(id, Fault(Cause.DUPLICATE_ID))
            return
        if method in FORWARDED:
            if self.state is State.READY:  # what the table says too, on the path that must be short
                if self._admits(id):
                    self._forward(frame, id, now)
                return
            kind = Kind.FORWARD
        elif method == "ping":
            self._answer(id, EMPTY)
            return
        elif method == "logging/setLevel":
            self._set_level(frame, id)
            return
        elif method == "server/discover":
            self._note_modern()
            self._fail(id, Fault(Cause.METHOD_NOT_FOUND))
            return
        elif method == "initialize":
            kind = Kind.INITIALIZE
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            kind = Kind.SUBSCRIBE
        elif method in self._of_tasks:
            kind = Kind.FORWARD
        else:
            kind = Kind.UNKNOWN
        action = ON_REQUEST[self.state][kind]
        if action is Action.FORWARD:
            if self._admits(id):
                self._forward(frame, id, now)
        elif action is Action.OPEN:
            if self._admits(id):
                self._open(frame, id, now)
        elif action is Action.CHANGE:
            if self._admits(id):
                self._change(frame, id, now)
        elif action is Action.HOLD and self._holding:
            self._held.append((frame, id, self._lane))
        elif action in (Action.HOLD, Action.REFUSE_UNOPENED):
            modern = _is_modern(frame)
            if modern:
                self._note_modern()
            self._fail(id, Fault(Cause.METHOD_NOT_FOUND if modern else Cause.NOT_INITIALIZED))
        elif action is Action.REFUSE_TWICE:
            self._fail(id, Fault(Cause.ALREADY_INITIALIZED))
        elif action is Action.REFUSE_UNKNOWN:
            self._fail(id, Fault(Cause.METHOD_NOT_FOUND))
        elif action is Action.REFUSE_GONE:
            self._fail(id, self.gone)

    def _admits(self, id: bytes) -> bool:
        """Whether one more request may be in flight; it is refused at once otherwise (FLIGHT-02)."""
        if len(self._flight) < self.limits.in_flight:
            return True
        self._fail(id, Fault(Cause.TOO_MANY_REQUESTS))
        return False

    def _forward(self, frame: Frame, id: bytes, now: float) -> None:
        caller = self._caller
        assert caller is not None
        assert frame.method is not UNSET
        given = frame.params
        try:
            params: Members = _members(given) if given is not UNSET else {}
        except msgspec.ValidationError:  # no object (FWD-02)
            params = {}
        meta: Members | None = None
        token: bytes | None = None
        carried = params.pop("_meta", None)
        if carried is not None and is_object(carried):
            meta = _members(carried)
            given_token = meta.pop("progressToken", None)
            if given_token is not None and first_byte(given_token) not in b"{[n":
                token = bytes(given_token)
            if meta:
                passes = self.profile.passthrough.passes
                meta = {name: value for name, value in meta.items() if passes(name)}
        self._keys += 1
        slot = self._slot(id)
        call = Waiting(self._keys, frame.method, params, caller, meta, id, token, slot, self._lane)
        self._flight[slot] = call
        self.middle.call(call, now)

    def _open(self, frame: Frame, id: bytes, now: float) -> None:
        read = read_initialize(frame.params if frame.params is not UNSET else None, self.profile, self.level)
        if read is None:
            self._fail(id, Fault(Cause.INVALID_PARAMS))
            return
        caller, flaws = read
        if flaws:
            self.notes.note(Level.WARN, "client", tolerance.described("client", flaws))
        self.state = State.INITIALIZING
        self._caller = caller
        self._flight[self._slot(id)] = Opening(id, self._lane)
        self._held = []
        self._holding = True
        self.middle.open(caller, now)

    def _change(self, frame: Frame, id: bytes, now: float) -> None:
        subscriptions = self.subscriptions
        if not subscriptions.may_subscribe or not subscriptions.started:
            self._fail(id, Fault(Cause.METHOD_NOT_FOUND))
            return
        uri = text_of((object_in(frame.params if frame.params is not UNSET else None) or {}).get("uri"))
        if uri is None:
            self._fail(id, Fault(Cause.INVALID_PARAMS))
            return
        self._keys += 1
        change = Change(self._keys, id, self._slot(id), self._lane, uri, frame.method == "resources/subscribe")
        self._flight[change.slot] = change
        subscriptions.add(change)
        self._run_changes(now)

    def _run_changes(self, now: float) -> None:
        while (turn := self.subscriptions.next()) is not None:
            change, wanted = turn
            if wanted is None:
                self._changed_to(change, EMPTY)
            else:
                assert self._caller is not None
                self.middle.watch(change.key, wanted, now)

    def _set_level(self, frame: Frame, id: bytes) -> None:
        level = text_of((object_in(frame.params if frame.params is not UNSET else None) or {}).get("level"))
        if level not in LEVELS:
            self._fail(id, Fault(Cause.INVALID_PARAMS))
            return
        self.level = level
        if self._caller is not None:
            self._caller = replace(self._caller, level=level)
            if self.state in (State.READY, State.INITIALIZING):
                self.middle.speaks(self._caller)
        self._answer(id, EMPTY)

    def _notice(self, method: str, params: object, now: float) -> None:
        if method == "notifications/cancelled":
            self._cancel(params, now)
        elif method == "notifications/roots/list_changed" and self.state is State.READY:
            self.middle.roots_changed()
        elif method == "notifications/initialized" and self.state is State.READY:
            self.middle.settled(now)
            subscriptions = self.subscriptions
            if subscriptions.opens_a_stream and not subscriptions.started:
                subscriptions.started = True
                assert self._caller is not None
                self.middle.watch(0, subscriptions.filter(()), now)
        elif method == "notifications/progress" and self._is_same and len(self.asking):
            given = object_in(params) if isinstance(params, Raw) else None
            if given is not None:
                self.middle.client_progress(given)
        elif method == TASK_STATUS and self._shares_tasks and self._caller is not None and self._caller.has("tasks"):
            given = object_in(params) if isinstance(params, Raw) else None
            if given is not None:
                self.middle.client_task(given)
        elif self.notes.debugs:
            self.notes.note(Level.DEBUG, "client", f"{method} needs nothing and was ignored")

    def _cancel(self, params: object, now: float) -> None:
        given = (object_in(params) or {}) if isinstance(params, Raw) else {}
        note_cancelled(self.notes, given)
        id = given.get("requestId")
        if id is None:
            return
        key = id_key(bytes(id))
        if self._held:
            self._held = [held for held in self._held if id_key(held[1]) != key]
        self._withdraw(self._flight.pop(self._slot_of(key), None), Reason.CLIENT_CANCELLED, now)

    def _withdraw(self, waiting: Waiting | Change | Opening | None, reason: Reason, now: float) -> None:
        """What is no longer in flight needs no answer."""
        if waiting is not None:
            self.out.drop(waiting.lane)
        if isinstance(waiting, Waiting):
            self.asking.withdraw(waiting, reason)
            self.middle.cancel(waiting, reason, now)
            self.asking.finish(waiting)
        elif isinstance(waiting, Change):
            self.subscriptions.drop(waiting.id)
        elif isinstance(waiting, Opening):
            self.state = State.AWAITING_INITIALIZE
            self.middle.abandon(now)
            self._replay(now)

    def _response(self, frame: Frame, now: float) -> None:
        if frame.result is UNSET and frame.error is UNSET:
            self._misshapen(frame, now)
            return
        has_error = frame.error is not UNSET and not is_null(frame.error)
        if frame.result is not UNSET and not (has_error and is_null(frame.result)):
            answer: Answered | Erred = Answered(frame.result)
        else:
            answer = Erred(_error_of(frame))
        self._answered(bytes(frame.id) if frame.id is not UNSET else b"null", answer, now)

    def _answered(self, id: bytes, answer: Answered | Erred, now: float) -> None:
        try:
            complete = self.asking.take(id_key(id), answer)
        except KeyError:
            if self.notes.debugs:
                self.notes.note(Level.DEBUG, "client", "an answer to no open question was dropped")
            return
        if isinstance(answer, Erred) and answer.error is not None:
            self.notes.note(Level.INFO, "input", "the client answered a question with an error")
        if complete is not None:
            self.middle.answered(*complete, now)

    def _misshapen(self, frame: Frame, now: float) -> None:
        """An object that is no message: refused under its id, or quietly when it answers a question of ours."""
        id = bytes(frame.id) if frame.id is not UNSET else None
        if frame.method is UNSET and id is not None and self.asking.is_ours(id):
            self._answered(id, Erred(None), now)
        else:
            self._fail(id if id is not None and is_id(id) else None, Fault(Cause.INVALID_REQUEST_SHAPE))

    def _broken(self, broken: Broken, now: float) -> None:
        if broken.id is not None and self.asking.is_ours(broken.id):
            self._answered(broken.id, Erred(None), now)
            return
        self._fail(None if broken.answers else broken.id, fault_of(broken, self.limits))

    # ------------------------------------------------------------------ from the mediator

    def opened(self, ready: Ready, now: float) -> None:
        caller = self._caller
        opening = self._take_opening()
        if caller is None or opening is None:
            return
        self.state = State.READY
        self.subscriptions = promised(ready)
        self._is_same = caller.revision is ready.revision
        self._shares_tasks = caller.revision.has(Trait.TASKS) and ready.revision.has(Trait.TASKS)
        self._of_tasks = TASKS if self._shares_tasks and "tasks" in ready.capabilities else frozenset()
        self._answer(opening.id, initialize_result(ready, caller, self.identity), opening.lane)
        self._replay(now)

    def refused(self, why: Fault | ServerError, now: float) -> None:
        if self.state is State.CLIENT_LEFT:
            return
        opening = self._take_opening()
        self.state = State.AWAITING_INITIALIZE
        self._caller = None
        if opening is not None:
            self._fail(opening.id, why, opening.lane)
        self._replay(now)

    def progress(self, call: Call, params: Members, now: float) -> None:
        assert isinstance(call, Waiting)
        frame = call.progress_frame(params, self.profile.progress_rate, now)
        if frame is not None:
            self.out.tell(call.lane, frame)

    def told(self, call: Call, method: str, params: Members, now: float) -> None:
        """A client with a handshake is told nothing as it is."""

    def ask(self, call: Call, questions: list[Question], now: float) -> None:
        self.asking.ask(call, questions)

    def withdraw(self, call: Call, reason: Reason) -> None:
        self.asking.withdraw(call, reason)

    def done(self, call: Call, result: Members, now: float) -> None:
        assert isinstance(call, Waiting)
        if self._flight.pop(call.slot, None) is None:
            return
        self.asking.finish(call)
        self.out.answer(call.lane, wire.reply_with(call.id, result))

    def failed(self, call: Call, why: Fault | ServerError, now: float) -> None:
        assert isinstance(call, Waiting)
        if self._flight.pop(call.slot, None) is None:
            return
        self.asking.finish(call)
        if isinstance(why, ServerError) and why.lost_state_after is not None and why.code == INVALID_PARAMS:
            self.out.answer(call.lane, lost_state(call.id, call.method, why.error))
        else:
            self._fail(call.id, why, call.lane)

    def watching(self, change: int | None, granted: Filter, gap: bool, now: float) -> None:
        subscriptions = self.subscriptions
        running = subscriptions.running
        if running is not None and change == running.key:
            subscriptions.succeed()
            if running.adds and running.uri not in granted.uris:
                subscriptions.uris = tuple(uri for uri in subscriptions.uris if uri != running.uri)
                self._changed_to(running, Fault(Cause.INVALID_PARAMS, "the server does not watch this resource"))
            else:
                self._changed_to(running, EMPTY)
        if gap:
            self._tell_all()
        self._run_changes(now)

    def not_watching(self, change: int, why: Fault | ServerError, granted: Filter, now: float) -> None:
        running = self.subscriptions.running
        if running is not None and change == running.key:
            self.subscriptions.fail()
            self._changed_to(running, why)
            self._run_changes(now)

    def watched_ended(self) -> None:
        pass  # a later resources/subscribe may open a stream again (LOSS-04)

    def changed(self, what: Changed, params: Members | None) -> None:
        self.out.tell(LINK, wire.notice(NOTICES[what], encoded(params) if params else None))

    def logged(self, level: str, params: Members) -> None:
        if self.level is not None and LEVELS.index(level) < LEVELS.index(self.level):
            return
        self.out.tell(LINK, wire.notice("notifications/message", encoded(params)))

    def task(self, params: Members) -> None:
        self.out.tell(LINK, wire.notice(TASK_STATUS, closed(params)))

    def elicitation_completed(self, params: Members) -> None:
        self.out.tell(LINK, wire.notice(COMPLETE, encoded(params)))

    def server_gone(self, why: Fault, now: float) -> None:
        self.state = State.SERVER_GONE
        self.gone = why
        for waiting in list(self._flight.values()):
            if isinstance(waiting, Change):
                self._fail(waiting.id, why, waiting.lane)
        self._flight.clear()

    # ------------------------------------------------------------------ writing

    def _note_modern(self) -> None:
        """Say once that the client may need no bridge at all."""
        if not self._told_modern:
            self._told_modern = True
            text = "the client speaks a revision without a handshake; unless it tries another next, it needs no bridge"
            self.notes.note(Level.WARN, "client", text)

    def _answer(self, id: bytes, result: bytes | Raw, lane: int | None = None) -> None:
        """Answer a request of this lane, or of the one whose frame is being taken."""
        self.out.answer(self._lane if lane is None else lane, wire.reply(id, result))

    def _fail(self, id: bytes | None, why: Fault | ServerError, lane: int | None = None) -> None:
        error = why.error() if isinstance(why, Fault) else why.error
        self.out.answer(self._lane if lane is None else lane, wire.failure(id, error), why)

    def _changed_to(self, change: Change, outcome: Raw | Fault | ServerError) -> None:
        if self._flight.pop(change.slot, None) is None:
            return
        if isinstance(outcome, Raw):
            self._answer(change.id, outcome, change.lane)
        else:
            self._fail(change.id, outcome, change.lane)

    def _tell_all(self) -> None:
        """Whatever may have changed unseen is told as changed (GAP-01)."""
        lists, uris = self.subscriptions.lists, self.subscriptions.uris
        for wanted, what in (
            (lists.tools, Changed.TOOLS),
            (lists.prompts, Changed.PROMPTS),
            (lists.resources, Changed.RESOURCES),
        ):
            if wanted:
                self.changed(what, None)
        for uri in uris:
            self.out.tell(LINK, wire.notice(NOTICES[Changed.RESOURCE], encoded({"uri": uri})))

    def _take_opening(self) -> Opening | None:
        for key, waiting in self._flight.items():
            if isinstance(waiting, Opening):
                del self._flight[key]
                return waiting
        return None

    def _replay(self, now: float) -> None:
        held, self._held = self._held, []
        lane = self._lane
        for frame, id, self._lane in held:
            self._request(frame, id, now)
        self._lane = lane

    def _slot(self, id: bytes) -> bytes:
        """The place of a request in the table of what is in flight: ids of other lanes are not its own."""
        return id_key(id) if self._lane == LINK else b"%d %b" % (self._lane, id_key(id))

    def _slot_of(self, key: bytes) -> bytes:
        """The place of the newest request with this id, on whatever lane."""
        if key in self._flight:
            return key
        return next((slot for slot in reversed(self._flight) if id_key(self._flight[slot].id) == key), key)


def _is_modern(frame: Frame) -> bool:
    params = object_in(frame.params) if frame.params is not UNSET else None
    return PROTOCOL_VERSION in (object_in((params or {}).get("_meta")) or {})


def _error_of(frame: Frame) -> Raw | None:
    """The error object of a response, if it has the shape of one."""
    error = object_in(frame.error) if frame.error is not UNSET else None
    if error is None or text_of(error.get("message")) is None:
        return None
    code = bytes(error.get("code") or b"")
    return frame.error if code.lstrip(b"-").isdigit() and frame.error is not UNSET else None
