"""A command or a URL of which nobody says what revisions it speaks: older servers work, and each is started as rarely
as can be."""

import json
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dragoman.faults import HINT
from support.processes import OLDER, Bridge, Scripted, cause_of, eventually, initialize, is_gone, text_of
from support.proofs import proves

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="file locks and pidfds are those of POSIX"),
]

Make = Callable[..., Scripted]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25"])
def test_a_legacy_client_and_a_legacy_command_simply_work(scripted: Make, revision: str) -> None:
    server = scripted(script=OLDER)
    with Bridge(server.command) as bridge:
        result = bridge.open(revision)
        assert (result["protocolVersion"], result["serverInfo"]["name"]) == (revision, "older")
        (pid,) = server.pids()
        assert text_of(bridge.tool("t")) == str(pid)
        assert bridge.end() == 0
    methods = [frame["method"] for frame in server.received()]
    assert methods == ["server/discover", "initialize", "notifications/initialized", "tools/call"]
    assert is_gone(pid)


@proves("B42")
@pytest.mark.parametrize("at_discover", ["exit", "error-exit"])
def test_a_server_that_ends_at_the_probe_is_started_once_more(scripted: Make, at_discover: str) -> None:
    server = scripted("--at-discover", at_discover, script=OLDER)
    with Bridge(server.command) as bridge:
        bridge.open()
        first, second = server.pids()
        assert text_of(bridge.tool("t")) == str(second)
        assert is_gone(first, 0)
        bridge.call(1, "t")
        assert bridge.end() == 0
    (ended,) = server.traces("ended-by-discover")
    assert ended.pid == first
    assert server.traces("started")[1].time >= ended.time
    assert len(server.pids()) == 2


@proves("B43")
def test_a_server_that_ignores_the_probe_gets_its_handshake_after_a_short_time(scripted: Make) -> None:
    server = scripted("--at-discover", "ignore", script=OLDER)
    started = time.monotonic()
    with Bridge(server.command) as bridge:
        bridge.open()
        assert 4.5 < time.monotonic() - started < 15
        assert text_of(bridge.tool("t")) == str(*server.pids())
        assert bridge.end() == 0


@pytest.mark.parametrize("manner", ["shortly", "at-length"])
@pytest.mark.parametrize("at_discover", ["error", "exit"])
def test_what_an_older_server_thinks_of_the_probe_is_no_use_to_anybody(
    scripted: Make, at_discover: str, manner: str
) -> None:
    """All else that it says on standard error is shown (A8)."""
    server = scripted("--complains", manner, "--at-discover", at_discover, script=OLDER)
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.call(1, "t")
        assert bridge.end() == 0
        lines = bridge.stderr.splitlines()
        ours = [line for line in lines if line.startswith(b"dragoman: ")]
        assert [line for line in lines if line not in ours] == [b"older starts"] * len(server.pids())
        assert sum(b"is not shown; --log-level debug shows it" in line for line in ours) == 1


def test_what_an_older_server_thinks_of_the_probe_is_shown_at_debug_level(scripted: Make) -> None:
    """A8"""
    server = scripted("--complains", "at-length", script=OLDER)
    with Bridge(server.command, "--log-level", "debug") as bridge:
        bridge.open()
        assert bridge.end() == 0
        assert bridge.stderr.count(b"input_value='server/discover'") == 94


def test_what_a_server_that_cannot_be_used_thinks_of_the_probe_is_shown(tmp_path: Path) -> None:
    """It may be why (A8)."""
    code = "import sys; sys.stdin.readline(); sys.stderr.write('no server/discover here'); raise SystemExit(3)"
    with Bridge([sys.executable, "-S", "-c", code]) as bridge:
        bridge.send(initialize(id=1))
        assert cause_of(bridge.answer(1)) == (-32603, "upstream_exited")
        assert bridge.end() == 0
        assert bridge.stderr.count(b"no server/discover here") == 2  # it was started twice


def test_what_a_listener_s_server_thinks_of_the_probe_is_no_use_to_anybody(scripted: Make) -> None:
    """A8"""
    server = scripted("--complains", "at-length", script=OLDER)
    with listening("--", *server.command) as (bridge, url):
        assert "result" in Client(url).open()
    assert b"older starts" in bridge.stderr
    assert b"input_value='server/discover'" not in bridge.stderr


@proves("B45")
@pytest.mark.parametrize("at_discover", ["error", "exit", "error-exit"])
def test_a_server_that_owns_a_file_never_meets_itself(scripted: Make, tmp_path: Path, at_discover: str) -> None:
    server = scripted("--at-discover", at_discover, "--lock", str(tmp_path / "lock"), script=OLDER)
    with Bridge(server.command) as bridge:
        bridge.open()
        assert "result" in bridge.tool("t")
        assert bridge.end() == 0
    assert not server.traces("locked-out")
    assert len(server.pids()) == (1 if at_discover == "error" else 2)


def test_a_server_that_always_ends_is_started_twice_and_fails_initialize(scripted: Make, tmp_path: Path) -> None:
    life = tmp_path / "life"
    code = f"open({str(life)!r}, 'a').write('x'); raise SystemExit(3)"
    with Bridge([sys.executable, "-S", "-c", code]) as bridge:
        bridge.send(initialize(id=1))
        assert cause_of(bridge.answer(1)) == (-32603, "upstream_exited")
        assert bridge.end() == 0
    assert life.read_text() == "xx"


def test_the_loss_of_a_server_after_the_handshake_ends_the_bridge_as_ever(scripted: Make) -> None:
    server = scripted("--at-discover", "exit", script=OLDER)
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.request(2, "tools/list")
        assert cause_of(bridge.answer(2)) == (-32603, "upstream_exited")
        assert bridge.wait() == 1
    assert len(server.pids()) == 2


# ---------------------------------------------------------------------- URLs


class Older(BaseHTTPRequestHandler):
    """A server of 2025-11-25 with sessions. `refusal` is the status that a message without one meets."""

    protocol_version = "HTTP/1.1"
    seen: list[str]
    refusal: int

    def do_POST(self) -> None:
        frame: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(frame["method"])
        if frame["method"] == "initialize" and self.refusal < 500:
            info = {"name": "older", "version": "1"}
            result: dict[str, Any] = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
            self._send(200, {"jsonrpc": "2.0", "id": frame["id"], "result": result}, "s-1")
        elif self.headers.get("Mcp-Session-Id") != "s-1":
            self._send(self.refusal, {"error": {"code": "bad_version", "message": "x"}})
        elif "id" in frame:
            content = [{"type": "text", "text": frame["method"]}]
            self._send(200, {"jsonrpc": "2.0", "id": frame["id"], "result": {"content": content}})
        else:
            self._send(202)

    def do_GET(self) -> None:
        self._send(405)

    def do_DELETE(self) -> None:
        self.seen.append("DELETE")
        self._send(200)

    def _send(self, status: int, body: Any = None, session: str | None = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if session is not None:
            self.send_header("Mcp-Session-Id", session)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def older(refusal: int = 400) -> Generator[tuple[str, list[str], type[Older]], None, None]:
    class Handler(Older):
        pass

    Handler.seen, Handler.refusal = [], refusal
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp", Handler.seen, Handler
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@proves("B48")
@pytest.mark.parametrize("refusal", [400, 404, 405])
def test_a_legacy_client_and_a_legacy_url_simply_work(refusal: int) -> None:
    with older(refusal) as (url, seen, _), Bridge((), words=[url]) as bridge:
        assert bridge.open("2025-06-18")["serverInfo"]["name"] == "older"
        assert text_of(bridge.tool("t")) == "tools/call"
        assert bridge.end() == 0
    assert seen == ["server/discover", "initialize", "notifications/initialized", "tools/call", "DELETE"]


def test_a_url_that_is_called_modern_gets_no_handshake() -> None:
    with older() as (url, seen, _), Bridge((), words=["--upstream", f"http-stateless:{url}"]) as bridge:
        bridge.send(initialize(id=1))
        assert cause_of(bridge.answer(1)) == (-32603, "discover_failed")
        assert bridge.end() == 0
    assert seen == ["server/discover"]


# ---------------------------------------------------------------------- the listener


class Client:
    """Speaks to a listener by POST."""

    def __init__(self, url: str, **headers: str) -> None:
        self.url = url
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.session: str | None = None
        self.status: int | None = None

    def post(self, **frame: Any) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers |= self.headers
        if self.session is not None:
            headers["Mcp-Session-Id"] = self.session
        data = json.dumps({"jsonrpc": "2.0", **frame}).encode()
        try:
            response = urllib.request.urlopen(urllib.request.Request(self.url, data, headers), timeout=20)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            self.status = response.status
            self.session = response.headers.get("Mcp-Session-Id", self.session)
            body: bytes = response.read()
        if body.startswith((b"data:", b"id:", b"event:", b":")):
            body = next(line[5:] for line in body.split(b"\n") if line.startswith(b"data:") and b"{" in line)
        return json.loads(body) if body else None

    def open(self) -> Any:
        answer = self.post(**initialize(id=0))
        if "result" in answer:
            self.post(method="notifications/initialized")
        return answer

    def tool(self, name: str) -> Any:
        return self.post(id=1, method="tools/call", params={"name": name, "arguments": {}})


@contextmanager
def listening(*words: str) -> Generator[tuple[Bridge, str], None, None]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
    with Bridge((), words=["--listen", url, *words]) as bridge:
        bridge.says(b"listens on")
        yield bridge, url
        bridge.signal(15)
        assert bridge.wait() == 0


def together(clients: list[Client], work: Callable[[Client], Any]) -> list[Any]:
    """What each client hears, all at the same time."""
    heard: list[Any] = [None] * len(clients)

    def run(at: int) -> None:
        heard[at] = work(clients[at])

    threads = [threading.Thread(target=run, args=(at,)) for at in range(len(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return heard


@proves("B45", "NEG-06")
@pytest.mark.parametrize("at_discover", ["error", "exit"])
def test_a_listener_gives_each_client_a_legacy_server_and_asks_its_era_once(scripted: Make, at_discover: str) -> None:
    server = scripted("--at-discover", at_discover, script=OLDER)
    with listening("--", *server.command) as (_, url):
        clients = [Client(url) for _ in range(3)]
        assert all(answer["result"]["serverInfo"]["name"] == "older" for answer in together(clients, Client.open))
        pids = {text_of(client.tool("t")) for client in clients}
        assert len(pids) == 3
        meta: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        modern = Client(url, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call", Mcp_Name="t")
        assert (
            modern.post(id=1, method="tools/call", params={"_meta": meta, "name": "t"})["result"]["resultType"]
            == "complete"
        )
    assert len(server.received("server/discover")) == 1
    assert len(server.pids()) == 4 + (1 if at_discover == "error" else 2)


def test_a_listener_shares_a_modern_server_that_was_found_out(scripted: Make) -> None:
    server = scripted()
    with listening("--", *server.command) as (_, url):
        clients = [Client(url) for _ in range(3)]
        assert all("result" in answer for answer in together(clients, Client.open))
        assert all(text_of(client.tool("echo")) == "" for client in clients)
    assert len(server.pids()) == 2


def test_a_listener_in_front_of_a_legacy_url() -> None:
    with older() as (target, seen, _), listening(target) as (_, url):
        client = Client(url)
        assert client.open()["result"]["serverInfo"]["name"] == "older"
        assert text_of(client.tool("t")) == "tools/call"
    assert seen.count("server/discover") == 1
    assert seen.count("DELETE") == 2


@proves("B47")
def test_a_listener_says_why_the_era_is_not_known_and_asks_again() -> None:
    with older(503) as (target, seen, handler), listening(target) as (_, url):
        for _ in range(2):
            error = Client(url).open()["error"]
            assert error["data"] == {"cause": "transport_failed", "detail": "HTTP status 503", "hint": HINT}
        assert seen == ["server/discover"] * 2
        handler.refusal = 404
        assert "result" in Client(url).open()


def test_a_listener_whose_command_cannot_be_started_says_so(tmp_path: Path) -> None:
    with listening("--", str(tmp_path / "nothing")) as (bridge, url):
        assert cause_of(Client(url).open()) == (-32603, "spawn_failed")
        bridge.says(b"the command cannot be started")


def test_a_listener_that_ends_while_it_asks_leaves_no_process(scripted: Make) -> None:
    server = scripted("--at-discover", "ignore", script=OLDER)

    with listening("--", *server.command) as (bridge, url):
        heard: list[Any] = []

        def opens() -> None:
            with suppress(OSError):
                heard.append(Client(url).open())

        asking = threading.Thread(target=opens)
        asking.start()
        eventually("the question", lambda: server.record.exists() and server.received("server/discover"))
        bridge.signal(15)
        asking.join(20)
        assert not asking.is_alive()
        assert all(cause_of(answer)[1] == "shutting_down" for answer in heard)
    assert all(is_gone(pid) for pid in server.pids())


@proves("NEG-09")
def test_a_listener_finds_the_era_out_anew_when_a_server_is_not_as_it_was(scripted: Make, tmp_path: Path) -> None:
    modern, legacy = scripted(), scripted(script=OLDER)
    link = tmp_path / "server"

    def become(server: Scripted) -> None:
        words = " ".join(f"'{word}'" for word in server.command)
        link.write_text(f"#!/bin/sh\nexec {words}\n")
        link.chmod(0o755)

    become(legacy)
    with listening("--", str(link)) as (_, url):
        first = Client(url)
        assert first.open()["result"]["serverInfo"]["name"] == "older"
        become(modern)
        assert cause_of(Client(url).open())[1] == "initialize_failed"
        assert text_of(first.tool("t")).isdigit(), "who still has the server keeps it"
        request = urllib.request.Request(url, method="DELETE", headers={"Mcp-Session-Id": first.session or ""})
        urllib.request.urlopen(request, timeout=20).close()
        assert "result" in Client(url).open()
