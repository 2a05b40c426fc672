"""Answers of the token endpoint (RFC 6749 sections 5 and 6), and when a token is to be renewed."""

import re
from dataclasses import dataclass

import msgspec

from dragoman.signin.challenge import scopes_of
from dragoman.signin.scopes import Scopes

EARLY = 60.0
"""Seconds before its end from which on a token is renewed; of a short-lived one a fifth of its life (STORE-09)."""

_CODE = re.compile(r"[A-Za-z_]{1,48}")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class Tokens(msgspec.Struct, frozen=True):
    """`ends` is the end of the access token in seconds of Unix, `stale` when it is to be renewed; `None`: not known."""

    access: str
    refresh: str | None = None
    scopes: Scopes | None = None
    ends: float | None = None
    stale: float | None = None

    def __repr__(self) -> str:
        return "Tokens(…)"

    def is_stale(self, now: float) -> bool:
        return self.stale is not None and now >= self.stale

    def is_over(self, now: float) -> bool:
        return self.ends is not None and now >= self.ends


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error of the token endpoint. `code` is its own, when it has a readable one."""

    status: int
    code: str | None

    @property
    def is_of_grant(self) -> bool:
        """The code or refresh token is of no use (any more)."""
        return self.code == "invalid_grant"

    @property
    def is_of_client(self) -> bool:
        """The server does not know the client (any more) (B137)."""
        return self.code in ("invalid_client", "unauthorized_client")

    @property
    def is_passing(self) -> bool:
        return self.status >= 500 or self.status in (408, 429)


class _Answer(msgspec.Struct):
    access_token: str
    token_type: str = "Bearer"
    refresh_token: str | None = None
    scope: str | None = None
    expires_in: float | str | None = None


class _Error(msgspec.Struct):
    error: str


def tokens(status: int, body: bytes, now: float, scopes: Scopes | None, before: Tokens | None) -> Tokens | Refusal:
    """What the endpoint gave. `scopes` were asked for and are granted unless it says otherwise.

    What an answer to a refresh leaves out stays as it was `before` (RFC 6749 section 6, B136).
    """
    if not 200 <= status <= 299:
        return Refusal(status, error_code(body))
    try:
        answer = msgspec.json.decode(body, type=_Answer)
        lasts = float(answer.expires_in) if answer.expires_in is not None else None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError):
        return Refusal(status, error_code(body))
    if answer.token_type.lower() != "bearer" or not _TOKEN.fullmatch(answer.access_token):
        return Refusal(status, None)
    refresh = answer.refresh_token or (before.refresh if before is not None else None)
    granted = scopes_of(answer.scope) or (before.scopes if before is not None else None) or scopes
    ends = stale = None
    if lasts is not None:
        ends = now + max(lasts, 0.0)
        stale = ends - min(EARLY, max(lasts, 0.0) / 5)
    return Tokens(answer.access_token, refresh, granted, ends, stale)


def error_code(body: bytes) -> str | None:
    """The error code of a body, if it is one that may be shown."""
    try:
        code = msgspec.json.decode(body, type=_Error).error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return code if _CODE.fullmatch(code) else None
