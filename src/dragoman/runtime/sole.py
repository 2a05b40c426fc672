"""A server with a handshake that belongs to one client: what it knows of that client is nobody else's.

It is started for the first frame and ends with its party. When it is lost, so is the conversation: a client with a
session finds that gone and begins again, and the next request of a client without one starts another server.
"""

import asyncio
from collections.abc import Callable

from dragoman.backs.legacy import Legacy
from dragoman.channel import Channel
from dragoman.exchange.notes import Level
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.runtime.guard import BROKEN, Guard
from dragoman.runtime.link import Party
from dragoman.runtime.log import Log
from dragoman.runtime.outgoing import Outgoing
from dragoman.runtime.tap import Tap
from dragoman.transports.child import PipeLines
from dragoman.transports.upstream import Upstream


class Sole:
    """The upstream server's `Receiver`.

    `ended` is called with the task that ends the server, `unusable` when it did not begin as a server should.
    """

    def __init__(
        self,
        server: Upstream,
        limits: Limits,
        log: Log,
        stderr: Callable[[bytes], None],
        tap: Tap | None,
        party: Party,
        back: Legacy,
        ended: Callable[["asyncio.Task[None]"], None],
        unusable: Callable[[], None] = lambda: None,
    ) -> None:
        self._server = server
        self._limits = limits
        self._log = log
        self._guard = Guard(log)
        self._stderr = stderr
        self._tap = tap
        self._party = party
        self._back = back
        self._ended = ended
        self._unusable = unusable
        self._channel: Channel | None = None
        self._outgoing = Outgoing(lambda: self._channel)
        self._ending: asyncio.Task[None] | None = None
        self._is_over = False

    def send(self) -> None:
        out, loop = self._back.out, asyncio.get_running_loop()
        if self._ending is not None:
            return  # the server before this one still runs; its end comes back here
        if self._is_over and self._channel is None:
            out.clear()
            return
        if self._channel is None:
            try:
                self._channel = self._server.open(self, loop, self._limits)
            except OSError as error:
                self._log.note(Level.ERR, "upstream", f"{self._server.failure}: {error.strerror or 'unknown error'}")
                self._back.lost(Fault(self._server.fails_with), loop.time())
                loop.call_soon(self._party.settle)
                return
        if self._tap is not None:
            for frame in out:
                self._tap.record("server", ">", frame, [])
        self._outgoing.put(out)

    def stop(self) -> None:
        self._unusable()
        self._end()

    def part(self) -> None:
        self._is_over = True
        self._end()

    def _end(self) -> None:
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._close(), name="end of the server")
            self._ended(self._ending)

    async def _close(self) -> None:
        self._outgoing.flush()
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.aclose()
        self._ending = None
        if not self._is_over:
            self._guard(self._party.mediator.stopped, asyncio.get_running_loop().time())
            self._guard(self._party.settle)

    # ------------------------------------------------------------------ what the channel tells (`Receiver`)

    def lines(self, lines: PipeLines, of: bytes | None = None) -> None:
        now = asyncio.get_running_loop().time()
        for line in lines:
            if self._tap is not None and isinstance(line, bytes):
                self._tap.record("server", "<", line, [])
            if not self._guard(self._back.receive, line, now, of) and of is not None:
                self._guard(self._back.lane_lost, of, BROKEN, False, now)
        self._guard(self._party.settle)

    def lane_lost(self, id: bytes, why: Fault, may_retry: bool) -> None:
        self._guard(self._back.lane_lost, id, why, may_retry, asyncio.get_running_loop().time())
        self._guard(self._party.settle)

    def gone(self, how: str, cause: Cause) -> None:
        self._log.note(Level.ERR, "upstream", f"the server's process {how}")
        self._outgoing.clear()
        self._end()  # a client without a session may begin again, with another server
        self._guard(self._back.lost, Fault(cause), asyncio.get_running_loop().time())
        self._guard(self._party.settle)

    def renewed(self) -> None:
        self._guard(self._back.renewed, asyncio.get_running_loop().time())
        self._guard(self._party.settle)

    def stderr(self, data: bytes) -> None:
        self._stderr(data)

    def note(self, text: str) -> None:
        self._log.note(Level.WARN, "upstream", text)

    def drained(self) -> None:
        pass  # each exchange of the client has its own bounds
