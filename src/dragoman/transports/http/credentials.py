"""What a channel asks for the right to speak to its server. Whoever signs in fulfils it; the channels know no more."""

from collections.abc import Sequence
from typing import Protocol


class Visit(Protocol):
    """The credentials of one request, however often it is sent."""

    async def authorization(self) -> str | None:
        """The value of `Authorization` for the next sending, `None` for none.

        Raises:
            Lost: there is none, and there would have to be one.
        """
        ...

    async def refused(self, status: int, challenges: Sequence[str]) -> bool:
        """The server refused with 401 or 403, and those values of `WWW-Authenticate`.

        Whether to send the request again; if not, the refusal is the response.

        Raises:
            Lost: it was tried to get access, in vain.
        """
        ...


class Credentials(Protocol):
    @property
    def are_idle(self) -> bool:
        """Whether there is nothing to send along, as far as is known."""
        ...

    def visit(self, *, may_ask: bool) -> Visit:
        """What one request needs. With `may_ask` it may wait for a person."""
        ...

    async def next_sign_in(self) -> None:
        """Wait until somebody has signed in for some other request."""
        ...
