"""What a protected resource tells of itself to clients without a token (RFC 9728), and where (revisions 7)."""

from urllib.parse import unquote, urlsplit

from dragoman.transports.http.address import Address
from dragoman.wire.members import encoded

WELL_KNOWN = "/.well-known/oauth-protected-resource"


def metadata_url(resource: Address) -> str:
    """The URL of the metadata: the well-known part between the host and the path of the resource."""
    path = urlsplit(resource.url).path
    return resource.url.removesuffix(path) + WELL_KNOWN + (path if path != "/" else "")


def metadata_paths(resource: Address) -> frozenset[str]:
    """The paths at which clients look for it: with the path of the resource, then without; unquoted, no slash at the
    end."""
    return frozenset({WELL_KNOWN, WELL_KNOWN + unquote(urlsplit(resource.url).path).rstrip("/")})


def metadata(resource: Address, issuer: str, scopes: tuple[str, ...]) -> bytes:
    """The document. `resource` stands in it as the user wrote it: clients compare texts (B143)."""
    members: dict[str, object] = {"resource": resource.url, "authorization_servers": [issuer]}
    if scopes:
        members["scopes_supported"] = list(scopes)
    return encoded({**members, "bearer_methods_supported": ["header"]})
