"""Who a request is from: the bearer token that it carries, checked by whoever issued it."""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Protocol

from dragoman.faults import Cause, Fault
from dragoman.transports.http.server.head import Reply, refusal

_TOKEN = re.compile(r"[\x21-\x7e]+")


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
        """What was read from outside, such as keys, is to be read anew.

        Raises:
            OSError, ValueError: that cannot be; what was known before stays.
        """
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
    """Lets in who knows a token. Tokens are compared by their digests, in a time that tells nothing of them.

    Whoever knows one of several is the same caller, so that a token can be replaced while both are good.
    """

    def __init__(self, *tokens: str) -> None:
        """
        Raises:
            ValueError: there is none, or one that a header cannot carry. What it says repeats no token.
        """
        self._digests = _digests(tokens)

    async def admit(self, authorization: str | None) -> str | Challenge | None:
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return Challenge(401, "Bearer")
        digest = hashlib.sha256(token.strip().encode()).digest()
        if not any(hmac.compare_digest(digest, known) for known in self._digests):
            return Challenge(401, 'Bearer error="invalid_token"')
        return "token"

    def describes(self, path: str) -> bool:
        return False

    def description(self) -> Reply:
        return Reply(404)

    def reload(self) -> None:
        """There is nothing to read."""


class TokenFile(Token):
    """Lets in who knows a token of a file, which has one on each line; empty lines and those with `#` are none."""

    def __init__(self, path: str) -> None:
        """
        Raises:
            OSError: the file cannot be read.
            ValueError: it holds no token, or one that a header cannot carry.
        """
        self._path = path
        super().__init__(*self._read())

    def reload(self) -> None:
        """Read the file anew.

        Raises:
            OSError, ValueError: as at the beginning; the tokens stay as they were.
        """
        self._digests = _digests(self._read())

    def _read(self) -> tuple[str, ...]:
        with open(self._path, "rb") as file:
            lines = [line.strip() for line in file.read().decode("utf-8-sig", "replace").splitlines()]
        return tuple(line for line in lines if line and not line.startswith("#"))


def _digests(tokens: tuple[str, ...]) -> tuple[bytes, ...]:
    if not tokens:
        raise ValueError("has no token")
    if not all(_TOKEN.fullmatch(token) for token in tokens):
        raise ValueError("has a token with spaces or characters that no header can carry; a client could never send it")
    return tuple(hashlib.sha256(token.encode()).digest() for token in tokens)
