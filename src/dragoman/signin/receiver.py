"""The place on this machine to which the browser comes back (RFC 8252), and its one-time start URL.

* It listens on 127.0.0.1 before any URL is shown, and nobody else can listen there (OAUTH-09, OAUTH-10, B151).
* Connections on which nothing comes make room for others.
* The start URL, which only the browser's opener is given, leads to the authorization server once. A second use before
  the redirect stops the sign-in; after it, it is told and warned of (OAUTH-24 to OAUTH-28).
* The first redirect with the expected state ends the wait; every other request is answered and changes nothing.
* Pages are fixed texts with the name of the server; nothing of a request is repeated.
"""

import asyncio
import hmac
import html
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import parse_qs

from dragoman.faults import Cause
from dragoman.signin.authorize import Redirect
from dragoman.signin.failure import Failed
from dragoman.signin.options import CALLBACK, HOST

START = "/start/"
HEAD = 16 << 10  # bytes of a request (OAUTH-31)
HEAD_TIME = 10.0  # seconds for it to arrive
CONNECTIONS = 16

SERVER = "{server}"
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{0} - dragoman</title>'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
    '<body style="font:1.1rem/1.5 system-ui,sans-serif;margin:0 auto;max-width:34rem;padding:10vh 1.5rem;'
    'overflow-wrap:anywhere"><h1>{0}</h1><p>{1}</p></body></html>'
)
DONE = _PAGE.format(
    "Back from the sign-in",
    f"It was for <b>{SERVER}</b>. Your program finishes it and goes on. You can close this page.",
)
ENDED = _PAGE.format(
    "Not signed in",
    f"The sign-in to <b>{SERVER}</b> was ended. Your program says why. You can close this page.",
)
USED = _PAGE.format(
    "This link was used before",
    "A link like this works once. If it was not you who used it, another program on this machine did: look at the "
    "sessions of your account, and sign in again.",
)
NOTHING = _PAGE.format("Nothing here", "This page belongs to a sign-in of dragoman.")
REASONS = {200: "OK", 303: "See Other", 400: "Bad Request", 404: "Not Found", 410: "Gone"}
ALWAYS = (
    "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
    "Connection: close\r\n"
)


class Receiver:
    """`own` is a socket that listens (`listening`), and `server` the name of the server that is signed in to.

    `token` is that of the start URL, `None` for none (OAUTH-29). `note` gets sentences for the log.
    """

    def __init__(
        self,
        own: socket.socket,
        server: str,
        state: str,
        url: str,
        token: str | None,
        note: Callable[[str], None],
        head_time: float = HEAD_TIME,
    ) -> None:
        self._own = own
        self._port: int = own.getsockname()[1]
        self._named = html.escape(server)
        self._state = state
        self._url = url
        self._token = token
        self._note = note
        self._head_time = head_time
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], None] = {}  # those that wait for a request, the oldest first
        self._is_started = False
        self._outcome: asyncio.Future[Redirect]

    @property
    def start_url(self) -> str | None:
        return f"http://{HOST}:{self._port}{START}{self._token}" if self._token is not None else None

    async def open(self) -> None:
        self._outcome = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._connected, sock=self._own, limit=HEAD)

    async def redirect(self) -> Redirect:
        """What the browser brings back.

        Raises:
            Failed: the start URL was used twice.
        """
        return await asyncio.shield(self._outcome)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._connections:  # the last page is on its way
            await asyncio.wait(self._connections, timeout=1.0)
        for task in list(self._connections):
            task.cancel()
        if not self._outcome.done():
            self._outcome.cancel()
        elif not self._outcome.cancelled():
            self._outcome.exception()

    # ------------------------------------------------------------------ requests

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._connections) >= CONNECTIONS:
                next(iter(self._connections)).cancel()  # it has been silent for the longest time
            self._connections[task] = None
            async with asyncio.timeout(self._head_time):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # nobody who has to be answered
        except asyncio.CancelledError:
            pass  # the sign-in is over; a handler that ends as cancelled is logged as an error
        finally:
            self._connections.pop(task, None)
            with suppress(OSError, RuntimeError):
                writer.close()

    def _answer(self, head: bytes) -> bytes:
        lines = head.decode("latin-1").split("\r\n")
        method, _, rest = lines[0].partition(" ")
        target, _, version = rest.rpartition(" ")
        hosts = [line.partition(":")[2].strip() for line in lines[1:] if line.lower().startswith("host:")]
        if not version.startswith("HTTP/1.") or hosts != [f"{HOST}:{self._port}"]:
            return self._page(400, NOTHING)
        path, _, query = target.partition("?")
        if method != "GET":
            return self._page(400 if path == CALLBACK else 404, NOTHING)
        if path == CALLBACK:
            return self._called_back(query)
        if self._token is not None and path.startswith(START):
            return self._start(path.removeprefix(START))
        return self._page(404, NOTHING)

    def _start(self, token: str) -> bytes:
        assert self._token is not None
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            return self._page(404, NOTHING)
        if not self._is_started:
            self._is_started = True
            return f"HTTP/1.1 303 See Other\r\nLocation: {self._url}\r\nContent-Length: 0\r\n{ALWAYS}\r\n".encode()
        if not self._outcome.done():
            self._outcome.set_exception(Failed(Cause.SIGN_IN_START_REUSED))
        else:
            self._note("the start URL of the sign-in was opened once more; another program may have done that")
        return self._page(410, USED)

    def _called_back(self, query: str) -> bytes:
        try:
            fields = parse_qs(query, keep_blank_values=True, strict_parsing=True, max_num_fields=32)
        except ValueError:
            return self._page(400, NOTHING)
        if any(len(fields.get(name, ())) > 1 for name in ("state", "code", "error", "iss")):
            return self._page(400, NOTHING)
        one = {name: values[0] for name, values in fields.items()}
        state, code, error = one.get("state", ""), one.get("code") or None, one.get("error") or None
        is_ours = hmac.compare_digest(state.encode(), self._state.encode())
        if not is_ours or (code is None) == (error is None) or self._outcome.done():
            return self._page(400, NOTHING)
        self._outcome.set_result(Redirect(code, error, one.get("iss")))
        return self._page(200, DONE if code is not None else ENDED)

    def _page(self, status: int, page: str) -> bytes:
        body = page.replace(SERVER, self._named).encode()
        head = f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: text/html; charset=utf-8\r\n"
        return f"{head}Content-Length: {len(body)}\r\n{ALWAYS}\r\n".encode() + body


def listening(*ports: int) -> socket.socket:
    """A socket that listens at the first of `ports` that is free; 0 stands for any (RFC 8252 section 7.3).

    Raises:
        Failed: none of them can be used.
    """
    for port in dict.fromkeys(ports):
        own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            if sys.platform == "win32":
                own.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
            else:
                own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # past connections; no second listener
            own.bind((HOST, port))
            own.listen()
            own.setblocking(False)
        except OSError:
            own.close()
        else:
            return own
    raise Failed(Cause.REDIRECT_PORT_UNAVAILABLE)
