"""One client on our own standard streams, one server behind us, and everything that happens between them.

* A step is: a few frames of one read go through the machines, then what each has to say is written, once per side.
  Nothing awaits in a step, so nothing comes between cause and effect; frames leave in the order in which they arose.
* The server is started when the back has the first frame for it, and never while the one before still runs (B45). When
  it is lost while the back wants one, as a question of the bridge ended it, it is started once more (B42).
* Pressure flows one way: while the client does not take what it is sent, nothing more is read from the server. The
  client is always read, so its cancels and its end are always seen (FLIGHT-03).
* The end: of the client's input, of the server, by a signal, or by a fault of ours; each with its exit code (EXIT).
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import nullcontext, suppress

from dragoman.channel import Channel
from dragoman.core.inflight import NEVER
from dragoman.core.mediator import Mediator
from dragoman.exchange.events import Reason
from dragoman.exchange.notes import Level, internal_error
from dragoman.exchange.outlet import Pipe
from dragoman.faults import Cause, Fault
from dragoman.fronts.opening import Opening
from dragoman.limits import Limits
from dragoman.revisions.plan import Loss
from dragoman.runtime.collector import spare
from dragoman.runtime.link import STEP, AnyBack
from dragoman.runtime.log import Log
from dragoman.runtime.probe_stderr import ProbeStderr
from dragoman.runtime.signals import EXIT_FINE, EXIT_LOST, Signals
from dragoman.runtime.tap import Tap
from dragoman.transports.child import PipeLines
from dragoman.transports.pipes import Overflow, Reader, binary, never_blocks, writer
from dragoman.transports.spawn import widen
from dragoman.transports.upstream import Upstream
from dragoman.wire.lines import Lines

SERVER = "the server's process"


class Conversation:
    """`owns_process` tells that the process is there for nothing else: its signals are ends of the conversation, and it
    ends when the conversation cannot."""

    def __init__(
        self,
        front: Opening,
        out: Pipe,
        mediator: Mediator,
        back: AnyBack,
        server: Upstream,
        limits: Limits,
        log: Log,
        stderr: Overflow,
        tap: Tap | None = None,
        owns_process: bool = True,
    ) -> None:
        self.front = front
        self._out = out
        self.mediator = mediator
        self.back = back
        self._server = server
        self._limits = limits
        self._log = log
        self._stderr = stderr
        self._server_stderr = ProbeStderr(log, stderr.write)
        self._tap = tap
        self._owns_process = owns_process
        self._losses: dict[tuple[str, int], list[Loss]] = {}
        self._is_settling = False
        self._framer = Lines(limits.line)
        self._channel: Channel | None = None
        self._closing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._armed = NEVER
        self._code: int | None = None
        self._reason = Reason.CLIENT_LEFT
        self._is_stopped = False
        self._were_open = 0  # calls, before the last step
        self._over = asyncio.Event()

    async def run(self, early: bytes = b"") -> int:
        """Serve until the end; gives the exit code. `early` was read from standard input before."""
        self._loop = loop = asyncio.get_running_loop()
        self._stderr.attach(loop)
        for own in (0, 1):
            widen(own)
        binary(0, 1, 2)
        self._client = writer(never_blocks(1), loop, broken=self._client_is_deaf, drained=self._relieved)
        self._input = Reader(0, loop, self._from_client, self._client_ended)
        if self._tap is not None:
            self.mediator.on_losses = self._keep_losses
        if self._owns_process:
            spare()
        with Signals(self._loop, self.stop) if self._owns_process else nullcontext():
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                if early:
                    self._from_client(early)
                self._input.start()
                await self._over.wait()
                await self._shut_down()
        return self._code if self._code is not None else EXIT_FINE

    def stop(self) -> None:
        """End as a signal would: what is open gets an error first."""
        self._is_stopped = True
        self._end(EXIT_FINE)

    # ------------------------------------------------------------------ steps

    def _from_client(self, data: bytes) -> None:
        lines = self._framer.feed(data)
        if lines:
            self._client_said(lines)

    def _client_said(self, lines: PipeLines) -> None:
        if self._tap is not None:
            self._record("client", "<", lines)
        for piece in self._pieces(lines):
            try:
                self.front.receive(piece, self._loop.time())
            except Exception as error:
                self._fault(error)
            self._settle()

    def _pieces(self, lines: PipeLines) -> list[PipeLines]:
        """A long read in short steps, so that the other side begins on the first frames while we work on the rest.

        What comes with `initialize` in one read stays together: it waits for the answer (LIFE-13).
        """
        if len(lines) <= STEP or not self.mediator.is_open:
            return [lines]
        return [lines[at : at + STEP] for at in range(0, len(lines), STEP)]

    def _settle(self) -> None:
        """Carry out what the machines decided in this step."""
        mediator = self.mediator
        if mediator.stop_wanted:
            mediator.stop_wanted = False
            self._stop_server()
        if self.back.out:
            self._to_server()
            self._were_open = max(self._were_open, len(mediator.inflight))
        out = self._out
        if out:
            if self._tap is not None:
                self._record("client", ">", out)
            self._client.send(out)
            out.clear()
            self._were_open = len(mediator.inflight)
            if self._client.backlog > self._limits.backlog and self._channel is not None:
                self._channel.pause()
        if self._server_stderr.is_holding:
            self._server_stderr.settle(self.back)
        wake = mediator.wake()
        if wake < self._armed:
            self._arm(wake)

    def _settle_soon(self) -> None:
        """Settle once for all responses of this turn: over the network each comes by itself."""
        if not self._is_settling:
            self._is_settling = True
            self._loop.call_soon(self._settle_now)

    def _settle_now(self) -> None:
        self._is_settling = False
        self._settle()

    def _to_server(self) -> None:
        if self._closing is not None:
            return  # the server before this one still runs; its end comes back here
        if self._channel is None and not self._open_server():
            return
        out = self.back.out
        if self._tap is not None:
            self._record("server", ">", out)
        assert self._channel is not None
        self._channel.send(out)
        out.clear()

    def _arm(self, wake: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._armed = wake
        self._timer = self._loop.call_at(wake, self._tick)

    def _tick(self) -> None:
        self._timer, self._armed = None, NEVER
        try:
            self.mediator.tick(self._loop.time())
        except Exception as error:
            self._fault(error)
        self._settle()

    def _relieved(self) -> None:
        if self._channel is not None:
            self._channel.resume()

    def step(self, work: Callable[[float], None]) -> None:
        """Let something besides the pipes and the timer have its say to the machines."""
        try:
            work(self._loop.time())
        except Exception as error:
            self._fault(error)
        self._settle()

    # ------------------------------------------------------------------ the server's life

    def _open_server(self) -> bool:
        try:
            self._channel = self._server.open(self, self._loop, self._limits)
        except OSError as error:
            self._log.note(Level.ERR, "upstream", f"{self._server.failure}: {error.strerror or 'unknown error'}")
            self.back.lost(Fault(self._server.fails_with), self._loop.time())
            self._settle()
            return False
        return True

    def _stop_server(self) -> None:
        """End the server without ending the conversation; `mediator.stopped` follows, and then what waits is sent."""
        if self._closing is None:
            self._closing = self._task(self._close(), "end of the server")

    async def _close(self) -> None:
        await self._end_channel()
        self._closing = None
        self.mediator.stopped(self._loop.time())
        self._settle()

    async def _end_channel(self) -> None:
        if self._channel is not None:
            await self._channel.aclose()
            self._channel = None

    # ------------------------------------------------------------------ what the channel tells (`Receiver`)

    def lines(self, lines: PipeLines, of: bytes | None = None) -> None:
        if self._tap is not None:
            self._record("server", "<", lines)
        receive = self.back.receive
        for piece in self._pieces(lines):
            now = self._loop.time()
            try:
                for line in piece:
                    receive(line, now, of)
            except Exception as error:
                self._fault(error)
            if self._server.is_remote:
                self._settle_soon()
            else:
                self._settle()

    def lane_lost(self, id: bytes, why: Fault, may_retry: bool) -> None:
        self.back.lane_lost(id, why, may_retry, self._loop.time())
        self._settle()

    def gone(self, how: str, cause: Cause) -> None:
        remote = self._server.is_remote
        self._log.note(Level.ERR, "upstream", f"{'the connection to the server' if remote else SERVER} {how}")
        ready = self.mediator.is_open and not remote  # a server at a URL never ends this process (EXIT-05)
        self.back.lost(Fault(cause), self._loop.time())
        if self.back.out and not self.mediator.is_lost:
            self._stop_server()  # what is to be sent waits for the server after this one
        self._settle()
        if ready:
            self._loop.call_later(self._limits.linger, self._end, EXIT_LOST)

    def renewed(self) -> None:
        self.back.renewed(self._loop.time())
        self._settle()

    def stderr(self, data: bytes) -> None:
        self._server_stderr.write(data, self.back)

    def note(self, text: str) -> None:
        self._log.note(Level.WARN, "upstream", text)

    def drained(self) -> None:
        pass  # the client is always read

    # ------------------------------------------------------------------ the end

    def _client_ended(self) -> None:
        rest = self._framer.end()
        if rest:
            self._client_said(rest)
        self._end(EXIT_LOST if self.mediator.is_lost else EXIT_FINE)

    def _client_is_deaf(self) -> None:
        """Nobody reads our output: a call that was open gets no answer (decisions T25)."""
        had_calls = bool(self._were_open or len(self.mediator.inflight))
        self._end(EXIT_LOST if had_calls or self.mediator.is_lost else EXIT_FINE)

    def _fault(self, error: Exception) -> None:
        """A fault of ours: every open call gets its error, then the process ends (EXIT-02)."""
        self._log.note(Level.ERR, "bridge", internal_error(error))
        if self._log.debugs:
            import traceback

            self._stderr.write("".join(traceback.format_exception(error)).encode())
        with suppress(Exception):
            self.mediator.gone(Fault(Cause.INTERNAL), self._loop.time())
        self._loop.call_soon(self._end, EXIT_LOST)

    def _end(self, code: int) -> None:
        if self._code is None:
            self._code = code
            self._over.set()

    async def _shut_down(self) -> None:
        watchdog = threading.Timer(self._limits.watchdog, self._bite)
        watchdog.daemon = True
        watchdog.start()
        self._input.stop()
        if self._is_stopped:
            with suppress(Exception):
                self.back.lost(Fault(Cause.SHUTTING_DOWN), self._loop.time())
                self.mediator.stopped(self._loop.time())  # nobody will be there for an answer later
            self._settle()
        with suppress(Exception):
            self.front.leave(self._reason, self._loop.time())
        self._settle()
        if self._timer is not None:
            self._timer.cancel()
        unused = self._server.open_unused(self, self._loop, self._limits)
        if unused is not None:
            self._channel = unused
        if self._closing is not None:
            await self._closing
        await self._end_channel()
        self._server_stderr.end()
        await self._client.drain(self._limits.grace)
        watchdog.cancel()

    def _bite(self) -> None:
        """The end takes too long: whatever the loop is doing, everything ends now (EXIT-06)."""
        channel = self._channel
        if channel is not None:
            channel.kill()
        if self._owns_process:
            os._exit(self._code or EXIT_FINE)

    def _task(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        return self._tasks.create_task(work, name=name)

    # ------------------------------------------------------------------ the frame log

    def _keep_losses(self, face: str, losses: list[Loss]) -> None:
        out = self._out if face == "client" else self.back.out
        self._losses.setdefault((face, len(out)), []).extend(losses)

    def _record(self, face: str, direction: str, frames: "PipeLines | list[bytes]") -> None:
        assert self._tap is not None
        for place, frame in enumerate(frames):
            data = frame if isinstance(frame, bytes) else frame.head + b"..." + frame.tail
            losses = self._losses.pop((face, place), []) if direction == ">" else []
            self._tap.record(face, direction, data, losses)
