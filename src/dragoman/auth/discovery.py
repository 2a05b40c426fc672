"""Where an issuer tells what it is, and what of that is believed (RFC 8414, OpenID Connect Discovery, revisions 7)."""

from urllib.parse import urlsplit

import msgspec

from dragoman.transports.http.address import Address, Refused, address, leads_here

OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"


class Unfit(ValueError):
    """A document that does not tell where the keys of the issuer are."""


class _Metadata(msgspec.Struct):
    issuer: str
    jwks_uri: str


def places(issuer: Address) -> tuple[str, ...]:
    """The URLs of the metadata, in the order in which MCP has them tried: path inserted twice, then appended."""
    path = urlsplit(issuer.url).path.rstrip("/")
    origin = issuer.url.removesuffix(urlsplit(issuer.url).path)
    if not path:
        return f"{origin}{OAUTH}", f"{origin}{OPENID}"
    return f"{origin}{OAUTH}{path}", f"{origin}{OPENID}{path}", f"{origin}{path}{OPENID}"


def place_of_keys(document: bytes, name: str, issuer: Address) -> Address:
    """Where the keys are, by the metadata of the issuer that calls itself `name` and was found at `issuer`.

    Raises:
        Unfit: it is no metadata, or of another issuer (RFC 8414 section 3.3), or names a place that is not asked.
    """
    try:
        metadata = msgspec.json.decode(document, type=_Metadata)
    except (msgspec.DecodeError, RecursionError):
        raise Unfit("its metadata has no issuer or no jwks_uri") from None
    if metadata.issuer != name:
        raise Unfit("its metadata is that of another issuer")
    try:
        to = address(metadata.jwks_uri)
    except Refused as refused:
        raise Unfit(f"its jwks_uri cannot be used: {refused}") from None
    if leads_here(issuer, to):
        raise Unfit("its jwks_uri leads to this machine")
    return to
