"""The calls that are open, and when each of them has waited long enough.

All calls of one class of patience have the same limit, so the one that entered first is due first: a dict in order of
entry is the whole timer queue, and no call has a timer of its own (decisions L9).
"""

from collections.abc import Iterator

from dragoman.exchange.events import Call
from dragoman.limits import Limits, Patience

NEVER = float("inf")


class Inflight:
    """`wake` is never later than the first moment at which something is due."""

    __slots__ = ("_calls", "_limits", "_patience", "_seconds", "_slow_first", "wake")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._slow_first = limits.slow_first
        self._calls: dict[int, Call] = {}
        self._patience: list[dict[int, Call]] = [{} for _ in Patience]
        self._seconds = [limits.timeouts.of(patience) for patience in Patience]
        self.wake = NEVER

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, call: Call) -> bool:
        return call.key in self._calls

    def __iter__(self) -> Iterator[Call]:
        return iter(list(self._calls.values()))

    def enter(self, call: Call, patience: Patience, now: float) -> None:
        call.started = now
        call.patience = patience
        call.due = due = now + self._seconds[patience]
        call.report_at = report_at = now + self._slow_first if patience is not Patience.STREAM else NEVER
        key = call.key
        self._calls[key] = self._patience[patience][key] = call
        if due < self.wake:
            self.wake = due
        if report_at < self.wake:
            self.wake = report_at

    def wait_for(self, call: Call, patience: Patience, now: float) -> None:
        """The call waits for something else from now on, with that limit."""
        del self._patience[call.patience][call.key]
        call.patience = patience
        call.due = now + self._seconds[patience]
        self._patience[patience][call.key] = call
        self.wake = min(self.wake, call.due)

    def leave(self, call: Call) -> bool:
        """Take the call out; `False` when it is out already, and nothing may be said of it any more."""
        if self._calls.pop(call.key, None) is None:
            return False
        del self._patience[call.patience][call.key]
        return True

    def overdue(self, now: float) -> list[Call]:
        """The calls whose limit has passed; they are still in."""
        return [call for waiting in self._patience for call in _first(waiting, now)]

    def slow(self, now: float) -> list[Call]:
        """The calls that are to be reported as slow, each once per period (LOGL-03)."""
        late = [call for call in self._calls.values() if call.report_at <= now]
        for call in late:
            call.report_at = now + self._limits.slow_again
        return late

    def plan_wake(self) -> None:
        """Work out `wake` anew, after what was due has been dealt with."""
        first = [next(iter(waiting.values())).due for waiting in self._patience if waiting]
        reports = [call.report_at for call in self._calls.values()]
        self.wake = min([*first, *reports], default=NEVER)

    def limit(self, patience: Patience) -> float:
        return self._seconds[patience]


def _first(waiting: dict[int, Call], now: float) -> Iterator[Call]:
    for call in waiting.values():
        if call.due > now:
            return
        yield call
