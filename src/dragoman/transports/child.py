"""A server that is a process of ours, from its start to the end of its whole tree (EXIT-06, EXIT-08).

Its standard output is read as lines, its standard error is always read and passed on, and it leads a process group of
its own. The end comes in three steps, each with the grace of the limits: its input is closed, its group is asked to
terminate, its group is killed. A process that ended by itself takes what it started along.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence

from dragoman.limits import Limits
from dragoman.transports.pipes import Reader, writer
from dragoman.transports.spawn import Spawned
from dragoman.transports.tree import Tree
from dragoman.wire.lines import Lines, Overlong

PipeLines = Sequence[bytes | Overlong]


class Child:
    """The channel to a child process.

    `lines` gets what each read completes. `gone` is called once: how it ended, in words, and whether the process has
    ended or only closed its output.
    """

    def __init__(
        self,
        spawned: Spawned,
        tree: Tree,
        loop: asyncio.AbstractEventLoop,
        limits: Limits,
        lines: Callable[[PipeLines], None],
        gone: Callable[[str, bool], None],
        stderr: Callable[[bytes], None],
        drained: Callable[[], None] = lambda: None,
    ) -> None:
        self.pid = spawned.pid
        self._tree = tree
        self._spawned = spawned
        self._loop = loop
        self._limits = limits
        self._lines = lines
        self._gone = gone
        self._framer = Lines(limits.line, eager=True)
        self._writer = writer(_unblocked(spawned.stdin), loop, drained=drained)
        self._out = Reader(spawned.stdout, loop, self._feed, self._out_ended)
        self._err = Reader(spawned.stderr, loop, stderr, lambda: None)
        self._ending = False
        self.send: Callable[[list[bytes]], None] = self._writer.send
        self._told = False
        self._out_is_open = True
        self._stdin_open = True
        self._out.start()
        self._err.start()
        tree.watch(loop, self._exited)

    @property
    def backlog(self) -> int:
        return self._writer.backlog

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
            self._tree.terminate()
            if not await self._ends_within(grace):
                self._tree.kill()
                await self._ends_within(grace)
        await self._end_leftovers()
        self._tree.release()
        self._out.stop()
        self._err.stop()
        for fd in (self._spawned.stdout, self._spawned.stderr):
            os.close(fd)

    def kill(self) -> None:
        """End the tree at once and without waiting; callable from any thread."""
        self._tree.kill()

    def _feed(self, data: bytes) -> None:
        lines = self._framer.feed(data)
        if lines and not self._ending:
            self._lines(lines)

    def _out_ended(self) -> None:
        self._out_is_open = False
        rest = self._framer.end()
        if rest and not self._ending:
            self._lines(rest)
        if self._tree.done.is_set():
            self._tell(self._tree.how_it_ended())
        else:
            self._loop.call_later(self._limits.grace / 4, self._tell, "closed its standard output")

    def _exited(self) -> None:
        if self._out_is_open:
            # What it wrote before its end is still to be read; a grandchild may hold the pipe open for ever.
            self._loop.call_later(self._limits.grace / 4, self._tell, "")
        else:
            self._tell("")

    def _tell(self, how: str) -> None:
        if not self._told and not self._ending:
            self._told = True
            ended = self._tree.done.is_set()
            self._gone(self._tree.how_it_ended() if ended else how, ended)

    async def _ends_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._tree.done.wait()
        except TimeoutError:
            return False
        return True

    async def _end_leftovers(self) -> None:
        """What the process started and left behind: asked to terminate, then killed, in a short time."""
        if not self._tree.has_leftovers():
            return
        for end in (self._tree.terminate, self._tree.kill):
            end()
            for _ in range(10):
                if not self._tree.has_leftovers():
                    return
                await asyncio.sleep(self._limits.grace / 40)

    def _close_stdin(self) -> None:
        if self._stdin_open:
            self._stdin_open = False
            self._writer.close()


def _unblocked(fd: int) -> int:
    if sys.platform != "win32":
        os.set_blocking(fd, False)
    return fd
