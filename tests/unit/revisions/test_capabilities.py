"""What each peer learns of the other's capabilities."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dragoman.revisions import LATEST, LATEST_LEGACY, ORDER, Revision, named
from dragoman.revisions.capabilities import client_capabilities, server_capabilities
from dragoman.wire.members import closed, opened
from support import official
from support.proofs import proves

EXAMPLES = Path(__file__).parents[2] / "schemas" / "examples-2026-07-28"
PAIRS = list(product(ORDER, ORDER))
TASKS = "io.modelcontextprotocol/tasks"


def revision(name: str) -> Revision:
    found = named(name)
    assert found is not None
    return found


def client(declared: Any, source: Revision = LATEST_LEGACY, target: Revision = LATEST) -> Any:
    return json.loads(bytes(closed(client_capabilities(opened(json.dumps(declared).encode()), source, target))))


def server(declared: Any, source: Revision = LATEST, target: Revision = LATEST_LEGACY) -> Any:
    return json.loads(bytes(closed(server_capabilities(opened(json.dumps(declared).encode()), source, target))))


@proves("CAP-02", "CAP-03", "CAP-04", "CAP-05", "CAP-06", "CAP-07", "CAP-08")
@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"roots": {"listChanged": True}}, {"roots": {}}),  # CAP-04
        ({"sampling": {}}, {"sampling": {}}),
        (
            {"sampling": {"tools": {"a": 1}, "context": {}, "x": 5}},
            {"sampling": {"tools": {"a": 1}, "context": {}, "x": 5}},
        ),
        ({"elicitation": {}}, {"elicitation": {}}),  # CAP-03
        ({"elicitation": {"url": {}}}, {"elicitation": {"url": {}}}),
        ({"experimental": {"a": {}, "b": 1, "c": None}}, {"experimental": {"a": {}}}),  # CAP-05
        ({"experimental": {}, "extensions": {"a/b": True}}, {}),
        ({"extensions": {TASKS: {}, "a/b": {"c": 1.5}}}, {"extensions": {"a/b": {"c": 1.5}}}),  # CAP-06
        ({"extensions": {TASKS: {}}}, {}),
        ({"tasks": {"list": {}}, "vendor": {}}, {}),  # CAP-07
        ({"roots": True, "sampling": [], "elicitation": None, "experimental": "x", "extensions": 1}, {}),  # CAP-08
        ({"sampling": {"tools": True}, "elicitation": {"form": {}, "url": 1}}, {}),
    ],
)
def test_client_towards_a_modern_server(declared: Any, told: Any) -> None:
    """CAP-02 to CAP-08."""
    assert client(declared) == told


ELICITING: Any = {"elicitation": {"form": {}, "url": {}}}
PAGES: Any = {"elicitation": {"url": {}}}
SAMPLING: Any = {"sampling": {"tools": {}}}


@pytest.mark.parametrize(
    ("declared", "source", "target", "told"),
    [
        (ELICITING, "2026-07-28", "2025-11-25", ELICITING),
        (ELICITING, "2026-07-28", "2025-06-18", {"elicitation": {}}),
        ({"elicitation": {}}, "2026-07-28", "2025-06-18", {"elicitation": {}}),
        (PAGES, "2026-07-28", "2025-06-18", {}),
        (PAGES, "2025-11-25", "2025-06-18", {}),
        (ELICITING, "2026-07-28", "2025-03-26", {}),
        (ELICITING, "2025-03-26", "2026-07-28", {}),
        ({"elicitation": {"url": {}}}, "2025-06-18", "2026-07-28", {"elicitation": {}}),
        (SAMPLING, "2026-07-28", "2025-11-25", SAMPLING),
        (SAMPLING, "2026-07-28", "2025-06-18", {"sampling": {}}),
        (SAMPLING, "2025-06-18", "2026-07-28", {"sampling": {}}),
        ({"roots": {"listChanged": True}}, "2026-07-28", "2024-11-05", {"roots": {}}),
        ({"roots": {"listChanged": True}}, "2025-11-25", "2024-11-05", {"roots": {"listChanged": True}}),
        ({"roots": {"listChanged": "yes"}}, "2025-11-25", "2024-11-05", {"roots": {}}),
        ({"tasks": {"list": {}}}, "2025-11-25", "2025-11-25", {"tasks": {"list": {}}}),
        ({"tasks": {"list": True}}, "2025-11-25", "2025-11-25", {}),
        ({"tasks": {}}, "2025-11-25", "2025-06-18", {}),
        ({"tasks": {}}, "2025-11-25", "2026-07-28", {}),
        ({"tasks": {}}, "2026-07-28", "2025-11-25", {}),
    ],
)
def test_client_between_other_revisions(declared: Any, source: str, target: str, told: Any) -> None:
    """CAP-03, CAP-04, CAP-07; the columns for older servers."""
    assert client(declared, revision(source), revision(target)) == told


@proves("IRES-02", "IRES-03", "IRES-04", "IRES-10")
@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"tools": {"listChanged": False}, "resources": {"subscribe": True}, "logging": {}},) * 2,  # IRES-03
        ({"tools": {"listChanged": "yes", "more": 1}}, {"tools": {"more": 1}}),  # IRES-10
        ({"tools": True, "prompts": [], "resources": None, "completions": 1, "logging": "x"}, {}),  # IRES-02
        (
            {"tasks": {}, "vendor": {}, "extensions": {TASKS: {}}, "experimental": {"a": {}, "b": []}},
            {"experimental": {"a": {}}},
        ),
    ],
)
def test_server_towards_a_legacy_client(declared: Any, told: Any) -> None:
    """IRES-02 to IRES-04."""
    assert server(declared) == told


@pytest.mark.parametrize(
    ("declared", "source", "target", "told"),
    [
        ({"prompts": {}}, "2024-11-05", "2026-07-28", {"prompts": {}, "completions": {}}),
        ({"resources": {}}, "2024-11-05", "2025-03-26", {"resources": {}, "completions": {}}),
        ({"tools": {}}, "2024-11-05", "2026-07-28", {"tools": {}}),
        ({"prompts": {}}, "2024-11-05", "2024-11-05", {"prompts": {}}),
        ({"prompts": {}}, "2025-03-26", "2026-07-28", {"prompts": {}}),
        (
            {"prompts": {}, "completions": {"a": 1}},
            "2024-11-05",
            "2026-07-28",
            {"prompts": {}, "completions": {"a": 1}},
        ),
    ],
)
def test_completion_is_declared_for_servers_that_could_not(declared: Any, source: str, target: str, told: Any) -> None:
    assert server(declared, revision(source), revision(target)) == told


def test_what_counts_keeps_its_bytes() -> None:
    """CAP-02, IRES-03."""
    declared = opened(b'{"sampling": { "tools" : {} }, "extensions": {"a/b": {"c": 1.50}}, "tools": { "x":1 }}')

    assert client_capabilities(declared, LATEST, LATEST_LEGACY)["sampling"] is declared["sampling"]
    assert client_capabilities(declared, LATEST_LEGACY, LATEST)["extensions"] is declared["extensions"]
    assert server_capabilities(declared, LATEST, LATEST_LEGACY)["tools"] is declared["tools"]


def parts() -> list[Any]:
    """One capability, well-formed or not, at a time."""
    values: list[Any] = [{}, True, None, [], "x", {"a": {}}, {"listChanged": True}, {"listChanged": 1}]
    known: list[Any] = [{"tools": {}}, {"tools": 1}, {"form": {}}, {"form": []}, {"url": {}}, {"url": None}]
    return [*values, *known, {TASKS: {}}, {"x": 1}]


@proves("CAP-08")
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=repr)
def test_what_a_server_is_told_always_fits_its_schema(source: Revision, target: Revision) -> None:
    """CAP-08."""
    for name, value in product(("roots", "sampling", "elicitation", "experimental", "extensions", "tasks"), parts()):
        told = client({name: value}, source, target)
        assert official.faults_of(target.name, "ClientCapabilities", told) == [], (name, value)
        assert "tasks" not in told or source is target is LATEST_LEGACY
        assert TASKS not in told.get("extensions", {})


@pytest.mark.parametrize("target", ORDER, ids=repr)
def test_official_examples_fit_everywhere(target: Revision) -> None:
    for path in sorted(EXAMPLES.glob("*Capabilities/*.json")):
        declared = json.loads(path.read_bytes())
        tell = client if path.parent.name == "ClientCapabilities" else server
        assert official.faults_of(target.name, path.parent.name, tell(declared, LATEST, target)) == []
