"""The real command as a listener: its place, its clients, its server, and its end."""

import asyncio
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import trustme

from support.listener import (
    BOTH,
    SUBSCRIPTION,
    call,
    error_of,
    initialize,
    mirrored,
    modern,
    notice,
    request,
    text_of,
)
from support.listening import Listening
from support.processes import DRAGOMAN, LOG_NAME, WAIT, Scripted, eventually, is_gone, run
from support.proofs import proves

pytestmark = pytest.mark.process

PROBED = 1
"""Processes of a server that was only asked of which era it is."""

Make = Callable[..., Scripted]


def port_of(one: Listening) -> int:
    return urlsplit(one.url).port or 0


no_windows = pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind are POSIX's")


def tool(id: Any, name: str, **arguments: Any) -> dict[str, Any]:
    message = call(id, name)
    message["params"]["arguments"] = arguments
    return message


@proves("THTTP-01", "REV-04")
def test_clients_of_both_eras_share_one_server(scripted: Make) -> None:
    server = scripted()
    with Listening(server.command) as one, one.client() as old, one.client() as new:
        assert not server.pids()
        assert old.post(initialize())["result"]["protocolVersion"] == "2025-11-25"
        assert old.post(notice("initialized")) is None
        assert old.status == 202
        assert text_of(old.post(tool(1, "echo", text="old"))) == "old"
        assert text_of(new.post(modern(tool(1, "echo", text="new")))) == "new"
        assert not new.session
        assert one.stop() == 0
        assert len(server.pids()) == PROBED + 1
        assert all(line.startswith(f"{LOG_NAME}: ") for line in one.stderr.decode().splitlines())


@proves("EXIT-05")
def test_a_server_that_dies_is_started_again_for_the_next_request(scripted: Make) -> None:
    server = scripted()
    with Listening(server.command) as one, one.client() as client:
        for number in range(3):
            assert error_of(client.post(modern(tool(number, "die", code=3))))[1] == "upstream_exited"
            assert text_of(client.post(modern(tool(number, "echo", text="again")))) == "again"
        assert one.stop() == 0
    assert len(server.pids()) == PROBED + 4


def test_a_server_that_dies_in_the_middle_of_a_stream_ends_it_with_an_error(scripted: Make) -> None:
    server = scripted()
    with Listening(server.command) as one, one.client() as client, one.client() as other:
        waiting = client.later(modern(tool(1, "hold"), progressToken=1))
        eventually("the call is there", lambda: server.received("tools/call"))
        time.sleep(1.3)  # by now its response is a stream
        other.post(modern(tool(2, "die", code=0)))
        assert error_of(waiting.answer())[1] == "upstream_exited"
        assert one.stop() == 0


@no_windows
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_answers_what_is_in_flight_and_ends_in_time(scripted: Make, number: int) -> None:
    server = scripted()
    with Listening(server.command) as one, one.client() as old, one.client() as new, one.client() as soon:
        old.post(initialize())
        held = [old.later(tool(1, "hold")), new.later(modern(tool(1, "hold")))]
        eventually("the calls are there", lambda: len(server.received("tools/call")) == 2)
        in_time = soon.later(modern(tool(1, "delayed", seconds=0.5)))
        eventually("the last call is there", lambda: len(server.received("tools/call")) == 3)
        began = time.monotonic()
        assert one.stop(number) == 0
        assert time.monotonic() - began < 8
        for later in held:
            assert error_of(later.answer()) == (-32603, "shutting_down")
        assert text_of(in_time.answer()) == "late"
        assert all(is_gone(pid) for pid in server.pids())


@proves("SDKSUB-05")
@no_windows
def test_a_signal_ends_a_stream_of_changes_with_its_result(scripted: Make) -> None:
    server = scripted()
    with Listening(server.command) as one, one.client() as client:
        wants = {"notifications": {"toolsListChanged": True}}
        stream = client.later(modern(request("s", "subscriptions/listen", **wants)))
        eventually("the stream is open", lambda: server.received("subscriptions/listen"))
        time.sleep(0.1)
        assert one.stop() == 0
        assert stream.answer()["result"]["_meta"] == {SUBSCRIPTION: "s"}
        assert [frame["method"] for frame in client.before] == ["notifications/subscriptions/acknowledged"]


@no_windows
def test_a_signal_right_after_the_start_is_a_clean_end(scripted: Make) -> None:
    with Listening(scripted().command) as one:
        assert one.stop() == 0


@proves("EXIT-06")
@no_windows
def test_a_server_that_does_not_end_is_ended(scripted: Make) -> None:
    server = scripted("--ignore-end", "--ignore-term")
    with Listening(server.command) as one, one.client() as client:
        client.post(modern(tool(1, "echo")))
        assert one.stop() == 0
    assert all(is_gone(pid) for pid in server.pids())


@proves("THTTP-04", "B41")
def test_a_client_that_goes_away_cancels_and_leaves_no_trace_in_the_log(scripted: Make) -> None:
    server = scripted()
    with Listening(server.command) as one, one.client() as client:
        message = modern(tool(1, "hold"))
        body = json.dumps(message).encode()
        headers = {**mirrored(message), "host": "localhost", "content-type": "application/json"}
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join(["POST /mcp HTTP/1.1", *lines, f"content-length: {len(body)}", "", ""])
        with one.connection() as gone:
            gone.sendall(head.encode() + body)
            assert gone.recv(1000).startswith(b"HTTP/1.1 200")  # by now it is a stream
        eventually("the cancel is there", lambda: server.received("notifications/cancelled"))
        assert text_of(client.post(modern(tool(1, "echo", text="fine")))) == "fine"
        for rubbish in (b"rubbish", b"GET /mcp HTTP/1.1\r\nUpgrade: websocket\r\nConnection: upgrade"):
            with one.connection() as other:
                other.sendall(rubbish + b"\r\n\r\n")
                assert other.recv(1000)
        assert one.stop() == 0
        assert [line for line in one.stderr.decode().splitlines() if not line.startswith(f"{LOG_NAME}: ")] == []


@proves("B45", "B66")
def test_two_hundred_requests_one_after_the_other_need_one_server(scripted: Make) -> None:
    server = scripted()
    with Listening(server.command) as one, one.client() as client:
        for number in range(200):
            assert text_of(client.post(modern(tool(number, "echo", text=str(number))))) == str(number)
        assert one.stop() == 0
    assert len(server.pids()) == PROBED + 1


@proves("B163")
def test_three_hundred_large_calls_at_once_each_get_their_own_answer(scripted: Make) -> None:
    server = scripted()

    async def scene(url: str) -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:

            async def ask(number: int) -> None:
                text = f"{number}:".ljust(50 << 10, "x")
                message = modern(tool(1, "gather", count=300, text=text))
                headers = {**mirrored(message), "Accept": BOTH}
                async with http.post(url, json=message, headers=headers) as response:
                    data = (await response.read()).rstrip().rpartition(b"data: ")[2]
                    assert text_of(json.loads(data)) == text

            async with asyncio.timeout(WAIT):
                await asyncio.gather(*(ask(number) for number in range(300)))

    with Listening(server.command) as one:
        asyncio.run(scene(one.url))
        assert one.stop() == 0
    assert len(server.pids()) == PROBED + 1


def test_a_place_that_is_taken_is_an_error_at_the_start(scripted: Make) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        target = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        words = [*DRAGOMAN, "--listen", target, "--", *scripted().command]
        done = subprocess.run(words, capture_output=True, timeout=WAIT, check=False)
    assert done.returncode == 1
    assert f"cannot listen on {target}".encode() in done.stderr


def test_a_token_lets_in_who_knows_it(scripted: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cr3t")
    with Listening(scripted().command, "--auth-token-env", "TOKEN") as one, one.client() as client:
        for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "s3cr3t"}):
            assert error_of(client.post(modern(tool(1, "echo")), **headers))[1] == "unauthorized"
            assert client.status == 401
        message = modern(tool(1, "echo", text="in"))
        assert text_of(client.post(message, Authorization="Bearer s3cr3t")) == "in"
        assert one.stop() == 0
        assert b"s3cr3t" not in one.stderr


@no_windows
def test_a_hangup_reads_the_certificate_anew_and_keeps_the_sessions(scripted: Make, tmp_path: Path) -> None:
    """C13."""
    first, second = trustme.CA(), trustme.CA()
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"

    def issue(authority: trustme.CA) -> ssl.SSLContext:
        made = authority.issue_cert("localhost")
        certificate.write_bytes(b"".join(blob.bytes() for blob in made.cert_chain_pems))
        key.write_bytes(made.private_key_pem.bytes())
        context = ssl.create_default_context()
        context.load_verify_locations(cadata=authority.cert_pem.bytes().decode())
        return context

    def probed(trust: ssl.SSLContext) -> int:
        connection = http.client.HTTPSConnection("localhost", port, timeout=10, context=trust)
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
        connection.close()
        return status

    before = issue(first)
    words = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with Listening(scripted().command, *words, target="https://localhost:0/mcp") as one:
        port = port_of(one)
        assert probed(before) == 200
        after = issue(second)
        one.signal(signal.SIGHUP)
        eventually("the new certificate", lambda: b"were read anew" in one.stderr)
        assert probed(after) == 200
        certificate.write_text("rubbish")
        one.signal(signal.SIGHUP)
        eventually(
            "the complaint", lambda: b"so what was read before stays: the files of the certificate" in one.stderr
        )
        assert probed(after) == 200
        assert one.stop() == 0


def test_the_tokens_of_a_file_are_read_anew(scripted: Make, tmp_path: Path) -> None:
    """A new token is good at once and the older one is not; a session goes on with another token (C13)."""
    tokens = tmp_path / "tokens"
    tokens.write_text("# for the team\nfirst-token\n\nsecond-token\r\n")
    with Listening(scripted().command, "--auth-token-file", str(tokens)) as one:

        def status(token: str, **headers: str) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", port_of(one), timeout=10)
            given = {"authorization": f"Bearer {token}", "content-type": "application/json", **headers}
            connection.request("POST", "/mcp", json.dumps(notice("initialized")), given)
            found = connection.getresponse().status
            connection.close()
            return found

        with one.client() as client:
            client.post(initialize(), authorization="Bearer first-token")
            session = client.session
            assert [status(token, **session) for token in ("first-token", "second-token", "third-token")] == [
                202,
                202,
                401,
            ]
            tokens.write_text("third-token\n")
            one.signal(signal.SIGHUP)
            eventually("the new tokens", lambda: b"were read anew" in one.stderr)
            assert [status(token, **session) for token in ("first-token", "second-token", "third-token")] == [
                401,
                401,
                202,
            ]
            tokens.write_text("# nobody\n")
            one.signal(signal.SIGHUP)
            eventually("the complaint", lambda: b"--auth-token-file: it has no token" in one.stderr)
            assert status("third-token", **session) == 202
        assert one.stop() == 0


def test_the_probes_of_health_need_no_token_and_tell_nothing(scripted: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cr3t")
    with Listening(scripted().command, "--auth-token-env", "TOKEN") as one:
        for path, status in (("/healthz", 200), ("/readyz", 200), ("/health", 404)):
            connection = http.client.HTTPConnection("127.0.0.1", port_of(one), timeout=10)
            connection.request("GET", path)
            response = connection.getresponse()
            assert response.status == status
            assert (response.read() == b"") is (status == 200)
            connection.close()
        assert one.stop() == 0


def test_variables_that_an_option_names_are_not_for_the_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """C6."""
    told = tmp_path / "environment"
    code = f"import os; open({str(told)!r}, 'w').write(' '.join(os.environ))"
    monkeypatch.setenv("SECRET_TOKEN", "s3cr3t")
    monkeypatch.setenv("SECRET_KEY", "0" * 64)
    monkeypatch.setenv("OTHER", "1")
    words = ("--auth-token-env", "SECRET_TOKEN", "--state-key-env", "SECRET_KEY")
    with Listening((sys.executable, "-S", "-c", code), *words) as one, one.client() as client:
        client.post(modern(tool(1, "echo")), Authorization="Bearer s3cr3t")
        eventually("the server", lambda: told.exists() and told.read_text() != "")
        assert one.stop() == 0
    names = told.read_text().split()
    assert "OTHER" in names
    assert not {"SECRET_TOKEN", "SECRET_KEY"} & set(names)


@pytest.mark.parametrize("token", ["wi th", " padded", "ünicode", "tab\t"])
def test_a_token_that_no_header_can_carry_is_refused_at_the_start(token: str) -> None:
    """C17."""
    done = run(
        "--listen", "http://127.0.0.1:0/mcp", "--auth-token-env", "TOKEN", "--", "x", env={**os.environ, "TOKEN": token}
    )
    assert done.returncode == 2
    assert b"no header can carry" in done.stderr
    assert token.encode() not in done.stderr
