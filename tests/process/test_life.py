"""The life of the two processes: when the server starts, how everything ends, and what standard error shows."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from support.processes import (
    DRAGOMAN,
    WAIT,
    Bridge,
    Scripted,
    cause_of,
    eventually,
    initialize,
    is_gone,
    text_of,
)
from support.proofs import proves

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="signals, process groups and pidfds are those of POSIX"),
]

Make = Callable[..., Scripted]
BOUND = 8.0  # EXIT-06
NOISE = 1.5  # what a busy machine may add to a time that a test measures


# ---------------------------------------------------------------------- the start


@proves("LIFE-06")
def test_nothing_but_initialize_starts_the_server(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.notice("initialized")
        bridge.notice("cancelled", requestId=1)
        for id, method in enumerate(("ping", "tools/list", "tools/call", "server/discover", "resources/subscribe")):
            bridge.request(id, method)
            bridge.answer(id)
        bridge.request(10, "logging/setLevel", level="debug")
        bridge.answer(10)
        bridge.send(b"{\n", b'{"jsonrpc":"2.0","id":"b-1","result":{}}\n')
        assert bridge.receive()["id"] is None
        assert not server.pids()
        bridge.open()
        assert len(server.pids()) == 1
        bridge.send(initialize(id="again"))
        assert cause_of(bridge.answer("again")) == (-32600, "already_initialized")
        bridge.tool("echo")
        assert len(server.pids()) == 1


@proves("EMB-14")
def test_a_command_that_nobody_speaks_to_starts_no_server(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        assert bridge.end() == 0
        assert bridge.stderr == b""
    assert not server.pids()


def test_the_server_is_started_once_when_initialize_is_there_before_the_bridge(scripted: Make) -> None:
    server = scripted()
    first = json_line(initialize(id=1)) + b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
    with Bridge(server.command, first=first) as bridge:
        assert bridge.receive()["id"] == 1
        assert bridge.receive()["id"] == 2
        assert bridge.end() == 0
    assert len(server.pids()) == 1


@proves("EMB-05")
def test_blank_lines_before_the_first_message_are_none(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command, first=b"\n \r\n\n" + json_line(initialize(id=1))) as bridge:
        assert "result" in bridge.answer(1)
        assert len(bridge.frames) == 1
        assert bridge.end() == 0
    assert len(server.pids()) == 1


def hello(params: bytes = b"", envelope: bytes = b"", id: bytes = b"1", version: bytes = b'"1"') -> bytes:
    """An initialize in bytes, with members added or changed."""
    info = b'"clientInfo":{"name":"x","version":%s}' % version
    params = b'"protocolVersion":"2025-11-25","capabilities":{},%s%s' % (info, params)
    return b'{"jsonrpc":"2.0","id":%s%s,"method":"initialize","params":{%s}}\n' % (id, envelope, params)


REFUSED = {
    "a client whose version is no string": hello(version=b"1"),
    "an id that is none": hello(id=b"null"),
    "a broken line": hello()[:-2] + b"\n",
    "a number that JSON lacks": hello(params=b',"x":NaN'),
    "a member twice": hello(envelope=b',"method":"tools/list"'),
    "bytes that are no text": hello(params=b',"x":"\xed\xa0\x80"'),
    "too many levels": hello(params=b',"x":%s%s' % (b"[" * 80, b"]" * 80)),
    "another encoding": hello().decode().encode("utf-16-le")[:-2] + b"\n",
    "a call with such arguments": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}\n' % hello().strip(),
}


@proves("EMB-07")
@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED)
def test_a_first_line_that_is_no_valid_initialize_starts_no_server(scripted: Make, line: bytes) -> None:
    server = scripted()
    with Bridge(server.command, first=line) as bridge:
        assert "error" in bridge.receive()
        assert bridge.end() == 0
    assert not server.pids()


@proves("EMB-04")
def test_a_first_line_above_the_limit_starts_no_server_that_outlives_the_bridge(scripted: Make) -> None:
    server = scripted("--ignore-end", "--ignore-term")
    with Bridge(server.command, "--max-line-bytes", "99", first=hello(params=b',"x":"%s"' % (b"y" * 99))) as bridge:
        assert cause_of(bridge.receive()) == (-32600, "line_too_long")
        assert bridge.end(BOUND + NOISE) == 0
    assert not server.pids()


@proves("INIT-05", "INIT-10", "ERR-28")
def test_a_command_that_cannot_be_started_fails_initialize_and_not_the_bridge(scripted: Make) -> None:
    with Bridge(["/nonexistent/folder-4711/server", "--token", "hush"]) as bridge:
        for id in (1, 2):
            bridge.send(initialize(id=id))
            answer = bridge.answer(id)
            assert cause_of(answer) == (-32603, "spawn_failed")
            assert "4711" not in str(answer)
        bridge.request(3, "ping")
        assert bridge.answer(3)["result"] == {}
        assert bridge.end() == 0
        assert b"hush" not in bridge.stderr
        assert any(": error: " in line for line in bridge.log_lines())


@proves("INIT-08", "B57", "EMB-08")
def test_requests_in_the_same_write_as_initialize_are_answered_in_order(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.send(
            initialize(id=1),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        )
        assert bridge.receive()["id"] == 1
        assert "result" in bridge.receive()


# ---------------------------------------------------------------------- the end of the client


@proves("B60", "EXIT-01", "QA-03", "CANC-08")
def test_the_end_of_the_input_ends_everything_with_code_0_and_answers_nothing_more(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.call(1, "hold")
        bridge.tool("echo")
        assert bridge.end(BOUND) == 0
        assert bridge.rest() == []
    assert server.traces("end")
    assert all(is_gone(pid, 0) for pid in server.pids())


def test_a_request_right_before_the_end_of_the_input_still_reaches_the_bridge(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        bridge.hang_up()
        assert bridge.receive()["id"] == 1
        assert bridge.wait() == 0


@proves("EXIT-08")
def test_a_server_has_time_to_finish_its_work_after_the_end(scripted: Make) -> None:
    server = scripted("--after-end", "1")
    with Bridge(server.command) as bridge:
        bridge.open()
        assert bridge.end(BOUND) == 0
    assert server.traces("finished")
    assert not server.traces("term")


@proves("B60", "EXIT-06", "EXIT-08")
def test_a_server_that_ignores_everything_is_gone_with_its_children_in_the_bound(scripted: Make) -> None:
    server = scripted("--ignore-end", "--ignore-term", "--grandchild")
    with Bridge(server.command) as bridge:
        bridge.open()
        pids = eventually("the grandchild", lambda: server.pids() if len(server.pids()) == 2 else None)
        assert bridge.end(BOUND + NOISE) == 0
        assert all(is_gone(pid, NOISE) for pid in pids)
    (end,) = server.traces("end")[-1:]
    terms = server.traces("term")
    assert {trace.pid for trace in terms} == set(pids)
    assert 1.0 < terms[0].time - end.time < 2.0 + NOISE


def test_what_a_server_leaves_behind_when_it_ends_is_ended_too(scripted: Make) -> None:
    server = scripted("--grandchild")
    with Bridge(server.command) as bridge:
        bridge.open()
        pids = eventually("the grandchild", lambda: server.pids() if len(server.pids()) == 2 else None)
        assert bridge.end(BOUND + NOISE) == 0
        assert all(is_gone(pid, NOISE) for pid in pids)


MIDDLE = """
import json, subprocess, sys, time
bridge = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
bridge.stdin.write(sys.argv[1].encode() + b"\\n")
bridge.stdin.flush()
bridge.stdout.readline()
print(bridge.pid, flush=True)
time.sleep(600)
"""


def test_a_client_that_is_killed_leaves_no_process_behind(scripted: Make) -> None:
    server = scripted()
    line = json_line(initialize()).decode().strip()
    client = subprocess.Popen(
        [sys.executable, "-S", "-c", MIDDLE, line, *DRAGOMAN, "--", *server.command], stdout=subprocess.PIPE
    )
    assert client.stdout is not None
    with client, client.stdout:
        bridge = int(client.stdout.readline())
        assert not is_gone(bridge, 0)
        client.kill()
        assert is_gone(bridge, BOUND)
        assert all(is_gone(pid, NOISE) for pid in server.pids())
    assert server.pids()


def test_a_client_that_closes_the_bridge_s_output_ends_it(scripted: Make) -> None:
    with Bridge(scripted().command, reads=False) as bridge:
        bridge.send(initialize())
        bridge.stdout.close()
        assert bridge.wait(BOUND) == 0
        assert b"Traceback" not in bridge.stderr


@pytest.mark.parametrize(("method", "code"), [("hold", 1), ("echo", 0)])
def test_the_code_tells_whether_a_call_was_open_when_the_output_was_closed(
    method: str, code: int, scripted: Make
) -> None:
    """T25: the second call is answered before."""
    with Bridge(scripted().command, reads=False) as bridge:
        bridge.send(initialize())
        assert b"serverInfo" in bridge.stdout.readline()
        bridge.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        bridge.call(1, method, text="x")
        if method == "echo":
            assert b'"x"' in bridge.stdout.readline()
        bridge.stdout.close()
        bridge.request(2, "ping")  # its answer meets the closed output
        assert bridge.wait(BOUND) == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_the_bridge_and_its_server_and_what_is_open_gets_an_error(
    scripted: Make, number: signal.Signals
) -> None:
    """Each request has exactly one answer, also when the bridge is told to end."""
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.call(1, "hold")
        bridge.tool("echo")
        bridge.signal(number)
        assert bridge.wait(BOUND) == 0
        assert b"Traceback" not in bridge.stderr
        (error,) = bridge.rest()
        assert (error["id"], cause_of(error)) == (1, (-32603, "shutting_down"))
    assert all(is_gone(pid, 0) for pid in server.pids())


def test_a_signal_answers_an_initialize_that_is_open(scripted: Make) -> None:
    server = scripted("--mute")
    with Bridge(server.command) as bridge:
        bridge.send(initialize())
        eventually("the server is asked what it is", server.lines)
        bridge.signal(signal.SIGTERM)
        assert bridge.wait(BOUND) == 0
        assert [frame["id"] for frame in bridge.rest()] == ["hello"]


# ---------------------------------------------------------------------- the end of the server


@proves("B62", "EXIT-02", "EXIT-09", "LIFE-18", "ERR-31")
def test_the_server_s_death_fails_all_its_calls_at_once_and_later_ones_and_gives_code_1(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.call(2, "hold")
        bridge.call(3, "hold")
        bridge.call(4, "die", code=3)
        for id in (2, 3, 4):
            assert cause_of(bridge.answer(id, 3)) == (-32603, "upstream_exited")
        bridge.call(5, "echo")
        bridge.send(initialize(id="new"))
        assert cause_of(bridge.answer(5)) == (-32603, "upstream_exited")
        assert cause_of(bridge.answer("new")) == (-32603, "upstream_exited")
        bridge.request(6, "ping")
        assert bridge.answer(6)["result"] == {}
        assert bridge.wait() == 1
        assert any("code 3" in line for line in bridge.log_lines())
    assert len(server.pids()) == 1


def test_the_end_of_the_input_after_the_server_s_death_still_gives_code_1(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        bridge.call(1, "die", code=0)
        assert cause_of(bridge.answer(1)) == (-32603, "upstream_exited")
        assert bridge.end() == 1


def test_a_server_that_dies_before_it_can_be_used_fails_initialize_only(scripted: Make) -> None:
    with Bridge([sys.executable, "-S", "-c", "raise SystemExit(4)"]) as bridge:
        bridge.send(initialize(id=1))
        assert "error" in bridge.answer(1)
        bridge.send(initialize(id=2))
        assert "error" in bridge.answer(2)
        bridge.request(3, "ping")
        assert bridge.answer(3)["result"] == {}
        assert bridge.end() == 0


def test_a_server_killed_by_a_signal_is_reported_as_such(scripted: Make) -> None:
    server = scripted()
    with Bridge(server.command) as bridge:
        bridge.open()
        bridge.call(1, "hold")
        bridge.tool("echo")
        os.kill(server.pids()[0], signal.SIGKILL)
        assert cause_of(bridge.answer(1, 3)) == (-32603, "upstream_exited")
        bridge.says(b"signal 9")
        assert bridge.end() == 1


# ---------------------------------------------------------------------- standard error


@proves("B58")
def test_a_flood_on_standard_error_that_nobody_reads_stops_nothing(scripted: Make) -> None:
    with Bridge(scripted("--stderr", str(1 << 20)).command, reads_stderr=False) as bridge:
        bridge.open()
        for _ in range(8):
            assert text_of(bridge.tool("complain", size=1 << 18)) == "complained"
        bridge.read_stderr()
        bridge.says(b"were dropped")
        assert bridge.end() == 0


def test_all_of_a_server_s_standard_error_is_passed_on_when_somebody_reads(scripted: Make) -> None:
    with Bridge(scripted("--stderr", str(1 << 20)).command) as bridge:
        bridge.open()
        bridge.tool("complain", size=1 << 18)
        assert bridge.end() == 0
        assert len(bridge.stderr) == (1 << 20) + (1 << 18)


@proves("LOGL-01")
def test_a_server_s_standard_error_passes_byte_for_byte_between_our_own_lines(scripted: Make) -> None:
    said = "one\nZwei äöü\n\n  indented: error: x\n\xff\xfe\x00\x1b[31mred\x1b[0m\r\nlast\n"
    with Bridge(scripted("--banner", "noise\n").command) as bridge:
        bridge.open()
        bridge.tool("complain", data=said)
        bridge.tool("raw", data="more noise\n" + ANSWER)
        assert bridge.end() == 0
        ours = re.compile(rb"dragoman: [a-z]+: (?:error|warning|info|debug): [^\n]+\n")
        assert len(ours.findall(bridge.stderr)) == 2
        assert ours.sub(b"", bridge.stderr) == said.encode("latin-1")


@proves("LOGL-01")
def test_a_line_of_the_log_begins_at_the_begin_of_a_line(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        bridge.tool("complain", data="no line end")
        bridge.says(b"no line end")
        bridge.tool("raw", data="noise\n" + ANSWER)
        assert bridge.end() == 0
        assert any("noise" in line for line in bridge.log_lines()), bridge.stderr


ANSWER = '{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","content":[]}}\n'


@proves("ERR-03")
def test_nothing_of_a_server_s_standard_error_is_in_an_answer(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        bridge.tool("complain", data="secret-of-the-child\n")
        bridge.call(1, "die", code=1)
        assert "secret-of-the-child" not in str(bridge.answer(1))
        assert bridge.end() == 1


@proves("B65")
def test_text_is_utf8_whatever_the_locale_says(scripted: Make) -> None:
    plain = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    text = "émoji 😀 界"
    with Bridge(scripted("--banner", "\xe4\xb8\x96 banner\n").command, "--log-level", "debug", env=plain) as bridge:
        bridge.open()
        assert text_of(bridge.tool("echo", text=text)) == text
        assert bridge.end(WAIT) == 0
        assert b"Traceback" not in bridge.stderr


def json_line(frame: object) -> bytes:
    return json.dumps(frame).encode() + b"\n"
