"""The authorization request: the URL that the user opens, its proof key (RFC 7636), and what comes back."""

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode, urlsplit

from dragoman.faults import Cause
from dragoman.signin.failure import Failed, failed
from dragoman.signin.metadata import S256, Issuer, is_template
from dragoman.signin.scopes import OFFLINE, Scopes, text_of
from dragoman.transports.http.address import Refused, address

LONGEST = 8 << 10
"""Bytes of an authorization URL (OAUTH-18)."""

_CLEAN = re.compile(r"(?:[\x21\x23\x24\x26-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]|%[0-9A-Fa-f]{2})+")
INVALID_TARGET = "invalid_target"
_ERROR = re.compile(r"[a-z_]{1,48}")


@dataclass(frozen=True, slots=True)
class Proof:
    """`verifier` is sent with the code, and `state` comes back with it."""

    verifier: str = field(repr=False)
    state: str = field(repr=False)

    @property
    def challenge(self) -> str:
        return _base64(hashlib.sha256(self.verifier.encode()).digest())


@dataclass(frozen=True, slots=True)
class Redirect:
    """What the browser brought back: a code or an error, and the issuer if it was named."""

    code: str | None = field(default=None, repr=False)
    error: str | None = None
    iss: str | None = None


def proof(random: Callable[[int], bytes]) -> Proof:
    """A new proof; `random` gives so many random bytes."""
    return Proof(_base64(random(48)), _base64(random(32)))


def check_proof_keys(issuer: Issuer, is_described: bool, is_assumed: bool = False) -> None:
    """Make sure that the issuer checks proof keys. Without metadata of the server that cannot be asked for.

    With `is_assumed` the user knows what the metadata does not say.

    Raises:
        Failed: it does not.
    """
    methods = issuer.code_challenge_methods_supported
    if methods is not None and S256 not in methods:
        raise failed("the authorization server does not offer PKCE with S256")
    if methods is None and is_described and not is_assumed:
        raise failed("the authorization server does not say that it offers PKCE with S256; if it does: --assume-pkce")


def authorization_url(
    issuer: Issuer, client_id: str, redirect_uri: str, proof: Proof, scopes: Scopes | None, resource: str | None
) -> str:
    """The URL to open.

    Raises:
        Failed: it would be one that no user should be sent to (OAUTH-18, OAUTH-19).
    """
    endpoint = issuer.authorization_endpoint
    if endpoint is None:
        raise failed("the authorization server has no authorization endpoint")
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "state": proof.state,
        "code_challenge": proof.challenge,
        "code_challenge_method": S256,
    }
    if scopes is not None:
        query["scope"] = text_of(scopes) or ""
        if OFFLINE in scopes:
            query["prompt"] = "consent"  # OpenID Connect Core section 11: without it the scope is ignored
    if resource is not None:
        query["resource"] = resource
    url = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"
    check(url, proof.state, redirect_uri)
    return url


def check(url: str, state: str, redirect_uri: str) -> None:
    """Make sure that a user may be sent to `url`. By http it leads to this machine only, which is for development.

    Raises:
        Failed: not to this one.
    """
    try:
        sound = len(url) <= LONGEST and _CLEAN.fullmatch(url) is not None and bool(address(url))
    except Refused:
        sound = False
    query = parse_qs(urlsplit(url).query, keep_blank_values=True) if sound else {}
    if query.get("state") != [state] or query.get("redirect_uri") != [redirect_uri]:
        raise Failed(Cause.SIGN_IN_INVALID_URL)


def code_of(redirect: Redirect, issuer: Issuer) -> str:
    """The code, once it is sure who gave it (RFC 9207, OAUTH-03). The issuer is looked at before an error is believed.

    Raises:
        Failed: the user or the authorization server refused, or somebody else answered.
    """
    if redirect.iss is None and issuer.authorization_response_iss_parameter_supported:
        raise failed("the redirect does not say which authorization server it comes from")
    if redirect.iss is not None and redirect.iss != issuer.issuer and not is_template(issuer.issuer, redirect.iss):
        raise failed("the redirect comes from another authorization server")
    if redirect.error == "access_denied":
        raise Failed(Cause.SIGN_IN_DENIED)
    if redirect.error is not None or redirect.code is None:
        code = redirect.error or ""
        hint = "; --resource none leaves the parameter out" if code == INVALID_TARGET else ""
        raise Failed(Cause.SIGN_IN_ERROR, f"{code}{hint}" if _ERROR.fullmatch(code) else None)
    return redirect.code


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
