"""The requests of a server with a handshake that wait for an answer of the client, under the ids of the server.

* A request is known by its id, type and value; a second one with an id that waits is refused (decisions T15).
* Each request gets one answer, unless the server withdraws it. What belongs to the hop stays here: the progress token
  is taken away unless both sides speak one revision, so the client sends no progress, which it may always do (H-02,
  S4-25), and so is the mark of a task unless the client has tasks.
* Until the client is ready for questions they are kept (`release`): a server should not ask so early, but some do.
"""

from typing import TYPE_CHECKING

from dragoman.exchange.events import Answer, Answered, Call, Erred, Inquiry
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.wire import frame as wire
from dragoman.wire.frame import id_key
from dragoman.wire.members import Members, closed, object_in, raw

if TYPE_CHECKING:
    from dragoman.backs.legacy import Legacy

TOKEN, TASK = "progressToken", "io.modelcontextprotocol/related-task"


class Inquiries:
    def __init__(self, back: "Legacy", limits: Limits) -> None:
        self._back = back
        self._out = back.out
        self._limit = limits.in_flight
        self._waiting: dict[bytes, tuple[Inquiry, bytes]] = {}  # by the id in one spelling; with the id as written
        self._ids: dict[int, bytes] = {}  # by the key of the inquiry
        self._kept: list[Inquiry] | None = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, id: bytes) -> bool:
        return id_key(id) in self._waiting

    def clear(self) -> None:
        """Forget all; questions are kept again."""
        self._waiting.clear()
        self._ids.clear()
        self._kept = []

    def add(
        self,
        id: bytes,
        method: str,
        params: Members | None,
        call: Call | None,
        now: float,
        *,
        keeps_task: bool = False,
        keeps_token: bool = False,
    ) -> None:
        """The server asks. Above the limit it is refused at once (FLIGHT-02)."""
        if len(self._waiting) >= self._limit:
            self._out.append(wire.failure(id, Fault(Cause.TOO_MANY_REQUESTS).error()))
            return
        request: Members = {"method": raw(method)}
        if params is not None:
            kept = {TOKEN: keeps_token, TASK: keeps_task}
            request["params"] = closed(_without(params, [name for name, stays in kept.items() if not stays]))
        self._count += 1
        inquiry = Inquiry(self._count, closed(request), call)
        key = id_key(id)
        self._waiting[key] = (inquiry, id)
        self._ids[inquiry.key] = key
        if self._kept is None:
            self._back.middle.inquired(inquiry, now)
        else:
            self._kept.append(inquiry)

    def release(self, now: float) -> None:
        """The client can be asked from now on."""
        kept, self._kept = self._kept or [], None
        for inquiry in kept:
            if inquiry.key in self._ids:
                self._back.middle.inquired(inquiry, now)

    def dismiss(self, why: Fault) -> None:
        """The client is gone before it could be asked."""
        for inquiry in self._kept or []:
            self.answer(inquiry, why)

    def withdraw(self, id: bytes, now: float) -> None:
        """The server needs no answer any more; an id that does not wait means nothing."""
        inquiry, _ = self._waiting.pop(id_key(id), (None, b""))
        if inquiry is None:
            return
        del self._ids[inquiry.key]
        if self._kept is None:
            self._back.middle.uninquired(inquiry, now)

    def answer(self, inquiry: Inquiry, answer: Answer | Fault) -> None:
        """Write the answer, unless none is wanted any more."""
        key = self._ids.pop(inquiry.key, None)
        if key is None:
            return
        _, id = self._waiting.pop(key)
        if isinstance(answer, Answered):
            self._out.append(wire.reply(id, answer.result))
        else:
            error = answer.error if isinstance(answer, Erred) else answer.error()
            self._out.append(wire.failure(id, error or Fault(Cause.INVALID_CLIENT_ANSWER).error()))


def _without(params: Members, of_the_hop: list[str]) -> Members:
    meta = object_in(params.get("_meta"))
    if meta is None or not any(name in meta for name in of_the_hop):
        return params
    rest = {name: value for name, value in meta.items() if name not in of_the_hop}
    if rest:
        return params | {"_meta": closed(rest)}
    return {name: value for name, value in params.items() if name != "_meta"}
