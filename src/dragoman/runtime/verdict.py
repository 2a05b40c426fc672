"""Finding out of which era a server is before any client is let to it: open it, ask, end it again (revisions 4.4)."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from dragoman.backs.handshake import NAMELESS
from dragoman.backs.probe import Probe
from dragoman.channel import Channel
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Ready, ServerError
from dragoman.exchange.nobody import Outcome
from dragoman.exchange.notes import Level
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.revisions import LATEST_LEGACY, Era
from dragoman.runtime.log import Log
from dragoman.runtime.tap import Tap
from dragoman.transports.child import PipeLines
from dragoman.transports.upstream import Upstream
from dragoman.wire.members import object_in, raw, text_of


class Search:
    """One search, in which the bridge is its own client. It is the upstream server's `Receiver`."""

    def __init__(
        self, server: Upstream, limits: Limits, log: Log, stderr: Callable[[bytes], None], tap: Tap | None
    ) -> None:
        self._server = server
        self._limits = limits
        self._log = log
        self._tap = tap
        self._stderr = stderr
        self._probe = Probe(Outcome(self._ready, self._not_ready), limits, log)
        self._channel: Channel | None = None
        self._is_lost = False
        self._changed = asyncio.Event()
        self._outcome: Era | Fault | None = None

    async def era(self) -> Era | Fault:
        """The era of the server, or why it cannot be used. Nothing of it runs afterwards.

        It takes the time limits of discovery and of the handshake at the most, and what it takes to end the server.
        """
        try:
            return await self._found()
        finally:
            await self._end()

    def kill(self) -> None:
        """End the server at once and without waiting; callable from any thread."""
        channel = self._channel
        if channel is not None:
            channel.kill()

    async def _found(self) -> Era | Fault:
        loop = asyncio.get_running_loop()
        self._probe.open(Caller(LATEST_LEGACY, info=raw(NAMELESS)), loop.time())
        while self._outcome is None:
            if self._probe.out:
                await self._send(loop)
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._probe.wake()):
                    while self._outcome is None and not self._probe.out:
                        await self._changed.wait()
                        self._changed.clear()
            if self._outcome is None:
                self._probe.tick(loop.time())
        return self._outcome

    async def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        """Write what the probe has to say, to a server that is started for it when there is none (B45)."""
        if self._is_lost:
            await self._end()
        if self._channel is None:
            self._is_lost = False
            try:
                self._channel = self._server.open(self, loop, self._limits)
            except OSError as error:
                self._log.note(Level.ERR, "upstream", f"{self._server.failure}: {error.strerror or 'unknown error'}")
                self._probe.lost(Fault(self._server.fails_with), loop.time())
                return
        if self._tap is not None:
            for frame in self._probe.out:
                self._tap.record("server", ">", frame, [])
        self._channel.send(self._probe.out)
        self._probe.out.clear()

    async def _end(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.aclose()

    # ------------------------------------------------------------------ what the probe tells

    def _ready(self, ready: Ready, now: float) -> None:
        self._outcome = ready.revision.era

    def _not_ready(self, why: Fault | ServerError, now: float) -> None:
        if isinstance(why, ServerError):
            text = text_of((object_in(why.error) or {}).get("message"))
            why = Fault(Cause.DISCOVER_FAILED, text, why.code)
        text = f"the server cannot be used: {why.cause}, {why.detail or 'no detail'}"
        self._log.note(Level.ERR, "upstream", text)
        self._outcome = why

    # ------------------------------------------------------------------ what the channel tells (`Receiver`)

    def lines(self, lines: PipeLines, of: bytes | None = None) -> None:
        now = asyncio.get_running_loop().time()
        for line in lines:
            if self._tap is not None and isinstance(line, bytes):
                self._tap.record("server", "<", line, [])
            if self._outcome is None:
                self._probe.receive(line, now, of)
        self._changed.set()

    def lane_lost(self, id: bytes, why: Fault, may_retry: bool) -> None:
        self._probe.lane_lost(id, why, may_retry, asyncio.get_running_loop().time())
        self._changed.set()

    def gone(self, how: str, cause: Cause) -> None:
        remote = self._server.is_remote
        whose = "the connection to the server" if remote else "the server's process"
        self._log.note(Level.ERR, "upstream", f"{whose} {how}")
        self._is_lost = True
        if self._outcome is None:
            self._probe.lost(Fault(cause), asyncio.get_running_loop().time())
        self._changed.set()

    def stderr(self, data: bytes) -> None:
        self._stderr(data)

    def note(self, text: str) -> None:
        self._log.note(Level.WARN, "upstream", text)

    def drained(self) -> None:
        pass  # there is never more than one message under way
