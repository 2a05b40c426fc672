"""The back for a server whose era nobody said: it finds it out, and then leaves the word to the back of that era.

* `open` lets a `Modern` send `server/discover`. A usable answer means modern, and so does an error that only a modern
  server has, which stands. Anything else, and silence, means a handshake: a `Legacy` opens for the same caller, on the
  same process, or on a new one when the old one is gone (B42, B43, B45). Failures that every server may have on its
  way are the outcome (B47). See `suggests_other_era` and revisions 4.4.
* A server that is only slow may still answer `server/discover` while the handshake is tried. Once `initialize` is out,
  its answer decides: a server that accepts it has a handshake, whatever else it says, and one that refuses it is modern
  if its answer to `server/discover` says so. That answer is awaited as long as an opening may take.
* One time limit holds for the whole opening, and both backs take their ids from one count: no id is used twice.
* What was found out holds for the life of this object, until an `open` fails as it does with a server of the other era:
  the next one finds out anew (NEG-09).
* A client that needs no `open` is a modern one. Its requests go to the `Modern`, whatever the server is.
"""

from itertools import count
from typing import TYPE_CHECKING

from msgspec import UNSET

from dragoman.backs.discovery import suggests_other_era
from dragoman.backs.modern import Modern
from dragoman.backs.reading import overdue
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Answer, Call, Filter, Inquiry, Ready, Reason, ServerError
from dragoman.exchange.nobody import Outcome
from dragoman.exchange.notes import Level, Notes
from dragoman.exchange.ports import FromServer
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.revisions import LATEST_LEGACY, Era, Revision
from dragoman.wire import frame as wire
from dragoman.wire.frame import Batch, Broken, Opened
from dragoman.wire.lines import Overlong
from dragoman.wire.members import Members

if TYPE_CHECKING:
    from dragoman.backs.legacy import Legacy

FREQUENT = ("call", "receive", "tick", "wake")
"""What is left to the inner back without a step in between, once it has the word."""

NEITHER = "neither server/discover nor initialize was answered"


class Probe:
    """`out` takes the frames for the server, each without a line end; the runtime empties it.

    `era` is what was found out so far.
    """

    def __init__(self, middle: FromServer, limits: Limits, notes: Notes) -> None:
        self.middle = middle
        self.limits = limits
        self.notes = notes
        self.era: Era | None = None
        self._ids = count(1)
        self._modern = Modern(middle, limits, notes, ids=self._ids)
        self._modern.is_pinned = False
        self._legacy: Legacy | None = None
        self._discovery = Outcome(self._discovered, self._not_discovered)
        self._handshake = Outcome(self._initialized, self._not_initialized)
        self._opening: Caller | None = None
        self._due: float | None = None  # when the silence after server/discover is an answer
        self._deadline = 0.0  # when the opening has taken too long, whatever was tried
        self._held = 0.0
        self._discovered_late: Ready | None = None  # the answer to server/discover, while initialize is out
        self._refusal: Fault | ServerError | None = None  # of initialize, while server/discover is out
        self._is_asked = False  # the server that runs has seen server/discover
        self._inner: Modern | Legacy = self._modern
        self._leave_to(self._modern)

    @property
    def revision(self) -> Revision:
        return self._inner.revision

    @property
    def is_searching(self) -> bool:
        """Whether a server is open of which it is not known yet of which era it is."""
        return self._opening is not None and self.era is None

    # ------------------------------------------------------------------ from the mediator

    def open(self, caller: Caller, now: float) -> None:
        self._opening = caller
        self._is_asked = False
        self._deadline = now + self.limits.timeouts.discover
        self._discovered_late = self._refusal = None
        if self.era is Era.LEGACY:
            self._initialize(caller, now)
            return
        if self.era is None:
            self._due = now + self._silence
        self._is_asked = True
        self._hold(self._modern, self._discovery)
        self._modern.open(caller, now)

    def takes(self, caller: Caller) -> bool:
        taken = self._inner.takes(caller)
        if taken and self._opening is not None:
            self._opening = caller
        return taken

    def close(self) -> None:
        self._opening = self._due = None
        self._modern.close()
        if self._legacy is not None:
            self._legacy.close()

    def settled(self, now: float) -> None:
        self._inner.settled(now)

    def speaks(self, caller: Caller) -> None:
        if self._opening is not None:
            self._opening = caller
        self._inner.speaks(caller)

    def roots_changed(self) -> None:
        self._inner.roots_changed()

    def call(self, call: Call, now: float) -> None:
        self._inner.call(call, now)

    def cancel(self, call: Call, reason: Reason) -> None:
        self._inner.cancel(call, reason)

    def answered(self, call: Call, answers: Members, now: float) -> None:
        self._inner.answered(call, answers, now)

    def satisfied(self, inquiry: Inquiry, answer: Answer | Fault) -> None:
        self._inner.satisfied(inquiry, answer)

    def client_progress(self, params: Members) -> None:
        self._inner.client_progress(params)

    def task(self, params: Members) -> None:
        self._inner.task(params)

    def watch(self, change: int, wanted: Filter, now: float) -> None:
        self._inner.watch(change, wanted, now)

    def unwatch(self, reason: Reason) -> None:
        self._inner.unwatch(reason)

    # ------------------------------------------------------------------ from the server

    def receive(self, data: bytes | Overlong, now: float, of: bytes | None = None) -> None:
        """Take one line of the server; `of` is the id of the request in whose response it came, if it came in one."""
        late = self._modern.discovering if self._inner is not self._modern else None
        if late is not None and _answers(frame := wire.parse_opened(data), late):
            self._modern.take(frame, now, of)
        else:
            self._inner.receive(data, now, of)

    def lane_lost(self, id: bytes, why: Fault, may_retry: bool, now: float) -> None:
        """A request of ours has no answer and gets none; the server may well live on."""
        if id == self._modern.discovering:
            self._modern.lane_lost(id, why, may_retry, now)
        else:
            self._inner.lane_lost(id, why, may_retry, now)

    def renewed(self, now: float) -> None:
        self._inner.renewed(now)

    def lost(self, why: Fault, now: float) -> None:
        """The server is gone. One that `server/discover` has ended gets its handshake on a new process (B42)."""
        caller, was_asked, self._is_asked = self._opening, self._is_asked, False
        if caller is None or not was_asked or self._inner is self._modern or not suggests_other_era(why):
            self._inner.lost(why, now)
            return
        self._modern.close()
        self._inner.close()
        self._discovered_late = None
        self._initialize(caller, now)

    # ------------------------------------------------------------------ time

    @property
    def _silence(self) -> float:
        """How long nothing has to be heard of a server until that is an answer: there must be time for another try."""
        return min(self.limits.timeouts.probe, self.limits.timeouts.discover / 2)

    def held(self, seconds: float, now: float) -> None:
        if self._due is not None:
            self._due += seconds
        self._deadline += seconds
        self._held = seconds
        for inner in (self._modern, self._legacy):
            if inner is not None:
                inner.held(seconds, now)

    def resumed(self, now: float) -> None:
        self._held = 0.0
        self._deadline = min(self._deadline, now + self.limits.timeouts.discover)
        if self._due is not None:
            self._due = min(self._due, now + self._silence)
        for inner in (self._modern, self._legacy):
            if inner is not None:
                inner.resumed(now)

    def released(self, signed_in: bool, now: float) -> None:
        self._held = 0.0
        if self._due is not None:
            self._due = now + self._silence  # what the server was asked for is asked again now
        for inner in (self._modern, self._legacy):
            if inner is not None:
                inner.released(signed_in, now)

    def wake(self) -> float | None:
        wake = self._inner.wake()
        due = self._due if self._due is not None else self._deadline if self.is_searching else None
        if due is None:
            return wake
        return due if wake is None else min(due, wake)

    def tick(self, now: float) -> None:
        if self.is_searching and self._deadline <= now:
            self._give_up(now)
        elif self._due is None or self._due > now:
            self._inner.tick(now)
        elif self.out:
            self._due = now + self._silence  # the process before still ends; nothing was asked yet
            self._deadline = max(self._deadline, now + self.limits.timeouts.discover)
        else:
            self._fall_back(f"did not answer server/discover in {self._silence:g} s", now)

    def _give_up(self, now: float) -> None:
        if self._discovered_late is not None:
            self._settle_on_modern(self._discovered_late, now)
        elif self._refusal is not None:
            self._fail(self._refusal, now)
        else:
            detail = self._inner.silence(self.limits.timeouts.discover)
            if self._inner is not self._modern:
                detail = f"{detail}; {NEITHER}"
            self._fail(overdue(Cause.DISCOVER_FAILED, detail, self._held), now)

    # ------------------------------------------------------------------ finding out

    def _discovered(self, ready: Ready, now: float) -> None:
        if self._inner is not self._modern:
            self._discovered_late = ready  # the answer to initialize decides
        else:
            self._settle_on_modern(ready, now)

    def _settle_on_modern(self, ready: Ready, now: float) -> None:
        if self._legacy is not None:
            self._legacy.close()
        self._settle_on(self._modern, Era.MODERN)
        self.middle.ready(ready, now)

    def _not_discovered(self, why: Fault | ServerError, now: float) -> None:
        if self._inner is not self._modern:
            return  # the handshake is under way already
        if self._refusal is not None:
            self._fail(self._refusal if suggests_other_era(why) else why, now)
            return
        is_of_other_era = suggests_other_era(why)
        if is_of_other_era and self.era is None:
            said = f"error {why.code}" if isinstance(why, ServerError) else why.detail or why.cause.value
            self._fall_back(f"has no answer to server/discover ({said})", now)
            return
        if is_of_other_era:
            self.era = None
        elif isinstance(why, ServerError):
            self.era = Era.MODERN
        self._fail(why, now)

    def _fall_back(self, why: str, now: float) -> None:
        from dragoman.backs.legacy import Legacy  # most servers need it never, and starting up should be quick

        caller = self._opening
        assert caller is not None
        self.notes.note(Level.INFO, "upstream", f"the server {why}: it is asked for a handshake")
        self._due = None
        self._legacy = Legacy(self._handshake, self.limits, self.notes, LATEST_LEGACY, self._ids)
        self._initialize(caller, now)

    def _initialize(self, caller: Caller, now: float) -> None:
        assert self._legacy is not None
        self._hold(self._legacy, self._handshake)
        self._legacy.open(caller, now)
        if self.era is None:
            self._legacy.opening_due = self._deadline

    def _initialized(self, ready: Ready, now: float) -> None:
        assert self._legacy is not None
        self._modern.close()
        self._settle_on(self._legacy, Era.LEGACY)
        self.middle.ready(ready, now)

    def _not_initialized(self, why: Fault | ServerError, now: float) -> None:
        if self._discovered_late is not None:
            self._settle_on_modern(self._discovered_late, now)
            return
        if self._modern.discovering is not None and self.era is None:
            self._refusal = why  # a slow server may still say that it is modern
            self._hold(self._modern, self._discovery)
            return
        if suggests_other_era(why):
            self.era = None
        self._fail(why, now)

    def _fail(self, why: Fault | ServerError, now: float) -> None:
        self._opening = self._due = None
        self.middle.not_ready(why, now)

    # ------------------------------------------------------------------ who has the word

    def _hold(self, inner: "Modern | Legacy", outcome: Outcome) -> None:
        """Let this back open, and look at all that it hears meanwhile."""
        for name in FREQUENT:
            vars(self).pop(name, None)
        inner.middle = outcome
        self._inner = inner
        self.out = inner.out

    def _settle_on(self, inner: "Modern | Legacy", era: Era) -> None:
        self.era = era
        self._opening = self._due = None
        self._leave_to(inner)

    def _leave_to(self, inner: "Modern | Legacy") -> None:
        inner.middle = self.middle
        self._inner = inner
        self.out = inner.out
        for name in FREQUENT:
            setattr(self, name, getattr(inner, name))


def _answers(frame: Opened | Broken | Batch, id: bytes) -> bool:
    """Whether this is the response to the request with that id."""
    return type(frame) is Opened and frame.method is UNSET and frame.id is not UNSET and bytes(frame.id) == id
