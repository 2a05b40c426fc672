"""A server that the bridge uses for itself: it is opened, one back speaks to it, and it is ended again."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from dragoman.channel import Channel
from dragoman.exchange.notes import Level
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.runtime.guard import Guard
from dragoman.runtime.link import AnyBack
from dragoman.runtime.log import Log
from dragoman.runtime.probe_stderr import ProbeStderr
from dragoman.runtime.tap import Tap
from dragoman.transports.child import PipeLines
from dragoman.transports.upstream import Upstream


class Visit:
    """One visit. It is the upstream server's `Receiver`; `back` and when it `is_over` are its owner's to set."""

    back: AnyBack

    def __init__(
        self, server: Upstream, limits: Limits, log: Log, stderr: Callable[[bytes], None], tap: Tap | None
    ) -> None:
        self._server = server
        self._limits = limits
        self._log = log
        self._guard = Guard(log)
        self._stderr = ProbeStderr(log, stderr)
        self._tap = tap
        self._channel: Channel | None = None
        self._is_lost = False
        self._changed = asyncio.Event()
        self.is_over = False
        self.starts = 0

    async def last(self) -> None:
        """Speak to the server until the visit is over. Nothing of it runs afterwards."""
        try:
            await self._speak()
        finally:
            await self._end()
            self._stderr.end()

    def kill(self) -> None:
        """End the server at once and without waiting; callable from any thread."""
        channel = self._channel
        if channel is not None:
            channel.kill()

    async def _speak(self) -> None:
        loop = asyncio.get_running_loop()
        while not self.is_over:
            if self.back.out:
                await self._send(loop)
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self.back.wake()):
                    if not self.is_over and not self.back.out:
                        await self._changed.wait()  # whatever it was, the next moment may be another one
            if not self.is_over:
                self.back.tick(loop.time())

    async def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        """Write what the back has to say, to a server that is started for it when there is none (B45)."""
        if self._is_lost:
            await self._end()
        if self._channel is None:
            self._is_lost = False
            try:
                self._channel = self._server.open(self, loop, self._limits)
            except OSError as error:
                self._log.note(Level.ERR, "upstream", f"{self._server.failure}: {error.strerror or 'unknown error'}")
                self.not_opened(error)
                self.back.lost(Fault(self._server.fails_with), loop.time())
                return
            self.starts += 1
        if self._tap is not None:
            for frame in self.back.out:
                self._tap.record("server", ">", frame, [])
        self._channel.send(self.back.out)
        self.back.out.clear()

    async def _end(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.aclose()
        self._stderr.settle(self.back)

    def step(self, work: Callable[[float], None]) -> None:
        """Have something happen at the back that the server did not say."""
        now = asyncio.get_running_loop().time()
        if not self.is_over and not self._guard(work, now):
            self.back.lost(Fault(Cause.INTERNAL), now)
        self._changed.set()

    def not_opened(self, error: OSError) -> None:
        """For an owner who wants to know why there is no way to the server."""

    # ------------------------------------------------------------------ what the channel tells (`Receiver`)

    def lines(self, lines: PipeLines, of: bytes | None = None) -> None:
        now = asyncio.get_running_loop().time()
        for line in lines:
            if self._tap is not None and isinstance(line, bytes):
                self._tap.record("server", "<", line, [])
            if not self.is_over and not self._guard(self.back.receive, line, now, of):
                self.back.lost(Fault(Cause.INTERNAL), now)
        self._changed.set()

    def lane_lost(self, id: bytes, why: Fault, may_retry: bool) -> None:
        self.back.lane_lost(id, why, may_retry, asyncio.get_running_loop().time())
        self._changed.set()

    def gone(self, how: str, cause: Cause) -> None:
        remote = self._server.is_remote
        whose = "the connection to the server" if remote else "the server's process"
        self._log.note(Level.ERR, "upstream", f"{whose} {how}")
        self._is_lost = True
        if not self.is_over:
            self.back.lost(Fault(cause), asyncio.get_running_loop().time())
        self._changed.set()

    def renewed(self) -> None:
        pass  # a visit watches nothing

    def stderr(self, data: bytes) -> None:
        self._stderr.write(data, self.back)

    def note(self, text: str) -> None:
        self._log.note(Level.WARN, "upstream", text)

    def drained(self) -> None:
        pass  # there is never more than one message under way
