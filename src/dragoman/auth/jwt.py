"""Access tokens that are JSON Web Tokens (RFC 7519, RFC 9068): whether their signature holds, and what they say.

A text of `Untrusted` is for the caller: it says what is wrong and repeats nothing of the token.
"""

import re
from dataclasses import dataclass

import msgspec
from jwt import PyJWK, PyJWS
from jwt.exceptions import PyJWTError

from dragoman.auth.keys import KINDS

LEEWAY = 30.0
"""Seconds that the clock of the issuer may differ from ours."""

_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_SIGNED = PyJWS(algorithms=list(KINDS))


class Untrusted(Exception):
    """A token that proves nothing."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Who a token speaks for. `client` is the OAuth client that it was given to, if it names one."""

    issuer: str
    subject: str
    client: str | None
    scopes: frozenset[str]


class _Payload(msgspec.Struct):
    iss: str
    aud: str | list[str]
    sub: str
    exp: float
    nbf: float | None = None
    scope: str | None = None
    scp: str | list[str] | None = None
    client_id: str | None = None
    azp: str | None = None


def key_named(token: str) -> tuple[str, str | None]:
    """The algorithm and the key id that a token names; nothing of it is to be believed yet.

    Raises:
        Untrusted: it is no JWT, or its algorithm is none of ours.
    """
    if not _COMPACT.fullmatch(token):
        raise Untrusted("the token is no signed JWT")
    try:
        header = _SIGNED.get_unverified_header(token)
    except (PyJWTError, RecursionError):
        raise Untrusted("the token is no signed JWT") from None
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in KINDS:
        raise Untrusted("the algorithm of the token is not allowed")
    return algorithm, kid


def claims(token: str, key: PyJWK, algorithm: str, issuer: str, audiences: frozenset[str], now: float) -> Claims:
    """What a token says, once its signature holds and it is for one of `audiences` at the time `now` (seconds of Unix).

    Raises:
        Untrusted: something of that is not so.
    """
    try:
        payload = _SIGNED.decode_complete(token, key.key, algorithms=[algorithm])["payload"]
    except (PyJWTError, RecursionError):
        raise Untrusted("the signature of the token does not hold") from None
    try:
        said = msgspec.json.decode(payload, type=_Payload)
    except (msgspec.DecodeError, RecursionError):
        raise Untrusted("a claim of the token is missing or of another type") from None
    if said.iss != issuer:
        raise Untrusted("the token is of another issuer")
    if audiences.isdisjoint([said.aud] if isinstance(said.aud, str) else said.aud):
        raise Untrusted("the token is for another audience")
    if said.exp <= now - LEEWAY:
        raise Untrusted("the token has expired")
    if said.nbf is not None and said.nbf > now + LEEWAY:
        raise Untrusted("the token is not valid yet")
    if not said.sub:
        raise Untrusted("the token has no subject")
    return Claims(said.iss, said.sub, said.client_id if said.client_id is not None else said.azp, _scopes(said))


def _scopes(said: _Payload) -> frozenset[str]:
    """The granted scopes: `scope` is a text (RFC 9068), `scp` of some products a text or a list."""
    granted = said.scope if said.scope is not None else said.scp
    return frozenset(granted.split(" ") if isinstance(granted, str) else granted or ())
