"""`doctor` through the real command: servers that are a process, what is said of them, and that nothing is left."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.processes import DRAGOMAN, OLDER, WAIT, Scripted, as_at_a_terminal, eventually, run
from support.proofs import proves

pytestmark = pytest.mark.process

Make = Callable[..., Scripted]
READS = {"server/discover", "initialize", "notifications/initialized", "tools/list"}


def report(*words: str, code: int = 0, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = run("doctor", "--json", *words, env=env)
    assert done.returncode == code, done
    (line,) = done.stdout.splitlines()
    return json.loads(line)


@proves("B45")
def test_a_modern_server_is_read_and_ended(scripted: Make) -> None:
    server = scripted()
    found = report("--", *server.command)
    assert found["understood"]
    assert (found["era"], found["revision"], found["transport"]) == ("modern", "2026-07-28", "stdio")
    assert found["lists"] == {"tools": {"count": 1, "failure": None}}
    assert found["command"] == ["dragoman", *server.command]
    assert {frame["method"] for frame in server.received()} == {"server/discover", "tools/list"}
    assert len(server.traces("started")) == len(server.traces("finished")) == 1


@pytest.mark.parametrize(
    ("habit", "starts", "warning"),
    [("error", 1, None), ("exit", 2, "started twice"), ("error-exit", 2, "started twice")],
)
def test_an_older_server_is_found_out(scripted: Make, habit: str, starts: int, warning: str | None) -> None:
    server = scripted("--at-discover", habit, script=OLDER)
    found = report("--", *server.command)
    assert (found["era"], found["revision"], found["server"]["name"]) == ("legacy", "2025-11-25", "older")
    assert len(server.pids()) == starts
    assert {frame["method"] for frame in server.received()} <= READS
    assert not [text for text in found["warnings"] if "started twice" in text] or warning is not None
    assert warning is None or any(warning in text for text in found["warnings"])


def test_a_server_that_ignores_what_it_does_not_know_is_warned_of(scripted: Make) -> None:
    server = scripted("--at-discover", "ignore", script=OLDER)
    found = report("--time-limit", "12", "--", *server.command)
    assert found["understood"]
    assert any("costs 5 s" in text for text in found["warnings"])


@proves("B42")
@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("exits_at_once", "import sys; sys.exit(7)"),
        ("noise", "print('Welcome!', flush=True); input(); input()"),
        ("silent", "import sys; sys.stdin.read()"),
        ("not_understood", """
import json, sys
for line in sys.stdin:
    frame = json.loads(line)
    if "id" in frame:
        error = {"code": -32000, "message": "not today"}
        print(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "error": error}), flush=True)
"""),
    ],
)  # fmt: skip
def test_what_is_no_usable_server_gets_a_name_and_code_1(name: str, program: str) -> None:
    found = report("--time-limit", "4", "--", sys.executable, "-c", program, code=1)
    assert (found["understood"], found["problem"]["name"]) == (False, name)


def test_a_server_that_is_slow_to_start_is_not_said_to_ignore_anything(scripted: Make) -> None:
    """It refuses `server/discover`, and does so late (A10)."""
    server = scripted("--slow", "6", script=OLDER)
    found = report("--time-limit", "20", "--", *server.command)
    assert found["understood"]
    start = "it is slow to start: it answered server/discover with error -32601 only after "
    assert sum(warning.startswith(start) for warning in found["warnings"]) == 1
    assert not any("does not answer server/discover" in warning for warning in found["warnings"])


def test_the_report_comes_before_what_the_server_writes_for_people(scripted: Make) -> None:
    """And what it thinks of the probe is not there at all (A8)."""
    server = scripted("--complains", "at-length", script=OLDER)
    words = [*DRAGOMAN, "doctor", "--", *server.command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT, check=True)
    assert done.stdout.startswith(b"server        older 1")
    assert done.stdout.endswith(b"older starts\n")
    assert b"input_value" not in done.stdout


def test_the_server_is_visited_by_a_client_that_can_do_everything(scripted: Make) -> None:
    """As some servers offer less to others (A11)."""
    server = scripted(script=OLDER)
    report("--", *server.command)
    (initialize,) = [frame for frame in server.received() if frame["method"] == "initialize"]
    assert initialize["params"]["capabilities"] == {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}


def test_a_command_that_is_named_like_one_of_ours_stays_behind_dashes(scripted: Make, tmp_path: Path) -> None:
    """A6"""
    server = scripted()
    (tmp_path / "doctor").write_text(f"#!/bin/sh\nexec {shlex.join(server.command)}\n")
    (tmp_path / "doctor").chmod(0o755)
    found = report("--", "doctor", env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert found["command"] == ["dragoman", "--", "doctor"]


def test_a_command_that_is_not_there_is_told_by_the_word_of_the_system() -> None:
    done = run("doctor", "no-such-command-anywhere")
    assert done.returncode == 1
    assert done.stdout.decode().startswith(
        "problem       The command no-such-command-anywhere was not found: No such file"
    )


def test_a_target_is_split_as_upstream_splits_it(scripted: Make) -> None:
    server = scripted()
    for form in ("", "stdio:"):
        found = report(form + " ".join(f"'{word}'" for word in server.command))
        assert found["command"] == ["dragoman", *server.command]


def test_what_the_server_writes_for_people_passes_through() -> None:
    done = run("doctor", "--", sys.executable, "-c", "import sys; sys.exit('the key is missing')")
    assert done.returncode == 1
    assert b"the key is missing" in done.stderr
    assert b"the key is missing" not in done.stdout


def test_secrets_stay_out_of_the_report() -> None:
    env = {**os.environ, "MY_HEADER": "Bearer s3cr3t-value"}
    url = "http://127.0.0.1:9/mcp?key=s3cr3t-value"
    words = ("--header-env", "Authorization=MY_HEADER", "--header", "X-Api-Key: s3cr3t-value", url)
    for form in ((), ("--json",)):
        done = run("doctor", *form, *words, env=env)
        assert done.returncode == 1
        assert b"s3cr3t" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "the server is missing"),
        (("x", "--", "y"), "give the server once"),
        (("--time-limit", "0", "x"), "--time-limit must be"),
        (("--header", "a:b", "x"), "--header is for a server at a URL"),
        (("ftp://a", "b"), "one too many"),
        (("http://example.com/mcp",), "must use https"),
        (("unix:/x",), "is not known"),
    ],
)
def test_a_wrong_command_line_is_code_2(words: tuple[str, ...], text: str) -> None:
    done = run("doctor", *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert text in done.stderr.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind are POSIX's")
def test_an_interrupt_ends_the_server_too(scripted: Make, tmp_path: Path) -> None:
    server = scripted("--mute")
    with subprocess.Popen(
        [*DRAGOMAN, "doctor", "--", *server.command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=as_at_a_terminal,
    ) as process:
        eventually("the server is asked", lambda: server.lines())
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT) == 1
    assert server.traces("end")
