"""One connection of a listener: uvicorn's protocol for HTTP, with the bounds that it leaves to others (THTTP-05).

* A head has to come in time, in size and in number of headers, and a body in time; no byte begins that time anew.
* A request that is answered before all of it has come is read on for a moment, so that its client sees the answer.
* There are only so many connections. When there are too many, one that waits between requests makes room: strangers
  first, and of them the one that waits longest.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dragoman.limits import Reception
from dragoman.transports.http.address import is_loopback
from dragoman.transports.http.server.app import CONNECTION
from dragoman.transports.http.server.joined import Joined

BUSY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 10\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
HEAD_ENDS = b"\r\n\r\n"
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Guarded(HttpToolsProtocol):
    """A connection that cannot be held open for nothing.

    `certificate` names the client by its TLS certificate: issuer and subject.
    """

    certificate: str | None = None
    _bounds: Reception
    _timer: asyncio.TimerHandle | None = None  # for the head, or for what is behind it
    _stalled: asyncio.TimerHandle | None = None
    _in_head = False
    _is_between = True
    _is_refused = False
    _is_over = False  # nothing that still comes is waited for
    _is_known = False
    _keeps_alive = True
    _waits_since = 0.0
    _head = 0
    _host: str | None = None
    _is_near = True  # it comes from this machine, be it from a proxy in front

    def bounded(self, bounds: Reception) -> "Guarded":
        self._bounds = bounds
        return self

    def know(self) -> None:
        """A request of a caller who is known came on it."""
        self._is_known = True

    def abort(self) -> None:
        """End it at once, whatever it is in the middle of."""
        self._stop_timers()
        self.transport.abort()

    # ------------------------------------------------------------------ the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Joined(transport, self.loop, self._lingers))
        self._waits_since = self.loop.time()
        self._host = self.client[0] if self.client else None
        self._is_near = self._host is None or is_loopback(self._host)
        self.certificate = _named(transport.get_extra_info("peercert"))
        if self._has_room():
            self._wait(self._bounds.head_time)
        else:
            self._end(BUSY)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timers()
        super().connection_lost(exc)

    def _has_room(self) -> bool:
        """Whether this connection may stay; others that wait for nothing may have to go for it."""
        others: list[Guarded] = [each for each in self.connections if isinstance(each, Guarded) and each is not self]
        if not self._is_near:
            neighbours = [each for each in others if each._host == self._host]
            if len(neighbours) >= self._bounds.per_address:
                return _made_room(neighbours)
        return len(others) < self._bounds.connections or _made_room(others)

    @property
    def is_idle(self) -> bool:
        """Whether no request is at work on it."""
        return not self.transport.is_closing() and not self._is_busy()

    def _is_busy(self) -> bool:
        cycle: Any = self.cycle  # none before the first request
        return cycle is not None and not cycle.response_complete

    # ------------------------------------------------------------------ what comes

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        room = self._bounds.head - self._head
        if len(data) > room and (self._in_head or self._is_between) and not 0 <= data.find(HEAD_ENDS) <= room:
            self._refuse(HEAD_TOO_LARGE)
            return
        was_between = self._is_between
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
        is_stray = was_between and self._is_between and not self._is_busy()
        if (self._in_head or is_stray) and self._timer is None:
            self._wait(self._bounds.head_time)  # from the first byte on, whatever byte it is

    def on_message_begin(self) -> None:
        self._in_head, self._is_between, self._head = True, False, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head, self._head = False, 0
        if len(self.headers) > self._bounds.headers:
            self._refuse(HEAD_TOO_LARGE)
            return
        self._wait(self._bounds.body_time)
        super().on_headers_complete()
        cycle: Any = self.cycle
        self._keeps_alive, cycle.keep_alive = cycle.keep_alive, False  # a response to a part of a request ends it all
        self.scope[CONNECTION] = self  # type: ignore[typeddict-unknown-key]

    def on_body(self, body: bytes) -> None:
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_between = True
        self._stop_waiting()
        if self._is_refused:
            return
        cycle: Any = self.cycle
        if cycle.response_complete:
            self.transport.close()  # as that response announced
        elif not cycle.response_started:
            cycle.keep_alive = self._keeps_alive
        super().on_message_complete()

    def shutdown(self) -> None:
        self._keeps_alive = False
        super().shutdown()

    def on_response_complete(self) -> None:
        self._waits_since = self.loop.time()
        super().on_response_complete()
        if not self._is_between and not self._in_head and not self.transport.is_closing():
            self._wait(self._bounds.linger)

    # ------------------------------------------------------------------ time

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(self._bounds.stall, self._stall)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _wait(self, seconds: float) -> None:
        """What is on its way has so much time, whatever comes of it meanwhile."""
        self._stop_waiting()
        self._timer = self.loop.call_later(seconds, self._late)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        cycle: Any = self.cycle
        if cycle is not None and cycle.response_complete and not self._is_between and not self._in_head:
            self._is_over = True
            self.transport.close()  # it has its answer
        else:
            self._end(TOO_SLOW)

    def _stall(self) -> None:
        """Nothing of what waits could be sent for a long time."""
        self._stalled = None
        self.transport.abort()

    # ------------------------------------------------------------------ the end

    def _refuse(self, response: bytes) -> None:
        """Nothing more of what this client sends is looked at."""
        self._is_refused = True
        self._end(response)

    def _end(self, response: bytes) -> None:
        self._stop_timers()
        self._is_over = True
        if self._is_answering():
            self.transport.abort()  # it would stand in the middle of another response
        elif not self.transport.is_closing():
            self.transport.write(response)
            self.transport.close()

    def _lingers(self) -> bool:
        """Whether the rest of an answered request is still coming: a client that writes it would not see the answer."""
        return not (self._is_between or self._in_head or self._is_over)

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and cycle.response_started and not cycle.response_complete

    def _stop_timers(self) -> None:
        self._stop_waiting()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None


def _made_room(connections: list[Guarded]) -> bool:
    waiting = [each for each in connections if each.is_idle]
    if waiting:
        min(waiting, key=_precedence).transport.close()
    return bool(waiting)


def _precedence(connection: Guarded) -> tuple[bool, float]:
    """Who makes room first: strangers, and among them who waits longest."""
    return connection._is_known, connection._waits_since  # pyright: ignore[reportPrivateUsage]


def _named(certificate: Any) -> str | None:
    """Issuer and subject of a TLS client certificate, as the principal that they stand for."""
    if not certificate:
        return None
    names = [
        ",".join(f"{kind}={value}" for part in certificate.get(member, ()) for kind, value in part)
        for member in ("issuer", "subject")
    ]
    return "certificate of " + " / ".join(names)
