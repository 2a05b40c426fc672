"""The place that the browser comes back to: what each request gets, and which of them ends the wait."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from channels.scripted_http import played
from dragoman.faults import Cause
from dragoman.signin.authorize import Redirect
from dragoman.signin.failure import Failed
from dragoman.signin.options import Options
from dragoman.signin.receiver import CONNECTIONS, Receiver, listening
from support.authorization import fetched
from support.proofs import proves

URL = "https://as.example/authorize?state=s"
STATE = "the-state"
TOKEN = "ab" * 32


class Open:
    def __init__(self, receiver: Receiver, port: int, notes: list[str]) -> None:
        self.receiver = receiver
        self.port = port
        self.notes = notes

    async def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
        return await asyncio.to_thread(fetched, f"http://127.0.0.1:{self.port}{path}", method, headers)


@asynccontextmanager
async def opened(token: str | None = TOKEN, head_time: float = 5.0) -> AsyncGenerator[Open, None]:
    own = listening(0)
    port = own.getsockname()[1]
    notes: list[str] = []
    receiver = Receiver(own, "<the>.example", STATE, URL, token, notes.append, head_time)
    await receiver.open()
    try:
        yield Open(receiver, port, notes)
    finally:
        await receiver.close()


@proves("OAUTH-09")
def test_a_redirect_with_the_state_ends_the_wait_and_shows_a_page() -> None:
    async def scene() -> None:
        async with opened() as one:
            assert Options(Path(), redirect_port=one.port).redirect_uri == f"http://127.0.0.1:{one.port}/callback"
            status, headers, page = await one.get(f"/callback?code=c&state={STATE}&iss=https%3A%2F%2Fas.example")
            assert await one.receiver.redirect() == Redirect("c", None, "https://as.example")
            assert status == 200
            assert "Back from the sign-in" in page
            assert "It was for <b>&lt;the&gt;.example</b>." in page
            assert 'name="viewport"' in page
            assert headers["Cache-Control"] == "no-store"
            assert headers["Referrer-Policy"] == "no-referrer"
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            assert "as.example" not in page
            assert (await one.get(f"/callback?code=d&state={STATE}"))[0] == 400
            assert (await one.receiver.redirect()).code == "c"

    played(scene)


def test_an_error_ends_the_wait_as_well() -> None:
    async def scene() -> None:
        async with opened() as one:
            status, _, page = await one.get(f"/callback?error=access_denied&error_description=%3Cb%3E&state={STATE}")
            assert await one.receiver.redirect() == Redirect(None, "access_denied", None)
            assert status == 200
            assert "Not signed in" in page
            assert "access_denied" not in page
            assert page.count("<b>") == 1

    played(scene)


@proves("OAUTH-27", "OAUTH-30")
@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/callback", "GET", 400),
        ("/callback?code=c", "GET", 400),
        ("/callback?code=c&state=other", "GET", 400),
        (f"/callback?state={STATE}", "GET", 400),
        (f"/callback?code=&state={STATE}", "GET", 400),
        (f"/callback?code=c&error=e&state={STATE}", "GET", 400),
        (f"/callback?code=c&code=d&state={STATE}", "GET", 400),
        (f"/callback?code=c&state={STATE}&state=other", "GET", 400),
        (f"/callback?code=c&state={STATE}", "POST", 400),
        (f"/callback?code=c&state={STATE}", "HEAD", 400),
        (f"/callback/?code=c&state={STATE}", "GET", 404),
        ("/", "GET", 404),
        ("/favicon.ico", "GET", 404),
        (f"/start/{'cd' * 32}", "GET", 404),
        (f"/start/{TOKEN}/", "GET", 404),
        ("/start/é", "GET", 404),
        (f"/start/{TOKEN}", "HEAD", 404),
        (f"/start/{TOKEN}", "POST", 404),
    ],
)
def test_every_other_request_changes_nothing(path: str, method: str, status: int) -> None:
    async def scene() -> None:
        async with opened() as one:
            assert (await one.get(path.replace("é", "%C3%A9"), method))[0] == status
            assert one.notes == []
            assert (await one.get(f"/start/{TOKEN}"))[0] == 303
            assert (await one.get(f"/callback?code=c&state={STATE}"))[0] == 200
            assert (await one.receiver.redirect()).code == "c"

    played(scene)


@pytest.mark.parametrize("host", ["localhost", "evil.example", "127.0.0.1"])
def test_a_page_of_another_site_reaches_nothing_by_another_name(host: str) -> None:
    async def scene() -> None:
        async with opened() as one:
            assert (await one.get(f"/callback?code=c&state={STATE}", Host=host))[0] == 400
            assert (await one.get(f"/start/{TOKEN}", Host=host))[0] == 400

    played(scene)


@proves("OAUTH-24", "OAUTH-25", "OAUTH-26", "ERR-50")
def test_the_start_url_leads_on_once() -> None:
    async def scene() -> None:
        async with opened() as one:
            assert one.receiver.start_url == f"http://127.0.0.1:{one.port}/start/{TOKEN}"
            status, headers, page = await one.get(f"/start/{TOKEN}")
            assert (status, page) == (303, "")
            assert headers["Location"] == URL
            assert headers["Cache-Control"] == "no-store"
            assert headers["Referrer-Policy"] == "no-referrer"
            status, _, page = await one.get(f"/start/{TOKEN}")
            assert status == 410
            with pytest.raises(Failed) as failed:
                await one.receiver.redirect()
            assert (failed.value.cause, failed.value.detail) == (Cause.SIGN_IN_START_REUSED, None)

    played(scene)


@proves("OAUTH-28")
def test_a_second_use_after_the_redirect_is_warned_of_and_ends_nothing() -> None:
    async def scene() -> None:
        async with opened() as one:
            await one.get(f"/start/{TOKEN}")
            await one.get(f"/callback?code=c&state={STATE}")
            status, _, page = await one.get(f"/start/{TOKEN}")
            assert status == 410
            assert "another program" in page
            assert len(one.notes) == 1
            assert (await one.receiver.redirect()).code == "c"

    played(scene)


@proves("OAUTH-29")
def test_without_a_token_there_is_no_start_url() -> None:
    async def scene() -> None:
        async with opened(None) as one:
            assert one.receiver.start_url is None
            assert (await one.get("/start/"))[0] == 404
            assert (await one.get("/start/None"))[0] == 404

    played(scene)


@proves("OAUTH-10", "OAUTH-35", "ERR-52", "B151")
def test_nobody_else_can_have_the_port_and_a_port_that_is_taken_is_told() -> None:
    async def scene() -> None:
        async with opened() as one:
            with socket.socket() as own:
                own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                with pytest.raises(OSError, match="in use"):
                    own.bind(("127.0.0.1", one.port))
            with pytest.raises(Failed) as failed:
                listening(one.port)
            assert failed.value.cause is Cause.REDIRECT_PORT_UNAVAILABLE
            for host in ("127.0.0.2", "::1"):
                with pytest.raises(OSError, match=r"Errno|Connect"):
                    await asyncio.open_connection(host, one.port)

    played(scene)


@proves("OAUTH-31")
@pytest.mark.parametrize(
    "data", [b"G", b"GET /callback HTTP/1.1\r\n", b"x" * (17 << 10), b"\x00\xff\r\n\r\n", b"\r\n\r\n"]
)
def test_what_is_no_request_is_closed_and_changes_nothing(data: bytes) -> None:
    async def scene() -> None:
        async with opened(head_time=0.2) as one:
            reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
            writer.write(data)
            answer = await reader.read()
            assert not answer or answer.startswith(b"HTTP/1.1 400 ")
            writer.close()
            assert (await one.get(f"/callback?code=c&state={STATE}"))[0] == 200

    played(scene)


def test_silent_connections_make_room_the_oldest_first() -> None:
    """D9"""

    async def scene() -> None:
        async with opened() as one:
            held = [await asyncio.open_connection("127.0.0.1", one.port) for _ in range(CONNECTIONS * 2)]
            assert await held[0][0].read() == b""
            assert (await one.get(f"/callback?code=c&state={STATE}"))[0] == 200
            assert (await one.receiver.redirect()).code == "c"
            for _, other in held:
                other.close()

    played(scene)
