"""The frame log: every frame of both sides, in order, as it was on the wire, and without the credentials in it."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.processes import Bridge, Scripted, initialize, parsed, text_of
from support.proofs import proves

pytestmark = pytest.mark.process

Make = Callable[..., Scripted]
LISTENS = ("--capabilities", '{"tools": {"listChanged": true}}')
MEMBERS = {"time", "offset", "face", "direction", "lane", "frame"}


def entries(data: bytes) -> list[Any]:
    assert data.endswith(b"\n")
    found = [parsed(line) for line in data.split(b"\n")[:-1]]
    for entry in found:
        assert MEMBERS <= set(entry) <= MEMBERS | {"rules"}
        assert (entry["face"], entry["direction"]) in {(f, d) for f in ("client", "server") for d in "<>"}
    return found


def passed(log: list[Any], face: str, direction: str) -> list[str]:
    return [entry["frame"] for entry in log if (entry["face"], entry["direction"]) == (face, direction)]


def conversation(bridge: Bridge) -> list[str]:
    """A conversation with a bit of everything; gives the lines that the client wrote."""
    lines = [
        json.dumps(initialize(capabilities={"elicitation": {"form": {}}}), separators=(", ", " : ")),
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        '{ "id":"two", "method":"tools/call","jsonrpc":"2.0","params":{"name":"echo","arguments":{"text":"ä\\u00e4"}}}',
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"change"}}',
        "no message at all",
        '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ask"}}',
        '{"jsonrpc":"2.0","id":"b-1","result":{"action":"accept","content":{"name":"x"}}}',
    ]
    for line, answers in zip(lines, (1, 1, 1, 1, 2, 1, 1, 1), strict=True):
        bridge.send(line.encode() + b"\n")
        for _ in range(answers):
            bridge.receive()
    return lines


@proves("CHECK-05")
def test_every_frame_is_recorded_as_it_was_on_the_wire(scripted: Make, tmp_path: Path) -> None:
    file = tmp_path / "frames.jsonl"
    server = scripted(*LISTENS)
    with Bridge(server.command, f"--log={file}") as bridge:
        lines = conversation(bridge)
        assert bridge.end() == 0
        log = entries(file.read_bytes())
        assert passed(log, "client", "<") == lines
        assert passed(log, "client", ">") == [line.decode().rstrip("\n") for line in bridge.raw]
        assert passed(log, "server", ">") == [line.decode() for line in server.lines()]
        answers = [parsed(frame.encode()) for frame in passed(log, "server", "<")]
        answered = [frame for frame in server.received() if frame["method"] != "subscriptions/listen"]
        assert [frame["id"] for frame in answers if "id" in frame] == [
            frame["id"] for frame in answered if "id" in frame
        ]
        assert sum(frame.get("method") == "notifications/tools/list_changed" for frame in answers) == 1


@proves("CHECK-05")
def test_the_record_is_in_the_order_of_what_happened(scripted: Make, tmp_path: Path) -> None:
    file = tmp_path / "frames.jsonl"
    with Bridge(scripted().command, f"--log={file}") as bridge:
        bridge.open()
        for number in range(50):
            bridge.tool("echo", text=f"<{number}>")
        assert bridge.end() == 0
    log = entries(file.read_bytes())
    for number in range(50):
        turns = [entry["face"] + entry["direction"] for entry in log if f"<{number}>" in entry["frame"]]
        assert turns == ["client<", "server>", "server<", "client>"]
    assert all(a["offset"] <= b["offset"] and a["time"] <= b["time"] for a, b in pairwise(log))


def test_the_record_goes_to_standard_error_when_no_file_is_named(scripted: Make) -> None:
    with Bridge(scripted(*LISTENS).command, "--log") as bridge:
        lines = conversation(bridge)
        assert bridge.end() == 0
        log = [line for line in bridge.stderr.split(b"\n") if line.startswith(b"{")]
        assert passed(entries(b"\n".join(log) + b"\n"), "client", "<") == lines


@proves("CHECK-07")
def test_the_record_changes_nothing_that_either_side_gets(scripted: Make, tmp_path: Path) -> None:
    quiet, logged = scripted(*LISTENS), scripted(*LISTENS)
    with Bridge(quiet.command) as bridge:
        conversation(bridge)
        assert bridge.end() == 0
        expected = bridge.raw
    with Bridge(logged.command, f"--log={tmp_path / 'frames.jsonl'}") as bridge:
        conversation(bridge)
        assert bridge.end() == 0
        assert bridge.raw == expected
    assert logged.lines() == quiet.lines()


def test_an_existing_record_is_continued(scripted: Make, tmp_path: Path) -> None:
    file = tmp_path / "frames.jsonl"
    for count in (1, 2):
        with Bridge(scripted().command, f"--log={file}") as bridge:
            bridge.open()
            assert bridge.end() == 0
        assert len(passed(entries(file.read_bytes()), "server", "<")) == count


SECRETS = {
    "authorization": "Bearer abcdefgh-12345678",
    "password": 'hunter2 with a " quote',
    "api_key": "key-12345678",
    "access_token": "tok-12345678",
    "url": "https://user:pass-1234@example.com/x",
    "note": "curl -H 'Authorization: Bearer zyxwvuts98765432'",
}
HIDDEN = ("abcdefgh-12345678", "hunter2", "key-12345678", "tok-12345678", "pass-1234", "zyxwvuts98765432")


def record_of_secrets(scripted: Make, file: Path, text: str) -> str:
    """The record of a call with secrets among its arguments, and that text in its result."""
    server = scripted()
    with Bridge(server.command, f"--log={file}", "--log-level", "debug") as bridge:
        bridge.open()
        bridge.tool("echo", **{**SECRETS, "text": text})
        assert bridge.end() == 0
        assert parsed(server.lines()[-1])["params"]["arguments"] == {**SECRETS, "text": text}
        assert text_of(bridge.frames[-1]) == text
        assert not [secret for secret in HIDDEN if secret.encode() in bridge.stderr]
    record = file.read_text()
    assert any('"note' in frame for frame in passed(entries(record.encode()), "server", ">"))
    return record


@proves("CHECK-06")
def test_credentials_are_masked_in_the_record_and_nowhere_else(scripted: Make, tmp_path: Path) -> None:
    record = record_of_secrets(scripted, tmp_path / "frames.jsonl", "nothing to hide")
    assert not [secret for secret in HIDDEN if secret in record]


def test_credentials_are_masked_in_json_that_is_the_text_of_a_block(scripted: Make, tmp_path: Path) -> None:
    """Servers repeat their structured content as text, so what is masked in the one is bare in the other."""
    record = record_of_secrets(scripted, tmp_path / "frames.jsonl", json.dumps(SECRETS))
    assert not [secret for secret in HIDDEN if secret in record]


@proves("LOSSY-10")
def test_a_frame_that_was_changed_has_the_rules_that_changed_it_and_no_other_frame_has(
    scripted: Make, tmp_path: Path
) -> None:
    file = tmp_path / "frames.jsonl"
    plain = '{"jsonrpc":"2.0","id":$HELD0,"result":{"resultType":"complete","content":[]}}\n'
    audio = '{"type":"audio","data":"aQ==","mimeType":"audio/wav"}'
    changed = plain.replace("$HELD0", "$ID").replace("[]", f"[{audio}]")
    with Bridge(scripted().command, f"--log={file}", "--allow-reencode") as bridge:
        bridge.open("2024-11-05")
        bridge.call(1, "hold")
        bridge.call(2, "raw", data=plain + changed)
        assert bridge.answer(1)["result"]["content"] == []
        assert bridge.answer(2)["result"]["content"][0]["type"] == "resource"
        assert bridge.end() == 0
    (entry,) = [entry for entry in entries(file.read_bytes()) if "rules" in entry]
    assert (entry["face"], entry["direction"]) == ("client", ">")
    assert parsed(entry["frame"].encode())["id"] == 2
    assert entry["rules"] == [{"row": "S1-02", "class": "F", "place": "content[0]"}]


def test_a_line_above_the_limit_is_recorded_by_its_two_ends(scripted: Make, tmp_path: Path) -> None:
    file = tmp_path / "frames.jsonl"
    with Bridge(scripted().command, f"--log={file}", "--max-line-bytes", "4096") as bridge:
        bridge.open()
        bridge.send(b'{"jsonrpc":"2.0","id":1,"method":"x","t":"' + b"a" * 100_000 + b'end"}\n')
        bridge.answer(1)
        assert bridge.end() == 0
    frame = passed(entries(file.read_bytes()), "client", "<")[-1]
    assert frame.startswith('{"jsonrpc":"2.0","id":1')
    assert frame.endswith('end"}')
    assert len(frame) < 1000
