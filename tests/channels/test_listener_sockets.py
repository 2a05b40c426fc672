"""The listener on real sockets: what holds a connection open for nothing, load, and TLS."""

import asyncio
import gc
import json
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme

from dragoman.limits import Reception
from dragoman.transports.http.server.exchange import Exchange
from dragoman.transports.http.server.head import Head
from dragoman.transports.http.server.listening import Listening, place
from support.listener import (
    BOTH,
    Listener,
    Server,
    call,
    elapse,
    error_of,
    initialize,
    mirrored,
    modern,
    notice,
    scene,
    settle,
    text_of,
)
from support.proofs import proves

pytestmark = pytest.mark.timeout(60)

SOON = Reception(head_time=0.15, body_time=0.15, stall=0.2, stream_after=0.1, linger=0.15)
HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MANY = b"100000\r\n%b\r\n" % (b" " * 0x100000)


class Site:
    """A listener on a socket of this process."""

    def __init__(self, listener: Listener, listening: Listening, scheme: str) -> None:
        self.listener = listener
        self.server = listener.server
        self.port = listening.port
        self.url = f"{scheme}://localhost:{self.port}/mcp"

    async def raw(self, *pieces: bytes, pause: float = 0.0) -> bytes:
        """All that comes on a connection that these bytes are written to, until the other side closes it."""
        reader, writer = await asyncio.open_connection("localhost", self.port)
        try:
            with suppress(ConnectionError):
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(pause)
                async with asyncio.timeout(10):
                    return await reader.read()
            return b""
        finally:
            writer.close()


@asynccontextmanager
async def site(
    bounds: Reception = SOON,
    target: str = "http://localhost:0/mcp",
    server: Server | None = None,
    handshake: str | None = None,
    **files: Any,
) -> AsyncGenerator[Site]:
    listener = Listener(server, bounds, handshake=handshake)
    where = place(target, **files)
    listening = Listening(where, listener.app, bounds, listener.texts.append)
    await listening.start()
    try:
        yield Site(listener, listening, where.scheme)
    finally:
        listening.stop()
        await listener.close(grace=0.05)
        await listening.aclose(0.2)


class Client:
    """A client of either era, on connections of its own."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self._url = url
        self._http = http
        self._session: dict[str, str] = {}

    async def post(self, message: Any, **headers: str) -> Any:
        """The answer to a message, whether it comes alone or as the last event."""
        given = {"accept": BOTH, "content-type": "application/json", **self._session, **headers}
        async with self._http.post(self._url, data=json.dumps(message), headers=given) as response:
            if "mcp-session-id" in response.headers:
                self._session["mcp-session-id"] = response.headers["mcp-session-id"]
            body = await response.read()
            if response.content_type == "text/event-stream":
                body = body.rstrip().rpartition(b"data: ")[2]
            return json.loads(body) if body else response.status

    async def modern(self, message: Any) -> Any:
        message = modern(message)
        return await self.post(message, **mirrored(message))

    async def open(self) -> "Client":
        assert "result" in await self.post(initialize())
        assert await self.post(notice("initialized")) == 202
        return self


@asynccontextmanager
async def clients(one: Site, count: int = 1, **options: Any) -> AsyncGenerator[list[Client]]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, **options)) as http:
        yield [Client(one.url, http) for _ in range(count)]


# ---------------------------------------------------------------------- connections that only cost


@pytest.mark.parametrize(
    ("pieces", "status"),
    [
        ((b"",), 408),
        ((b"POST /mcp HT",), 408),
        ((HEAD,), 408),
        ((HEAD + b"Content-Length: 100\r\n\r\n{",), 408),
        ((HEAD + b"Content-Length: 100\r\n\r\n",), 408),
        ((HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n[1,2,\r\n",), 408),
        ((HEAD + b"X: " + b"x" * 20_000 + b"\r\n\r\n",), 431),
        ((HEAD, b"X: " + b"x" * 10_000 + b"\r\n", b"Y: " + b"y" * 10_000 + b"\r\n", b"\r\n"), 431),
        ((HEAD, *[b"X-%d: %b\r\n" % (number, b"x" * 100) for number in range(151)]), 431),
        ((b"GET /" + b"x" * 20_000,), 431),
        ((HEAD + b"Content-Length: 5000000\r\n\r\n",), 413),
        (
            (
                HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
                *[b"100000\r\n%b\r\n" % (b" " * 0x100000)] * 4,
                b"1\r\n \r\n",
            ),
            413,
        ),
        ((b"rubbish\r\n\r\n",), 400),
    ],
    ids=[
        *("nothing", "half a line", "half a head", "half a body", "no body", "half of chunks"),
        *("a large header", "large headers", "many headers", "a large line", "a large body", "many chunks", "rubbish"),
    ],
)
@scene
async def test_a_connection_that_is_no_request_ends(pieces: tuple[bytes, ...], status: int) -> None:
    async with site() as one:
        said = await one.raw(*pieces)
        assert said.startswith(b"HTTP/1.1 %d " % status), said[:200]
        assert not one.server.starts
        async with clients(one) as (client,):
            assert text_of(await client.modern(call(1, text="others work"))) == "others work"


@proves("THTTP-05")
@scene
async def test_a_head_in_drops_ends_in_time() -> None:
    async with site() as one:
        started = asyncio.get_running_loop().time()
        said = await one.raw(*[b"%c" % letter for letter in HEAD * 3], pause=0.01)
        assert not said or said.startswith(b"HTTP/1.1 408")
        assert asyncio.get_running_loop().time() - started < 5


@scene
async def test_the_next_head_on_a_connection_has_the_same_bounds() -> None:
    fine = HEAD + b"Content-Length: 2\r\n\r\n{}"
    async with site() as one:
        slow = await one.raw(fine, b"POST /mcp HT", pause=0.05)
        assert [part[:3] for part in slow.split(b"HTTP/1.1 ")[1:]] == [b"400", b"408"]
        large = await one.raw(fine, HEAD + b"X: " + b"x" * 20_000 + b"\r\n\r\n", pause=0.05)
        assert [part[:3] for part in large.split(b"HTTP/1.1 ")[1:]] == [b"400", b"431"]


@scene
async def test_half_a_head_behind_a_stream_does_not_spoil_it() -> None:
    message = modern(call(1, "slow"))
    body = json.dumps(message).encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in mirrored(message).items()).encode()
    async with site() as one:
        said = await one.raw(HEAD + head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body), b"POST", pause=0.15)
        assert said.startswith(b"HTTP/1.1 200")
        assert b"408" not in said
        assert b"\r\n0\r\n" not in said  # it was cut, and nothing says that it was whole


@proves("THTTP-05")
@scene
async def test_a_connection_without_requests_ends() -> None:
    async with site(replace(SOON, idle=1)) as one:
        said = await one.raw(HEAD + b"Content-Length: 2\r\n\r\n{}")
        assert said.startswith(b"HTTP/1.1 400")


def slow_call() -> bytes:
    """A request whose answer takes long, as bytes on a connection."""
    message = modern(call(1, "slow"))
    body = json.dumps(message).encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in mirrored(message).items()).encode()
    return HEAD + head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@proves("THTTP-05")
@scene
async def test_one_connection_more_than_may_be_is_told_so() -> None:
    """THTTP-05."""
    async with site(replace(SOON, connections=2, head_time=5)) as one:
        held = [await asyncio.open_connection("localhost", one.port) for _ in range(2)]
        for _, writer in held:
            writer.write(slow_call())
        for reader, _ in held:
            await reader.readuntil(b"\r\n\r\n")
        said = await one.raw()
        assert said.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 10" in said
        held[0][1].close()
        await asyncio.sleep(0.05)
        async with clients(one) as (client,):
            assert text_of(await client.modern(call(1, text="room"))) == "room"
        held[1][1].close()


@scene
async def test_connections_that_wait_for_nothing_make_room_for_one_that_does() -> None:
    """However many they are, and whatever they sent (C1): strangers first, and of them who waits longest."""
    refused = HEAD + b"Content-Length: 2\r\n\r\n{}"
    async with site(replace(SOON, connections=100, head_time=60, idle=60)) as one:
        held = [await asyncio.open_connection("localhost", one.port) for _ in range(100)]
        for number, (_, writer) in enumerate(held):
            writer.write((refused + b"P", b"\r\n", b"POST", b"")[number % 4])
        await asyncio.sleep(0.1)
        async with clients(one) as (client,):
            assert text_of(await client.modern(call(1, text="served"))) == "served"
        for _, writer in held:
            writer.close()


@pytest.mark.parametrize("behind", [b"P", b"\r\n", b"\r\n\r\n", b"POST /mcp HTTP/1.1\r\nX: y"])
@scene
async def test_a_byte_behind_an_answer_gives_no_more_time_than_a_head_has(behind: bytes) -> None:
    """C1."""
    async with site(replace(SOON, idle=60)) as one:
        started = asyncio.get_running_loop().time()
        said = await one.raw(HEAD + b"Content-Length: 2\r\n\r\n{}", behind, pause=0.05)
        assert said.startswith(b"HTTP/1.1 400")
        assert asyncio.get_running_loop().time() - started < 5


@scene
async def test_a_body_that_nobody_waits_for_does_not_hold_its_connection() -> None:
    """The answer was a refusal of the head alone (C1)."""
    head = b"POST /other HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    async with site(replace(SOON, idle=60, body_time=60, linger=0.1)) as one:
        started = asyncio.get_running_loop().time()
        said = await one.raw(head, b"half")
        assert said.startswith(b"HTTP/1.1 404")
        assert asyncio.get_running_loop().time() - started < 5


@proves("B41")
@scene
async def test_a_client_that_resets_its_connection_has_cancelled_and_harms_nobody() -> None:
    message = modern(call(1, "slow"))
    body = json.dumps(message).encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in mirrored(message).items()).encode()
    async with site() as one, clients(one) as (client,):
        reader, writer = await asyncio.open_connection("localhost", one.port)
        writer.write(HEAD + head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")  # by now it is a stream
        linger = b"\1\0\0\0\0\0\0\0"
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
        assert text_of(await client.modern(call(1, text="fine"))) == "fine"
        while not one.server.cancelled:  # noqa: ASYNC110 - the server tells nobody what it heard
            await asyncio.sleep(0.01)
        assert one.server.cancelled == [one.server.heard("tools/call")[0]["id"]]


@scene
async def test_a_fault_of_the_application_is_noted_and_what_clients_do_wrong_is_not() -> None:
    async with site() as one:
        one.listener.endpoint.post = lambda head, body: 1 // 0  # type: ignore[method-assign]
        one.listener.texts.clear()
        body = b"Content-Length: 2\r\nConnection: close\r\n\r\n{}"
        assert (await one.raw(HEAD + body)).startswith(b"HTTP/1.1 500")
        assert (await one.raw(b"rubbish\r\n\r\n")).startswith(b"HTTP/1.1 400")
        (text,) = one.listener.texts
        assert "ZeroDivisionError at test_listener_sockets.py:" in text


# ---------------------------------------------------------------------- load and faults


@proves("B163")
@scene
async def test_two_hundred_sessions_at_once_each_get_their_own_answers() -> None:
    async with site(Reception()) as one, clients(one, 200) as many:

        async def work(number: int, client: Client) -> None:
            await client.open()
            texts = [f"{number}.{turn}" for turn in range(5)]
            answers = await asyncio.gather(*(client.post(call(1, text=text)) for text in texts))
            assert [text_of(answer) for answer in answers] == texts

        await asyncio.gather(*(work(number, client) for number, client in enumerate(many)))
        assert len(one.listener.endpoint.directory.sessions) == 200
        assert one.server.starts == 1


def large(server: Server, frame: dict[str, Any]) -> None:
    if frame.get("params", {}).get("name") == "large":
        server.text(frame, "x" * (16 << 20))
    else:
        Server().script(server, frame)


@scene
async def test_a_client_that_reads_nothing_of_a_large_answer_is_let_go() -> None:
    message = modern(call(1, "large"))
    body = json.dumps(message).encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in mirrored(message).items()).encode()
    async with site(server=Server(large)) as one, clients(one) as (client,):
        with socket.socket() as stuck:
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stuck.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(stuck, ("127.0.0.1", one.port))
            await loop.sock_sendall(stuck, HEAD + head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            for number in range(20):
                assert text_of(await client.modern(call(number, text="works"))) == "works"
            await asyncio.sleep(0.4)
            taken = 0
            with suppress(ConnectionError):  # the other side has given it up
                while data := await loop.sock_recv(stuck, 1 << 20):
                    taken += len(data)
            assert taken < 8 << 20


@scene
async def test_a_server_that_dies_in_the_middle_of_a_stream_is_an_error_on_it() -> None:
    async with site() as one, clients(one) as (client,):
        await client.open()
        waiting = asyncio.ensure_future(client.post(call(1, "slow")))
        alone = asyncio.ensure_future(client.modern(call(1, "slow")))
        while len(one.server.heard("tools/call")) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.15)
        one.server.die()
        assert error_of(await waiting)[1] == "upstream_exited"
        assert error_of(await alone)[1] == "upstream_exited"
        assert text_of(await client.post(call(2, text="again"))) == "again"


def objects() -> int:
    """How many things there are that hold others."""
    gc.collect()
    return len(gc.get_objects())


@proves("B66")
@scene
async def test_ten_thousand_abandoned_sessions_leave_nothing() -> None:
    listener = Listener(reception=Reception(session_idle=100, unheld_idle=100))
    endpoint, body = listener.endpoint, json.dumps(initialize()).encode()
    await listener.open()
    await elapse(101)
    before = objects()

    async def hundred() -> None:
        opened = [endpoint.post(Head({}), body) for _ in range(100)]
        await settle()
        listener.server.frames.clear()
        for exchange in opened:
            assert isinstance(exchange, Exchange)
            assert exchange.session in endpoint.directory.sessions
            endpoint.finished(exchange)

    for _ in range(100):
        await hundred()
    assert len(endpoint.directory.sessions) == 10_000
    full = objects()
    await elapse(50)
    await elapse(101)
    assert not endpoint.directory.sessions
    assert objects() - before < (full - before) / 1000
    await listener.close()


# ---------------------------------------------------------------------- TLS


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a CA, the certificate of localhost that it issued, one of another host, and a client's."""
    folder = tmp_path_factory.mktemp("tls")
    ca = trustme.CA()
    ca.cert_pem.write_to_path(str(folder / "ca.pem"))
    trustme.CA().cert_pem.write_to_path(str(folder / "other-ca.pem"))
    for name, host in (("own", "localhost"), ("wrong", "elsewhere.example"), ("client", "a-client.example")):
        issued = ca.issue_cert(host)
        issued.private_key_pem.write_to_path(str(folder / f"{name}.key"))
        with (folder / f"{name}.pem").open("wb") as file:
            for one in issued.cert_chain_pems:
                file.write(one.bytes())
    return folder


def trust(files: Path, client: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(files / "ca.pem"))
    if client:
        context.load_cert_chain(files / "client.pem", files / "client.key")
    return context


def secure(files: Path, name: str = "own", ca: str | None = None) -> dict[str, Any]:
    named = {"certificate": str(files / f"{name}.pem"), "key": str(files / f"{name}.key")}
    return {"target": "https://localhost:0/mcp", "client_ca": ca and str(files / ca), **named}


@proves("THTTP-01", "THTTP-06")
@scene
async def test_https_shows_its_certificate(files: Path) -> None:
    async with site(**secure(files)) as one, clients(one, ssl=trust(files)) as (client,):
        assert text_of(await client.modern(call(1, text="safe"))) == "safe"
        await client.open()
        async with clients(one) as (stranger,):
            with pytest.raises(aiohttp.ClientSSLError):
                await stranger.modern(call(1))
    assert ssl.HAS_TLSv1_3


@proves("THTTP-06")
@scene
async def test_a_certificate_of_another_host_fails_at_the_client(files: Path) -> None:
    async with site(**secure(files, "wrong")) as one, clients(one, ssl=trust(files)) as (client,):
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await client.modern(call(1))


@proves("THTTP-06")
@scene
async def test_with_a_client_ca_only_its_clients_get_in(files: Path) -> None:
    async with site(**secure(files, ca="ca.pem")) as one:
        async with clients(one, ssl=trust(files, client=True)) as (client,):
            assert text_of(await client.modern(call(1, text="known"))) == "known"
        async with clients(one, ssl=trust(files)) as (client,):
            with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
                await client.modern(call(1))
    async with site(**secure(files, ca="other-ca.pem")) as one, clients(one, ssl=trust(files, True)) as (client,):
        with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
            await client.modern(call(1))
        assert not one.server.starts


@pytest.mark.parametrize("broken", ["certificate", "key", "client_ca"])
@scene
async def test_a_file_that_cannot_be_used_is_an_error_at_the_start(files: Path, broken: str) -> None:
    given = secure(files, ca="ca.pem")
    where = place(given.pop("target"), **{**given, broken: __file__})
    with pytest.raises(ssl.SSLError):
        await Listening(where, Listener().app, SOON, print).start()
