"""One subscriptions/listen stream, kept alive for a client that has no such thing.

Three streams can exist at a time: the *active* one, whose events count; one that is *opening*; and none that is older.
A stream becomes active at its first acknowledgement and takes the place of the one before (EVENT-06 to EVENT-08).

* A wish with another filter opens a new stream; its acknowledgement answers the wish, then the old stream is cancelled
  (CHANGE-03 to CHANGE-05). If it fails first, the old stream and filter stay (CHANGE-07).
* A stream that is lost, or that the server ends, is opened again after a wait that doubles (LOSS); one that the server
  refuses with an error is not. What may have been missed is told as a *gap* at the next acknowledgement (GAP).
"""

from typing import TYPE_CHECKING

from msgspec import UNSET, Raw

from dragoman.backs.reading import error_of
from dragoman.exchange.changes import ACKNOWLEDGED, CHANGES, filter_in, hears, spelled
from dragoman.exchange.events import Changed, Filter, Reason, ServerError
from dragoman.exchange.meta import SUBSCRIPTION_ID
from dragoman.exchange.notes import Level, Notes
from dragoman.faults import OF_SIGN_IN, Cause, Fault
from dragoman.limits import Limits
from dragoman.wire.frame import Opened
from dragoman.wire.members import Members, closed, object_in

if TYPE_CHECKING:
    from dragoman.backs.modern import Modern

FIRST = 0
"""The wish that has no request behind it: to hear of changes at all, even if of none so far (LIFE-21)."""

CANCELLED = "notifications/cancelled"
UNADMITTED = (401, 403)
EVENTS = frozenset({ACKNOWLEDGED, CANCELLED, *CHANGES})


class Stream:
    """`change` is the wish that its acknowledgement answers; `None` for a stream that nobody waits for."""

    __slots__ = ("acknowledged_at", "change", "due", "granted", "id", "wanted")

    def __init__(self, id: bytes, wanted: Filter, change: int | None, due: float) -> None:
        self.id = id
        self.wanted = wanted
        self.change = change
        self.due = due
        self.acknowledged_at: float | None = None
        self.granted = Filter()


class Watch:
    def __init__(self, back: "Modern", limits: Limits, notes: Notes) -> None:
        self._back = back
        self._limits = limits
        self._notes = notes
        self.forget()

    def forget(self) -> None:
        """Nothing is wanted and nothing is open."""
        self.active: Stream | None = None
        self.opening: Stream | None = None
        self._wanted = Filter()
        self._gap = True
        self._wait = self._limits.reopen_first
        self._at_once = 0
        self._reopen_at: float | None = None
        self._needs_sign_in = False

    @property
    def due(self) -> float | None:
        """When `tick` is wanted next."""
        return self.opening.due if self.opening is not None else self._reopen_at

    @property
    def ids(self) -> list[bytes]:
        """The ids of the streams that are open."""
        return [stream.id for stream in (self.active, self.opening) if stream is not None]

    # ------------------------------------------------------------------ wishes

    def want(self, change: int, wanted: Filter, now: float) -> None:
        """Hear of just these changes from now on."""
        if self.opening is not None and self.opening.change is None:
            self._cancel(self.opening, Reason.REPLACED)
            self.opening = None
        self._reopen_at = None
        if change == FIRST:
            self._wanted = wanted
            self._open(wanted, None, now)
            return
        if not wanted:
            self._wanted = wanted
            self._back.middle.watching(change, wanted, False, now)
            if self.active is not None:
                self._cancel(self.active, Reason.REPLACED)
                self.active = None
            self._gap = True
            return
        self._open(wanted, change, now)

    def stop(self, reason: Reason) -> None:
        for stream in (self.active, self.opening):
            if stream is not None:
                self._cancel(stream, reason)
        self.forget()

    def tick(self, now: float) -> None:
        if self.opening is not None and self.opening.due <= now:
            stream = self.opening
            self._cancel(stream, Reason.TIMED_OUT)
            self._ended(
                stream, "its acknowledgement did not come in time", Fault(Cause.TIMEOUT, _late(self._limits)), True, now
            )
        if self._reopen_at is not None and self._reopen_at <= now:
            self._reopen_at = None
            self._open(self._wanted, None, now)

    def signed_in(self, now: float) -> None:
        """Somebody signed in for another request: a stream that was refused for want of that begins anew (LOSS-06)."""
        if self._needs_sign_in and not self.ids:
            self._open(self._wanted, None, now)
        self._needs_sign_in = False

    # ------------------------------------------------------------------ from the server

    def event(self, method: str, params: Members, now: float) -> None:
        if method == CANCELLED:
            stream = self._named(params.get("requestId"))
            if stream is not None:
                self._ended(stream, "the server cancelled it", Fault(Cause.INVALID_RESPONSE, _early()), True, now)
            return
        meta = object_in(params.get("_meta")) or {}
        stream = self._named(meta.get(SUBSCRIPTION_ID))
        if stream is None:
            return
        if method == ACKNOWLEDGED:
            self._acknowledged(stream, params, now)
        elif stream is self.active:
            self._changed(CHANGES[method], params, meta, now)

    def reply(self, id: bytes, frame: Opened, now: float) -> bool:
        """Take the answer to a listen request; `False` when `id` is of none."""
        stream = self._by_id(id)
        if stream is None:
            return False
        if frame.result is not UNSET:
            self._ended(stream, "the server ended it", Fault(Cause.INVALID_RESPONSE, _early()), True, now)
            return True
        self._ended(stream, "the server refused it with an error", error_of(frame), False, now)
        return True

    def lane_lost(self, id: bytes, why: Fault, may_retry: bool, now: float) -> None:
        """The transport lost the stream: it is opened again at once a few times before that counts (GAP-05)."""
        stream = self._by_id(id)
        if stream is None:
            return
        if may_retry and stream.change is None and self._at_once < self._limits.reopen_at_once:
            self._at_once += 1
            self._forget(stream)
            self._gap = True
            self._note("the connection was lost", "opened again at once")
            self._open(self._wanted, None, now)
            return
        self._ended(stream, f"the connection was lost ({why.detail or why.cause})", why, may_retry, now)

    # ------------------------------------------------------------------ streams

    def _open(self, wanted: Filter, change: int | None, now: float) -> None:
        id = self._back.request("subscriptions/listen", {"notifications": spelled(wanted)})
        self.opening = Stream(id, wanted, change, now + self._limits.timeouts.acknowledgement)

    def _acknowledged(self, stream: Stream, params: Members, now: float) -> None:
        told = params.get("notifications")
        granted = stream.wanted if object_in(told) is None else _granted(stream.wanted, filter_in(told))
        stream.granted = granted
        gap = self._gap or stream is self.active
        self._gap = False
        if stream is self.active:
            self._back.middle.watching(None, granted, gap, now)
            return
        old, self.active, self.opening = self.active, stream, None
        stream.acknowledged_at = now
        self._wanted = stream.wanted
        change, stream.change = stream.change, None
        self._back.middle.watching(change, granted, gap, now)
        if old is not None:
            self._cancel(old, Reason.REPLACED)

    def _changed(self, what: Changed, params: Members, meta: Members, now: float) -> None:
        if self.active is None or not hears(self.active.wanted, what, params):
            return  # nobody wished for it
        del meta[SUBSCRIPTION_ID]
        if meta:
            params["_meta"] = closed(meta)
        else:
            del params["_meta"]
        self._back.middle.changed(what, params, now)

    def _ended(self, stream: Stream, how: str, why: Fault | ServerError, again: bool, now: float) -> None:
        lived = now - stream.acknowledged_at if stream.acknowledged_at is not None else 0.0
        self._forget(stream)
        if stream.change is not None:
            self._note(how, "the subscriptions stay as they were" if self.active else "no stream is open")
            granted = self.active.granted if self.active is not None else Filter()
            self._back.middle.not_watching(stream.change, why, granted, now)
            if self.active is None and self._wanted:
                self._reopen_later(now)
            return
        self._gap = True
        self._needs_sign_in = isinstance(why, Fault) and (why.status in UNADMITTED or why.cause in OF_SIGN_IN)
        if lived >= self._limits.settled:
            self._wait = self._limits.reopen_first
            self._at_once = 0
        if not again:
            self._note(how, "one follows after the next sign-in" if self._needs_sign_in else "no new stream follows")
            self._back.middle.watched_ended()
        elif self.opening is None:
            self._wanted = stream.wanted
            self._note(how, f"a new one follows in {self._wait:g} s")
            self._reopen_later(now)

    def _reopen_later(self, now: float) -> None:
        self._reopen_at = now + self._wait
        self._wait = min(self._wait * 2, self._limits.reopen_last)

    def _forget(self, stream: Stream) -> None:
        if stream is self.active:
            self.active = None
        if stream is self.opening:
            self.opening = None

    def _cancel(self, stream: Stream, reason: Reason) -> None:
        self._back.withdraw(stream.id, reason)

    def _named(self, id: Raw | None) -> Stream | None:
        return self._by_id(bytes(id)) if id is not None else None

    def _by_id(self, id: bytes) -> Stream | None:
        for stream in (self.active, self.opening):
            if stream is not None and stream.id == id:
                return stream
        return None

    def _note(self, how: str, next_: str) -> None:
        self._notes.note(Level.INFO, "listen", f"the stream of changes ended: {how}; {next_}")


def _granted(wanted: Filter, told: Filter) -> Filter:
    """The part of the filter that the server acknowledged."""
    return Filter(
        wanted.tools and told.tools,
        wanted.prompts and told.prompts,
        wanted.resources and told.resources,
        tuple(uri for uri in wanted.uris if uri in told.uris),
    )


def _late(limits: Limits) -> str:
    return f"subscriptions/listen, limit of the acknowledgement: {limits.timeouts.acknowledgement:g} s"


def _early() -> str:
    return "the stream of changes ended before its acknowledgement"
