"""What the demo prints, and what it does when something goes wrong."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.demo import story
from dragoman.demo.page import COLUMN, GAP, GOOD, Page, Style, column_of, described

WIDTH = 100


def entry(face: str, direction: str, frame: Any) -> dict[str, Any]:
    return {"face": face, "direction": direction, "frame": json.dumps(frame)}


def printed(*entries: dict[str, Any], style: Style | None = None) -> list[str]:
    lines: list[str] = []
    page = Page(lines.append, style or Style())
    for one in entries:
        page.frame(one)
    return lines


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "greet"}}
RESULT = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "hi"}]}}
ERROR = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}
RIGHT = " " * (COLUMN + GAP)


def test_each_face_has_its_column_and_arrows_point_to_the_receiver() -> None:
    assert printed(
        entry("client", "<", CALL),
        entry("server", ">", CALL),
        entry("server", "<", RESULT),
        entry("client", ">", ERROR),
    ) == [
        "→ tools/call",
        "    name: greet",
        RIGHT + "→ tools/call",
        RIGHT + "    name: greet",
        RIGHT + "← result of tools/call",
        RIGHT + '    content: "hi"',
        "← error for tools/call",
        "    code: -32602, message: no",
    ]


def test_one_id_in_two_directions_is_two_requests() -> None:
    question = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {"message": "m"}}
    lines = printed(
        entry("client", "<", CALL),
        entry("client", ">", question),
        entry("client", "<", {"id": 1, "result": {"action": "accept"}}),
        entry("client", ">", RESULT),
    )
    assert [line for line in lines if "result" in line] == ["→ result of elicitation/create", "← result of tools/call"]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"a": 1, "b": "x", "c": None}, ["a: 1, b: x, c: None"]),
        ({"requestState": "12345"}, ["requestState: 5 sealed characters"]),
        ({"_meta": {"io.modelcontextprotocol/clientInfo": {}, "a": "b"}}, ["_meta: clientInfo, a b"]),
        ({"tools": [{"name": "a"}, {"name": "b"}]}, ["tools: a, b"]),
        ({"content": {"a": "ü"}}, ['content: {"a": "ü"}']),
        ({"inputRequests": {"k": {"method": "roots/list"}}}, ["inputRequests.k: roots/list"]),
        ({"inputResponses": {"k": {"action": "cancel"}}}, ['inputResponses.k: {"action": "cancel"}']),
        ({"requestedSchema": {"properties": {"a": {}, "b": {}}}, "m": 1}, ["m: 1", "requestedSchema: a, b"]),
    ],
)  # fmt: skip
def test_members_in_a_few_words(members: dict[str, Any], expected: list[str]) -> None:
    assert list(described(members)) == expected


def test_long_values_are_cut_to_the_width() -> None:
    long = {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": "word " * 200, "b": ["x" * 500]}}
    for face in ("client", "server"):
        lines = printed(entry(face, "<", long))
        assert len(lines) == 5
        assert max(len(line) for line in lines) < WIDTH
        assert lines[2].endswith(" …")


def test_color_and_symbols_are_optional() -> None:
    plain = "".join(printed(entry("client", "<", CALL), style=Style(symbols=False)))
    assert plain.isascii()
    assert "\x1b" not in plain
    assert printed(entry("client", "<", CALL), style=Style(colors=True))[0] == "\x1b[1m→ tools/call\x1b[0m"
    lines: list[str] = []
    Page(lines.append, Style(colors=True)).say("", GOOD)
    assert lines == [""]


def test_no_color_when_output_is_no_terminal_or_color_is_unwanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert story.style().colors
    monkeypatch.setenv("NO_COLOR", "")
    assert not story.style().colors
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert not story.style().colors


def test_the_bridge_is_started_as_a_client_would() -> None:
    words = story.command(Path("x.jsonl"))
    assert words == [
        sys.executable,
        "-m",
        "dragoman",
        "--log=x.jsonl",
        "--",
        sys.executable,
        "-m",
        "dragoman.demo.server",
    ]


ANSWERS_WRONGLY = """
import sys
for line in sys.stdin:
    print('{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05"}}', flush=True)
"""
REFUSES = """
import sys
for line in sys.stdin:
    print('{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"The kitchen is closed."}}', flush=True)
"""


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("import sys; sys.exit('could not start')", "ended"),
        ("print('no json', flush=True); input()", "no JSON"),
        (ANSWERS_WRONGLY, "It was expected that the handshake ends in revision 2025-11-25."),
        (REFUSES, "initialize failed: The kitchen is closed."),
    ],
)
def test_a_story_that_goes_wrong_says_so_and_fails(
    monkeypatch: pytest.MonkeyPatch, program: str, sentence: str
) -> None:
    def command(log: Path) -> list[str]:
        return [sys.executable, "-c", program]

    monkeypatch.setattr(story, "command", command)
    lines: list[str] = []
    assert story.main(lines.append) == 1
    failed = [line for line in lines if line.startswith("The demo failed. ")]
    assert len(failed) == 1
    assert sentence in failed[0]
    if "could not start" in program:
        assert lines[-1] == "    could not start"


@pytest.mark.parametrize(("terminal", "column"), [(0, 28), (61, 28), (80, 37), (100, 47), (140, 67), (400, 80)])
def test_the_columns_are_as_wide_as_the_terminal_allows(terminal: int, column: int) -> None:
    assert column_of(terminal) == column
    lines = printed(entry("server", ">", CALL), entry("client", "<", CALL), style=Style(column=column))
    assert max(len(line) for line in lines) <= 2 * column + GAP
