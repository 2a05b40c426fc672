"""The command line of the child-process form: what it accepts, what it refuses, and what it never repeats."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from support.processes import WAIT, Bridge, Scripted, cause_of, initialize, run, text_of
from support.proofs import proves

pytestmark = pytest.mark.process

Make = Callable[..., Scripted]
HELLO = json.dumps(initialize()).encode() + b"\n"
SECRET = "s3cr3t-4711"
ENVIRONMENT = {**os.environ, "DRAGOMAN_TOKEN": SECRET, "MCP_TOKEN": SECRET}


def refused(*words: str | bytes) -> tuple[str, str]:
    """The cause and the usage that the command answers a wrong command line with."""
    done = run(*words, stdin=HELLO, env=ENVIRONMENT)
    assert done.returncode == 2, (words, done)
    assert done.stdout == b""
    cause, _, usage = done.stderr.decode().partition("\n")
    assert cause.startswith("dragoman: "), done.stderr
    assert usage.startswith("Usage: dragoman"), done.stderr
    return cause, usage


# ---------------------------------------------------------------------- the words of the server

WORDS = ["--", "--help", "--version", "https://example.com/x?y=z", "", " two  words ", "'\"$HOME`\\", "ä😀", "-x", "\n"]
EVERY_BYTE = bytes(range(1, 256))


@proves("CLI-01")
@pytest.mark.parametrize("early", [True, False], ids=["spawned early", "spawned late"])
def test_words_behind_the_dashes_reach_the_server_byte_for_byte(scripted: Make, early: bool) -> None:
    server = scripted()
    words: list[str | bytes] = [*server.command, *WORDS, EVERY_BYTE]
    options = () if early else ("--log=" + os.devnull,)
    with Bridge(words, *options, first=HELLO if early else b"") as bridge:
        if early:
            bridge.receive()
        else:
            bridge.open()
        told = text_of(bridge.tool("argv")).split(" ")
    mine = [os.fsencode(word).hex() or "-" for word in [*WORDS, EVERY_BYTE]]
    assert told[-len(mine) :] == mine


@proves("BCLI-04")
def test_the_general_form_splits_the_command_as_a_shell_does(scripted: Make) -> None:
    server = scripted()
    command = " ".join(f"'{word}'" for word in server.command) + """ "two  words" 'it "is"' a\\ b $HOME *"""
    with Bridge([], words=["bridge", "--listen", "stdio:.", "--upstream", f"stdio:{command}"]) as bridge:
        bridge.open()
        told = text_of(bridge.tool("argv")).split(" ")
    mine = ["two  words", 'it "is"', "a b", "$HOME", "*"]
    assert [bytes.fromhex(word).decode() for word in told[-5:]] == mine


@proves("EXIT-01", "BCLI-01")
def test_the_bridge_may_be_named_and_its_listener_given(scripted: Make) -> None:
    server = scripted()
    with Bridge([], words=["bridge", "--listen=stdio:.", "--", *server.command]) as bridge:
        bridge.open()
        assert text_of(bridge.tool("echo", text="fine")) == "fine"
        assert bridge.end() == 0


@proves("EXIT-03", "EXIT-04", "BCLI-04", "REV-13")
@pytest.mark.parametrize(
    "words",
    [
        ["--"],
        ["--", ""],
        ["--name", "x"],
        ["bridge"],
        ["bridge", "--listen", "stdio:."],
        ["bridge", "--listen", "unix:/tmp/x", "--", "server"],
        ["bridge", "--listen", "nonsense", "--", "server"],
        ["bridge", "--upstream", "stdio:"],
        ["bridge", "--upstream", "stdio:  "],
        ["bridge", "--upstream", "stdio:server 'open"],
        ["bridge", "--upstream", "grpc://127.0.0.1:1"],
        ["bridge", "--upstream", "stdio:a", "--", "b"],
        ["word", "--", "server"],
        ["docter", "--", "x"],
        ["docter"],
        ["--name", "x", "doctor"],
    ],
    ids=" ".join,
)
def test_a_command_line_without_one_server_or_with_an_unknown_target_is_wrong(words: list[str]) -> None:
    refused(*words)


@pytest.mark.parametrize(
    "before", [[], ["--name", "x"], ["--profile=vscode", "--allow-downgrade"], ["bridge"]], ids=" ".join
)
def test_a_command_needs_no_dashes_before_it(scripted: Make, before: list[str]) -> None:
    """And what follows it is its own, whatever it looks like (A6)."""
    server = scripted()
    with Bridge([], words=[*before, *server.command]) as bridge:
        bridge.open()
        assert text_of(bridge.tool("echo", text="fine")) == "fine"
        assert bridge.end() == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["docter", "x"], "did you mean doctor?"),
        (["--profle", "x", "y"], "did you mean --profile?"),
        (["doctor", "--time-limt=3", "x"], "did you mean --time-limit?"),
        (["--name", "x", "doctor", "y"], "dragoman -- doctor"),
    ],
)
def test_a_slip_is_answered_with_what_may_have_been_meant(words: list[str], told: str) -> None:
    assert told in refused(*words)[0]


# ---------------------------------------------------------------------- help and version


@proves("CLI-09")
@pytest.mark.parametrize("words", [["--help"], ["-h"], ["bridge", "--help"], ["--name", "x", "--help"]], ids=" ".join)
def test_help_is_written_to_standard_output_and_starts_nothing(scripted: Make, words: list[str]) -> None:
    server = scripted()
    done = run(*words, "--", *server.command, stdin=HELLO)
    assert done.returncode == 0
    assert b"Usage: dragoman" in done.stdout
    assert done.stderr == b""
    assert not server.pids()


@proves("CLI-05", "CLI-08", "TIME-06")
def test_the_options_are_explained_with_their_defaults() -> None:
    text = " ".join(run("bridge", "--help").stdout.decode().split())
    for option in ("--profile", "--name", "--log", "--allow-downgrade"):
        assert option in text
    for default in ("--discover-timeout SECONDS", "[default: 60", "[default: 67108864", "[default: info"):
        assert default in text


@proves("CLI-09")
def test_the_version_is_written_to_standard_output_and_starts_nothing(scripted: Make) -> None:
    server = scripted()
    done = run("--version", "--", *server.command, stdin=HELLO)
    assert (done.returncode, done.stderr) == (0, b"")
    assert version("dragoman") in done.stdout.decode()
    assert not server.pids()


# ---------------------------------------------------------------------- options and values


@proves("CLI-04", "CLI-10", "CLI-11", "IRES-08")
def test_an_option_takes_its_value_behind_an_equals_sign_or_from_the_next_word_and_the_last_one_counts(
    scripted: Make,
) -> None:
    for options, name in (
        (("--name", "next"), "next"),
        (("--name=behind",), "behind"),
        (("--name=a=b",), "a=b"),
        (("--name", "-dash"), "-dash"),
        (("--name", "first", "--name=second"), "second"),
        (("--name=first", "--name", "second"), "second"),
    ):
        with Bridge(scripted().command, *options) as bridge:
            assert bridge.open()["serverInfo"]["name"] == name


@proves("IRES-08")
def test_without_a_name_the_file_of_the_command_is_the_name(scripted: Make, tmp_path: Path) -> None:
    program = tmp_path / "weather-server.sh"
    words = " ".join(f"'{word}'" for word in scripted().command)
    program.write_text(f"#!/bin/sh\nexec {words}\n")
    program.chmod(0o755)
    with Bridge([str(program)]) as bridge:
        assert bridge.open()["serverInfo"] == {"name": "weather-server", "version": version("dragoman")}


NUMBERS = ("--discover-timeout", "--max-line-bytes", "--progress-rate")
NO_NUMBERS = ("+5", "-5", " 5", "5 ", "5_0", "5s", "1e3", "0x10", "5.0", "0", "٥", "")


@proves("CLI-05", "CLI-12")
def test_a_number_with_anything_but_digits_is_refused() -> None:
    for option in NUMBERS:
        cause, _ = refused(option, "5s", "--", "server")
        assert option in cause
    for text in NO_NUMBERS:
        cause, _ = refused(f"--discover-timeout={text}", "--", "server")
        assert "--discover-timeout" in cause


@proves("CLI-06")
def test_the_line_limit_has_bounds(scripted: Make) -> None:
    for text in ("0", "1073741825"):
        refused("--max-line-bytes", text, "--", "server")
    for text in ("1", "1073741824"):
        assert run("--max-line-bytes", text, "--", "server").returncode == 0


@proves("CLI-06")
def test_the_default_line_limit_is_64_mib(scripted: Make) -> None:
    with Bridge(scripted().command) as bridge:
        bridge.open()
        bridge.send(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"t":"')
        block = b"a" * (1 << 20)
        for _ in range(64):
            bridge.send(block)
        bridge.send(b'"}}\n')
        assert cause_of(bridge.answer(1)) == (-32600, "line_too_long")
        assert "67108864" in bridge.frames[-1]["error"]["data"]["detail"]


@proves("CLI-05", "TIME-06", "ERR-30")
def test_a_server_that_says_nothing_fails_initialize_when_its_time_is_over(scripted: Make) -> None:
    server = scripted("--mute")
    with Bridge(server.command, "--discover-timeout", "1") as bridge:
        started = time.monotonic()
        bridge.send(initialize(id=1))
        answer = bridge.answer(1)
        assert time.monotonic() - started > 0.9
        assert cause_of(answer) == (-32603, "discover_failed")
        assert "1 s; neither server/discover nor initialize" in answer["error"]["data"]["detail"]
        bridge.request(2, "ping")
        assert bridge.answer(2)["result"] == {}
    assert [frame["method"] for frame in server.received()] == ["server/discover", "initialize"]


@proves("CLI-08")
def test_the_log_level_says_how_much_is_logged(scripted: Make) -> None:
    heard: dict[str, set[str]] = {}
    for level in ("err", "warn", "info", "debug"):
        with Bridge(scripted("--banner", "noise\n").command, "--log-level", level) as bridge:
            bridge.open()
            bridge.notice("nothing/of/ours")
            bridge.tool("echo")
            assert bridge.end() == 0
            heard[level] = {line.split(": ")[2] for line in bridge.log_lines()}
    assert heard["err"] == set()
    assert heard["warn"] == heard["info"] == {"warning"}
    assert heard["debug"] == {"warning", "debug"}
    for value in ("", "ERR", "error", "trace", "2"):
        cause, _ = refused(f"--log-level={value}", "--", "server")
        assert "--log-level" in cause


@proves("CLI-04", "CLI-10", "CLI-13", "EXIT-03")
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--header", "x:y", "--", "server"], "--header"),
        (["--max-response-bytes", "5", "--", "server"], "--max-response-bytes"),
        (["profiles", "--name", "x"], "--name"),
        (["demo-server", "--profile=vscode"], "--profile"),
        (["--allow-downgrade=yes", "--", "server"], "--allow-downgrade"),
        (["--name", "--log", "--", "server"], "--name"),
        (["--name", "--", "server"], "--name"),
        (["--name=", "--", "server"], "--name"),
        (["--name", "", "--", "server"], "--name"),
        (["--profile", "--", "server"], "--profile"),
        (["--profile", "nobody", "--", "server"], "--profile"),
        (["--profile", "nowhere.toml", "--", "server"], "--profile"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ",
)
def test_a_wrong_option_is_named(words: list[str], named: str) -> None:
    cause, _ = refused(*words)
    assert named in cause


def test_a_file_for_the_log_that_cannot_be_written_is_a_wrong_argument(scripted: Make) -> None:
    server = scripted()
    cause, _ = refused(f"--log=/nonexistent/{SECRET}.jsonl", "--", *server.command)
    assert "--log" in cause
    assert SECRET not in cause
    assert not server.pids()


@proves("CLI-14")
@pytest.mark.parametrize(
    "words",
    [
        ["--profile", SECRET, "--", "server"],
        ["--profile", f"/nonexistent/{SECRET}.toml", "--", "server"],
        ["--log-level", SECRET, "--", "server"],
        ["--discover-timeout", SECRET, "--", "server"],
        ["--max-line-bytes", f"12{SECRET}", "--", "server"],
        ["--progress-rate", SECRET, "--", "server"],
        [f"--allow-reencode={SECRET}", "--", "server"],
        [f"--no-such-option={SECRET}", "--", "server"],
        ["--header", f"authorization:Bearer {SECRET}", "--", "server"],
        [f"-{SECRET}", "--", "server"],
        [f"--{SECRET}", "--", "server"],
        [SECRET, "--", "server"],
        [f"https://user:{SECRET}@example.com/mcp"],
        [f"https://example.com/mcp?token={SECRET}", SECRET],
        ["bridge", "--listen", SECRET, "--", "server"],
        ["bridge", "--upstream", f"ws://x/{SECRET}"],
        ["bridge", "--upstream", f"stdio:'{SECRET}"],
        ["bridge", "--upstream", f"stdio:{SECRET}", "--", SECRET],
        ["profiles", SECRET],
        ["profiles", f"--{SECRET}"],
        ["demo-server", SECRET],
        ["--name", SECRET, "--log-level", "none", "--", "server", SECRET],
    ],
    ids=" ".join,
)
def test_no_diagnostic_repeats_a_value(words: list[str]) -> None:
    cause, usage = refused(*words)
    assert SECRET not in cause + usage


@proves("CLI-14")
def test_no_word_of_the_server_s_command_is_in_the_log(scripted: Make) -> None:
    with Bridge([f"/nonexistent/{SECRET}", SECRET], "--log-level", "debug") as bridge:
        bridge.send(initialize(id=1))
        assert SECRET not in json.dumps(bridge.answer(1))
        assert bridge.end() == 0
        assert SECRET.encode() not in bridge.stderr
        assert bridge.log_lines()


def test_the_command_is_installed_under_its_name() -> None:
    installed = Path(sys.executable).parent / "dragoman"
    if not installed.exists():
        pytest.skip("the package is not installed with its script here")
    done = subprocess.run([installed, "--version"], capture_output=True, check=False, timeout=WAIT)
    assert done.stdout == run("--version").stdout
