"""Starting and ending a server on Windows: a job object in place of a process group (B60, B64).

* The command is looked up as a shell would, through PATH and PATHEXT, because `npx` and its like are scripts there.
* A script is run by the command interpreter, with every character that means something to it quoted away.
* The process is put into a job that ends with us: when our last handle is closed, whatever is in it is killed.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import PureWindowsPath
from typing import Any

from dragoman.transports.spawn import Spawned

SCRIPTS = (".cmd", ".bat")
SPECIAL = frozenset('()%!^"<>&|')
KILL_ON_JOB_CLOSE = 0x2000
EXTENDED_LIMITS = 9


def resolve(command: str, environment: Mapping[str, str], exists: Callable[[str], bool] = os.path.isfile) -> str | None:
    """The file that `command` names; `None` when there is none. A name with a folder is not searched for."""
    endings = [ending for ending in environment.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(";") if ending]
    has_folder = any(mark in command for mark in "\\/:")
    folders = [""] if has_folder else environment.get("PATH", "").split(";")
    complete = any(command.lower().endswith(ending.lower()) for ending in endings)
    names = [command] if complete else [command + ending for ending in endings]
    for folder in folders:
        for name in names:
            path = str(PureWindowsPath(folder) / name) if folder else name
            if exists(path):
                return path
    return None


def command_line(program: str, arguments: tuple[str, ...]) -> str:
    """The one string that Windows hands to a program; a script's goes through the command interpreter unchanged."""
    plain = subprocess.list2cmdline([program, *arguments])
    if not program.lower().endswith(SCRIPTS):
        return plain
    quoted = " ".join(_for_script(word) for word in (program, *arguments))
    return f'cmd.exe /d /s /c "{quoted}"'


def _for_script(word: str) -> str:
    """A word as the interpreter reads it: quoted, with its own quotes doubled and its other marks escaped."""
    inner = subprocess.list2cmdline([word])
    if not inner.startswith('"'):
        inner = f'"{inner}"'
    return "".join(f"^{mark}" if mark in SPECIAL else mark for mark in inner)


def spawn(argv: tuple[str, ...]) -> tuple[Spawned, "Job"]:
    """Start `argv` with pipes on its streams, in a job of its own.

    Raises:
        OSError: there is no such program, or it cannot be run.
    """
    program = resolve(argv[0], os.environ)
    if program is None:
        raise FileNotFoundError(2, "no program of that name, with any of the endings in PATHEXT")
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
    process = subprocess.Popen(
        command_line(program, argv[1:]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        creationflags=flags,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    streams = [os.dup(stream.fileno()) for stream in (process.stdin, process.stdout, process.stderr)]
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    return Spawned(process.pid, *streams), Job(process)


class Job:
    """A process in a job object; the tree of `dragoman.transports.tree`."""

    def __init__(self, process: "subprocess.Popen[bytes]", kernel: Any = None) -> None:
        self.pid = process.pid
        self.done = asyncio.Event()
        self._process = process
        self._kernel = kernel if kernel is not None else _kernel32()
        self._job = self._kernel.CreateJobObjectW(None, None)
        limits = (b"\0" * 16) + KILL_ON_JOB_CLOSE.to_bytes(4, "little") + b"\0" * (144 - 20)
        self._kernel.SetInformationJobObject(self._job, EXTENDED_LIMITS, limits, len(limits))
        self._kernel.AssignProcessToJobObject(self._job, int(getattr(process, "_handle", 0)))

    def watch(self, loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
        def wait() -> None:
            self._process.wait()
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(tell)

        def tell() -> None:
            self.done.set()
            ended()

        threading.Thread(target=wait, name=f"exit of {self.pid}", daemon=True).start()

    def terminate(self) -> None:
        """A console program hears CTRL+BREAK; nothing else on Windows can be asked."""
        with contextlib.suppress(OSError, ValueError):
            os.kill(self.pid, getattr(__import__("signal"), "CTRL_BREAK_EVENT", 1))

    def kill(self) -> None:
        self._kernel.TerminateJobObject(self._job, 1)

    def has_leftovers(self) -> bool:
        return True  # the job may hold some; closing it in `release` ends them

    def how_it_ended(self) -> str:
        code = self._process.poll()
        return "stopped" if code is None else f"exited with code {code}"

    def release(self) -> None:
        self._kernel.CloseHandle(self._job)


def _kernel32() -> Any:
    if sys.platform != "win32":
        raise NotImplementedError("job objects exist on Windows only")
    import ctypes

    return ctypes.WinDLL("kernel32", use_last_error=True)
