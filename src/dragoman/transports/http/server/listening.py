"""The endpoint on a socket: uvicorn's protocol for HTTP, with the bounds that it leaves to others (THTTP-05).

A head has to come in time and in size, a connection without a request ends, a client that takes nothing is let go, and
there are only so many connections. An `https` target has a certificate; with a client CA, only clients that it vouches
for get in.
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
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from dragoman.limits import Reception
from dragoman.transports.http.address import AUTHORITY, PORTS, Refused, is_loopback
from dragoman.transports.http.server.authentication import Gate, Open
from dragoman.transports.http.server.joined import Joined

_TARGET = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>/[!-~]*)?", re.IGNORECASE)
UVICORN = logging.getLogger("uvicorn.error")
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
HEAD_ENDS = b"\r\n\r\n"
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


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

    @property
    def port(self) -> int:
        """The port that is listened on, which may have been left to the system."""
        return self._servers[0].sockets[0].getsockname()[1]

    async def start(self) -> None:
        """
        Raises:
            OSError: the address cannot be had, or a file of the certificate not be used.
        """
        trust = server_trust(self._where)
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


class Guarded(HttpToolsProtocol):
    """A connection that cannot be held open for nothing."""

    _bounds: Reception
    _timer: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _in_head = False
    _is_between = True
    _head = 0

    def bounded(self, bounds: Reception) -> "Guarded":
        self._bounds = bounds
        return self

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Joined(transport, self.loop))
        if len(self.connections) > self._bounds.connections:
            self._end(BUSY)
        else:
            self._timer = self.loop.call_later(self._bounds.head_time, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        room = self._bounds.head - self._head
        if len(data) > room and (self._in_head or self._is_between) and not 0 <= data.find(HEAD_ENDS) <= room:
            self._end(HEAD_TOO_LARGE)
            return
        super().data_received(data)
        if not self._in_head:
            return
        self._head += len(data)
        if self._timer is None:
            self._timer = self.loop.call_later(self._bounds.head_time, self._late)

    def on_message_begin(self) -> None:
        self._in_head, self._is_between, self._head = True, False, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head, self._head = False, 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_between = True
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(self._bounds.stall, self._stall)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _late(self) -> None:
        self._timer = None
        self._end(TOO_SLOW)

    def _stall(self) -> None:
        """Nothing of what waits could be sent for a long time."""
        self._stalled = None
        self.transport.abort()

    def _end(self, response: bytes) -> None:
        self._stop_timers()
        if self._is_answering():
            self.transport.abort()  # it would stand in the middle of another response
        elif not self.transport.is_closing():
            self.transport.write(response)
            self.transport.close()

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle  # none before the first request
        return cycle is not None and cycle.response_started and not cycle.response_complete

    def _stop_timers(self) -> None:
        for timer in (self._timer, self._stalled):
            if timer is not None:
                timer.cancel()
        self._timer = self._stalled = None
