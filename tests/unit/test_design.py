"""The shape of the project, checked: layers, where names of revisions may stand, sizes, what a product module is."""

import ast
import re
from pathlib import Path

import pytest

import dragoman
from dragoman.profile import Profile, neutral, vscode
from support.dialogue import Dialogue
from support.proofs import proves

SOURCE = Path(dragoman.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
REVISION = re.compile(r"\b20\d\d-\d\d-\d\d\b")
LONGEST = {
    "fronts/legacy.py": 620,  # the handshake front: one table of states and the machine that follows it
    "fronts/stateful.py": 480,  # every way into the table of parked calls, and out of it
    "backs/legacy.py": 460,
    "runtime/endpoint.py": 430,  # every way in, and every way to what is behind
    "transports/http/server/app.py": 430,  # every way a request can be answered
    "faults.py": 420,  # one table
    "core/mediator.py": 480,  # the back with a handshake: its calls, questions and levels share one table of ids
    "backs/modern.py": 530,  # the stateless back: rounds, discovery and noise share one table of ids
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_is_longer_than_a_reader_can_hold(path: Path) -> None:
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= LONGEST.get(str(path.relative_to(SOURCE)), 400)


@proves("REV-05")
def test_names_of_revisions_stand_in_one_package() -> None:
    allowed = {"revisions", "demo", "schemas"}
    for path in FILES:
        place = path.relative_to(SOURCE)
        if place.parts[0] in allowed:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        texts = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        docs = {
            ast.get_docstring(node, clean=False)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        }
        compared = [text for text in texts - docs if REVISION.fullmatch(text)]
        assert not compared, f"{place} names revisions: {compared}"


@proves("PROF-01", "PROF-02", "PROF-11")
def test_a_product_is_nothing_but_data() -> None:
    for module in (neutral, vscode):
        assert module.__file__ is not None
        for node in ast.parse(Path(module.__file__).read_text("utf-8")).body:
            assert isinstance(node, ast.Expr | ast.ImportFrom | ast.Assign)
        assert isinstance(module.PROFILE, Profile)
        with pytest.raises(AttributeError):
            module.PROFILE.name = "other"  # pyright: ignore[reportAttributeAccessIssue]


@proves("PROF-03")
def test_what_the_client_calls_itself_changes_nothing() -> None:
    written: list[list[bytes]] = []
    for name in ("Visual Studio Code", "anything"):
        bridge = Dialogue()
        opening = bridge.initialize("2025-11-25")
        opening["params"]["clientInfo"]["name"] = name
        bridge.client(opening).server(bridge.discovered())
        bridge.client({"id": 1, "method": "tools/list"})
        tools = [{"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"type": "array"}}}}]
        bridge.server({"id": bridge.last("tools/list")["id"], "result": {"tools": tools}})
        written.append(bridge.raw_to_client)
    assert written[0] == written[1]


@proves("QA-01", "QA-02")
def test_every_frame_of_a_dialogue_is_held_against_the_official_schema() -> None:
    bridge = Dialogue().open()
    bridge.client({"id": 1, "method": "prompts/list"})
    with pytest.raises(AssertionError, match="not valid as ListPromptsResult"):
        bridge.server({"id": bridge.last("prompts/list")["id"], "result": {"prompts": [{"nameless": 1}]}})
    with pytest.raises(AssertionError, match="not valid as CallToolRequest"):
        bridge.client({"id": 2, "method": "tools/call", "params": {}})
