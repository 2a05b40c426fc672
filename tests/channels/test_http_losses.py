"""How requests to a server at a URL end without an answer; the next request is always served."""

import socket
from typing import Any

import pytest

from channels.scripted_http import Request, Script, connected, played, served
from dragoman.faults import Cause
from dragoman.transports.http.loss import Loss
from support.proofs import proves


def lost_by(script: Script, method: str = "tools/call", **bounds: Any) -> Loss:
    """How one request ends that is answered by `script`; the next request must be served."""
    told: list[Loss] = []
    first: list[Request] = []

    async def once(request: Request) -> None:
        if first:
            await request.result()
        else:
            first.append(request)
            await script(request)

    async def scene() -> None:
        async with served(once) as server, connected(server.url, **bounds) as side:
            side.ask(1, method)
            told.append(await side.loss())
            assert side.losses[0][0] == b"1"
            assert not side.lines
            assert server.url[-12:] not in str(told[0])
            side.losses.clear()
            side.ask(2)
            assert (await side.messages(1))[0]["id"] == 2
            assert side.channel.backlog == 0

    played(scene)
    return told[0]


@proves("HTTP-10", "EXIT-05", "ERR-07", "LOSS-05", "LOSS-07", "B122")
@pytest.mark.parametrize(
    ("status", "body", "kind", "again"),
    [
        (404, b"<html>", "text/html", False),
        (502, b"", None, True),
        (500, b"<html>", "text/html", True),
        (503, b"{}", "application/json", True),
        (501, b"", None, False),
        (429, b"", None, True),
        (408, b"", None, True),
        (401, b"", None, False),
        (403, b"[]", "application/json", False),
        (405, b"nonsense", "application/json", False),
        (400, b'{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":""}}', "application/json", False),
        (500, b'{"jsonrpc":"2.0","id":1,"result":{}}', "application/json", True),
        (302, b"", None, False),
    ],
)
def test_a_status_without_an_answer(status: int, body: bytes, kind: str | None, again: bool) -> None:
    async def script(request: Request) -> None:
        await request.answer(body, status, kind)

    assert lost_by(script) == Loss(status, Cause.TRANSPORT_FAILED, lost_by(script).detail, again)
    assert (lost_by(script).detail or "").startswith(f"HTTP status {status}")


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"<html>", "text/html"),
        (200, b"{}", None),
        (200, b"", "application/json"),
        (200, b"nonsense", "application/json"),
        (200, b'{"a":1}', "application/json"),
        (200, b'[{"jsonrpc":"2.0","id":1,"result":{}}]', "application/json"),
        (200, b'{"jsonrpc":"2.0","id":"1","result":{}}', "application/json"),
        (202, b"", None),
        (204, b"", None),
    ],
)
def test_a_good_status_without_an_answer(status: int, body: bytes, kind: str | None) -> None:
    async def script(request: Request) -> None:
        await request.answer(body, status, kind)

    loss = lost_by(script)
    assert (loss.status, loss.kind, loss.may_retry) == (status, Cause.INVALID_RESPONSE, False)
    assert (loss.detail or "").startswith(f"HTTP status {status}: ")


def test_a_compressed_body_is_not_read() -> None:
    async def script(request: Request) -> None:
        await request.answer(b"\x1f\x8b", 200, "application/json", "Content-Encoding: gzip")

    assert lost_by(script).kind is Cause.INVALID_RESPONSE


@proves("EXIT-05")
def test_streams_that_end_early() -> None:
    async def empty(request: Request) -> None:
        await request.stream()

    async def cut_off(request: Request) -> None:
        await request.stream(b"data: {", end=False)
        request.writer.close()

    async def reset(request: Request) -> None:
        await request.stream(b"data: {", end=False)
        request.reset()

    async def short(request: Request) -> None:
        await request.answer(b'{"jsonrpc"', length=100)
        request.writer.close()

    for script in (empty, cut_off, reset, short):
        loss = lost_by(script, "subscriptions/listen")
        assert (loss.status, loss.kind, loss.may_retry) == (200, Cause.TRANSPORT_FAILED, True)


@proves("EXIT-05", "ERR-18")
def test_connections_that_end_without_a_response() -> None:
    async def close(request: Request) -> None:
        request.writer.close()

    async def reset(request: Request) -> None:
        request.reset()

    async def nonsense(request: Request) -> None:
        await request.raw(b"SSH-2.0-OpenSSH\r\n\r\n")
        request.writer.close()

    for script in (close, reset, nonsense):
        loss = lost_by(script)
        assert (loss.status, loss.kind, loss.may_retry) == (None, Cause.TRANSPORT_FAILED, True)
        assert loss.detail


def test_nobody_listens() -> None:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        port = own.getsockname()[1]

    async def scene() -> None:
        for host in ("127.0.0.1", "localhost"):
            async with connected(f"http://{host}:{port}/secret") as side:
                side.ask(1)
                loss = await side.loss()
                assert (loss.status, loss.kind, loss.may_retry) == (None, Cause.TRANSPORT_FAILED, True)
                assert "secret" not in str(loss)
                assert "no connection" in str(loss.detail)

    played(scene)


def test_a_connection_that_is_never_made_has_a_limit() -> None:
    async def scene() -> None:
        with socket.socket() as own:  # a handshake that nobody answers
            own.bind(("127.0.0.1", 0))
            own.listen()
            async with connected(f"https://127.0.0.1:{own.getsockname()[1]}/", connect=0.05) as side:
                side.ask(1)
                assert (await side.loss()).detail == "no connection in time"

    played(scene)


@proves("SIZE-04")
@pytest.mark.parametrize("form", ["length", "chunks", "event", "comment"])
def test_too_much_fails_at_once_and_is_not_read(form: str) -> None:
    async def script(request: Request) -> None:
        if form == "length":
            await request.answer(b"{", length=1 << 40)
        elif form == "chunks":
            await request.raw(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            await request.chunk(b'{"' + b"x" * 2000)
        elif form == "event":
            await request.stream(b"data: " + b"x" * 2000, end=False)
        else:
            await request.stream(b":" + b"x" * 2000, end=False)
        await request.gone()

    loss = lost_by(script, response=1000)
    assert (loss.status, loss.kind, loss.may_retry) == (200, Cause.INVALID_RESPONSE, False)
    assert "limit of 1000 bytes" in str(loss.detail)
