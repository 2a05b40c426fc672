"""How connections are made, and in which words their failure is told. It is loaded for a URL only.

* `localhost` and the names below it are this machine whatever a name service says, with both of its addresses (B158).
* Only opening a connection has a time limit; a response may take as long as its request may.
* Cookies, `.netrc` and the proxies that the library would find by itself are not used.
* Texts hold no URL, no header and nothing the server wrote, so none of the library's own texts.
"""

import asyncio
import io
import os
import socket
import ssl

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from dragoman.transports.http.address import is_loopback
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.loss import Lost, cut
from dragoman.transports.http.place import Place, place
from dragoman.transports.http.target import Target, trust

ALWAYS = {"Accept-Encoding": "identity", "User-Agent": "dragoman"}
LARGE = 1 << 20
LOOPBACK = (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6))
HOSTNAME_MISMATCH = 62


class _Resolver(AbstractResolver):
    def __init__(self) -> None:
        self._system = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if not is_loopback(host.lower()):
            return await self._system.resolve(host, port, family)
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [
            ResolveResult(hostname=host, host=number, port=port, family=kind, proto=0, flags=flags)
            for number, kind in LOOPBACK
        ]

    async def close(self) -> None:
        await self._system.close()


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
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=bounds.idle, resolver=_Resolver(), loop=loop)
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
        try:
            return await self._session.request(
                method,
                to.url,
                data=body if body is None or len(body) < LARGE else io.BytesIO(body),
                headers={**(self._headers if to.is_home else ALWAYS), **headers},
                allow_redirects=False,
                proxy=to.proxy,
                ssl=self.tls() if to.address.scheme == "https" else True,
            )
        except (aiohttp.ClientError, OSError) as error:
            raise Lost(cut(None, trouble(error))) from error

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
