"""As which OAuth client the bridge signs in, and how it proves that at the token endpoint (OAUTH-04 to OAUTH-07).

The identity is that of `--client-id`, else a client ID metadata document, else a registration made here (RFC 7591).
"""

import base64
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from dragoman.faults import Cause
from dragoman.signin.document import Document, Note, silent
from dragoman.signin.failure import Failed, failed
from dragoman.signin.metadata import Issuer
from dragoman.signin.scopes import Scopes, text_of
from dragoman.signin.tokens import error_code

if TYPE_CHECKING:
    from dragoman.signin.assertion import SigningKey

NAME = "dragoman"
NONE, BASIC, POST, SIGNED = "none", "client_secret_basic", "client_secret_post", "private_key_jwt"
CODE, REFRESH = "authorization_code", "refresh_token"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


class Kind(Enum):
    GIVEN = "given"  # by the user
    DOCUMENT = "document"  # the client id is the URL of its metadata
    REGISTERED = "registered"  # here, and it can be again


class Client(msgspec.Struct, frozen=True):
    """`ends` is when the secret does, in seconds of Unix; `redirect_uri` is what it was registered with here."""

    id: str
    kind: Kind
    method: str = NONE
    secret: str | None = None
    ends: float | None = None
    redirect_uri: str | None = None

    def __repr__(self) -> str:
        return f"Client({self.kind.value})"

    def is_over(self, now: float) -> bool:
        return self.ends is not None and now >= self.ends


def given(id: str, secret: str | None, key: "SigningKey | None", issuer: Issuer) -> Client:
    """The client that the user registered."""
    if key is not None:
        return Client(id, Kind.GIVEN, SIGNED)
    return Client(id, Kind.GIVEN, NONE if secret is None else _with_secret(issuer), secret)


def documented(url: str) -> Client:
    """The client whose metadata is at `url`. It has no secret."""
    return Client(url, Kind.DOCUMENT)


def registration(issuer: Issuer, redirect_uri: str, scopes: Scopes | None) -> dict[str, object]:
    """The body of a registration: a native program under our own name (OAUTH-07)."""
    grants = [CODE, REFRESH]
    if issuer.device_authorization_endpoint is not None:
        grants.append(DEVICE)
    body: dict[str, object] = {
        "client_name": NAME,
        "application_type": "native",
        "redirect_uris": [redirect_uri],
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": _of_registration(issuer),
    }
    if scopes:
        body["scope"] = text_of(scopes)
    return body


def registered(
    status: int, body: bytes, issuer: Issuer, redirect_uri: str | None = None, note: Note = silent
) -> Client:
    """The client that a registration made; `note` is told of members of the answer that cannot be used.

    Raises:
        Failed: it made none.
    """
    if 200 <= status <= 299:
        try:
            answer = Document(body, "the answer to the registration", note)
        except ValueError:
            answer = None
        id = answer.text("client_id") if answer is not None else None
        if answer is None or id is None:
            raise Failed(Cause.REGISTRATION_FAILED, f"HTTP status {status}, no client id", status=status)
        secret = answer.text("client_secret")
        method = answer.text("token_endpoint_auth_method")
        if method is None:
            method = NONE if secret is None else _with_secret(issuer)
        if method not in (NONE, BASIC, POST) or (method != NONE and secret is None):
            raise Failed(Cause.REGISTRATION_FAILED, "it asks for a way to prove the client that it was not asked for")
        secret = secret if method != NONE else None
        ends = answer.number("client_secret_expires_at") if secret is not None else None
        return Client(id, Kind.REGISTERED, method, secret, ends or None, redirect_uri)
    code = error_code(body)
    detail = f"HTTP status {status}" + (f", {code}" if code is not None else "")
    is_passing = status >= 500 or status in (408, 429)
    raise Failed(Cause.REGISTRATION_FAILED, detail, status=status, is_passing=is_passing)


def proved(
    form: Mapping[str, str], client: Client, issuer_name: str, key: "SigningKey | None", now: float
) -> tuple[dict[str, str], dict[str, str]]:
    """A form for the token endpoint, and its headers, with the proof of the client.

    Raises:
        Failed: the proof cannot be made.
    """
    whole = {**form, "client_id": client.id}  # some servers look for it in the form, whatever the header says
    headers: dict[str, str] = {}
    if client.method == BASIC and client.secret is not None:
        pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif client.method == SIGNED:
        if key is None:
            raise failed("the key of the client is missing")
        whole["client_assertion_type"] = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        whole["client_assertion"] = key.assertion(client.id, issuer_name, now)
    elif client.method == POST and client.secret is not None:
        whole["client_secret"] = client.secret
    return whole, headers


def _with_secret(issuer: Issuer) -> str:
    """How a secret is shown: in a header, which is what a server means that says nothing (RFC 8414)."""
    methods = issuer.token_endpoint_auth_methods_supported
    return POST if methods is not None and BASIC not in methods and POST in methods else BASIC


def _of_registration(issuer: Issuer) -> str:
    methods = issuer.token_endpoint_auth_methods_supported
    return NONE if methods is None or NONE in methods else _with_secret(issuer)
