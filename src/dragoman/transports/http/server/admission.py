"""Who may speak to the endpoint at all: the Origin of web pages, the Host that was called, and CORS (THTTP-02, B154).

* A request of a web page names its origin. Allowed are pages of this machine, and the origins of the options.
* The Host must be a name that the endpoint is known by: a name of this machine, the host that it listens on, one of the
  options, or a plain address when it listens beyond this machine. A name of someone else's that leads here is how a web
  page gets around the check of its origin.
* A pattern `*.example` stands for all names below example. A port is compared only when the option has one.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from dragoman.transports.http.address import is_loopback

HEADERS = (
    b"content-type, accept, authorization, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id"
)
EXPOSED = b"mcp-session-id, www-authenticate"
MAX_AGE = b"600"
PUBLIC = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"GET"),
    (b"access-control-allow-headers", HEADERS),
    (b"access-control-max-age", MAX_AGE),
)
"""The headers that let every page read what is for everyone."""


@dataclass(frozen=True, slots=True)
class Admission:
    """`hosts` and `origins` are patterns; `is_local` tells whether only this machine can reach the endpoint."""

    hosts: frozenset[str]
    origins: frozenset[str]
    is_local: bool

    def admits_host(self, value: str | None) -> bool:
        host, port = _split(value or "")
        if host is None:
            return False
        if is_loopback(host) or _fits(host, port, self.hosts):
            return True
        return not self.is_local and _is_address(host)

    def admits_origin(self, value: str | None) -> bool:
        """Whether a page of that origin may speak to us; a program that is no page names none."""
        if value is None:
            return True
        if value in self.origins:
            return True
        if "@" in value:
            return False  # an origin names nobody
        try:
            parts = urlsplit(value)
            host = parts.hostname
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and host is not None and is_loopback(host)

    def cors(self, origin: str | None, asked: bytes = b"") -> tuple[tuple[bytes, bytes], ...]:
        """The headers that let a page of an allowed origin read the response (B156).

        `asked` are the headers that a preflight asks for: all that MCP has are fine, `Mcp-Param-…` too.
        """
        if origin is None or not self.admits_origin(origin):
            return ()
        params = [name.strip() for name in asked.lower().split(b",") if name.strip().startswith(b"mcp-param-")]
        return (
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-allow-methods", b"POST, GET, DELETE"),
            (b"access-control-allow-headers", b", ".join((HEADERS, *params))),
            (b"access-control-expose-headers", EXPOSED),
            (b"access-control-max-age", MAX_AGE),
            (b"vary", b"origin"),
        )


def admission(listen: str | None, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> Admission:
    """What is admitted when the endpoint listens on the host `listen`; without one, it is mounted somewhere."""
    named = {host.lower() for host in hosts}
    if listen is not None and not is_any(listen):
        named.add(listen.lower())
    is_local = listen is None or is_loopback(listen)
    return Admission(frozenset(named), frozenset(origin.rstrip("/") for origin in origins), is_local)


@lru_cache(256)
def _split(value: str) -> tuple[str | None, str]:
    """Host, without brackets and in lower case, and port of a Host header, which names no user."""
    if "@" in value or not value.isascii():
        return None, ""
    try:
        parts = urlsplit(f"//{value}")
        return (parts.hostname.lower() if parts.hostname else None), str(parts.port or "")
    except ValueError:
        return None, ""


def _fits(host: str, port: str, patterns: frozenset[str]) -> bool:
    for pattern in patterns:
        name, _, wanted = pattern.partition(":") if pattern.count(":") < 2 else (pattern.strip("[]"), "", "")
        if wanted not in ("", "*", port):
            continue
        if name == "*" or name == host or (name.startswith("*.") and host.endswith(name[1:])):
            return True
    return False


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_any(host: str) -> bool:
    """Whether a host to listen on stands for all addresses of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
