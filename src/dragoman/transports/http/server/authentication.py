"""Who a request is from: the bearer token that it carries, checked by whoever issued it."""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Protocol

from dragoman.faults import Cause, Fault
from dragoman.transports.http.server.head import Reply, refusal


@dataclass(frozen=True, slots=True)
class Challenge:
    """Why a request is not let in. `header` is the value of WWW-Authenticate."""

    status: int
    header: str

    @property
    def described(self) -> str:
        """What the log says; never what was brought."""
        brought = "without a token" if "error=" not in self.header else "with a token that is not accepted"
        return f"a request {brought} was refused with {self.status}"

    def reply(self) -> Reply:
        header = (b"www-authenticate", self.header.encode("latin-1"))
        return refusal(self.status, Fault(Cause.UNAUTHORIZED), None, header)


@dataclass(frozen=True, slots=True)
class Unready:
    """A request that nobody can judge now. `wait` is in seconds, `note` is what the log should say, if anything."""

    wait: int
    note: str | None = None

    def reply(self) -> Reply:
        return Reply(503, headers=((b"retry-after", b"%d" % self.wait),))


class Gate(Protocol):
    """Lets requests in. A principal is a name that two callers never share."""

    async def admit(self, authorization: str | None) -> str | Challenge | Unready | None: ...

    def describes(self, path: str) -> bool:
        """Whether that path is where the gate tells how to get a token."""
        ...

    def description(self) -> Reply: ...

    def reload(self) -> None:
        """What was read from outside, such as keys, is to be read anew."""
        ...


class Open:
    """Lets everyone in, and knows nobody."""

    async def admit(self, authorization: str | None) -> str | Challenge | None:
        return None

    def describes(self, path: str) -> bool:
        return False

    def description(self) -> Reply:
        return Reply(404)

    def reload(self) -> None:
        """There is nothing to read."""


class Token:
    """Lets in who knows one token. It is compared by its digest, in a time that tells nothing of it."""

    def __init__(self, token: str) -> None:
        self._digest = hashlib.sha256(token.encode()).digest()

    async def admit(self, authorization: str | None) -> str | Challenge | None:
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return Challenge(401, "Bearer")
        if not hmac.compare_digest(hashlib.sha256(token.strip().encode()).digest(), self._digest):
            return Challenge(401, 'Bearer error="invalid_token"')
        return "token"

    def describes(self, path: str) -> bool:
        return False

    def description(self) -> Reply:
        return Reply(404)

    def reload(self) -> None:
        """There is nothing to read."""
