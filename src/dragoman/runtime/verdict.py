"""Finding out of which era a server is before any client is let to it: open it, ask, end it again (revisions 4.4)."""

import asyncio
from collections.abc import Callable

from dragoman.backs.handshake import NAMELESS
from dragoman.backs.probe import Probe
from dragoman.core.refusal import described, told
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Ready, ServerError
from dragoman.exchange.nobody import Outcome
from dragoman.exchange.notes import Level
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.revisions import LATEST_LEGACY, Era
from dragoman.runtime.log import Log
from dragoman.runtime.tap import Tap
from dragoman.runtime.visit import Visit
from dragoman.transports.upstream import Upstream
from dragoman.wire.members import raw


class Search(Visit):
    """One search, in which the bridge is its own client."""

    def __init__(
        self, server: Upstream, limits: Limits, log: Log, stderr: Callable[[bytes], None], tap: Tap | None
    ) -> None:
        super().__init__(server, limits, log, stderr, tap)
        self.back = Probe(Outcome(self._ready, self._not_ready), limits, log)
        self._outcome: Era | Fault = Fault(Cause.INTERNAL)

    async def era(self) -> Era | Fault:
        """The era of the server, or why it cannot be used. Nothing of it runs afterwards.

        It takes the time limits of discovery and of the handshake at the most, and what it takes to end the server.
        """
        self.back.open(Caller(LATEST_LEGACY, info=raw(NAMELESS)), asyncio.get_running_loop().time())
        await self.last()
        return self._outcome

    # ------------------------------------------------------------------ what the probe tells

    def _ready(self, ready: Ready, now: float) -> None:
        self._outcome, self.is_over = ready.revision.era, True

    def _not_ready(self, why: Fault | ServerError, now: float) -> None:
        fault = told(why) if isinstance(why, ServerError) else why
        self._log.note(Level.ERR, "upstream", f"the server cannot be used: {described(fault)}")
        self._outcome, self.is_over = fault, True
