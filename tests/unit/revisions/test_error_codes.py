"""Error codes on their way between revisions."""

import json
from itertools import permutations
from typing import Any

import pytest

from dragoman.revisions import HANDSHAKE, LATEST, LATEST_LEGACY, ORDER, Revision
from dragoman.revisions.errors import unfollowed
from dragoman.revisions.plan import lowering
from dragoman.wire.members import closed, opened

OLDEST = ORDER[0]
UP = (LATEST_LEGACY, LATEST)
DOWN = (LATEST, LATEST_LEGACY)


def sent(error: Any, source: Revision, target: Revision, method: str = "tools/call", params: Any = None) -> Any:
    members = opened(json.dumps(error).encode())
    asked = None if params is None else opened(json.dumps(params).encode())
    return json.loads(bytes(closed(lowering(source, target).error(method, members, params=asked))))


def err(code: int, *data: Any) -> dict[str, Any]:
    return {"code": code, "message": "m"} | ({"data": data[0]} if data else {})


@pytest.mark.parametrize(
    ("error", "params", "told"),
    [
        (err(-32002), {"uri": "u"}, err(-32602, {"uri": "u"})),
        (err(-32002, None), {"uri": "u"}, err(-32602, {"uri": "u"})),
        (err(-32002, {"uri": "v"}), {"uri": "u"}, err(-32602, {"uri": "v"})),
        (err(-32002, {"a": 1}), {"uri": "u"}, err(-32602, {"a": 1, "uri": "u"})),
        (err(-32002, "d"), {"uri": "u"}, err(-32602, "d")),
        (err(-32002), None, err(-32602)),
    ],
)
def test_a_missing_resource_towards_a_modern_client(error: Any, params: Any, told: Any) -> None:
    """S4-16."""
    assert sent(error, *UP, "resources/read", params) == told


def test_the_uri_is_added_to_reads_only() -> None:
    assert sent(err(-32002), *UP, "prompts/get", {"uri": "u"}) == err(-32602)


PAGE = err(-32042, {"elicitations": []})


@pytest.mark.parametrize(
    ("error", "pair", "told"),
    [
        (PAGE, UP, err(-32603)),
        (PAGE, DOWN, err(-32603)),
        (PAGE, (LATEST_LEGACY, OLDEST), err(-32603)),
    ],
)
def test_codes_that_change(error: Any, pair: tuple[Revision, Revision], told: Any) -> None:
    """S3-03, S4-15."""
    assert sent(error, *pair) == told


@pytest.mark.parametrize(
    ("error", "pair"),
    [
        (err(-32002), (LATEST_LEGACY, OLDEST)),
        (err(-32602, {"uri": "u"}), DOWN),
        (err(-32050), DOWN),
        (err(-32050, [1]), UP),
        (err(-32099), UP),
        (err(-32021, {"requiredCapabilities": {"roots": {}}}), (LATEST, LATEST)),
        (err(-32021), UP),
        (err(-32000), UP),
        (err(-32019), UP),
        (err(-32100), UP),
        (err(-1), UP),
        ({"code": "x", "message": "m"}, UP),
        ({"message": "m"}, UP),
        (PAGE, (LATEST_LEGACY, LATEST_LEGACY)),
    ],
)
def test_codes_that_pass(error: Any, pair: tuple[Revision, Revision]) -> None:
    """H-09."""
    assert sent(error, *pair, "resources/read", {"uri": "u"}) == error


@pytest.mark.parametrize(("source", "target"), list(permutations(ORDER, 2)), ids=repr)
def test_a_modern_client_never_sees_a_code_that_was_removed(source: Revision, target: Revision) -> None:
    for code in range(-32100, -31999):
        told = sent(err(code), source, target)
        if source in HANDSHAKE and target is LATEST:
            assert told["code"] not in (-32002, -32042)
        assert told["message"] == "m"


def test_an_error_that_passes_is_the_same_object() -> None:
    error = opened(b'{"code": -32603, "message": "m", "data": 1.50}')

    assert lowering(*UP).error("tools/call", error) is error


def test_a_page_that_nobody_can_visit_leaves_the_message() -> None:
    error = opened(json.dumps(err(-32042, {"elicitations": []})).encode())

    assert json.loads(bytes(closed(unfollowed(error)))) == err(-32603)
    assert lowering(LATEST_LEGACY, LATEST_LEGACY).error("tools/call", error) is error


@pytest.mark.parametrize("code", [-32020, -32021, -32022])
@pytest.mark.parametrize(
    ("data", "enclosed"),
    [
        (None, {}),
        ({"requiredCapabilities": {}}, {"requiredCapabilities": {}}),
        ([1], {"data": [1]}),
        ("text", {"data": "text"}),
    ],
)
def test_a_code_of_modern_servers_alone_is_told_beside_the_data(code: int, data: Any, enclosed: Any) -> None:
    """A client with a handshake may take a code that it does not know for a broken connection (E7, T29)."""
    assert sent(err(code, data), *DOWN) == err(-32600, {**enclosed, "code": code})


def test_the_code_for_a_missing_resource_reaches_no_modern_client() -> None:
    """Not even from a modern server that still has it (T4, T28)."""
    mended = sent(err(-32002), LATEST, LATEST, "resources/read", {"uri": "u"})
    assert mended == err(-32602, {"uri": "u"})
