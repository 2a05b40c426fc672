"""How far a URL may lead that the user did not write (faults C8).

A server, its authorization server and every redirect name URLs, and whoever names one could have us speak to a private
service of our own network. So what is judged is the address that a connection is made to, however it is spelled and
whatever a name service says: one of this machine or of a private network only where the user's own server is, too.
"""

import ipaddress
import socket
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

Number: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
COMPATIBLE = ipaddress.IPv6Network("::/96")
SHARED = ipaddress.IPv4Network("100.64.0.0/10")
SITE = ipaddress.IPv6Network("fec0::/10")


class Zone(Enum):
    """What an address belongs to."""

    PUBLIC = "public"
    PRIVATE = "private"
    MACHINE = "machine"
    SPECIAL = "special"  # link-local, multicast, reserved: no server of anybody's network


REFUSED = {
    Zone.PRIVATE: "it leads into a private network, and the user did not write it; --allow-intranet permits it",
    Zone.MACHINE: "it leads to this machine, and the user did not write it",
    Zone.SPECIAL: "it leads to an address that is no server's",
}
"""Why an address is not spoken to, as the end of a sentence."""


def zone_of(number: Number) -> Zone:
    """The zone of an address, or of the IPv4 address that an IPv6 one carries."""
    carried = _carried(number)
    if carried is not None:
        return zone_of(carried)
    if number.is_loopback or number.is_unspecified:
        return Zone.MACHINE
    if number.is_multicast or number.is_link_local or number.is_reserved:
        return Zone.SPECIAL
    if number.is_private or (number in SHARED if number.version == 4 else number in SITE):
        return Zone.PRIVATE
    return Zone.PUBLIC


def _carried(number: Number) -> ipaddress.IPv4Address | None:
    if number.version == 4:
        return None
    if number.ipv4_mapped is not None or number.sixtofour is not None:
        return number.ipv4_mapped or number.sixtofour
    if number.teredo is not None:
        return number.teredo[1]
    if number in NAT64 or (number in COMPATIBLE and int(number) > 1):
        return ipaddress.IPv4Address(int(number) & 0xFFFFFFFF)
    return None


@lru_cache(256)
def literal(host: str) -> Number | None:
    """The address that `host` spells, also as systems read it (`127.1`, `0x7f000001`); `None` for a name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host.removesuffix(".")))
    except (OSError, ValueError):
        return None


def zone_spelled(host: str) -> Zone | None:
    """The zone that the spelling of `host` tells; `None` for a name that has to be looked up."""
    name = host.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return Zone.MACHINE
    number = literal(host)
    return zone_of(number) if number is not None else None


def permitted(home: Iterable[Zone], allow_intranet: bool) -> frozenset[Zone]:
    """The zones that a URL of others may lead to, when the user's server is in those of `home`."""
    zones = {Zone.PUBLIC, *home}
    if allow_intranet or Zone.MACHINE in zones:  # who is on this machine reaches its network anyway
        zones.add(Zone.PRIVATE)
    return frozenset(zones)
