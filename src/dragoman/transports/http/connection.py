"""How connections are made, and in which words their failure is told. It is loaded for a URL only.

* Which addresses a connection is made to is said by `Resolver`.
* Only opening a connection has a time limit; a response may take as long as its request may.
* Cookies are kept for the exact origin that set them (`cookies.py`). `.netrc` and the proxies that the library would
  find by itself are not used.
* A peer that is gone without a word is noticed by the system's keep-alive probes, in about two minutes.
* Texts hold no URL, no header and nothing the server wrote, so none of the library's own texts.
"""

import asyncio
import io
import os
import socket
import ssl
from typing import Any

import aiohttp

from dragoman.transports.http.address import Address
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.cookies import OriginCookies
from dragoman.transports.http.loss import Lost, cut
from dragoman.transports.http.place import Place, place
from dragoman.transports.http.resolver import OutOfReach, Resolver
from dragoman.transports.http.target import Target, trust

ALWAYS = {"Accept-Encoding": "identity", "User-Agent": "dragoman"}
LARGE = 1 << 20
HOSTNAME_MISMATCH = 62
PROBES = {"TCP_KEEPIDLE": 60, "TCP_KEEPALIVE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""Seconds of silence before the first probe (under two names), seconds between two, and how many may be lost."""


class Connections:
    """The connections of one channel, kept and in use. There is no limit here: the channel bounds its requests.

    `home` is where the user wrote.

    Raises:
        UnusableProxy, UnusableTrust: the environment makes every connection to it impossible (HTTP-09).
    """

    def __init__(self, target: Target, loop: asyncio.AbstractEventLoop, bounds: Bounds) -> None:
        self.target = target
        self.home = place(target.address, target, True)
        self._trust = trust(target) if target.address.scheme == "https" else None
        self._headers = {**ALWAYS, **{header.name: header.value for header in target.headers}}
        self._cookies = OriginCookies()
        self._resolver = Resolver(target.address.host, target.named_hosts, target.allow_intranet)
        connector = aiohttp.TCPConnector(
            limit=0, keepalive_timeout=bounds.idle, resolver=self._resolver, loop=loop, socket_factory=probing_socket
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            loop=loop,
            cookie_jar=aiohttp.DummyCookieJar(loop=loop),
            timeout=aiohttp.ClientTimeout(total=None, connect=bounds.connect),
            auto_decompress=False,
            trust_env=False,
        )

    async def fetch(
        self, method: str, to: Place, body: bytes | None, headers: dict[str, str]
    ) -> aiohttp.ClientResponse:
        """The response of one place, whatever it is. The user's headers go to the user's own origin only (HTTP-11).

        Raises:
            Lost: there is none.
        """
        given = {**(self._headers if to.is_home else ALWAYS), **headers}
        cookies = self._cookies.header(to.address.origin, to.address.url)
        if cookies is not None:
            own = next((name for name in given if name.lower() == "cookie"), "Cookie")
            given[own] = f"{given[own]}; {cookies}" if own in given else cookies
        if to.proxy is not None and to.proxy.host is not None:
            self._resolver.trust(to.proxy.host)
        try:
            await self._resolver.judge(to.address.host)
            response = await self._session.request(
                method,
                to.url,
                data=body if body is None or len(body) < LARGE else io.BytesIO(body),
                headers=given,
                allow_redirects=False,
                proxy=to.proxy,
                ssl=self.tls() if to.address.scheme == "https" else True,
            )
        except (aiohttp.ClientError, OSError) as error:
            raise Lost(cut(None, trouble(error))) from error
        self._cookies.keep(to.address.origin, response)
        return response

    async def judge_page(self, address: Address) -> None:
        """Check that a browser may be sent to `address`.

        Raises:
            OutOfReach: nobody should be sent there.
        """
        await self._resolver.judge_page(address.host)

    def tls(self) -> ssl.SSLContext:
        """
        Raises:
            UnusableTrust: the certificates cannot be read.
        """
        if self._trust is None:
            self._trust = trust(self.target)
        return self._trust

    async def close(self) -> None:
        await self._session.close()


def probing_socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket whose peer is asked whether it is still there, when it has been silent for a minute."""
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in PROBES.items():
        number = getattr(socket, name, None)  # each system has its own names
        if number is not None:
            made.setsockopt(socket.IPPROTO_TCP, number, value)
    return made


def trouble(error: BaseException) -> str:
    """Why a connection failed."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered with HTTP status {error.status}"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"no connection to the proxy: {_reason(error.os_error)}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"the TLS certificate was not accepted: {_verdict(error.certificate_error)}"
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return "the TLS handshake failed"
    refused = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(refused, OutOfReach):
        return str(refused)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the name of the host is not known"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection: {_reason(error.os_error)}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the connection was closed without a response"
    if isinstance(error, TimeoutError):
        return "no connection in time"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the response was cut off"
    if isinstance(error, aiohttp.ClientResponseError):
        return "the response is not valid HTTP"
    if isinstance(error, OSError):
        return f"the connection was lost: {_reason(error)}"
    return f"the connection failed ({type(error).__name__})"


def _reason(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno and error.errno > 0 else "no address of the host took it"


def _verdict(error: Exception) -> str:
    if not isinstance(error, ssl.SSLCertVerificationError) or error.verify_code == HOSTNAME_MISMATCH:
        return "it is for another name"
    return error.verify_message
