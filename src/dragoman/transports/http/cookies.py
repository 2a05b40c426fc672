"""Cookies that a server at a URL sets, such as those by which a load balancer keeps a session on its node (T27).

They are kept in memory, each for the exact origin that set it, whatever its Domain says, under the rules of RFC 6265
for paths and ages. They are sent to that origin only, and never stored or logged.
"""

from typing import TYPE_CHECKING

import aiohttp
from yarl import URL

if TYPE_CHECKING:
    from dragoman.transports.http.endpoint import Origin

MOST = 50
"""Cookies of one origin; further ones are not taken."""


class OriginCookies:
    """The cookies of one channel's origins."""

    def __init__(self) -> None:
        self._jars: dict[Origin, aiohttp.CookieJar] = {}

    def header(self, origin: "Origin", url: str) -> str | None:
        """The value of the Cookie header for a request."""
        jar = self._jars.get(origin)
        if jar is None:
            return None
        found = jar.filter_cookies(URL(url, encoded=True))
        return "; ".join(f"{name}={morsel.coded_value}" for name, morsel in found.items()) or None

    def keep(self, origin: "Origin", response: aiohttp.ClientResponse) -> None:
        """Take what a response sets."""
        if not response.cookies:
            return
        for morsel in response.cookies.values():
            morsel["domain"] = ""  # the origin's alone
        jar = self._jars.setdefault(origin, aiohttp.CookieJar(unsafe=True, quote_cookie=False))
        if len(jar) < MOST:
            jar.update_cookies(response.cookies, response.url)
