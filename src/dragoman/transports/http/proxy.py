"""The proxy that the environment names (HTTP-06).

`HTTPS_PROXY`, for plain http `HTTP_PROXY`, else `ALL_PROXY`, in lower case first, is used for every host that
`NO_PROXY` does not except; this machine is always excepted. An exception is `*`, a name (with all names below it), an
address, a network in CIDR form, and each of these with a port. In a CGI program a header of a client could stand in
`HTTP_PROXY`, so it counts in lower case only there.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from dragoman.transports.http.address import AUTHORITY, PORTS, Address

_PROXY = re.compile(r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://)?(?:(?P<userinfo>.*)@)?(?P<rest>[^@]*)", re.DOTALL)
_EXCEPTION = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:]+|[0-9A-Fa-f:.]+:[0-9A-Fa-f:.]*(?:/[0-9]+)?)(?::(?P<port>[0-9]+))?"
)


class UnusableProxy(ValueError):
    """A proxy variable with a value that names no proxy; the sentence names the variable alone (HTTP-09)."""


@dataclass(frozen=True, slots=True)
class Proxy:
    scheme: str
    host: str
    port: int
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)


def proxy_for(address: Address, environment: Mapping[str, str]) -> Proxy | None:
    """The proxy on the way to `address`, if there is one.

    Raises:
        UnusableProxy: one is named, and it cannot be used.
    """
    if address.is_loopback:
        return None
    found = _first(environment, f"{address.scheme}_proxy", "all_proxy")
    if found is None or is_excepted(address, (_first(environment, "no_proxy") or ("", ""))[1]):
        return None
    name, value = found
    return _proxy(name, value)


def is_excepted(address: Address, exceptions: str) -> bool:
    """Whether a value of `NO_PROXY` excepts `address`."""
    return any(_excepts(entry, address) for entry in re.split(r"[,\s]+", exceptions.strip()) if entry)


def _first(environment: Mapping[str, str], *names: str) -> tuple[str, str] | None:
    for name in names:
        is_forgeable = name == "http_proxy" and "REQUEST_METHOD" in environment
        for spelled in (name,) if is_forgeable else (name, name.upper()):
            value = environment.get(spelled, "").strip()
            if value:
                return spelled, value
    return None


def _proxy(name: str, value: str) -> Proxy:
    parts = _PROXY.fullmatch(value)
    assert parts is not None
    scheme = (parts["scheme"] or "http").lower()
    if scheme not in PORTS:
        raise UnusableProxy(f"the variable {name} names a kind of proxy that is not supported; use http or https")
    place = AUTHORITY.fullmatch(parts["rest"].removesuffix("/"))
    if place is None or not 1 <= int(place["port"] or PORTS[scheme]) <= 65535:
        raise UnusableProxy(f"the variable {name} names no usable proxy")
    user = password = None
    if parts["userinfo"] is not None:
        user, colon, password = parts["userinfo"].partition(":")
        user, password = unquote(user), unquote(password) if colon else None
    return Proxy(scheme, place["host"].strip("[]"), int(place["port"] or PORTS[scheme]), user, password)


def _excepts(entry: str, address: Address) -> bool:
    if entry == "*":
        return True
    parts = _EXCEPTION.fullmatch(entry.lower())
    if parts is None or (parts["port"] is not None and int(parts["port"]) != address.port):
        return False
    name = parts["host"].strip("[]").removeprefix("*").removeprefix(".").rstrip(".")
    try:
        host = ipaddress.ip_address(address.host)
    except ValueError:
        host = None
    if host is not None:
        try:
            return host in ipaddress.ip_network(name, strict=False)
        except ValueError:
            return False
    plain = address.host.rstrip(".")
    return bool(name) and (plain == name or plain.endswith("." + name))
