"""The gate of a protected resource of OAuth 2.1: what a request must bring, and how it is told what it lacks.

A request is judged by its header alone; a token in a query or a body is not looked for (RFC 6750, revisions 7). Texts
of challenges and notes hold no part of a token, and the token goes no further than this.
"""

import time
from collections.abc import Callable

from dragoman.auth.issuer import Issuer, Unavailable
from dragoman.auth.jwt import Claims, Untrusted, claims, key_named
from dragoman.auth.metadata import metadata, metadata_paths, metadata_url
from dragoman.transports.http.address import Address
from dragoman.transports.http.server.authentication import Challenge, Unready
from dragoman.transports.http.server.head import Reply
from dragoman.wire.members import encoded


class ProtectedResource:
    """`audiences` are the names of which a token has to have one; `scopes` are those that every request needs.

    `clock` gives the time in seconds of Unix.
    """

    def __init__(
        self,
        resource: Address,
        issuer: Issuer,
        audiences: frozenset[str],
        scopes: tuple[str, ...] = (),
        clock: Callable[[], float] = time.time,  # noqa: TID251 - tokens are dated by the wall clock
    ) -> None:
        self._issuer = issuer
        self._audiences = audiences
        self._scopes = frozenset(scopes)
        self._clock = clock
        self._paths = metadata_paths(resource)
        self._description = Reply(200, metadata(resource, issuer.name, scopes))
        self._where = f"resource_metadata={_quoted(metadata_url(resource))}"
        if scopes:
            self._where += f", scope={_quoted(' '.join(scopes))}"

    async def admit(self, authorization: str | None) -> str | Challenge | Unready:
        """The principal of a request, or what it is answered."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return Challenge(401, f"Bearer {self._where}")
        try:
            said = await self._claims(token.strip())
        except Untrusted as why:
            return self._challenge(401, "invalid_token", str(why))
        except Unavailable as why:
            note = f"the issuer of tokens cannot be asked: {why.news}" if why.news is not None else None
            return Unready(round(self._issuer.pause), note)
        if not said.scopes >= self._scopes:
            return self._challenge(403, "insufficient_scope", "the token lacks a scope")
        return principal(said)

    def describes(self, path: str) -> bool:
        return path.rstrip("/") in self._paths

    def description(self) -> Reply:
        return self._description

    def reload(self) -> None:
        self._issuer.expire()

    async def _claims(self, token: str) -> Claims:
        """
        Raises:
            Untrusted: the token is not taken.
            Unavailable: that cannot be known now.
        """
        algorithm, kid = key_named(token)
        key = await self._issuer.key(algorithm, kid)
        if key is None:
            raise Untrusted("the key of the token is not known")
        return claims(token, key, algorithm, self._issuer.name, self._audiences, self._clock())

    def _challenge(self, status: int, error: str, description: str) -> Challenge:
        return Challenge(status, f'Bearer error="{error}", error_description="{description}", {self._where}')


def principal(said: Claims) -> str:
    """A text that only the same subject of the same issuer has, with the same client (SEAL-04).

    It is JSON, so that no subject can be written in a way that makes it look like another with its client.
    """
    return encoded([said.issuer, said.subject, said.client]).decode()


def _quoted(text: str) -> str:
    """A quoted-string of HTTP (RFC 9110 section 5.6.4)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
