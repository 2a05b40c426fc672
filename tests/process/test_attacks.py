"""What strangers may do to a listener, against the real command: it costs them, and nobody else."""

import json
import resource
import socket
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from support.listener import BOTH, call, initialize, mirrored, modern, text_of
from support.listening import Listening
from support.processes import OLDER, Scripted, cause_of, eventually, is_gone
from support.proofs import proves

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="memory is measured through /proc"),
]

Make = Callable[..., Scripted]
MIB = 1 << 20
TOKEN = "t0ken-4711"
WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}


def test_a_thousand_idle_connections_keep_nobody_out(scripted: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """C1: each of them was answered once, wrote one byte more, and is silent."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip("the system allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    monkeypatch.setenv("TOKEN", TOKEN)
    body = json.dumps(initialize()).encode()
    request = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    with Listening(scripted().command, "--auth-token-env", "TOKEN") as one, ExitStack() as held:
        for _ in range(1024):
            stranger = held.enter_context(one.connection())
            stranger.sendall(request)
            assert stranger.recv(4096).startswith(b"HTTP/1.1 401")
            stranger.sendall(b"P")
        for number in range(3):
            with one.client() as client:
                assert text_of(client.post(modern(call(number, text="served")), **WITH_TOKEN)) == "served"
        held.close()
        assert one.stop() == 0


@proves("B66")
def test_two_hundred_openings_are_not_two_hundred_servers(scripted: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3: each session has a process of its own, up to a bound. One that nobody holds makes room, and when all are held
    it is said when to come again."""
    monkeypatch.setenv("TOKEN", TOKEN)
    server = scripted(script=OLDER)
    options = ("--auth-token-env", "TOKEN", "--max-servers-per-client", "8")
    with Listening(server.command, *options) as one:
        most = 0
        for number in range(200):
            with one.client() as client:
                assert "result" in client.post(initialize(id=number), **WITH_TOKEN)
            most = max(most, sum(not is_gone(pid, 0) for pid in server.pids()))
        assert most <= 8 + 2  # one that was asked of which era it is, one that is about to end
        with ExitStack() as held:
            seen: Counter[int] = Counter()
            for number in range(20):
                with one.client() as client:
                    answer = client.post(initialize(id=number), **WITH_TOKEN)
                    seen[client.status] += 1
                    if client.status == 200:
                        stream = held.enter_context(one.connection())
                        stream.sendall(listening(client.session["mcp-session-id"]))
                        assert stream.recv(4096).startswith(b"HTTP/1.1 200")
                    else:
                        assert cause_of(answer) == (-32603, "too_many_sessions")
                        assert client.headers["retry-after"] == "10"
            assert seen == {200: 8, 503: 12}
        assert one.stop() == 0


def listening(session: str) -> bytes:
    """The request for the stream of a session."""
    fields = f"Host: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n"
    return f"GET /mcp HTTP/1.1\r\n{fields}Authorization: Bearer {TOKEN}\r\n\r\n".encode()


def large_call(id: int, size: int) -> bytes:
    message = modern(
        {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "big", "arguments": {"size": size}}}
    )
    body = json.dumps(message).encode()
    headers = {"Host": "localhost", "Accept": BOTH, "Content-Type": "application/json", **mirrored(message)}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return b"POST /mcp HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (head.encode(), len(body), body)


def is_given_up(stuck: socket.socket) -> bool:
    """Whether a response was refused, or ended long before its length, with its connection or by itself."""
    stuck.settimeout(10)
    taken, tail = 0, b""
    try:
        while taken < 16 * MIB and not tail.endswith(b"\r\n0\r\n\r\n"):
            data = stuck.recv(MIB)
            if not data or data.startswith(b"HTTP/1.1 503"):
                return True
            taken += len(data)
            tail = (tail + data)[-10:]
    except ConnectionError:
        return True
    return taken < 16 * MIB


def test_twelve_clients_that_never_read_are_kept_in_bounds(scripted: Make) -> None:
    """C9: what they did not take is 720 MiB together, and 256 MiB are kept of it at most."""
    server = scripted()
    with Listening(server.command) as one, ExitStack() as held:
        with one.client() as client:
            assert text_of(client.post(modern(call(0, text="begun")))) == "begun"
        before = one.memory("VmRSS")
        stuck: list[socket.socket] = []
        for number in range(12):
            stuck.append(held.enter_context(one.connection()))
            stuck[-1].sendall(large_call(number, 60 * MIB))
            eventually("it was asked", lambda: len(server.received("tools/call")) == number + 2)  # noqa: B023
        with one.client() as client:  # its answer comes behind all of theirs
            assert text_of(client.post(modern(call(99, text="served")))) == "served"
        assert one.memory("VmHWM") - before < (256 + 4 * 60) * MIB  # beside what is kept, one answer is on its way
        assert sum(map(is_given_up, stuck)) >= 12 - 256 // 60
        held.close()
        assert one.stop() == 0
