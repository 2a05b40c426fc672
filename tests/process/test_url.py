"""A server at a URL through the real command: the same conversation, with the URL options of the command line."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from support.processes import Bridge, run
from support.proofs import proves

pytestmark = pytest.mark.process
NAMESPACE = "io.modelcontextprotocol/"
Seen = list[tuple[dict[str, str], dict[str, Any]]]


class Server(BaseHTTPRequestHandler):
    """A modern server that answers with JSON, or for a tool called `stream` with events; `status-N` fails with N."""

    protocol_version = "HTTP/1.1"
    seen: Seen

    def do_POST(self) -> None:
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(({name.lower(): value for name, value in self.headers.items()}, body))
        name = body["params"].get("name", "")
        if name.startswith("status-"):
            self._send(int(name.removeprefix("status-")), "text/html", b"<h1>no</h1>")
            return
        results: dict[str, Any] = {
            "server/discover": {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {
                    NAMESPACE + "serverInfo": {
                        "name": "far",
                        "version": "1",
                        "icons": [{"src": "https://x/i.png"}, {"src": "data:image/png;base64,AA"}],
                    }
                },
            },
            "tools/call": {"content": [{"type": "text", "text": name}]},
        }
        answer = {
            "jsonrpc": "2.0",
            "id": body["id"],
            "result": {"resultType": "complete", **results[body["method"]]},
        }
        data = json.dumps(answer).encode()
        if name == "stream":
            progress = {
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {"progressToken": body["params"]["_meta"]["progressToken"], "progress": 1},
            }
            events = b"".join(
                b"event: message\r\ndata: %b\r\n\r\n" % one for one in (json.dumps(progress).encode(), data)
            )
            self._send(200, "text/event-stream", events)
        else:
            self._send(200, "application/json", data)

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Older(Server):
    """A server with a handshake and without sessions, which knows no other method."""

    def do_POST(self) -> None:
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(({name.lower(): value for name, value in self.headers.items()}, body))
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "1"},
            },
            "tools/call": {"content": [{"type": "text", "text": body.get("params", {}).get("name", "")}]},
        }
        if "id" not in body:
            self._send(202, "application/json", b"")
            return
        outcome = {"error": {"code": -32601, "message": "no such method"}}
        if body["method"] in results:
            outcome = {"result": results[body["method"]]}
        self._send(200, "application/json", json.dumps({"jsonrpc": "2.0", "id": body["id"], **outcome}).encode())

    def do_GET(self) -> None:
        self._send(405, "text/plain", b"")


@contextmanager
def serving(kind: type[Server] = Server) -> Generator[tuple[str, Seen]]:
    seen: Seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Serving", (kind,), {"seen": seen}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp/?a=%2F", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def bridge(*words: str, env: dict[str, str] | None = None) -> Bridge:
    return Bridge((), words=words, env=env)


@proves("CLI-02", "CLI-16", "HTTP-01", "HTTP-04", "ICON-06")
def test_a_server_at_a_url_is_used_like_a_command() -> None:
    with serving() as (url, seen), bridge("--header-env", "X-Key=KEY", url, env={**os.environ, "KEY": "k-1"}) as one:
        result = one.open()
        assert result["serverInfo"] == {"name": "far", "version": "1", "icons": [{"src": "data:image/png;base64,AA"}]}
        assert one.tool("plain")["result"]["content"] == [{"type": "text", "text": "plain"}]
        one.send(
            {
                "jsonrpc": "2.0",
                "id": "s",
                "method": "tools/call",
                "params": {"name": "stream", "arguments": {}, "_meta": {"progressToken": "p"}},
            }
        )
        assert one.answer("s")["result"]["content"] == [{"type": "text", "text": "stream"}]
        progress = [frame["params"] for frame in one.frames if frame.get("method") == "notifications/progress"]
        assert progress == [{"progressToken": "p", "progress": 1}]
        assert one.end() == 0
    headers, body = seen[1]
    assert headers["mcp-protocol-version"] == body["params"]["_meta"][NAMESPACE + "protocolVersion"] == "2026-07-28"
    assert (headers["mcp-method"], headers["mcp-name"], headers["x-key"]) == ("tools/call", "plain", "k-1")
    assert {"application/json", "text/event-stream"} <= {kind.strip() for kind in headers["accept"].split(",")}


@proves("BCLI-03")
@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (Server, ["server/discover", "tools/call"]),
        (Older, ["server/discover", "initialize", "notifications/initialized", "tools/call"]),
    ],
)
def test_what_a_server_at_a_url_speaks_is_found_out(kind: type[Server], asked: list[str]) -> None:
    """BCLI-03."""
    with serving(kind) as (url, seen), bridge("bridge", "--listen", "stdio:.", "--upstream", url) as one:
        assert one.open()["serverInfo"]["name"] == "far"
        assert one.tool("plain")["result"]["content"] == [{"type": "text", "text": "plain"}]
        assert one.end() == 0
    assert [body["method"] for _, body in seen] == asked


@proves("EXIT-05", "HTTP-10", "ERR-07", "BCLI-02", "B122")
def test_a_status_fails_its_request_with_its_number_and_the_bridge_goes_on() -> None:
    with serving() as (url, _), bridge("--upstream", f"http-stateless:{url}") as one:
        one.open()
        for status in (500, 404, 403, 200):
            error = one.tool(f"status-{status}")["error"]
            assert error["code"] == -32603
            assert error["data"]["detail"].startswith(f"HTTP status {status}")
        assert "result" in one.tool("after")
        assert one.end() == 0


@proves("EXIT-05", "ERR-18")
def test_a_server_that_cannot_be_reached_fails_initialize_and_the_next_one_can_succeed() -> None:
    with serving() as (url, _):
        pass
    with bridge(url) as one:
        one.request(1, "initialize", protocolVersion="2025-11-25", clientInfo={"name": "a", "version": "1"})
        error = one.answer(1)["error"]
        assert error["data"]["cause"] == "transport_failed"
        assert "127.0.0.1" not in json.dumps(error)
        assert one.process.poll() is None
        assert one.end() == 0


@proves("CLI-07")
def test_a_response_above_the_limit_fails_its_request() -> None:
    with serving() as (url, _), bridge("--max-response-bytes", "2000", url) as one:
        one.open()
        assert one.tool("x" * 3000)["error"]["data"]["cause"] == "invalid_response"
        assert "result" in one.tool("short")
        assert one.end() == 0


@proves("CLI-07")
def test_the_limit_of_a_response_has_bounds() -> None:
    with serving() as (url, _):
        for text in ("0", "1073741825"):
            assert run("--max-response-bytes", text, url).returncode == 2
        for text in ("1", "1073741824"):
            assert run("--max-response-bytes", text, url).returncode == 0


@proves("CLI-02", "CLI-07", "CLI-15", "CLI-16", "CLI-20")
@pytest.mark.parametrize(
    "words",
    [
        ("http://example.com/mcp",),
        ("ftp://127.0.0.1/mcp",),
        ("https://user:s3cr3t-4711@example.com/mcp",),
        ("https://example.com/mcp#s3cr3t-4711",),
        ("https://example.com:0/mcp",),
        ("https://example.com/mcp", "s3cr3t-4711"),
        ("https://example.com/mcp", "--log-level", "debug"),
        ("https://example.com/mcp", "--", "server"),
        ("--header", "s3cr3t-4711", "https://example.com/mcp"),
        ("--header", "mcp-name:s3cr3t-4711", "https://example.com/mcp"),
        ("--header", "x:s3cr3t-4711", "--header", "X:1", "https://example.com/mcp"),
        ("--header-env", "x=NO_SUCH_VARIABLE", "https://example.com/mcp"),
        ("--ca-file", "/s3cr3t-4711.pem", "https://example.com/mcp"),
        ("--ca-file", __file__, "https://example.com/mcp"),
        ("--max-response-bytes", "0", "https://example.com/mcp"),
        ("--header", "x:1", "--", "server"),
        ("--max-response-bytes", "5", "--", "server"),
    ],
)
def test_a_wrong_url_form_is_refused_with_its_usage_and_without_a_value(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert done.stdout == b""
    cause, usage = done.stderr.decode().split("\n", 1)
    assert cause.startswith("dragoman: ")
    assert usage.startswith("Usage: dragoman")
    assert "s3cr3t-4711" not in done.stderr.decode()


def test_nothing_of_the_url_s_library_and_of_handshakes_with_servers_is_loaded_before_it_is_needed() -> None:
    late = ("aiohttp", "dragoman.backs.legacy", "dragoman.backs.handshake", "dragoman.transports.http")
    code = (
        f"import dragoman.cli.run, dragoman.cli.commands, sys; print([m for m in sys.modules if m.startswith({late})])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30, check=True)
    assert done.stdout.strip() == b"[]"
