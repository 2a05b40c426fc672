"""The stateless front: to its client it is a server of the modern era.

* Nothing is remembered from one request to the next. Each is judged by itself, rung by rung: is it a request, does it
  carry what its revision wants (SDKMETA-03), does the bridge serve that revision (SDKMETA-04). Then it is a call.
* A request is known by its lane, and on a pipe by its id (decisions T15). A lane that closes is a cancellation.
* What the server tells of a call goes out on its lane as it is; the token and the subscription id are the client's.
* A listen stream ends with a result; on a pipe a cancellation follows it (decisions T8).
"""

from collections.abc import Callable, Sequence

from msgspec import UNSET, Raw

from dragoman.channel import LINK
from dragoman.exchange.changes import ACKNOWLEDGED
from dragoman.exchange.events import Call, Changed, Filter, Question, Ready, Reason, ServerError
from dragoman.exchange.meta import SUBSCRIPTION_ID
from dragoman.exchange.notes import Level, Notes, note_cancelled
from dragoman.exchange.outlet import Outlet
from dragoman.exchange.ports import FromClient
from dragoman.faults import Cause, Fault
from dragoman.fronts.flaws import fault_of
from dragoman.fronts.introductions import Introduction, Introductions
from dragoman.fronts.waiting import Pace, progress_notice
from dragoman.limits import Limits
from dragoman.revisions import Era, named
from dragoman.revisions.methods import dropped
from dragoman.wire import frame as wire
from dragoman.wire.frame import Batch, Broken, Frame, Parsed, id_key, is_id
from dragoman.wire.lines import Overlong
from dragoman.wire.members import Members, closed, encoded, items_of, object_in, text_of

LISTEN = "subscriptions/listen"
DISCOVER = "server/discover"


class Request(Call):
    """A call with the client's own id and progress token, as the client wrote them.

    `asked` are its params as they came: what is not for the server is taken out of those that go on. `is_heard` is set
    for a listen stream from its acknowledgement on.
    """

    __slots__ = ("asked", "id", "is_heard", "pace", "said", "slot", "token")

    def __init__(
        self,
        key: int,
        method: str,
        params: Members,
        said: Introduction,
        id: bytes,
        slot: bytes,
        lane: int,
    ) -> None:
        super().__init__(key, method, params, said.caller, said.meta, said.token is not None)
        self.asked = params
        self.id = id
        self.said = said
        self.token = said.token
        self.pace = Pace() if said.token is not None else None
        self.is_heard = False
        self.slot = slot
        self.lane = lane


class Modern:
    """`out` takes the frames for the client. `most` bounds the requests in flight, `rate` the notifications of progress
    of one request within a second."""

    def __init__(
        self, middle: FromClient, limits: Limits, notes: Notes, out: Outlet, most: int, rate: int | None = None
    ) -> None:
        self.middle = middle
        self.limits = limits
        self.notes = notes
        self.out = out
        self.listed: Callable[[Members], object] = len  # is shown every result of tools/list
        self._most = most
        self._rate = rate
        self._lane = LINK
        self._keys = 0
        self._flight: dict[bytes, Request] = {}
        self._introductions = Introductions()

    def __len__(self) -> int:
        return len(self._flight)

    # ------------------------------------------------------------------ from the client

    def receive(self, lines: "Sequence[bytes | Overlong]", now: float) -> None:
        """Take the lines of one read of a pipe."""
        for data in lines:
            self._take(data, wire.parse(data, self.limits.depth), now)

    def receive_on(self, lane: int, data: bytes, frame: Parsed, now: float, principal: str | None = None) -> None:
        """Take one message that came on a lane of its own, from a client that the transport knows as `principal`."""
        self._lane = lane
        self._take(data, frame, now, principal)
        self._lane = LINK

    def lane_closed(self, lane: int, now: float) -> None:
        """The client no longer waits for what it asked on that lane (SDKCXL-02, THTTP-04)."""
        for request in [request for request in self._flight.values() if request.lane == lane]:
            self._withdraw(request, now)

    def leave(self, reason: Reason, now: float) -> None:
        self._flight.clear()
        self.middle.left(reason, now)

    def end_streams(self) -> None:
        """End every listen stream as a server does that stops (SDKSUB-05)."""
        for request in [request for request in self._flight.values() if request.method == LISTEN]:
            self.middle.cancel(request, Reason.SERVER_STOPPED, 0.0)
            self.done(request, {"resultType": Raw(b'"complete"')}, 0.0)

    def hand_over(self, now: float) -> None:
        """The client begins a handshake: whatever it asked before will not be answered otherwise any more."""
        why = Fault(Cause.METHOD_NOT_FOUND, "a handshake began before it was answered")
        for request in list(self._flight.values()):
            self._withdraw(request, now)
            self._fail(request.id, why, request.lane)

    def _take(self, data: bytes | Overlong, frame: Parsed, now: float, principal: str | None = None) -> None:
        if type(frame) is Broken:
            self._fail(None if frame.answers else frame.id, fault_of(frame, self.limits))
            return
        if type(frame) is Batch:
            self._fail(None, Fault(Cause.INVALID_REQUEST_SHAPE))
            return
        assert isinstance(frame, Frame)
        assert isinstance(data, bytes)
        id = bytes(frame.id) if frame.id is not UNSET else None
        valid = id is not None and is_id(id)
        if wire.is_repeated(data, frame) or frame.jsonrpc != "2.0" or frame.method is UNSET:
            self._fail(id if valid and frame.method is not UNSET else None, Fault(Cause.INVALID_REQUEST_SHAPE))
        elif id is None:
            self._notice(frame.method, frame.params, now)
        elif not valid:
            self._fail(None, Fault(Cause.INVALID_REQUEST_SHAPE))
        else:
            self._request(frame.method, frame.params, id, now, principal)

    def _notice(self, method: str, params: object, now: float) -> None:
        if method == "notifications/cancelled":
            members = (object_in(params) or {}) if isinstance(params, Raw) else {}
            note_cancelled(self.notes, members)
            id = members.get("requestId") if self._lane == LINK else None
            request = self._flight.get(id_key(bytes(id))) if id is not None else None
            if request is not None:
                self._withdraw(request, now)
        elif self.notes.debugs:
            self.notes.note(Level.DEBUG, "client", f"{method} needs nothing and was ignored")

    def _request(self, method: str, params: object, id: bytes, now: float, principal: str | None) -> None:
        slot = id_key(id) if self._lane == LINK else b"%d %b" % (self._lane, id_key(id))
        given = object_in(params) if isinstance(params, Raw) else None
        carried = given.pop("_meta", None) if given is not None else None
        if slot in self._flight:
            self._fail(id, Fault(Cause.DUPLICATE_ID))
        elif given is None or carried is None:
            self._fail(id, Fault(Cause.MISSING_META, "params._meta is missing or no object"))
        else:
            said = self._introductions.read(carried, principal)
            if isinstance(said, Fault):
                self._fail(id, said)
            elif len(self._flight) >= self._most:
                self._fail(id, Fault(Cause.TOO_MANY_REQUESTS))
            else:
                self._keys += 1
                request = Request(self._keys, method, given, said, id, slot, self._lane)
                self._flight[slot] = request
                self._accept(request, now)

    def _accept(self, request: Request, now: float) -> None:
        if request.method in dropped(request.caller.revision):
            self.failed(request, Fault(Cause.METHOD_NOT_FOUND, "the revision of this request has it no more"), now)
        else:
            self.middle.call(request, now)

    def _withdraw(self, request: Request, now: float) -> None:
        if self._flight.pop(request.slot, None) is not None:
            self.middle.cancel(request, Reason.CLIENT_CANCELLED, now)

    # ------------------------------------------------------------------ from the mediator

    def done(self, call: Call, result: Members, now: float) -> None:
        assert isinstance(call, Request)
        if self._flight.pop(call.slot, None) is None:
            return
        if call.method == LISTEN:
            result["_meta"] = _with_subscription(result.get("_meta"), call.id)
        elif call.method == DISCOVER:
            result["supportedVersions"] = _served(result.get("supportedVersions"))
        elif call.method == "tools/list":
            self.listed(result)
        self.out.answer(call.lane, wire.reply_with(call.id, result))
        if call.method == LISTEN and call.lane == LINK:
            self.out.tell(LINK, wire.notice("notifications/cancelled", encoded({"requestId": Raw(call.id)})))

    def failed(self, call: Call, why: Fault | ServerError, now: float) -> None:
        assert isinstance(call, Request)
        if call.is_heard and isinstance(why, Fault):
            self.done(call, {"resultType": Raw(b'"complete"')}, now)  # a stream that was lost may be asked for again
        elif self._flight.pop(call.slot, None) is not None:
            self._fail(call.id, why, call.lane)

    def told(self, call: Call, method: str, params: Members, now: float) -> None:
        assert isinstance(call, Request)
        if method == "notifications/progress":
            value = params.get("progress")
            if call.token is None or call.pace is None or value is None:
                return
            if not call.pace.admits(value, self._rate, now):
                return
            params["progressToken"] = call.token
        self._tell(call, method, params)

    def _tell(self, call: Call, method: str, params: Members) -> None:
        assert isinstance(call, Request)
        if call.slot not in self._flight:
            return
        if call.method == LISTEN:
            call.is_heard = call.is_heard or method == ACKNOWLEDGED
            params["_meta"] = _with_subscription(params.get("_meta"), call.id)
        self.out.tell(call.lane, wire.notice(method, closed(params)))

    def opened(self, ready: Ready, now: float) -> None:
        pass  # nobody begins here

    def refused(self, why: Fault | ServerError, now: float) -> None:
        pass

    def progress(self, call: Call, params: Members, now: float) -> None:
        assert isinstance(call, Request)
        if call.token is None or call.pace is None or self._flight.get(call.slot) is not call:
            return
        value = params.get("progress")
        if value is not None and call.pace.admits(value, self._rate, now):
            self.out.tell(call.lane, progress_notice(call.token, params))

    def ask(self, call: Call, questions: list[Question], now: float) -> None:
        pass  # a question of a modern server is a result, and passes as one

    def withdraw(self, call: Call, reason: Reason) -> None:
        pass

    def watching(self, change: int | None, granted: Filter, gap: bool, now: float) -> None:
        pass  # a client's own listen stream is a call

    def not_watching(self, change: int, why: Fault | ServerError, granted: Filter, now: float) -> None:
        pass

    def watched_ended(self) -> None:
        pass

    def changed(self, what: Changed, params: Members | None) -> None:
        pass

    def logged(self, level: str, params: Members) -> None:
        pass

    def elicitation_completed(self, params: Members) -> None:
        pass

    def task(self, params: Members) -> None:
        pass  # tasks of its revision are an extension, which is never offered

    def server_gone(self, why: Fault, now: float) -> None:
        self._flight.clear()

    def _fail(self, id: bytes | None, why: Fault | ServerError, lane: int | None = None) -> None:
        error = why.error() if isinstance(why, Fault) else why.error
        self.out.answer(self._lane if lane is None else lane, wire.failure(id, error), why)


def _with_subscription(meta: Raw | None, id: bytes) -> Raw:
    return closed({**(object_in(meta) or {}), SUBSCRIPTION_ID: Raw(id)})


def _served(given: Raw | None) -> Raw:
    """The revisions that the bridge and the server both serve without a handshake (decisions T9)."""
    items = items_of(given) or []
    kept = [item for item in items if (revision := named(text_of(item))) is not None and revision.era is Era.MODERN]
    return given if given is not None and len(kept) == len(items) else Raw(encoded(kept))
