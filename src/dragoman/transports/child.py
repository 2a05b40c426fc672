"""A server that is a process of ours, from its start to the end of its whole tree (EXIT-06, EXIT-08).

Its standard output is read as lines, its standard error is always read and passed on, and it leads a process group of
its own. The end comes in three steps, each with the grace of the limits: its input is closed, its group is asked to
terminate, its group is killed. A process that ended by itself takes what it started along.
"""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable

from dragoman.limits import Limits
from dragoman.transports.pipes import Reader, Writer
from dragoman.transports.spawn import Spawned
from dragoman.wire.lines import Lines, Overlong

PipeLines = list[bytes | Overlong]


class Exit:
    """Knows when a process has ended; the process stays unreaped, and so its group's id stays its own, until `reap`."""

    def __init__(self, pid: int, loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
        self.pid = pid
        self.done = asyncio.Event()
        self._loop = loop
        self._ended = ended
        self._pidfd: int | None = None
        try:
            self._pidfd = os.pidfd_open(pid)
            loop.add_reader(self._pidfd, self._tell)
        except (AttributeError, OSError):
            threading.Thread(target=self._wait, name=f"exit of {pid}", daemon=True).start()

    def reap(self) -> int | None:
        """The exit status; `None` while the process runs."""
        with contextlib.suppress(ChildProcessError):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return os.waitstatus_to_exitcode(status) if pid else None
        return 0

    def _wait(self) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if not self.done.is_set():
            self.done.set()
            self._ended()


class Child:
    """The channel to a child process.

    `lines` gets what each read completes. `gone` is called once: how it ended, in words, and whether the process has
    ended or only closed its output.
    """

    def __init__(
        self,
        spawned: Spawned,
        loop: asyncio.AbstractEventLoop,
        limits: Limits,
        lines: Callable[[PipeLines], None],
        gone: Callable[[str, bool], None],
        stderr: Callable[[bytes], None],
        drained: Callable[[], None] = lambda: None,
    ) -> None:
        self.pid = spawned.pid
        self._spawned = spawned
        self._loop = loop
        self._limits = limits
        self._lines = lines
        self._gone = gone
        self._framer = Lines(limits.line, eager=True)
        self._writer = Writer(_unblocked(spawned.stdin), loop, drained=drained)
        self._out = Reader(spawned.stdout, loop, self._feed, self._out_ended)
        self._err = Reader(spawned.stderr, loop, stderr, lambda: None)
        self._exit = Exit(spawned.pid, loop, self._exited)
        self._ending = False
        self._told = False
        self._stdin_open = True
        self._out.start()
        self._err.start()

    @property
    def backlog(self) -> int:
        return self._writer.backlog

    def send(self, frames: list[bytes]) -> None:
        self._writer.send(frames)

    def pause(self) -> None:
        self._out.pause()

    def resume(self) -> None:
        self._out.resume()

    async def aclose(self) -> None:
        """End the whole tree; takes three times the grace at the most."""
        self._ending = True
        grace = self._limits.grace
        self._close_stdin()
        if not await self._ends_within(grace):
            self._signal(signal.SIGTERM)
            if not await self._ends_within(grace):
                self._signal(KILL)
                await self._ends_within(grace)
        await self._end_leftovers()
        self._exit.reap()
        self._out.stop()
        self._err.stop()
        for fd in (self._spawned.stdout, self._spawned.stderr):
            os.close(fd)

    def kill(self) -> None:
        """End the tree at once and without waiting; callable from any thread."""
        self._signal(KILL)

    def _feed(self, data: bytes) -> None:
        lines = self._framer.feed(data)
        if lines and not self._ending:
            self._lines(lines)

    def _out_ended(self) -> None:
        rest = self._framer.end()
        if rest and not self._ending:
            self._lines(rest)
        if self._exit.done.is_set():
            self._tell(self._how_it_ended())
        else:
            self._loop.call_later(self._limits.grace / 4, self._tell, "closed its standard output")

    def _exited(self) -> None:
        # What it wrote before its end is still to be read; a grandchild may hold the pipe open for ever.
        self._loop.call_later(self._limits.grace / 4, self._tell, "")

    def _tell(self, how: str) -> None:
        if not self._told and not self._ending:
            self._told = True
            ended = self._exit.done.is_set()
            self._gone(self._how_it_ended() if ended else how, ended)

    def _how_it_ended(self) -> str:
        with contextlib.suppress(ChildProcessError, AttributeError):
            info = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if info is not None and info.si_code == os.CLD_EXITED:
                return f"exited with code {info.si_status}"
            if info is not None:
                return f"was ended by signal {info.si_status}"
        return "stopped"

    async def _ends_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._exit.done.wait()
        except TimeoutError:
            return False
        return True

    async def _end_leftovers(self) -> None:
        """What the process started and left behind: asked to terminate, then killed, in a short time."""
        if not _group_lives(self.pid, self._exit):
            return
        self._signal(signal.SIGTERM)
        for _ in range(10):
            await asyncio.sleep(self._limits.grace / 40)
            if not _group_lives(self.pid, self._exit):
                return
        self._signal(KILL)

    def _close_stdin(self) -> None:
        if self._stdin_open:
            self._stdin_open = False
            self._writer.close()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                os.kill(self.pid, number)
            else:
                os.killpg(self.pid, number)


KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def _unblocked(fd: int) -> int:
    if sys.platform != "win32":
        os.set_blocking(fd, False)
    return fd


def _group_lives(pid: int, exit: Exit) -> bool:
    """Whether the group has a living member beside its ended, unreaped leader."""
    if sys.platform == "linux":
        return any(_is_alive_in(pid, entry) for entry in os.listdir("/proc") if entry.isdigit())
    try:
        os.killpg(pid, 0)
    except OSError:
        return False
    return True


def _is_alive_in(group: int, entry: str) -> bool:
    try:
        with open(f"/proc/{entry}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    return fields[2] == b"%d" % group and fields[0] != b"Z"
