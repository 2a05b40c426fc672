"""How a conversation reaches its server, whatever the server is: a command here, a URL in `http`.

An `Upstream` is opened when the first frame for the server exists; what then happens on its channel is told to the
`Receiver` that opened it.
"""

import asyncio
import sys
from typing import Protocol

from dragoman.channel import Channel
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.transports.child import Child, PipeLines
from dragoman.transports.spawn import Spawned
from dragoman.transports.tree import Group, Tree


class Receiver(Protocol):
    """What a channel tells; nothing is told from within a call of the channel."""

    def lines(self, lines: PipeLines, of: bytes | None = None) -> None:
        """Messages of the server, each as one line, in order. `of` is the id of the request in whose response they are,
        when the transport tells it."""
        ...

    def lane_lost(self, id: bytes, why: Fault, may_retry: bool) -> None:
        """The request with this id has no answer and gets none; `may_retry` is for streams of changes."""
        ...

    def gone(self, how: str, cause: Cause) -> None:
        """The server is lost for good. `how` continues "the server's process"."""
        ...

    def renewed(self) -> None:
        """The server goes on, and knows nothing more of what it was asked to watch, and to log."""
        ...

    def stderr(self, data: bytes) -> None:
        """What the server wrote for people."""
        ...

    def note(self, text: str) -> None:
        """Something that the log should say."""
        ...

    def drained(self) -> None:
        """The server took all that it was sent."""
        ...


class Upstream(Protocol):
    """`fails_with` is the cause of a failed `open`, and `failure` says it in the log.

    `is_remote` tells whether the server's icons may have the trust of a local process (ICON-06).
    """

    fails_with: Cause
    failure: str
    is_remote: bool

    def open(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel:
        """
        Raises:
            OSError: there is no way to the server; nothing is left open.
        """
        ...

    def open_unused(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel | None:
        """The channel to a server that was started early and that nobody wanted, so that it can be ended."""
        ...


class Command:
    """A server that is a process of ours. `early` was started before, or `error` is why it could not be."""

    fails_with = Cause.SPAWN_FAILED
    failure = "the command cannot be started"
    is_remote = False

    def __init__(self, words: tuple[str, ...], early: Spawned | None = None, error: OSError | None = None) -> None:
        self._words = words
        self._early = early
        self._error = error

    def open(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel:
        error, self._error = self._error, None
        if error is not None:
            raise error
        early, self._early = self._early, None
        spawned, tree = (early, Group(early.pid, early.mark)) if early is not None else _start(self._words)
        return _channel(spawned, tree, receiver, loop, limits)

    def open_unused(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel | None:
        early, self._early = self._early, None
        return None if early is None else _channel(early, Group(early.pid, early.mark), receiver, loop, limits)


def _start(words: tuple[str, ...]) -> tuple[Spawned, Tree]:
    if sys.platform == "win32":
        from dragoman.transports import windows

        return windows.spawn(words)
    from dragoman.transports.spawn import spawn

    spawned = spawn(words)
    return spawned, Group(spawned.pid, spawned.mark)


def _channel(
    spawned: Spawned, tree: Tree, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits
) -> Channel:
    def gone(how: str, ended: bool) -> None:
        receiver.gone(how, Cause.UPSTREAM_EXITED if ended else Cause.CLOSED)

    return Child(spawned, tree, loop, limits, receiver.lines, gone, receiver.stderr, receiver.drained)
