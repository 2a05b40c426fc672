"""Who signs in, as far as a sign-in has to know."""

from enum import Enum
from typing import Protocol


class Consent(Enum):
    OPENED = "opened"
    DECLINED = "declined"
    NOBODY = "no_consent"


class Person(Protocol):
    """The user at the other side of the client."""

    def is_at_hand(self) -> bool:
        """Whether a browser may be opened unasked: the user has just started what needs it (OAUTH-12)."""
        ...

    def can_be_asked(self) -> bool:
        """Whether the client can show a URL to its user (OAUTH-15)."""
        ...

    async def asked(self, url: str, message: str) -> Consent:
        """Have the client show a URL, and its answer (OAUTH-13)."""
        ...

    def waits(self, seconds: float) -> None:
        """What is asked of the server now may take so much longer, as a sign-in began."""
        ...

    def waits_no_more(self, signed_in: bool) -> None:
        """The sign-in is over, with success or without."""
        ...

    def goes_on(self) -> None:
        """What was waited for was no sign-in, but a token that was read or renewed."""
        ...


class Nobody:
    """For servers of many clients: no user of one of them signs in for all."""

    def is_at_hand(self) -> bool:
        return False

    def can_be_asked(self) -> bool:
        return False

    async def asked(self, url: str, message: str) -> Consent:
        return Consent.NOBODY

    def waits(self, seconds: float) -> None:
        pass

    def waits_no_more(self, signed_in: bool) -> None:
        pass

    def goes_on(self) -> None:
        pass
