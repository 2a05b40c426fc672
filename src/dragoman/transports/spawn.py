"""Start a command with pipes on its three standard streams, as the leader of a process group of its own.

Only the operating system's own module is imported here: the child of an editor's bridge is started before anything
else of the bridge is loaded (decisions L8).
"""

import os
import sys

PIPE_SIZE = 1 << 20
MARK = "DRAGOMAN_TREE"
"""A variable that all of a tree inherits; the last part of its value is this tree's, those before are around it."""


class Spawned:
    """A started process: its id, our ends of its streams, and the mark of its tree."""

    __slots__ = ("mark", "pid", "stderr", "stdin", "stdout")

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int, *, mark: str = "") -> None:
        self.mark = mark
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr


def spawn(argv: tuple[str, ...]) -> Spawned:
    """Start `argv`; the program is looked up on PATH and the environment is inherited, with a mark in it.

    Raises:
        OSError: there is no such program, or it cannot be run.
    """
    child_in, stdin = os.pipe()
    stdout, child_out = os.pipe()
    stderr, child_err = os.pipe()
    mark = os.urandom(8).hex()
    around = os.environ.get(MARK)
    try:
        pid = os.posix_spawnp(
            argv[0],
            argv,
            {**os.environ, MARK: f"{around}:{mark}" if around else mark},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, child_in, 0),
                (os.POSIX_SPAWN_DUP2, child_out, 1),
                (os.POSIX_SPAWN_DUP2, child_err, 2),
            ],
            setpgroup=0,
            setsigmask=(),
            setsigdef=_python_ignores(),
        )
    except OSError:
        for end in (stdin, stdout, stderr):
            os.close(end)
        raise
    finally:
        for end in (child_in, child_out, child_err):
            os.close(end)
    for end in (stdin, stdout):
        widen(end)
    return Spawned(pid, stdin, stdout, stderr, mark=mark)


def _python_ignores() -> tuple[int, ...]:
    """The signals that an interpreter ignores and a child of it would go on to ignore: SIGPIPE and SIGXFSZ.

    `signal` makes enums of its numbers, for five milliseconds; the module under it has them plain.
    """
    plain = __import__("_signal")
    return tuple(getattr(plain, name) for name in ("SIGPIPE", "SIGXFSZ"))


def widen(end: int) -> None:
    """A larger pipe where the system has such a thing: large results take fewer turns."""
    if sys.platform != "linux":
        return
    import fcntl

    try:
        fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    except OSError:
        return  # the user's pipe budget is spent; the usual size serves
