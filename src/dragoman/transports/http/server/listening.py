"""The endpoint on a socket, with its certificate (THTTP-05, THTTP-06).

An `https` target has a certificate; with a client CA, only clients that it vouches for get in, and each is known by
its own.
"""

import asyncio
import logging
import re
import ssl
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from uvicorn import Config
from uvicorn.server import ServerState

from dragoman.limits import Reception
from dragoman.transports.http.address import AUTHORITY, PORTS, Refused, is_loopback
from dragoman.transports.http.server.authentication import Gate, Open
from dragoman.transports.http.server.connection import Guarded

_TARGET = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>/[!-~]*)?", re.IGNORECASE)
UVICORN = logging.getLogger("uvicorn.error")


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen. `host` is without brackets; the files are those of an `https` place."""

    scheme: str
    host: str
    port: int
    path: str
    certificate: str | None = None
    key: str | None = None
    client_ca: str | None = None

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def is_for_strangers(where: Place, gate: Gate) -> bool:
    """Whether clients come in from beyond this machine without saying who they are (decisions T19)."""
    return isinstance(gate, Open) and where.client_ca is None and not is_loopback(where.host)


def place(text: str, certificate: str | None = None, key: str | None = None, client_ca: str | None = None) -> Place:
    """The place that a value of --listen spells.

    Raises:
        Refused: it is none, or its certificate is missing or unwanted.
    """
    parts = _TARGET.fullmatch(text)
    authority = AUTHORITY.fullmatch(parts["authority"]) if parts is not None else None
    if parts is None or authority is None or "?" in (parts["path"] or "") or "#" in (parts["path"] or ""):
        raise Refused("a place to listen on is http://HOST:PORT/PATH or https://HOST:PORT/PATH")
    scheme = parts["scheme"].lower()
    port = int(authority["port"]) if authority["port"] is not None else PORTS[scheme]
    if port > 65535:
        raise Refused("the port to listen on cannot be used")
    if scheme == "https" and (certificate is None or key is None):
        raise Refused("https needs --tls-cert and --tls-key")
    if scheme == "http" and (certificate or key or client_ca):
        raise Refused("--tls-cert, --tls-key and --tls-client-ca are for a place with https")
    host = authority["host"].lower().strip("[]")
    return Place(scheme, host, port, parts["path"] or "/mcp", certificate, key, client_ca)


def server_trust(where: Place) -> ssl.SSLContext | None:
    """What an `https` place shows and asks for (THTTP-06).

    Raises:
        OSError: a file cannot be read, or holds nothing of use.
    """
    if where.scheme != "https" or where.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(where.certificate, where.key)
    if where.client_ca is not None:
        context.load_verify_locations(where.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class Complaints(logging.Handler):
    """What uvicorn says: an exception of the application is noted, what clients do wrong is not."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            *_, last = traceback.extract_tb(error.__traceback__) or [None]
            place = f"{PurePath(last.filename).name}:{last.lineno}" if last is not None else "an unknown place"
            self._note(f"a request failed by a fault of the bridge: {type(error).__name__} at {place}")


class Listening:
    """One listening place and all its connections. `app` is an ASGI application."""

    def __init__(self, where: Place, app: Callable[..., Any], bounds: Reception, note: Callable[[str], None]) -> None:
        self._where = where
        self._bounds = bounds
        self._complaints = Complaints(note)
        self._state = ServerState()
        self._config = Config(
            app,
            http=Guarded,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=int(bounds.idle),
        )
        self._config.load()
        self._servers: list[asyncio.Server] = []
        self._trust: ssl.SSLContext | None = None

    @property
    def port(self) -> int:
        """The port that is listened on, which may have been left to the system."""
        return self._servers[0].sockets[0].getsockname()[1]

    async def start(self) -> None:
        """
        Raises:
            OSError: the address cannot be had, or a file of the certificate not be used.
        """
        self._trust = trust = server_trust(self._where)
        UVICORN.addHandler(self._complaints)  # without a handler, all of it would stand on standard error
        is_local = self._where.host == "localhost"
        loop = asyncio.get_running_loop()

        def connection() -> Guarded:
            return Guarded(self._config, self._state, {}, loop).bounded(self._bounds)

        host = "127.0.0.1" if is_local else self._where.host
        self._servers.append(await loop.create_server(connection, host, self._where.port, ssl=trust, backlog=1024))
        if is_local:
            with suppress(OSError):  # not every machine has IPv6
                self._servers.append(await loop.create_server(connection, "::1", self.port, ssl=trust, backlog=1024))

    def reload(self) -> None:
        """Read the files of the certificate again; connections that are open keep what they have.

        Raises:
            OSError: a file cannot be read, or holds nothing of use; what was read before stays in use.
        """
        if self._trust is None or self._where.certificate is None:
            return
        server_trust(self._where)  # what cannot be used must not take the place of what can
        self._trust.load_cert_chain(self._where.certificate, self._where.key)
        if self._where.client_ca is not None:
            self._trust.load_verify_locations(self._where.client_ca)

    def stop(self) -> None:
        """Take no new connection."""
        for server in self._servers:
            server.close()

    async def aclose(self, grace: float) -> None:
        """End all connections, each after the response that it is in, in `grace` seconds at the most."""
        self.stop()
        for connection in list(self._state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while self._state.connections:  # noqa: ASYNC110 - uvicorn keeps a set and tells nobody
                    await asyncio.sleep(0.02)
        for connection in list(self._state.connections):
            connection.transport.abort()
        UVICORN.removeHandler(self._complaints)
