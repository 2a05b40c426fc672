"""Answers of the token endpoint (RFC 6749 sections 5 and 6), and when a token is to be renewed."""

import re
from dataclasses import dataclass

import msgspec

from dragoman.signin.challenge import scopes_of
from dragoman.signin.document import Document, Note, silent
from dragoman.signin.scopes import Scopes

EARLY = 60.0
"""Seconds before its end from which on a token is renewed; of a short-lived one a fifth of its life (STORE-09)."""

_CODE = re.compile(r"[A-Za-z_]{1,48}")
_TOKEN = re.compile(r"[\x21-\x7e]+")  # what RFC 6749 A.12 allows and a header can hold
UNSENDABLE = "the token that it gave cannot be sent in a header"
OTHER_TYPE = "the token that it gave is of a type other than Bearer"


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
    """An error of the token endpoint. `code` is its own, when it has a readable one; `why` is what we say of it."""

    status: int
    code: str | None
    why: str | None = None

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


class _Error(msgspec.Struct):
    error: str


def tokens(
    status: int, body: bytes, now: float, scopes: Scopes | None, before: Tokens | None, note: Note = silent
) -> Tokens | Refusal:
    """What the endpoint gave. `scopes` were asked for and are granted unless it says otherwise.

    What an answer to a refresh leaves out stays as it was `before` (RFC 6749 section 6, B136). `note` is told of
    members that cannot be used.
    """
    if not 200 <= status <= 299:
        return Refusal(status, error_code(body))
    try:
        answer = Document(body, "the token response", note)
    except ValueError:
        return Refusal(status, error_code(body))
    access = answer.text("access_token")
    if access is None:
        return Refusal(status, error_code(body))
    if (answer.text("token_type") or "bearer").lower() != "bearer":
        return Refusal(status, None, OTHER_TYPE)
    if not _TOKEN.fullmatch(access):
        return Refusal(status, None, UNSENDABLE)
    lasts = answer.number("expires_in")
    refresh = answer.text("refresh_token") or (before.refresh if before is not None else None)
    granted = (
        scopes_of(" ".join(answer.texts("scope") or ())) or (before.scopes if before is not None else None) or scopes
    )
    ends = stale = None
    if lasts is not None and lasts > 0:  # else it says nothing, and the server tells when the token has ended
        ends = now + lasts
        stale = ends - min(EARLY, lasts / 5)
    return Tokens(access, refresh, granted, ends, stale)


def error_code(body: bytes) -> str | None:
    """The error code of a body, if it is one that may be shown."""
    try:
        code = msgspec.json.decode(body, type=_Error).error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return code if _CODE.fullmatch(code) else None
