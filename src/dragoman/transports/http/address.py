"""Which URLs a server may have, and where a redirect may lead.

* https to any host; http to this machine only, unless the user allows it (CLI-15, decisions T24). The names of this
  machine are `localhost` and all names below it, 127.0.0.0/8 and [::1], each in its usual spelling.
* No user, password, fragment or port 0; visible ASCII only. Path and query are sent as they are written (B117).
* A redirect is followed for 307 and 308 alone, as only these keep a POST (B115). It never leads from https to http, nor
  from elsewhere to this machine, or a server could have us speak to our own network's private services.

The sentences of a refusal repeat nothing of the URL (CLI-14, ERR-06).
"""

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urljoin

from dragoman.transports.http.reach import Zone, zone_spelled

KEEPING_POST = frozenset({307, 308})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
PORTS = {"http": 80, "https": 443}

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<rest>.*)", re.DOTALL)
AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_VISIBLE = re.compile(r"[\x21-\x7e]+")


class Refused(ValueError):
    """Something that was given for the server and cannot be used."""


class Plain(Refused):
    """It is one of plain http to another machine."""


@dataclass(frozen=True, slots=True)
class Address:
    """`host` is in lower case and without brackets; `url` is what was written, but for the case before its path."""

    url: str
    scheme: str
    host: str
    port: int

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)

    @property
    def is_plain(self) -> bool:
        """Whether what passes can be read on its way."""
        return self.scheme == "http" and not self.is_loopback


def address(text: str, *, allow_http: bool = False) -> Address:
    """The address that `text` spells; with `allow_http` also one of http beyond this machine.

    Raises:
        Refused: it is none that may be used.
    """
    parts = _URL.fullmatch(text)
    if parts is None or parts["scheme"].lower() not in PORTS:
        raise Refused("the URL must begin with https:// or http://")
    if not _VISIBLE.fullmatch(text):
        raise Refused("the URL holds a character that must be percent-encoded")
    if "@" in parts["authority"]:
        raise Refused("the URL must not hold a user or a password")
    if "#" in parts["rest"]:
        raise Refused("the URL must not have a fragment")
    authority = AUTHORITY.fullmatch(parts["authority"])
    if authority is None or not _is_host(authority["host"]):
        raise Refused("the URL has no usable host")
    scheme, host = parts["scheme"].lower(), authority["host"].lower()
    port = int(authority["port"] or PORTS[scheme])
    if not 1 <= port <= 65535:
        raise Refused("the URL has a port that cannot be used")
    if scheme == "http" and not allow_http and not is_loopback(host.strip("[]")):
        raise Plain("the URL must use https, as its host is not this machine")
    written = f"{scheme}://{host}" + (f":{authority['port']}" if authority["port"] else "") + parts["rest"]
    return Address(written, scheme, host.strip("[]"), port)


def redirected(place: Address, location: str | None) -> Address:
    """Where a redirect from `place` leads.

    Raises:
        Refused: it is not followed.
    """
    if not location or not _VISIBLE.fullmatch(location):
        raise Refused("the redirect names no usable place")
    try:
        joined = urljoin(place.url, location).partition("#")[0]
    except ValueError:
        raise Refused("the redirect names no usable place") from None
    to = address(joined, allow_http=place.is_plain)
    if place.scheme == "https" and to.scheme != "https":
        raise Refused("the redirect leads away from https")
    if leads_here(place, to):
        raise Refused("the redirect leads to this machine")
    return to


def leads_here(place: Address, to: Address) -> bool:
    """Whether `place`, which is elsewhere, leads to this machine, however that is spelled."""
    return zone_spelled(to.host) is Zone.MACHINE and not place.is_loopback


@lru_cache(256)
def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return False
    return number == ipaddress.IPv6Address("::1") or (number.version == 4 and number.is_loopback)


def _is_host(host: str) -> bool:
    if not host.startswith("["):
        return not host.startswith(".") and ".." not in host
    try:
        ipaddress.IPv6Address(host[1:-1])
    except ValueError:
        return False
    return True
