"""The meeting point of one front and one back: it routes, counts, and lets others judge.

What it owns: which calls are open (`inflight`), which round of questions a call waits in, and the two plans by which
bodies are lowered to the revision of the side that they go to. What it leaves to others: may this be asked and is
that an answer (`questions`), what a server asks on its own account (`inquiries`), what changes in a body (the plans and
the profile's quirks).

A call is *in* from `call` to the one `done` or `failed` that answers it, or to its `cancel`. Whatever comes for a call
that is not in is dropped here, so nothing can be answered twice (CANC-09).
"""

from collections.abc import Callable
from dataclasses import replace

from msgspec import Raw

from dragoman.core import icons, questions
from dragoman.core.inflight import Inflight
from dragoman.core.inquiries import Asked, Inquiries
from dragoman.core.left_out import MESSAGE, PROGRESS, LeftOut, note_schemas
from dragoman.core.pages import Pages
from dragoman.core.refusal import described, told, with_known_code
from dragoman.core.visits import Visits
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import (
    Answer,
    Call,
    Changed,
    Filter,
    Inquiry,
    Ready,
    Reason,
    ServerError,
)
from dragoman.exchange.notes import Level, Notes, internal_error
from dragoman.exchange.ports import Back, Front, Timed
from dragoman.faults import URL_ELICITATION_REQUIRED, Cause, Fault
from dragoman.limits import Limits, Patience, patience_of
from dragoman.profile import Profile
from dragoman.profile.quirks import apply_quirks, restored
from dragoman.revisions import Era, Revision, tolerance
from dragoman.revisions.capabilities import server_capabilities
from dragoman.revisions.errors import unfollowed
from dragoman.revisions.fixed import misfit
from dragoman.revisions.plan import Loss, Part, Plan, Refusal, lowering
from dragoman.wire.members import Members, closed, is_null, opened, raw, text_of


class Mediator:
    """One conversation. `stop_wanted` asks the runtime to end the server; `stopped` is its answer."""

    def __init__(self, profile: Profile, limits: Limits, notes: Notes, is_remote: bool = False) -> None:
        self.front: Front
        self.back: Back
        self.timed: Timed | None = None  # the front, when it has waits of its own
        self.profile = profile
        self.limits = limits
        self.notes = notes
        self.is_remote = is_remote  # the server is on a network: its icons are not those of a local process
        self.inflight = Inflight(limits)
        self.stop_wanted = False
        self.losses: list[Loss] = []
        self.on_losses: Callable[[str, list[Loss]], None] | None = None
        self.is_open = False
        self.is_lost = False
        self.is_settled = False
        self._policy = profile.policy()
        self.inquiries = Inquiries(self, self._policy)
        self.visits = Visits(self, self._policy)
        self._pages = Pages(limits.pages, notes) if profile.merge_pages else None
        self._rounds: dict[int, questions.Round] = {}
        self._caller: Caller | None = None
        self._is_opening = False
        self._ready: Ready | None = None  # what the server that is open said of itself
        self._refusal: Fault | ServerError | None = None
        self._is_typed = False
        self._has_seen_tools = False
        self._is_same = False  # both sides speak one revision, and between them nothing is left out
        self._left_out = LeftOut(notes)
        self._up: Plan
        self._down: Plan

    def join(self, client: Revision, server: Revision) -> None:
        """Serve clients of one revision that need not begin with anything."""
        self._up, self._down = lowering(client, server), lowering(server, client)
        self._is_typed = client is not server and self.profile.reply_revision is None  # else FWD-07 holds to the letter
        self._is_same = client is server
        self.is_open = True

    # ------------------------------------------------------------------ from the client

    def open(self, caller: Caller, now: float) -> None:
        is_there = self._is_opening or self._ready is not None
        self._caller = caller
        self._refusal = None
        self.is_settled = False
        if is_there and self.back.takes(caller):
            if self._ready is not None:
                self.ready(self._ready, now)
            return
        if is_there:
            self.notes.note(Level.INFO, "upstream", "the server was told of a client that can do other things: it ends")
            self._end_server()
        self._is_opening = True
        self.back.open(caller, now)

    def abandon(self, now: float) -> None:
        self._caller = None
        self._end_server()

    def _end_server(self) -> None:
        self._is_opening, self._ready = False, None
        self.back.close()
        self.stop_wanted = True

    def settled(self, now: float) -> None:
        self.is_settled = True
        self.back.settled(now)

    @property
    def has_handshake(self) -> bool:
        """Whether the client has begun with a handshake."""
        return self._caller is not None

    @property
    def shows_pages(self) -> bool:
        """Whether the client can be asked to show a page that no call of a server's wants."""
        caller = self._caller
        if caller is None or not self.is_open or not self.is_settled:
            return False
        return self.inquiries.shower is not None if caller.is_modern else caller.has("elicitation", "url")

    def page_over(self, inquiry: Inquiry, is_done: bool, now: float) -> None:
        """A page that the client was asked to show is of no use any more; with `is_done` the user is done with it."""
        self.inquiries.withdraw(inquiry, now)
        if is_done:
            self.front.elicitation_completed({"elicitationId": raw(self.inquiries.page(inquiry))})

    def call(self, call: Call, now: float) -> None:
        params = self._up.apply(call.method, Part.PARAMS, call.params, self._policy, self.losses)
        if isinstance(params, Refusal):
            self._note_refusal(call, params)
            self.front.failed(call, _inexpressible(Cause.REQUEST_NOT_EXPRESSIBLE, params), now)
            return
        if self.losses:
            self.report(call.method, "server")
        wrong = misfit(call.method, params) if self._is_typed else None
        if wrong is not None:
            member, kind = wrong
            extra = (("member", member), ("expected", kind), ("to", self._up.target.name))
            self.front.failed(call, Fault(Cause.INVALID_PARAMS, f"{member} has to be {kind}", extra=extra), now)
            return
        self.inflight.enter(call, patience_of(call.method, 1), now)
        self.back.call(call, now)

    def cancel(self, call: Call, reason: Reason, now: float) -> None:
        if self.inflight.leave(call):
            self._forget(call)
            self.back.cancel(call, reason)
            if self.inquiries.asked:
                self.inquiries.call_over(call, reason, now)

    def answered(self, call: Call, answers: dict[str, Answer], now: float) -> None:
        if isinstance(call, Asked):
            self.inquiries.answered(call, answers, now)
            return
        if call in self.visits:
            self.visits.answered(call, answers, self._up, now)
            return
        round_ = self._rounds.pop(call.key, None)
        if round_ is None or call not in self.inflight:
            return
        judged = questions.judge(round_, answers, call.caller, self._up, self._policy, self.losses)
        self.report(call.method, "server")
        if isinstance(judged, Fault | ServerError):
            self.fail(call, judged, now)
        else:
            self.back.answered(call, judged, now)

    def watch(self, change: int, wanted: Filter, now: float) -> None:
        self.back.watch(change, wanted, now)

    def speaks(self, caller: Caller) -> None:
        self.back.speaks(caller)

    def roots_changed(self) -> None:
        self.back.roots_changed()

    def client_progress(self, params: Members) -> None:
        self.back.client_progress(params)

    def client_task(self, params: Members) -> None:
        self.back.task(params)

    def left(self, reason: Reason, now: float) -> None:
        for call in self.inflight:
            self.cancel(call, reason, now)
        self.inquiries.all_over(reason, now)
        self.back.unwatch(reason)

    # ------------------------------------------------------------------ from the server

    def ready(self, ready: Ready, now: float) -> None:
        caller = self._caller
        if caller is None:
            return
        self._is_opening, self._ready = False, ready
        self.join(caller.revision, ready.revision)
        self.inquiries.begin(caller, self._up, self._down)
        offered = server_capabilities(ready.capabilities, ready.revision, caller.revision)
        if ready.flaws:
            self.notes.note(Level.WARN, "upstream", tolerance.described("server", ready.flaws))
        self._left_out.tell("capabilities", ready.capabilities.keys() - offered.keys())
        self._left_out.tell_made_up(offered.keys() - ready.capabilities.keys())
        if self.is_remote and ready.info is not None:
            ready = replace(ready, info=icons.clean_info(ready.info))
        self.front.opened(replace(ready, capabilities=self.profile.mask_server(offered)), now)

    def not_ready(self, why: Fault | ServerError, now: float) -> None:
        fault = told(why) if isinstance(why, ServerError) else why
        self.notes.note(Level.ERR, "upstream", f"the server cannot be used: {described(fault)}")
        is_known = self._caller is None or self._caller.is_modern or self.profile.quirks.keep_error_codes
        self._refusal = fault if is_known else with_known_code(fault)
        self._caller = None
        self._end_server()

    def stopped(self, now: float) -> None:
        """The runtime has ended the server that it was asked to end (INIT-09)."""
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            self.front.refused(refusal, now)

    def progress(self, call: Call, params: Members, now: float) -> None:
        if not self._is_same:
            params = self._left_out.known("notifications/progress", params, PROGRESS)
        self.front.progress(call, params, now)

    def told(self, call: Call, method: str, params: Members, now: float) -> None:
        if call in self.inflight:
            self.front.told(call, method, params, now)

    def asked(self, call: Call, requests: Raw, now: float) -> None:
        if call not in self.inflight:
            return
        round_ = questions.read_round(requests, call.caller, self._down, self._policy, self.limits, self.losses)
        self.report(call.method)
        if isinstance(round_, Fault):
            self.fail(call, round_, now)
            return
        for text in round_.notes:
            self.notes.note(Level.WARN, "input", text)
        if not round_.questions:
            self.back.answered(call, dict(round_.ready), now)
            return
        self._rounds[call.key] = round_
        self.inflight.wait_for(call, Patience.INPUT, now)
        self.front.ask(call, round_.questions, now)

    def input_required(self, call: Call, result: Members, now: float) -> None:
        requests = result.get("inputRequests")
        if requests is not None and not is_null(requests):
            round_ = questions.read_round(requests, call.caller, self._down, self._policy, self.limits, self.losses)
            self.report(call.method)
            if isinstance(round_, Fault):
                self.fail(call, round_, now)
                return
        self.done(call, result, now)

    def next_round(self, call: Call, number: int, now: float) -> None:
        self.inflight.wait_for(call, patience_of(call.method, number), now)

    def inquired(self, inquiry: Inquiry, now: float) -> None:
        self.inquiries.ask(inquiry, now)

    def uninquired(self, inquiry: Inquiry, now: float) -> None:
        self.inquiries.withdraw(inquiry, now)

    def done(self, call: Call, result: Members, now: float) -> None:
        if self._pages is not None and call in self.inflight and self._pages.goes_on(call, result):
            self.next_round(call, 1, now)
            self.back.call(call, now)
            return
        if not self.inflight.leave(call):
            return
        try:
            self._deliver(call, result, now)
        except Exception:  # whoever runs us hears of it, and the call has its one answer
            self.front.failed(call, Fault(Cause.INTERNAL), now)
            raise

    def _deliver(self, call: Call, result: Members, now: float) -> None:
        if self._rounds or self.visits.open or self._pages is not None:
            self._forget(call)
        if self.inquiries.asked:
            self.inquiries.call_over(call, Reason.CALL_ENDED, now)
        lowered = self._down.apply(call.method, Part.RESULT, result, self._policy, self.losses)
        if isinstance(lowered, Refusal):
            self.losses.clear()
            self._note_refusal(call, lowered)
            self.front.failed(call, _inexpressible(Cause.RESULT_NOT_EXPRESSIBLE, lowered), now)
            return
        if self.losses:
            self.report(call.method)
        if call.method == "tools/list":
            if not self._has_seen_tools or "cursor" in call.params:
                self._has_seen_tools = True
                if not self.profile.quirks.repair_input_schemas:  # of which each repair is told
                    note_schemas(self.notes, lowered)
            apply_quirks(self.profile, call.method, lowered, self._quirk)
        if self.is_remote:
            icons.without_remote(call.method, lowered)
        self.front.done(call, lowered, now)

    def failed(self, call: Call, why: Fault | ServerError, now: float) -> None:
        if isinstance(why, ServerError) and why.code == URL_ELICITATION_REQUIRED and self._may_go_on(call):
            outcome = self.visits.refused(call, why, self._down, now)
            if outcome is None:
                return
            why = outcome
        if not self.inflight.leave(call):
            return
        try:
            self._deliver_error(call, why, now)
        except Exception:
            self.front.failed(call, Fault(Cause.INTERNAL), now)
            raise

    def _deliver_error(self, call: Call, why: Fault | ServerError, now: float) -> None:
        self._forget(call)
        if self.inquiries.asked:
            self.inquiries.call_over(call, Reason.CALL_FAILED, now)
        if isinstance(why, ServerError):
            given = opened(why.error)
            mapped = self._down.error(
                call.method, given, params=call.params, keep_codes=self.profile.quirks.keep_error_codes
            )
            if mapped is given and why.code == URL_ELICITATION_REQUIRED and not call.caller.has("elicitation", "url"):
                mapped = unfollowed(given)
            if not call.caller.is_modern:
                mapped = restored(self.profile, call.method, mapped, call.params)
            if mapped is not given:
                why = replace(why, error=closed(mapped))
        self.front.failed(call, why, now)

    def watching(self, change: int | None, granted: Filter, gap: bool, now: float) -> None:
        self.front.watching(change, granted, gap, now)

    def not_watching(self, change: int, why: Fault | ServerError, granted: Filter, now: float) -> None:
        self.front.not_watching(change, why, granted, now)

    def watched_ended(self) -> None:
        self.front.watched_ended()

    def changed(self, what: Changed, params: Members | None, now: float) -> None:
        self.front.changed(what, params)

    def logged(self, level: str, params: Members, now: float) -> None:
        if not self._is_same:
            params = self._left_out.known("notifications/message", params, MESSAGE)
        self.front.logged(level, params)

    def elicitation_completed(self, params: Members, now: float) -> None:
        """Only a client that can be sent to a page knows what this is (S3-04)."""
        if self.visits.open:
            self.visits.completed(text_of(params.get("elicitationId")), now)
        if self._caller is not None and self._caller.has("elicitation", "url"):
            self.front.elicitation_completed(params)

    def server_task(self, params: Members) -> None:
        self.front.task(params)

    def gone(self, why: Fault, now: float) -> None:
        if not self.is_open:
            return
        self.inquiries.all_over(Reason.SERVER_STOPPED, now)
        for call in self.inflight:
            self.front.withdraw(call, Reason.SERVER_STOPPED)
            self.inflight.leave(call)
            self._forget(call)
            self.front.failed(call, why, now)
        self.is_open, self.is_lost = False, True
        self._is_opening, self._ready = False, None
        self.front.server_gone(why, now)

    # ------------------------------------------------------------------ time

    def wake(self) -> float:
        """The first moment at which `tick` may have something to do."""
        wake, back = self.inflight.wake, self.back.wake()
        if self.inquiries.asked:
            wake = min(wake, self.inquiries.wake)
        if self.visits.open:
            wake = min(wake, self.visits.wake)
        if self.timed is not None:
            wake = min(wake, self.timed.wake())
        return wake if back is None or wake < back else back

    def tick(self, now: float) -> None:
        if self.inquiries.asked:
            self.inquiries.tick(now)
        if self.visits.open:
            self.visits.tick(now)
        for call in self.inflight.overdue(now):
            try:
                self._expire(call, now)
            except Exception as error:  # the clock is everybody's: a fault of ours costs this call (B1)
                self.notes.note(Level.ERR, "bridge", internal_error(error))
        for call in self.inflight.slow(now):
            waits = "answers of the client" if call.patience is Patience.INPUT else "the upstream server"
            elapsed = now - call.started
            self.notes.note(Level.INFO, "call", f"{call.method} ({call.label}) waits for {waits}, {elapsed:.0f} s")
        self.inflight.plan_wake()
        if self.timed is not None:
            self.timed.tick(now)
        self.back.tick(now)

    def _expire(self, call: Call, now: float) -> None:
        limit = self.inflight.limit(call.patience)
        if call.patience is Patience.INPUT:
            round_ = self._rounds.get(call.key)
            open_ = len(round_.questions) if round_ is not None else self.visits.questions_of(call)
            fault = Fault(Cause.INPUT_TIMEOUT, f"limit: {limit:g} s, questions: {open_}")
            self.front.withdraw(call, Reason.NO_ANSWER)
        else:
            fault = Fault(Cause.TIMEOUT, f"{call.method}, limit: {limit:g} s")
        self.fail(call, fault, now, Reason.TIMED_OUT)

    # ------------------------------------------------------------------ odds and ends

    def fail(self, call: Call, why: Fault | ServerError, now: float, reason: Reason = Reason.CALL_FAILED) -> None:
        """End a call for a reason of our own, or of the client's answers."""
        if not self.inflight.leave(call):
            return
        try:
            self._forget(call)
            self.back.cancel(call, reason)
            if self.inquiries.asked:
                self.inquiries.call_over(call, reason, now)
            self.front.withdraw(call, reason)
            self.front.failed(call, why, now)
        except Exception:
            self.front.failed(call, Fault(Cause.INTERNAL), now)
            raise

    def _may_go_on(self, call: Call) -> bool:
        """Whether a call that wants a visit to a page first can be sent again, and the client be asked by a result."""
        return call.caller.is_modern and self._down.source.era is Era.LEGACY and call in self.inflight

    def _forget(self, call: Call) -> None:
        self._rounds.pop(call.key, None)
        if self._pages is not None:
            self._pages.forget(call)
        if self.visits.open:
            self.visits.over(call)

    def report(self, method: str, face: str = "client") -> None:
        if self.losses and self.on_losses is not None:
            self.on_losses(face, list(self.losses))
        for loss in self.losses:
            text = f"{method}: rule {loss.row} ({loss.kind}) at {loss.place or 'the top'}: {loss.detail}"
            self.notes.note(Level.INFO, "translate", text)
        self.losses.clear()

    def _note_refusal(self, call: Call, refusal: Refusal) -> None:
        text = f"{call.method} ({call.label}): refused by rule {refusal.row} at {refusal.place or 'the top'}"
        self.notes.note(Level.WARN, "translate", f"{text}: {refusal.detail}")

    def _quirk(self, text: str) -> None:
        self.notes.note(Level.INFO, "quirk", text)


def _inexpressible(cause: Cause, refusal: Refusal) -> Fault:
    extra = (("rule", refusal.row), ("from", refusal.source), ("to", refusal.target))
    return Fault(cause, refusal.detail, extra=extra)
