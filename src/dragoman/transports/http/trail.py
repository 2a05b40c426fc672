"""Where a stream was left, and how long to wait before it is opened again.

* The first wait is 0.5 s and doubles up to 30 s; a stream that brought something, or lived for 10 s, resets it
  (LOSS-08, LOSS-09, B113).
* A server's `retry` is the wait after a stream that brought something, and the least wait after one that did not.
"""

import re

from dragoman.limits import Limits
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.events import Events

_SENDABLE = re.compile(r"[^\x00-\x1f\x7f]+")


class Trail:
    """`id` is for `Last-Event-ID`; `in_vain` counts the openings in a row that brought nothing."""

    def __init__(self, limits: Limits, bounds: Bounds) -> None:
        self.id: str | None = None
        self.in_vain = 0
        self._limits = limits
        self._bounds = bounds
        self._retry: float | None = None
        self._brought = False

    @property
    def headers(self) -> dict[str, str]:
        return {"Last-Event-ID": self.id} if self.id is not None else {}

    def follow(self, events: Events, has_messages: bool) -> None:
        """What one chunk of the stream brought. A mere id or `retry` counts: so a server says "ask again"."""
        if has_messages:
            self._brought = True
        if events.id is not None:
            text = events.id.decode("utf-8", "replace")
            id = text if _SENDABLE.fullmatch(text) else None
            if id != self.id:
                self.id, self._brought = id, True
        if events.retry is not None:
            self._retry = min(max(events.retry / 1000, self._bounds.retry_least), self._bounds.retry_most)
            events.retry = None
            self._brought = True

    def ended(self, lived: float = 0.0) -> None:
        """The stream ended `lived` seconds after it was opened, or could not be opened."""
        self.in_vain = 0 if self._brought or lived >= self._limits.settled else self.in_vain + 1
        self._brought = False

    def wait(self) -> float:
        """Seconds before the stream is opened again."""
        if self.in_vain == 0 and self._retry is not None:
            return self._retry
        doublings = min(max(self.in_vain - 1, 0), 16)
        growing = min(self._limits.reopen_first * 2**doublings, self._limits.reopen_last)
        return max(growing, self._retry or 0.0)
