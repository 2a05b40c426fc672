"""Input schemas that some clients refuse: named, and repaired without a change of meaning."""

import json
from typing import Any

import pytest
from msgspec import Raw

from dragoman.profile.input_schemas import flaws, repaired
from dragoman.wire.members import raw, value_of

MISSING = object()


@pytest.mark.parametrize(
    ("schema", "places", "after"),
    [
        (MISSING, [""], {"type": "object"}),
        (None, [""], {"type": "object"}),
        (True, [""], {"type": "object"}),
        ([], [""], {"type": "object"}),
        ({}, ["/type"], {"type": "object"}),
        ({"anyOf": [{"type": "object"}]}, ["/type"], {"type": "object", "anyOf": [{"type": "object"}]}),
        ({"type": ["object", "null"]}, ["/type"], {"type": "object"}),
        ({"type": "string"}, ["/type"], {"type": "object"}),
        ({"type": "object", "properties": []}, ["/properties"], {"type": "object", "properties": {}}),
        ({"type": "object", "properties": None}, ["/properties"], {"type": "object", "properties": {}}),
        (
            {"type": "object", "properties": {"a/b": True, "c": False, "d": {"x": 1}}},
            ["/properties/a~1b", "/properties/c"],
            {"type": "object", "properties": {"a/b": {}, "c": {"not": {}}, "d": {"x": 1}}},
        ),
        ({"type": "object", "required": None}, ["/required"], {"type": "object"}),
        ({"type": "object", "required": [1]}, ["/required"], {"type": "object"}),
    ],
)
def test_what_is_no_object_schema_is_named_and_becomes_one(schema: Any, places: list[str], after: Any) -> None:
    """E1, E4."""
    given = None if schema is MISSING else raw(schema)
    assert [flaw.place for flaw in flaws(given)] == places
    mended = repaired(given)
    assert mended is not None
    assert value_of(mended) == after
    assert not flaws(mended)


@pytest.mark.parametrize(
    "schema", [{"type": "object"}, {"type": "object", "properties": {}, "required": ["a"], "x": [1e3]}]
)
def test_an_object_schema_is_left_alone(schema: Any) -> None:
    given = Raw(json.dumps(schema).encode())
    assert not flaws(given)
    assert repaired(given) is None
