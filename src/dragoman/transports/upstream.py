"""The command of a server: started when it is wanted, unless it was started early."""

import sys

from dragoman.transports.spawn import Spawned
from dragoman.transports.tree import Group, Tree


class Upstream:
    """`early` is a process that was started for the first time it is wanted, or `error` is why it could not be."""

    def __init__(self, command: tuple[str, ...], early: Spawned | None = None, error: OSError | None = None) -> None:
        self._command = command
        self._early = early
        self._error = error

    def start(self) -> tuple[Spawned, Tree]:
        """A running process.

        Raises:
            OSError: the command cannot be started.
        """
        error, self._error = self._error, None
        if error is not None:
            raise error
        unused = self.take_unused()
        if unused is not None:
            return unused
        if sys.platform == "win32":
            from dragoman.transports import windows

            return windows.spawn(self._command)
        from dragoman.transports.spawn import spawn

        spawned = spawn(self._command)
        return spawned, Group(spawned.pid)

    def take_unused(self) -> tuple[Spawned, Tree] | None:
        """The process that was started early, if nobody has wanted it."""
        early, self._early = self._early, None
        return None if early is None else (early, Group(early.pid))
