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

from urllib.parse import urlsplit

import msgspec

from dragoman.auth.discovery import Unfit
from dragoman.signin.document import Document, Note, silent
from dragoman.transports.http.address import Address, Refused, address, leads_here

WELL_KNOWN = "/.well-known/oauth-protected-resource"
S256 = "S256"
TENANT = "{tenantid}"
ORIGIN = 3  # of the parts between the slashes of a URL: scheme, nothing, authority
OF_RESOURCE = "the metadata of the server"
OF_ISSUER = "the metadata of the authorization server"


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


def resource(document: bytes, server: Address, note: Note = silent) -> Resource:
    """The metadata of a resource; `note` is told of members that cannot be used.

    Raises:
        Unfit: it is no metadata of a resource, or of one that does not cover `server`.
    """
    read = _read(document, OF_RESOURCE, note)
    name = read.text("resource")
    if name is None:
        raise Unfit("it has no metadata there")
    if not covers(name, server):
        raise Unfit("its metadata is that of another resource")
    return Resource(name, read.texts("authorization_servers") or (), read.texts("scopes_supported"))


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


def issuer(document: bytes, name: str, trusted: str | None, server: Address, note: Note = silent) -> Issuer:
    """The metadata of the issuer `name`; `trusted` is a second name that the user gave it.

    An endpoint that a sign-in can do without, and that cannot be used, counts as absent; `note` is told of it.

    Raises:
        Unfit: it is none, or of another issuer, or names no place for the user or for tokens that can be used.
    """
    read = _read(document, OF_ISSUER, note)
    own, token = read.text("issuer"), read.text("token_endpoint")
    if own is None or token is None:
        raise Unfit("it has no metadata there")
    if not is_same(own, name) and not is_template(own, name) and (trusted is None or own != trusted):
        raise Unfit(f"it calls itself {_shown(own)}, and was looked for as {_shown(name)}")
    place(token, server)
    authorization = read.text("authorization_endpoint")
    if authorization is not None:
        place(authorization, server)
    return Issuer(
        issuer=own,
        token_endpoint=token,
        authorization_endpoint=authorization,
        registration_endpoint=_optional(read, "registration_endpoint", server),
        device_authorization_endpoint=_optional(read, "device_authorization_endpoint", server),
        revocation_endpoint=_optional(read, "revocation_endpoint", server),
        scopes_supported=read.texts("scopes_supported"),
        grant_types_supported=read.texts("grant_types_supported"),
        code_challenge_methods_supported=read.texts("code_challenge_methods_supported"),
        token_endpoint_auth_methods_supported=read.texts("token_endpoint_auth_methods_supported"),
        token_endpoint_auth_signing_alg_values_supported=read.texts("token_endpoint_auth_signing_alg_values_supported"),
        client_id_metadata_document_supported=read.flag("client_id_metadata_document_supported"),
        authorization_response_iss_parameter_supported=read.flag("authorization_response_iss_parameter_supported"),
    )


def _optional(read: Document, member: str, server: Address) -> str | None:
    """An endpoint that a sign-in can do without."""
    url = read.text(member)
    if url is None:
        return None
    try:
        place(url, server)
    except Unfit as unfit:
        read.refuse(member, str(unfit))
        return None
    return url


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


def is_template(template: str, name: str) -> bool:
    """Whether an issuer of many tenants calls itself by a pattern of their names: `{tenantid}` is one segment of it."""
    own, other = (each.removesuffix("/").split("/") for each in (template, name))
    if TENANT not in own or len(own) != len(other) or own[:ORIGIN] != other[:ORIGIN]:
        return False
    return all(one == two or (one == TENANT and two) for one, two in zip(own, other, strict=True))


def place(url: str, server: Address) -> Address:
    """A URL that the server or its issuer named.

    Raises:
        Unfit: it is not to be asked.
    """
    try:
        to = address(url)
    except Refused as refused:
        raise Unfit(f"a URL that it names cannot be used: {refused}") from None
    if leads_here(server, to):
        raise Unfit("a URL that it names leads to this machine")
    return to


def _split(server: Address) -> tuple[str, str]:
    parts = urlsplit(server.url)
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")


def _shown(issuer: str) -> str:
    """The name of an issuer in a log line: it is no secret, but it is the other side's text."""
    return issuer[:200].encode("ascii", "backslashreplace").decode().partition("?")[0]


def _read(document: bytes, name: str, note: Note) -> Document:
    try:
        return Document(document, name, note)
    except ValueError:
        raise Unfit("it has no metadata there") from None
