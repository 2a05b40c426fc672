"""Modern clients at a listener before a server that keeps state: one conversation for each caller.

A caller is a principal with what it declared that it can do; nobody else uses its server (translation 4.2). Callers
without a name that declare the same share one conversation (decisions T19). A conversation in which nobody waits for
anything ends after a while, and the next request begins another.
"""

from collections.abc import Callable
from typing import Any

from dragoman.exchange.events import Reason
from dragoman.fronts.stateful import Stateful
from dragoman.runtime.alone import Alone
from dragoman.runtime.shared import Shared
from dragoman.transports.http.server.exchange import Exchange
from dragoman.wire.frame import Parsed


class Kept(Alone[Stateful]):
    """`principal` is whose it is, `seen` when its client last said something."""

    def __init__(self, shared: Shared, principal: str | None, rouse: Callable[[Any], None], now: float) -> None:
        limits, log = shared.limits, shared.log
        most, seal, identity = limits.reception.exchanges, shared.seal, shared.identity
        rate = shared.profile.progress_rate
        super().__init__(
            shared, rouse, lambda middle, out: Stateful(middle, limits, log, out, most, seal, identity, rate)
        )
        self.mediator.timed = self.front
        self.principal = principal
        self.seen = now

    @property
    def is_idle(self) -> bool:
        """Whether no client waits for anything."""
        return self.front.is_idle and not self.exchanges

    def receive(self, exchange: Exchange, data: bytes, frame: Parsed, principal: str | None, now: float) -> None:
        """Take one message that came by POST."""
        self.seen = now
        super().receive(exchange, data, frame, principal, now)

    def end(self, now: float) -> None:
        """The conversation is over."""
        self.front.leave(Reason.CLIENT_LEFT, now)
        self.settle()
        self._link.part()
