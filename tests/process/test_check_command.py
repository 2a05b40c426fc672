"""`check` through the real command: it reads one reply, says what it says, and touches nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import DRAGOMAN, WAIT, run
from support.proofs import proves

pytestmark = pytest.mark.process

REPLY = b'{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[],"structuredContent":[1.50]}}'
WATCHED = """
import sys
seen = []
watched = ("socket.", "subprocess.", "os.posix_spawn", "os.fork", "os.exec", "_winapi.")
sys.addaudithook(lambda event, _: event.startswith(watched) and seen.append(event))
from dragoman.cli.entry import main
code = main(sys.argv[1:])
loaded = {"asyncio", "uvloop", "socket", "subprocess", "aiohttp"} & set(sys.modules)
sys.stderr.write(f"{code} {seen} {sorted(loaded)}")
"""


@proves("CHECK-02")
@pytest.mark.parametrize(
    "words",
    [
        ("check", "-"),
        ("bridge", "--check-result", "-"),
        ("bridge", "--check-result", "-", "--listen", "http://127.0.0.1:0/mcp", "--upstream", "stdio:no-such-command"),
        ("--check-result", "-", "--allow-downgrade", "--", "no-such-command"),
    ],
)
def test_no_socket_is_opened_and_no_process_started(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *words], input=REPLY, capture_output=True, timeout=WAIT, check=True
    )
    code = 0 if "--allow-downgrade" in words else 3
    assert done.stderr.decode() == f"{code} [] []"


@proves("CHECK-01")
def test_the_reply_may_come_from_standard_input_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "reply.json"
    file.write_bytes(REPLY)
    first = run("check", "-", "--to", "2024-11-05", stdin=REPLY)
    second = run("check", str(file), "--to", "2024-11-05")
    assert (first.returncode, first.stderr) == (0, b"")
    assert first.stdout == second.stdout
    assert b'"structuredContent":[1.50]' in first.stdout


def test_the_report_for_a_machine_is_one_line() -> None:
    done = run("check", "-", "--json", stdin=REPLY)
    assert done.returncode == 3
    (line,) = done.stdout.splitlines()
    report = json.loads(line)
    assert report["refusal"]["row"] == "S4-19"
    assert report["refusal"]["wouldHelp"] == ["--allow-downgrade"]


@proves("CHECK-04")
def test_nothing_of_an_unreadable_reply_is_repeated() -> None:
    done = run("check", "-", stdin=b"secret-of-mine")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"secret" not in done.stderr


def test_a_check_loads_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    done = subprocess.run([*DRAGOMAN, "check", "-"], input=REPLY, capture_output=True, timeout=WAIT, check=False)
    names = set(re.findall(rb"\| +(\S+)$", done.stderr, re.MULTILINE))
    assert b"msgspec" in names
    assert not names & {b"asyncio", b"uvloop", b"aiohttp", b"uvicorn", b"jsonschema_rs", b"mcp"}
