"""What the documents tell people to run: the application within another under uvicorn, and the unit of systemd."""

import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.listener import initialize, notice, request
from support.listening import Client
from support.processes import WAIT, as_at_a_terminal, eventually, is_gone

pytestmark = pytest.mark.process

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "shared-endpoint.md"
SERVE = """
import uvicorn

uvicorn.run(app, host="127.0.0.1", port={port}, log_level="warning", timeout_graceful_shutdown=1)
"""
EVENTS = "GET /tools/mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {}\r\nAccept: text/event-stream\r\n\r\n"


def sample(language: str, mark: str) -> str:
    """The one sample of the document in that language that has the mark."""
    samples = re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (text,) = [text for text in samples if mark in text]
    return text


def free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Linux tells of the children of a process")
def test_the_sample_of_an_application_ends_everything_when_it_is_interrupted(tmp_path: Path) -> None:
    """With a stream open, and a server that nobody but the lifespan of the application ends (C15)."""
    text = sample("python", "Starlette")
    assert text.count('"https://mcp.example.com/mcp"') == 1
    text = text.replace('"https://mcp.example.com/mcp"', repr(f"{sys.executable} -m dragoman demo-server"))
    port, script = free_port(), tmp_path / "application.py"
    script.write_text(text + SERVE.format(port=port))
    with subprocess.Popen([sys.executable, str(script)], preexec_fn=as_at_a_terminal) as process:
        try:
            eventually("it listens", lambda: accepts(port))
            with Client(f"http://127.0.0.1:{port}/tools/mcp") as client:
                client.post(initialize())
                client.post(notice("initialized"))
                assert client.post(request(1, "tools/list"))["result"]["tools"]
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                assert children
                with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as stream:
                    stream.sendall(EVENTS.format(client.session["mcp-session-id"]).encode())
                    assert stream.recv(1 << 16).startswith(b"HTTP/1.1 200")
                    process.send_signal(signal.SIGINT)
                    process.wait(WAIT)
            assert all(is_gone(int(pid)) for pid in children)
        finally:
            process.kill()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_the_unit_of_the_documents_is_one_that_systemd_takes(tmp_path: Path) -> None:
    """As it is written, with programs that this machine has (C14)."""
    text = re.sub(r"/usr/local/bin/\S+", sys.executable, sample("ini", "[Service]"))
    assert "KillMode=mixed" in text

    def complaints(text: str) -> list[str]:
        unit = tmp_path / "dragoman.service"
        unit.write_text(text)
        words = ["systemd-analyze", "verify", "--man=no", "--generators=no", str(unit)]
        done = subprocess.run(words, capture_output=True, timeout=WAIT, check=False)
        return [line for line in done.stderr.decode().splitlines() if "dragoman" in line]

    assert not complaints(text)
    assert complaints(text.replace("KillMode=mixed", "KillMode=never-heard-of"))
