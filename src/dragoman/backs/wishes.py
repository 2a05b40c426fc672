"""What the client wants to hear of, toward a server that tells changes on its own.

Lists need nothing upstream: the server tells of them unasked, and what is not wished for is dropped here. Each URI
that a wish adds or gives up is a request, `resources/subscribe` or `resources/unsubscribe`. The wish is answered when
the last of them is, and then in force but for the URIs whose request failed. If every one of them failed, the answer is
the first error, and for each URI what was in force stays (CHANGE-07). A front lets wishes run one at a time
(CHANGE-01).

A server that forgot its subscriptions is asked for them again, and then everything may have changed meanwhile (B98).
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from dragoman.exchange.changes import CHANGES, Early, is_wanted
from dragoman.exchange.events import Changed, Filter, Reason, ServerError
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.wire.members import Members, encoded, text_of

if TYPE_CHECKING:
    from dragoman.backs.legacy import Legacy

FIRST = 0
"""The wish that has no request of the client behind it, and gets no answer."""

SUBSCRIBE = "resources/subscribe"
UNSUBSCRIBE = "resources/unsubscribe"


class Wishes:
    def __init__(self, back: "Legacy", limits: Limits) -> None:
        self._back = back
        self._seconds = limits.timeouts.acknowledgement
        self.forget()

    def forget(self) -> None:
        """Nothing is wanted and nothing is subscribed to."""
        self.filter = Filter()
        self.due: float | None = None
        self._subscribed: dict[str, None] = {}
        self._asked: dict[bytes, tuple[str, str]] = {}  # by our id: the method and the URI
        self._early = Early()
        self._change = FIRST
        self._wanted = Filter()
        self._failure: Fault | ServerError | None = None
        self._succeeded = False
        self._has_gap = False

    def want(self, change: int, wanted: Filter, now: float) -> None:
        """Hear of just these changes from now on; answered by `watching` or `not_watching`."""
        self._change, self._wanted = change, wanted
        self._failure, self._succeeded = None, False
        self._early = Early()
        asked = {uri for method, uri in self._asked.values() if method == SUBSCRIBE}  # of a server that forgot
        for uri in wanted.uris:
            if uri not in self._subscribed and uri not in asked:
                self._ask(SUBSCRIBE, uri)
        for uri in self._subscribed:
            if uri not in wanted.uris:
                self._ask(UNSUBSCRIBE, uri)
        if self._asked:
            self.due = now + self._seconds
        else:
            self._settle(now)

    def renew(self, now: float) -> None:
        """Nothing is subscribed to any more: ask again for what is wanted."""
        if not self._asked:
            self._change, self._wanted = FIRST, self.filter
            self._failure, self._succeeded = None, False
        lost, self._subscribed = self._subscribed, {}
        self._has_gap = bool(self.filter)
        for uri in lost:
            if uri in self._wanted.uris:
                self._ask(SUBSCRIBE, uri)
        if self._asked:
            self.due = now + self._seconds
        else:
            self._settle(now)

    def stop(self) -> None:
        """Nothing is wanted any more: the server may forget its subscriptions, whether it answers or not."""
        for uri in self._subscribed:
            self._back.request(UNSUBSCRIBE, encoded({"uri": uri}))
        self.forget()

    def event(self, method: str, params: Members, now: float) -> None:
        """A change the server tells of. A URI below one that was subscribed to may change too, so any may come."""
        what = CHANGES[method]
        if _tells(self.filter, what, params):
            self._back.middle.changed(what, params, now)
        elif self._asked and _tells(self._wanted, what, params):
            self._early.add(what, params)

    def awaits(self, id: bytes) -> bool:
        """Whether a request of that id has no answer yet."""
        return id in self._asked

    def reply(self, id: bytes, failure: Fault | ServerError | None, now: float) -> bool:
        """Take the answer to one of the requests; `False` when `id` is of none."""
        method, uri = self._asked.pop(id, (None, ""))
        if method is None:
            return False
        if failure is not None:
            self._failure = self._failure or failure
        elif method == SUBSCRIBE:
            self._succeeded = True
            self._subscribed[uri] = None
        else:
            self._succeeded = True
            self._subscribed.pop(uri, None)
        if not self._asked:
            self._settle(now)
        return True

    def tick(self, now: float) -> None:
        if self.due is None or self.due > now:
            return
        for id, (method, _) in list(self._asked.items()):
            self._back.withdraw(id, Reason.TIMED_OUT)
            self.reply(id, Fault(Cause.TIMEOUT, f"{method}, limit: {self._seconds:g} s"), now)

    def _ask(self, method: str, uri: str) -> None:
        self._asked[self._back.request(method, encoded({"uri": uri}))] = (method, uri)

    def _settle(self, now: float) -> None:
        change, failure, self.due = self._change, self._failure, None
        has_gap, self._has_gap = self._has_gap, False
        kept = (uri for uri in self.filter.uris if uri not in self._wanted.uris)  # the server did not let them go
        granted = tuple(uri for uri in (*self._wanted.uris, *kept) if uri in self._subscribed)
        self.filter = replace(self._wanted, uris=granted)
        if failure is not None and not self._succeeded:
            self._back.middle.not_watching(change, failure, self.filter, now)
            if has_gap:
                self._back.middle.watching(None, self.filter, True, now)
        elif change != FIRST or has_gap:
            self._back.middle.watching(change or None, self.filter, has_gap, now)
        for what, params in self._early.taken():
            if _tells(self.filter, what, params):
                self._back.middle.changed(what, params, now)


def _tells(filter_: Filter, what: Changed, params: Members) -> bool:
    return is_wanted(filter_, what) and (what is not Changed.RESOURCE or text_of(params.get("uri")) is not None)
