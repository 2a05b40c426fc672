"""The modern front before a server that keeps state: a handshake is held for its clients, and questions are parked.

* The first request opens the server; what comes until it is open waits. `server/discover` is answered from what the
  server said of itself (decisions T9). A server that turns out to be modern after all gets everything as it is.
* A question of the server belongs to the call that the transport names, or else to the oldest that its client lets be
  asked (decisions T6). It is gathered with others for a moment, and the call is answered with `input_required` and a
  sealed state; the server goes on waiting. The retry brings the answers, and the call goes on under its new id.
* A question for roots outside of any call waits for the next call, a while (decisions T7); any other is refused.
* A call whose client does not come back in time is cancelled at the server. An outcome that comes meanwhile is kept.
"""

from msgspec import Raw

from dragoman.exchange.caller import LEVELS
from dragoman.exchange.changes import ACKNOWLEDGED, NOTICES
from dragoman.exchange.events import Answered, Call, Changed, Erred, Filter, Question, Ready, Reason, ServerError
from dragoman.exchange.meta import SERVER_INFO
from dragoman.exchange.notes import Level, Notes, internal_error
from dragoman.exchange.outlet import Outlet
from dragoman.exchange.ports import FromClient
from dragoman.faults import INVALID_PARAMS, METHOD_NOT_FOUND, Cause, Fault
from dragoman.fronts.handshake import Identity, discovered, server_info
from dragoman.fronts.modern import DISCOVER, LISTEN, Modern, Request
from dragoman.fronts.needs import ELICITATION, ROOTS, may_be_asked, named_in, needed, oldest
from dragoman.fronts.parking import Open, Parked
from dragoman.fronts.sealing import Seal, Unsealed
from dragoman.fronts.streams import Streams, wanted
from dragoman.fronts.turns import Turns
from dragoman.limits import Limits
from dragoman.revisions import Era
from dragoman.revisions.methods import FORWARDED, MAY_ASK
from dragoman.wire import frame as wire
from dragoman.wire.members import Members, closed, encoded, object_in, opened, raw, text_of

NEVER = float("inf")


class Stateful(Modern):
    """`seal` makes the states; `identity` names a server that does not name itself. `begins_again` tells that the next
    request after the loss of a server opens another; otherwise that is the end, and whoever still comes is told."""

    def __init__(
        self,
        middle: FromClient,
        limits: Limits,
        notes: Notes,
        out: Outlet,
        most: int,
        seal: Seal,
        identity: Identity,
        rate: int | None = None,
        begins_again: bool = True,
    ) -> None:
        super().__init__(middle, limits, notes, out, most, rate)
        self._seal = seal
        self._identity = identity
        self._begins_again = begins_again
        self._gone: Fault | None = None
        self._ready: Ready | None = None
        self._passes = False  # the server keeps no state after all
        self._stamp = raw({SERVER_INFO: identity.raw()})  # the `_meta` of results that have none
        self._is_opening = False
        self._is_settled = False  # the server was told that its client is ready
        self._held: list[Request] = []
        self._parked: dict[str, Parked] = {}
        self._early: list[tuple[Call, Question, float]] = []  # for roots, before any call, until a time
        self._lacking: dict[int, dict[str, object]] = {}  # by call: what it turned out to need
        self._streams = Streams()
        self._turns = Turns(limits.turn)
        self._level: str | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no client waits for anything."""
        return not self._flight and not self._parked

    # ------------------------------------------------------------------ from the client

    def _accept(self, request: Request, now: float) -> None:
        if self._ready is not None:
            self._serve(request, now)
            return
        if self._parked and "requestState" in request.params:  # its server was lost; to say so, none is needed
            self._retry(request, now)
            return
        if self._gone is not None:
            self.failed(request, self._gone, now)
            return
        self._held.append(request)
        if not self._is_opening:
            self._is_opening = True
            self.middle.open(request.caller, now)

    def _serve(self, request: Request, now: float) -> None:
        if request.method != DISCOVER and not self._is_settled:
            self._is_settled = True  # before that, the client may still turn to a handshake (DISC-01)
            self.middle.settled(now)
        if self._passes and not self._is_parked(request):
            super()._accept(request, now)
        elif request.method == DISCOVER and not self._passes:
            assert self._ready is not None
            self.done(request, discovered(self._ready), now)
        elif request.method == LISTEN:
            assert self._ready is not None
            self._streams.add(request, wanted(request.params, self._ready.capabilities))
            self._wish(now)
        elif request.method not in FORWARDED:
            self.failed(request, Fault(Cause.METHOD_NOT_FOUND), now)
        elif "requestState" in request.params or "inputResponses" in request.params:
            self._retry(request, now)
        else:
            if request.caller.level is not None:
                self._tell_level(request)
            request.meta = request.said.beyond
            request.params = dict(request.params)
            if self._turns.are_taken and self._turns.must_wait(request, self._flight.values()):
                self._turns.add(request, None, now)
            else:
                self._call(request, now)

    def _is_parked(self, request: Request) -> bool:
        """Whether a client comes back to what the bridge itself asked, before a server that asks by results."""
        state = text_of(request.params.get("requestState")) if self._parked else None
        try:
            return state is not None and self._seal.opened(state, request, request.asked)[0] in self._parked
        except Unsealed:
            return False  # it is the server's

    def _call(self, request: Request, now: float) -> None:
        if not (self._early and request.method in MAY_ASK and request.caller.has("roots")):
            self.middle.call(request, now)
            return
        handle = self._seal.handle()
        parked = self._parked[handle] = Parked(request, handle)
        parked.is_held = True  # it may be over before its client has answered what was asked before it
        early, self._early = self._early, []
        for asked, question, _ in early:
            parked.ask(asked, question)
        self._send_away(parked, now)

    def _next_turn(self, now: float) -> None:
        """Whoever waits for a call that is over, or whose client is away, goes on."""
        while request := self._turns.first():
            if now < self._turns.wake and self._turns.must_wait(request, self._flight.values()):
                break
            parked = self._turns.take(request)
            if parked is None:
                self._call(request, now)
            else:
                self._come_back(parked, request, now)

    def _tell_level(self, request: Request) -> None:
        """A connection has one level: the lowest that a request in flight wants (per-request levels, translation)."""
        level = request.caller.level
        if level is not None and (self._level is None or LEVELS.index(level) < LEVELS.index(self._level)):
            self._level = level
            self.middle.speaks(request.caller)

    def _withdraw(self, request: Request, now: float) -> None:
        if request in self._held:
            self._held.remove(request)
            self._flight.pop(request.slot, None)
        elif self._streams.drop(request):
            self._flight.pop(request.slot, None)
            self._wish(now)
        elif request in self._turns:
            parked = self._turns.take(request)
            self._flight.pop(request.slot, None)
            if parked is not None:
                parked.due = now + self.limits.state_life  # its client may come back once more
        else:
            self._lacking.pop(request.key, None)
            super()._withdraw(request, now)
            parked = self._of(request)
            if parked is not None:
                del self._parked[parked.handle]
            self._over(parked.asked if parked is not None else [], now)

    def leave(self, reason: Reason, now: float) -> None:
        self._parked.clear()
        self._held.clear()
        self._turns.clear()
        super().leave(reason, now)

    def end_streams(self) -> None:
        if self._passes:
            super().end_streams()
            return
        for request in [request for request in self._flight.values() if request.method == LISTEN]:
            self._streams.drop(request)
            self.done(request, {"resultType": Raw(b'"complete"')}, 0.0)

    # ------------------------------------------------------------------ the handshake

    def opened(self, ready: Ready, now: float) -> None:
        self._ready, self._is_opening, self._is_settled = ready, False, False
        self._passes = ready.revision.era is Era.MODERN
        info = server_info(ready.info)
        self._stamp = raw({SERVER_INFO: info if info is not None else self._identity.raw()})
        held, self._held = self._held, []
        for request in held:
            self._serve(request, now)

    def refused(self, why: Fault | ServerError, now: float) -> None:
        self._is_opening = False
        held, self._held = self._held, []
        for request in held:
            self.failed(request, why, now)

    def server_gone(self, why: Fault, now: float) -> None:
        """Calls that wait for their client are told when it comes back; the next request opens a server again."""
        for parked in self._parked.values():
            parked.asked.clear()
            parked.outcome = why
        self._early.clear()
        self._turns.clear()
        for request in list(self._flight.values()):
            self.failed(request, why, now)
        self._ready, self._passes, self._level, self._streams = None, False, None, Streams()
        self._gone = None if self._begins_again else why

    # ------------------------------------------------------------------ outcomes

    def done(self, call: Call, result: Members, now: float) -> None:
        assert isinstance(call, Request)
        if self._lacking:
            self._lacking.pop(call.key, None)
        left = self._leave(call, result) if self._parked else []
        if left is None:
            return
        if not self._passes and call.method != LISTEN:
            given = object_in(result.get("_meta"))
            result["_meta"] = closed({**opened(self._stamp), **given}) if given else self._stamp
        super().done(call, result, now)
        self._over(left, now)

    def failed(self, call: Call, why: Fault | ServerError, now: float) -> None:
        assert isinstance(call, Request)
        lacking = self._lacking.pop(call.key, None)
        if isinstance(why, ServerError) and (lacking := lacking or named_in(why, call.caller)):
            why = Fault(Cause.MISSING_CAPABILITY, extra=(("requiredCapabilities", lacking),))
        left = self._leave(call, why)
        if left is not None:
            super().failed(call, why, now)
            self._over(left, now)

    def _leave(self, call: Request, outcome: Members | Fault | ServerError) -> list[Open] | None:
        """What a call that has its outcome leaves unasked; `None` when the outcome was put aside for its client."""
        parked = self._of(call)
        if parked is None:
            return []
        if parked.is_away:
            parked.outcome = outcome
            return None
        del self._parked[parked.handle]
        return parked.asked

    def _over(self, left: list[Open], now: float) -> None:
        """A call is over: what it leaves unasked goes with another one, and whoever waited for it goes on."""
        for open_ in left:
            self.ask(open_.call, [open_.question], now)
        if self._turns.are_taken:
            self._next_turn(now)

    def told(self, call: Call, method: str, params: Members, now: float) -> None:
        parked = self._of(call)
        if parked is None or not parked.is_away:
            super().told(call, method, params, now)

    def logged(self, level: str, params: Members) -> None:
        """A message says nothing of its request: it goes to the only one that wants such, or to all of a pipe."""
        wanting = [request for request in self._flight.values() if request.caller.hears(level)]
        if wanting and len({request.lane for request in wanting}) == 1:
            self._tell(wanting[0], "notifications/message", dict(params))

    # ------------------------------------------------------------------ questions

    def ask(self, call: Call, questions: list[Question], now: float) -> None:
        for question in questions:
            if question.method != ROOTS and not call.owner_is_told and not isinstance(call, Request):
                self._turns.are_taken = True
            owner = call if isinstance(call, Request) else self._owner(call, question)
            if owner is not None and not may_be_asked(owner.caller, question):
                self._lacks(owner, call, question, now)
            elif owner is not None:
                self._park(owner, call, question, now)
            elif question.method == ROOTS and len(self._early) < self.limits.questions:
                self._early.append((call, question, now + self.limits.roots_wait))
            else:
                text = "a client without a handshake can be asked during a call only"
                self._refuse(call, question, INVALID_PARAMS, text, now)

    def _lacks(self, owner: Call, call: Call, question: Question, now: float) -> None:
        """The server learns that this client cannot be asked; if the call then fails, that is the reason it is told."""
        self._lacking.setdefault(owner.key, {}).update(needed(question))
        is_a_mode = question.method == ELICITATION and owner.caller.has("elicitation")
        code = INVALID_PARAMS if is_a_mode else METHOD_NOT_FOUND
        self._refuse(call, question, code, "the client of this call did not declare this", now)

    def _refuse(self, call: Call, question: Question, code: int, text: str, now: float) -> None:
        self.middle.answered(call, {question.key: Erred(raw({"code": code, "message": text}))}, now)

    def _owner(self, asked: Call, question: Question) -> Call | None:
        """The call that a question belongs to: the one that the transport names, else one that runs."""
        if asked.owner is not None:
            return asked.owner
        running = [call for call in self._flight.values() if call.method in MAY_ASK and call not in self._held]
        away = [parked.owner for parked in self._parked.values() if parked.is_away]
        return oldest([call for call in running if call not in self._turns], away, question)

    def _park(self, owner: Call, asked: Call, question: Question, now: float) -> None:
        parked = self._of(owner)
        if parked is not None and asked is not owner and (why := parked.excess(self.limits)) is not None:
            text = f"{question.method} of the server is refused: {why.cause}, {why.detail}"
            self.notes.note(Level.WARN, "input", text)
            self.middle.answered(asked, {question.key: Erred(why.error())}, now)
            return
        if parked is None:
            handle = self._seal.handle()
            parked = self._parked[handle] = Parked(owner, handle)
        parked.ask(asked, question)
        if not parked.is_away:
            parked.due = now + self.limits.gather

    def withdraw(self, call: Call, reason: Reason) -> None:
        """The server needs no answer to this question any more, or is gone: then nobody's turn comes."""
        if reason is Reason.SERVER_STOPPED:
            self._turns.clear()
        self._early = [early for early in self._early if early[0] is not call]
        for parked in self._parked.values():
            parked.withdraw(call)

    def _of(self, call: Call) -> Parked | None:
        if not self._parked:
            return None
        return next((parked for parked in self._parked.values() if parked.owner is call), None)

    def _send_away(self, parked: Parked, now: float) -> None:
        """Tell the client what is asked, and to come back with the answers."""
        owner = parked.owner
        assert isinstance(owner, Request)
        result: Members = {
            "resultType": Raw(b'"input_required"'),
            "inputRequests": raw({open_.name: open_.request() for open_ in parked.asked}),
            "requestState": raw(self._seal.seal(parked.handle, parked.round + 1, owner, owner.asked)),
            "_meta": self._stamp,
        }
        parked.round += 1
        parked.is_away = True
        parked.due = now + self.limits.state_life
        self._flight.pop(owner.slot, None)
        self.out.answer(owner.lane, wire.reply_with(owner.id, result))
        self._next_turn(now)

    def _retry(self, request: Request, now: float) -> None:
        """A client comes back: with answers, or to hear how it went."""
        state = text_of(request.params.get("requestState"))
        if state is None:
            super().failed(request, Fault(Cause.INVALID_PARAMS, "inputResponses come without their requestState"), now)
            return
        try:
            handle, round_ = self._seal.opened(state, request, request.asked)
        except Unsealed as why:
            super().failed(request, Fault(Cause.INVALID_PARAMS, str(why)), now)
            return
        parked = self._parked.get(handle)
        if parked is None or not parked.is_away or parked.round != round_ or self._turns.holds(parked):
            text = "nothing waits for this requestState any more; send the request without it to begin again"
            super().failed(request, Fault(Cause.INVALID_PARAMS, text), now)
            return
        if parked.outcome is None and self._turns.must_wait(request, self._flight.values()):
            self._turns.add(request, parked, now)
            parked.due = NEVER
            return
        self._come_back(parked, request, now)

    def _come_back(self, parked: Parked, request: Request, now: float) -> None:
        owner = parked.owner
        assert isinstance(owner, Request)
        self._flight.pop(request.slot, None)
        owner.id, owner.slot, owner.lane = request.id, request.slot, request.lane
        owner.token, owner.pace = request.token, request.pace
        self._flight[owner.slot] = owner
        parked.is_away = False
        responses = object_in(request.params.get("inputResponses")) or {}
        answered: list[tuple[Open, Raw]] = []
        for open_ in list(parked.asked):
            response = responses.get(open_.name)
            if response is not None:
                parked.asked.remove(open_)
                answered.append((open_, response))
        parked.due = now + self.limits.gather if parked.asked else NEVER  # what is missing is asked again
        outcome, is_held, parked.is_held = parked.outcome, parked.is_held, parked.is_held and bool(parked.asked)
        for open_, response in answered:  # whatever became of the call, the server gets what it asked for
            self.middle.answered(open_.call, {open_.question.key: Answered(response)}, now)
        if outcome is None:
            if is_held and not parked.is_held:
                self.middle.call(owner, now)
        elif isinstance(outcome, Fault | ServerError):
            self.failed(owner, outcome, now)
        else:
            self.done(owner, outcome, now)

    # ------------------------------------------------------------------ changes

    def _wish(self, now: float) -> None:
        wish = self._streams.next_wish()
        if wish is not None and self._ready is not None:
            self.middle.watch(*wish, now)

    def watching(self, change: int | None, granted: Filter, gap: bool, now: float) -> None:
        for stream, what, params in self._streams.missed() if gap else ():
            self._tell(stream, NOTICES[what], params)
        self._acknowledge(change, granted, now)

    def not_watching(self, change: int, why: Fault | ServerError, granted: Filter, now: float) -> None:
        self._acknowledge(change, granted, now)

    def _acknowledge(self, change: int | None, granted: Filter, now: float) -> None:
        told = self._streams.answered(change, granted) if change is not None else None
        if told is None:
            return
        for stream, params, early in told:
            self._tell(stream, ACKNOWLEDGED, params)
            for what, change_params in early:
                self._tell(stream, NOTICES[what], dict(change_params))
        if self._streams.is_behind:
            self._wish(now)

    def changed(self, what: Changed, params: Members | None) -> None:
        for stream in self._streams.hearing(what, params):
            self._tell(stream, NOTICES[what], dict(params or {}))

    # ------------------------------------------------------------------ time

    def wake(self) -> float:
        if not (self._parked or self._early):
            return self._turns.wake if self._turns.are_taken else NEVER
        dues = [parked.due for parked in self._parked.values() if parked.is_away or parked.asked]
        return min((self._turns.wake, *dues, *(due for _, _, due in self._early)))

    def tick(self, now: float) -> None:
        self._next_turn(now)
        for parked in [parked for parked in self._parked.values() if parked.due <= now]:
            try:
                if parked.is_away:
                    self._expire(parked, now)
                elif parked.asked:
                    self._send_away(parked, now)
            except Exception as error:
                self._give_up(parked, error, now)
        late = [early for early in self._early if early[2] <= now]
        self._early = [early for early in self._early if early[2] > now]
        for asked, question, _ in late:
            self.middle.answered(asked, {question.key: Answered(Raw(encoded({"roots": list[str]()})))}, now)

    def _give_up(self, parked: Parked, error: Exception, now: float) -> None:
        """A fault of ours costs the call that it happened to, and no other."""
        self.notes.note(Level.ERR, "bridge", internal_error(error))
        self._parked.pop(parked.handle, None)
        self.middle.cancel(parked.owner, Reason.CALL_FAILED, now)
        super().failed(parked.owner, Fault(Cause.INTERNAL), now)

    def _expire(self, parked: Parked, now: float) -> None:
        """The client did not come back: the server is told that nobody answers, and that the call is off."""
        del self._parked[parked.handle]
        if parked.outcome is None:
            for open_ in parked.asked:
                if open_.call is not parked.owner:
                    self.middle.answered(open_.call, {open_.question.key: Erred(None)}, now)
            self.middle.cancel(parked.owner, Reason.NO_ANSWER, now)
