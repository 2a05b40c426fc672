"""How names become addresses, and which of them a connection may be made to. It is loaded for a URL only.

* `localhost` and the names below it are this machine whatever a name service says, with both of its addresses (B158).
* Hosts that the user wrote are trusted: the server's, a proxy's, and that of a named authorization server. The address
  of any other host is judged as `reach` says, in the moment of the connection.
"""

import ipaddress
import socket

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from dragoman.transports.http.address import is_loopback
from dragoman.transports.http.reach import REFUSED, Zone, permitted, zone_of, zone_spelled

LOOPBACK = (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6))


class OutOfReach(OSError):
    """A connection would lead where its URL may not; the text is the end of a sentence."""


class Resolver(AbstractResolver):
    """
    Args:
        home: the host of the user's server.
        named: further hosts that the user wrote.
        allow_intranet: permit private networks to URLs that others wrote.
    """

    def __init__(self, home: str, named: frozenset[str], allow_intranet: bool) -> None:
        self._system = aiohttp.ThreadedResolver()
        self._home = home
        self._trusted = {_plain(home), *map(_plain, named)}
        self._allow_intranet = allow_intranet
        self._permitted: frozenset[Zone] | None = None

    def trust(self, host: str) -> None:
        """The user wrote `host`, too."""
        self._trusted.add(_plain(host))

    async def judge(self, host: str) -> None:
        """Check a host that spells its address; a name is checked when it is looked up.

        Raises:
            OutOfReach: a connection may not be made to it.
        """
        if _plain(host) in self._trusted:
            return
        zone = zone_spelled(host)
        if zone is not None and zone not in await self._zones():
            raise OutOfReach(REFUSED[zone])

    async def judge_page(self, host: str) -> None:
        """Check the host of a page that a browser will open; one that is not known here may be known to the browser.

        Raises:
            OutOfReach: nobody should be sent there.
        """
        await self.judge(host)
        if zone_spelled(host) is None:
            try:
                await self.resolve(host, family=socket.AF_UNSPEC)
            except OutOfReach:
                raise
            except OSError:
                return

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of `host` that a connection may be made to.

        Raises:
            OutOfReach: there are none but those of a zone that is not permitted.
            OSError: the host is not known.
        """
        found = await self._found(host, port, family)
        if _plain(host) in self._trusted:
            return found
        zones = _zones_of(found)
        if all(zone is Zone.PUBLIC for zone in zones):
            return found
        may = await self._zones()
        kept = [one for one, zone in zip(found, zones, strict=True) if zone in may]
        if not kept:
            raise OutOfReach(REFUSED[next(zone for zone in zones if zone not in may)])
        return kept

    async def close(self) -> None:
        await self._system.close()

    async def _found(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        if not is_loopback(host.lower()):
            return await self._system.resolve(host, port, family)
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [
            ResolveResult(hostname=host, host=number, port=port, family=kind, proto=0, flags=flags)
            for number, kind in LOOPBACK
        ]

    async def _zones(self) -> frozenset[Zone]:
        """The zones that are permitted, by where the user's server is."""
        if self._permitted is None:
            spelled = zone_spelled(self._home)
            if spelled is not None:
                home = [spelled]
            else:
                try:
                    found = await self._system.resolve(self._home, 0, socket.AF_UNSPEC)
                except OSError:
                    found = []  # a proxy may know it; that says nothing of its zone
                home = _zones_of(found)
            self._permitted = permitted(home, self._allow_intranet)
        return self._permitted


def _zones_of(found: list[ResolveResult]) -> list[Zone]:
    return [zone_of(ipaddress.ip_address(one["host"].partition("%")[0])) for one in found]


def _plain(host: str) -> str:
    return host.lower().removesuffix(".")
