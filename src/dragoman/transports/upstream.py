"""The command of a server: started when it is wanted, unless it was started early."""

from dragoman.transports.spawn import Spawned, spawn


class Upstream:
    """`early` is a process that was started for the first time it is wanted, or `error` is why it could not be."""

    def __init__(self, command: tuple[str, ...], early: Spawned | None = None, error: OSError | None = None) -> None:
        self._command = command
        self._early = early
        self._error = error

    def start(self) -> Spawned:
        """A running process.

        Raises:
            OSError: the command cannot be started.
        """
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self.take_unused() or spawn(self._command)

    def take_unused(self) -> Spawned | None:
        """The process that was started early, if nobody has wanted it."""
        early, self._early = self._early, None
        return early
