"""What a conversation at a listener expects of its way to the server."""

from typing import TYPE_CHECKING, Protocol, TypeAlias

from dragoman.core.mediator import Mediator

if TYPE_CHECKING:
    from dragoman.backs.legacy import Legacy
    from dragoman.backs.modern import Modern
    from dragoman.backs.probe import Probe

STEP = 8
"""Frames of one read that go through the machines before what they have to say is written."""


class Party(Protocol):
    """Who speaks to a server: its machines, and the step that carries out what they decided."""

    @property
    def mediator(self) -> Mediator: ...

    def settle(self) -> None: ...


class Link(Protocol):
    """The way to the server of one party."""

    def send(self) -> None:
        """Write what the party's back has to say."""
        ...

    def stop(self) -> None:
        """The party wants the server ended, as it cannot be used; `Mediator.stopped` follows."""
        ...

    def part(self) -> None:
        """The party is over."""
        ...


AnyBack: TypeAlias = "Modern | Legacy | Probe"
