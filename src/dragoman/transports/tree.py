"""A process and everything that it started: how it ends, and how it is ended.

On POSIX the process leads a group; on Windows it is in a job (`windows`). Either way the tree can be asked to terminate
and can be killed as one. On Linux that goes for what left the group, too, such as a browser in a session of its own: it
is found by a mark in its environment.
"""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Protocol


class Tree(Protocol):
    pid: int
    done: asyncio.Event

    def watch(self, loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
        """Call `ended` in the loop when the first process has ended, and set `done` before that."""
        ...

    def terminate(self) -> None:
        """Ask all of it to end."""
        ...

    def kill(self) -> None:
        """End all of it; callable from any thread."""
        ...

    def has_leftovers(self) -> bool:
        """Whether something lives on after the first process has ended."""
        ...

    def how_it_ended(self) -> str: ...

    def release(self) -> None:
        """Let the system forget the ended process."""
        ...


class Group:
    """A process group. Its leader stays unreaped until `release`, and so the group's id stays its own.

    `mark` stands in the environment of all that came of it.
    """

    def __init__(self, pid: int, mark: str = "") -> None:
        self.pid = pid
        self._mark = mark.encode()
        self.done = asyncio.Event()
        self._pidfd: int | None = None

    def watch(self, loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
        self._loop = loop
        self._ended = ended
        try:
            self._pidfd = os.pidfd_open(self.pid)
            loop.add_reader(self._pidfd, self._tell)
        except (AttributeError, OSError):
            threading.Thread(target=self._wait, name=f"exit of {self.pid}", daemon=True).start()

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def has_leftovers(self) -> bool:
        if sys.platform == "linux":
            alive = any(_is_alive_in(self.pid, entry) for entry in os.listdir("/proc") if entry.isdigit())
            return alive or bool(self._strays())
        try:
            os.killpg(self.pid, 0)
        except OSError:
            return False
        return True

    def how_it_ended(self) -> str:
        with contextlib.suppress(ChildProcessError):
            info = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if info is not None and info.si_code == os.CLD_EXITED:
                return f"exited with code {info.si_status}"
            if info is not None:
                return f"was ended by signal {info.si_status}"
        return "stopped"

    def release(self) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)

    def _signal(self, number: int) -> None:
        strays = self._strays()  # before their parents end
        with contextlib.suppress(OSError):
            os.killpg(self.pid, number)
        for stray in strays:
            with contextlib.suppress(OSError):
                os.kill(stray, number)

    def _strays(self) -> list[int]:
        """Processes of this tree that left the group."""
        if sys.platform != "linux" or not self._mark:
            return []
        marked = (entry for entry in os.listdir("/proc") if entry.isdigit() and _has_mark(self._mark, entry))
        return [int(entry) for entry in marked if not _is_alive_in(self.pid, entry)]

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


def _is_alive_in(group: int, entry: str) -> bool:
    try:
        with open(f"/proc/{entry}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    return fields[2] == b"%d" % group and fields[0] != b"Z"


def _has_mark(mark: bytes, entry: str) -> bool:
    """Whether a process that lives inherited `mark`. Those of other users cannot be read, and are not ours."""
    try:
        with open(f"/proc/{entry}/environ", "rb") as file:
            return mark in file.read()
    except OSError:
        return False
