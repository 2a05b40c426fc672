"""Where a server and its authorization server describe themselves, and what of that is believed (RFC 9728, RFC 8414).

* The server's metadata is at the URL of the challenge; without one, first below the server's path, then at the root
  (B141). It counts only when its resource covers the server's URL (OAUTH-02).
* The issuer's metadata is at three places (`dragoman.auth.discovery`), and counts only when it is of that issuer. A
  difference of one final slash is none (B145).
* A server of the first revision with sign-in has no metadata of its own: its origin is the issuer, and three paths
  below it serve where there is no metadata at all (revisions 7).
* Every URL is https. It leads to this machine, then also by http, only if the server is on this machine itself; where
  its name leads is judged with the connection (`dragoman.transports.http.resolver`).
"""

from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from dragoman.auth.discovery import Unfit
from dragoman.transports.http.address import Address, Refused, address
from dragoman.transports.http.reach import Zone, zone_spelled

WELL_KNOWN = "/.well-known/oauth-protected-resource"
S256 = "S256"

T = TypeVar("T")


class Resource(msgspec.Struct, frozen=True):
    """Metadata of a protected resource. `resource` is sent to the authorization server as it is written (B143)."""

    resource: str
    authorization_servers: tuple[str, ...] = ()
    scopes_supported: tuple[str, ...] | None = None


class Issuer(msgspec.Struct, frozen=True):
    """Metadata of an authorization server, as far as it concerns a client."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    device_authorization_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: tuple[str, ...] | None = None
    grant_types_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    token_endpoint_auth_signing_alg_values_supported: tuple[str, ...] | None = None
    client_id_metadata_document_supported: bool = False
    authorization_response_iss_parameter_supported: bool = False


def resource_places(server: Address) -> tuple[str, ...]:
    """The URLs at which the metadata of `server` may be, in the order in which they are tried."""
    origin, path = _split(server)
    return (f"{origin}{WELL_KNOWN}{path}", f"{origin}{WELL_KNOWN}") if path else (f"{origin}{WELL_KNOWN}",)


def origin_of(server: Address) -> str:
    """The URL of a server without its path: the issuer of a server that has no metadata of its own."""
    return _split(server)[0]


def resource(document: bytes, server: Address) -> Resource:
    """
    Raises:
        Unfit: it is no metadata of a resource, or of one that does not cover `server`.
    """
    found = _decoded(document, Resource)
    if not covers(found.resource, server):
        raise Unfit("its metadata is that of another resource")
    return found


def covers(name: str, server: Address) -> bool:
    """Whether `name` is the URL of `server`, or one above it on the same origin."""
    try:
        named = address(name)
    except Refused:
        return False
    own, above = urlsplit(server.url), urlsplit(named.url)
    segments = above.path.rstrip("/")
    return (
        named.origin == server.origin
        and (not above.query or above.query == own.query)
        and not {"..", "."} & set(own.path.split("/"))
        and (own.path.rstrip("/") == segments or own.path.startswith(f"{segments}/"))
    )


def issuer(document: bytes, name: str, trusted: str | None, server: Address) -> Issuer:
    """The metadata of the issuer `name`; `trusted` is a second name that the user gave it.

    Raises:
        Unfit: it is none, or of another issuer, or names a place that cannot be used.
    """
    found = _decoded(document, Issuer)
    if not is_same(found.issuer, name) and (trusted is None or found.issuer != trusted):
        raise Unfit(f"it calls itself {_shown(found.issuer)}, and was looked for as {_shown(name)}")
    for url in (
        *(found.token_endpoint, found.authorization_endpoint),
        *(found.registration_endpoint, found.device_authorization_endpoint, found.revocation_endpoint),
    ):
        if url is not None:
            place(url, server)
    return found


def without_metadata(server: Address) -> Issuer:
    """The authorization server that a server of revision 2025-03-26 is itself, when nothing describes it."""
    origin = origin_of(server)
    return Issuer(
        issuer=origin,
        authorization_endpoint=f"{origin}/authorize",
        token_endpoint=f"{origin}/token",
        registration_endpoint=f"{origin}/register",
        code_challenge_methods_supported=(S256,),
    )


def is_same(one: str, other: str) -> bool:
    """Whether two names are of one issuer: the same text, but for one final slash."""
    return one.removesuffix("/") == other.removesuffix("/")


def place(url: str, server: Address) -> Address:
    """A URL that the server or its issuer named.

    Raises:
        Unfit: it is not to be asked.
    """
    try:
        to = address(url)
    except Refused as refused:
        raise Unfit(f"a URL that it names cannot be used: {refused}") from None
    if zone_spelled(to.host) is Zone.MACHINE and not server.is_loopback:
        raise Unfit("a URL that it names leads to this machine")
    return to


def _split(server: Address) -> tuple[str, str]:
    parts = urlsplit(server.url)
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")


def _shown(issuer: str) -> str:
    """The name of an issuer in a log line: it is no secret, but it is the other side's text."""
    return issuer[:200].encode("ascii", "backslashreplace").decode().partition("?")[0]


def _decoded(document: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(document, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Unfit("it has no metadata there") from None
