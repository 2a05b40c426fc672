"""The endpoint as an ASGI application: requests in, responses and streams of events out (decisions L3).

* Nothing is looked at before the request is admitted: its Host, its Origin, who it is from (THTTP-02). What the gate
  tells of itself is for everyone, whatever the Origin (revisions 7), and so are the probes of health.
* What is refused is told in a sentence, and with a line in the log, of each kind not more than one in a while.
* A response begins when it is known what it is. While a stream is open, the closing of its connection is noticed at
  once; for one JSON object, as soon as the answer takes long.
* The service behind it is synchronous and knows nothing of ASGI.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol
from urllib.parse import parse_qs

from dragoman.faults import Cause, Fault
from dragoman.limits import Reception
from dragoman.transports.http.server.admission import PUBLIC, Admission
from dragoman.transports.http.server.asgi import Connection, Headers, Receive, Scope, Send, chunk, write, write_answer
from dragoman.transports.http.server.authentication import Challenge, Gate, Unready
from dragoman.transports.http.server.budget import Budget
from dragoman.transports.http.server.exchange import Exchange, Form
from dragoman.transports.http.server.head import Head, Reply, refusal
from dragoman.transports.http.server.notes import RateLimitedNotes
from dragoman.transports.http.server.stream import Reader, Stream

EVENTS: Headers = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)
ALLOWED: Headers = ((b"allow", b"GET, POST, DELETE, OPTIONS"),)
READ_ONLY: Headers = ((b"allow", b"GET, OPTIONS"),)
SESSION_KEY = "session_id"
HEALTH, READINESS = "/healthz", "/readyz"
CONNECTION = "dragoman.connection"  # where the scope has the connection, when it is one of our own


class SseSession(Protocol):
    """A connection of HTTP+SSE."""

    id: str
    standalone: Stream


class Service(Protocol):
    """What is behind the application. Once `is_ready`, everything is answered at once, or on what is given back."""

    @property
    def is_ready(self) -> bool:
        """Whether a message can be handled without a wait."""
        ...

    async def ready(self) -> None:
        """Wait until a message can be handled, be it with an error."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether clients are served."""
        ...

    @property
    def budget(self) -> Budget:
        """What all responses keep is counted in it."""
        ...

    def post(self, head: Head, body: bytes) -> Exchange | Reply: ...

    def listen(self, head: Head) -> Stream | Reply: ...

    def leave(self, head: Head) -> Reply: ...

    def open_sse(self, head: Head) -> SseSession | Reply: ...

    def close_sse(self, id: str) -> None: ...

    def hung_up(self, exchange: Exchange) -> None: ...

    def finished(self, exchange: Exchange) -> None: ...


class TooLarge(Exception):
    """The body is above the limit."""


class HungUp(Exception):
    """The client closed the connection while it sent its request."""


class App:
    """`path` is where the endpoint is, below the place where the application is mounted.

    `service` is asked for when the first request comes, so that the application can be made outside of a loop. With
    `has_probes` the paths of health are answered.
    """

    def __init__(
        self,
        service: Callable[[], Service],
        path: str,
        admission: Admission,
        gate: Gate,
        bounds: Reception,
        note: Callable[[str], None],
        close: Callable[[], Awaitable[None]] | None = None,
        has_probes: bool = False,
    ) -> None:
        self._make = service
        self._made: Service | None = None
        self._path = path.rstrip("/")
        self._admission = admission
        self._gate = gate
        self._bounds = bounds
        self._notes = RateLimitedNotes(note)
        self._note = self._notes.note
        self._close = close
        self._has_probes = has_probes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            with suppress(HungUp):
                await self._http(scope, receive, send)
        else:
            raise NotImplementedError(f"{scope['type']} is not served here")

    @property
    def service(self) -> Service:
        if self._made is None:
            self._made = self._make()
        return self._made

    async def aclose(self) -> None:
        """End everything behind the application; for a host that does not speak the lifespan protocol to it."""
        if self._close is not None:
            await self._close()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return

    # ------------------------------------------------------------------ requests

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        origin = headers.get("origin")
        if not self._admission.admits_host(headers.get("host")):
            text = f"the Host {ascii(headers.get('host', ''))[:100]} is not allowed; --allow-host names further ones"
            self._note("host", text)
            await write(send, refusal(403, Fault(Cause.FORBIDDEN)))
            return
        path, method = _path(scope), scope["method"]
        if self._has_probes and path in (HEALTH, READINESS):
            await write(send, self._probed(path, method))
            return
        if self._gate.describes(path):
            await write(send, self._described(method), PUBLIC)
            return
        if not self._admission.admits_origin(origin):
            self._note("origin", f"the Origin {ascii(origin)[:100]} is not allowed; --allow-origin names further ones")
            await write(send, refusal(403, Fault(Cause.FORBIDDEN)))
            return
        cors = self._admission.cors(origin, headers.get("access-control-request-headers", "").encode("latin-1"))
        if path.rstrip("/") != self._path:
            self._note("path", f"a request for the path {ascii(path)[:100]}, where there is no endpoint")
            await write(send, refusal(404, Fault(Cause.NO_ENDPOINT)), cors)
            return
        if method == "OPTIONS":
            await write(send, Reply(204, headers=ALLOWED), cors)
            return
        admitted = await self._gate.admit(headers.get("authorization"))
        if isinstance(admitted, Challenge | Unready):
            if isinstance(admitted, Challenge):
                self._note("gate", admitted.described)
            elif admitted.note is not None:
                self._note("issuer", admitted.note)
            await write(send, admitted.reply(), cors)
            return
        principal = self._identify(admitted, scope.get(CONNECTION))
        if method == "POST":
            await self._post(scope, headers, principal, receive, send, cors)
        elif method == "GET":
            await self._get(scope, Head(headers, True, principal), receive, send, cors)
        elif method == "DELETE":
            await write(send, self.service.leave(Head(headers, True, principal)), cors)
        else:
            await write(send, Reply(405, headers=ALLOWED), cors)

    def _identify(self, admitted: str | None, connection: Connection | None) -> str | None:
        """Who a request is from: whom the gate knows, and whose certificate the connection has."""
        certificate = connection.certificate if connection is not None else None
        principal = admitted if certificate is None else f"{certificate}\n{admitted or ''}"
        if connection is not None and principal is not None:
            connection.know()
        return principal

    def _probed(self, path: str, method: str) -> Reply:
        if method not in ("GET", "HEAD"):
            return Reply(405, headers=((b"allow", b"GET, HEAD"),))
        return Reply(200 if path == HEALTH or self.service.is_open else 503)

    def _described(self, method: str) -> Reply:
        if method == "GET":
            return self._gate.description()
        return Reply(204 if method == "OPTIONS" else 405, headers=READ_ONLY)

    async def _post(
        self, scope: Scope, headers: dict[str, str], principal: str | None, receive: Receive, send: Send, cors: Headers
    ) -> None:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            await write(send, refusal(415, Fault(Cause.UNSUPPORTED_MEDIA, "the Content-Type is another")), cors)
            return
        coding = headers.get("content-encoding", "identity").strip().lower()
        if coding != "identity":
            why = Fault(Cause.UNSUPPORTED_MEDIA, f"the Content-Encoding {ascii(coding)[:40]} is not taken")
            await write(send, refusal(415, why, None, (b"accept-encoding", b"identity")), cors)
            return
        accept = headers.get("accept", "*/*").lower()
        if not _accepts(accept, "application/json") and not _accepts(accept, "text/event-stream"):
            await write(send, refusal(406, Fault(Cause.UNSUPPORTED_MEDIA, "Accept allows neither")), cors)
            return
        try:
            body = await self._body(headers, receive)
        except TooLarge:
            self._note("body", f"a request body above the limit of {self._bounds.body} bytes was refused")
            why = Fault(Cause.LINE_TOO_LONG, f"limit: {self._bounds.body} bytes; --max-body-bytes sets it")
            await write(send, refusal(413, why), cors)
            return
        except TimeoutError:
            why = Fault(Cause.INVALID_REQUEST_SHAPE, "the body did not come in time")
            await write(send, refusal(408, why, None, (b"connection", b"close")), cors)
            return
        head = Head(headers, _accepts(accept, "text/event-stream"), principal, _session_in(scope))
        if not self.service.is_ready:
            await self.service.ready()
        outcome = self.service.post(head, body)
        if isinstance(outcome, Reply):
            await write(send, outcome, cors)
            return
        await self._answer(outcome, scope.get(CONNECTION), receive, send, cors)

    async def _answer(
        self, exchange: Exchange, connection: Connection | None, receive: Receive, send: Send, cors: Headers
    ) -> None:
        form = await exchange.form()
        if form is Form.STREAM:
            assert exchange.stream is not None
            if await self._pour(exchange.stream, receive, send, (*cors, *_session(exchange))):
                self.service.finished(exchange)
            else:
                self.service.hung_up(exchange)
            return
        if form is Form.SLOW and not await self._outwaited(exchange, receive):
            self.service.hung_up(exchange)
            return
        self.service.finished(exchange)
        status, headers = exchange.status if exchange.answers else 202, (*_session(exchange), *cors)
        await write_answer(send, Reply(status, exchange.taken(), headers), self.service.budget, connection)

    async def _outwaited(self, exchange: Exchange, receive: Receive) -> bool:
        """Wait for an answer that takes long, and that the client wants as one object; `False` when it goes away."""
        gone = asyncio.ensure_future(_gone(receive))
        answered = asyncio.ensure_future(exchange.over())
        try:
            await asyncio.wait((gone, answered), return_when=asyncio.FIRST_COMPLETED)
            return answered.done()
        finally:
            gone.cancel()
            answered.cancel()

    async def _get(self, scope: Scope, head: Head, receive: Receive, send: Send, cors: Headers) -> None:
        if not _accepts(head.headers.get("accept", "*/*").lower(), "text/event-stream"):
            await write(send, refusal(406, Fault(Cause.UNSUPPORTED_MEDIA, "Accept allows no event stream")), cors)
            return
        if head.session is None and head.version is None:
            await self._sse(scope, head, receive, send, cors)
            return
        if not self.service.is_ready:
            await self.service.ready()
        outcome = self.service.listen(head)
        if isinstance(outcome, Reply):
            await write(send, outcome, cors)
        else:
            await self._pour(outcome, receive, send, cors)

    async def _sse(self, scope: Scope, head: Head, receive: Receive, send: Send, cors: Headers) -> None:
        """A client of 2024-11-05: the first event tells where to post (revisions 5.2)."""
        if not self.service.is_ready:
            await self.service.ready()
        session = self.service.open_sse(head)
        if isinstance(session, Reply):
            await write(send, session, cors)
            return
        place = f"{scope.get('root_path', '').rstrip('/')}{self._path}?{SESSION_KEY}={session.id}"
        first = b"event: endpoint\ndata: %b\n\n" % place.encode()
        try:
            await self._pour(session.standalone, receive, send, cors, first)
        finally:
            self.service.close_sse(session.id)

    # ------------------------------------------------------------------ streams

    async def _pour(self, stream: Stream, receive: Receive, send: Send, headers: Headers, first: bytes = b"") -> bool:
        """Write a stream out as it comes; whether all of it was written."""
        reader = stream.read()
        watch = asyncio.ensure_future(_watch(receive, reader))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": [*EVENTS, *headers]})
            if first:
                await send(chunk(first))
            while (data := await reader.next(self._bounds.comment_after)) is not None:
                async with asyncio.timeout(self._bounds.stall):
                    await send(chunk(data))
            if not reader.is_gone:
                async with asyncio.timeout(self._bounds.stall):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
            return stream.finished and not reader.ends and not stream.has_exceeded
        except (OSError, TimeoutError):
            return False
        finally:
            reader.close()
            watch.cancel()

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        """The whole body of a POST.

        Raises:
            TooLarge: it is, or says that it will be, above the limit.
            HungUp: the client went away.
            TimeoutError: it did not come in time.
        """
        length = headers.get("content-length")
        if length is not None and length.isdigit() and int(length) > self._bounds.body:
            raise TooLarge
        chunks: list[bytes] = []
        size = 0
        async with asyncio.timeout(self._bounds.body_time):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise HungUp
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                if size > self._bounds.body:
                    raise TooLarge
                if not message.get("more_body", False):
                    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def _watch(receive: Receive, reader: Reader) -> None:
    await _gone(receive)
    reader.hang_up()


async def _gone(receive: Receive) -> None:
    """Wait until the client closes the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _session(exchange: Exchange) -> Headers:
    return ((b"mcp-session-id", exchange.session.encode()),) if exchange.session is not None else ()


def _headers(scope: Scope) -> dict[str, str]:
    """The headers by name, which ASGI has in small letters; of one that stands twice, the values are joined."""
    given: list[tuple[bytes, bytes]] = list(scope["headers"])
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in given}
    if len(headers) < len(given):
        values: dict[str, list[str]] = {}
        for name, value in given:
            values.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        headers = {name: ", ".join(each) for name, each in values.items()}
    return headers


def _path(scope: Scope) -> str:
    """The path below the place where the application is mounted."""
    path, root = scope["path"], scope.get("root_path", "")
    return path.removeprefix(root) if root and path.startswith(root) else path


def _session_in(scope: Scope) -> str | None:
    query = scope.get("query_string", b"")
    if not query:
        return None
    values = parse_qs(query.decode("latin-1")).get(SESSION_KEY)
    return values[0] if values else None


def _accepts(accept: str, kind: str) -> bool:
    return "*/*" in accept or kind in accept or f"{kind.partition('/')[0]}/*" in accept
