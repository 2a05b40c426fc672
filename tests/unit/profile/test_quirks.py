"""The repairs of a profile, on lists of tools."""

import json
from itertools import product
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from msgspec import Raw

from dragoman.profile import Profile, Quirks
from dragoman.profile.quirks import apply_quirks
from dragoman.wire.members import opened
from support.proofs import proves

ARRAYS = Profile("test", quirks=Quirks(normalize_array_items=True))


def repaired(result: str, profile: Profile = ARRAYS, method: str = "tools/list") -> tuple[str, list[str]]:
    members = opened(result.encode())
    notes: list[str] = []
    apply_quirks(profile, method, members, notes.append)
    return msgspec.json.encode(members).decode(), notes


BEFORE, BEHIND = '{"tools":[{"name":"draw","inputSchema":', "}]}"


def listed(schema: str) -> str:
    """A list with one tool that has this input schema."""
    return BEFORE + schema + BEHIND


def after(schema: str) -> str:
    """An input schema after the rule."""
    text, _ = repaired(listed(schema))
    return text.removeprefix(BEFORE).removesuffix(BEHIND)


CHANGED = {
    '{"type":"array"}': '{"type":"array","items":{}}',
    '{"type":"array","items":null}': '{"type":"array","items":{}}',
    '{"type":"array","items":0}': '{"type":"array","items":{}}',
    '{"type":"array","items":-0}': '{"type":"array","items":{}}',
    '{"type":"array","items":0.0}': '{"type":"array","items":{}}',
    '{"type":"array","items":0e7}': '{"type":"array","items":{}}',
    '{"type":"array","items":1e-999}': '{"type":"array","items":{}}',
    '{"type":"array","items":""}': '{"type":"array","items":{}}',
    '{"items":false,"type":"array"}': '{"items":{},"type":"array","maxItems":0}',
    '{"type":"array","items":false,"prefixItems":[{},{}]}': (
        '{"type":"array","items":{},"prefixItems":[{},{}],"maxItems":2}'
    ),
    '{"type":"array","items":false,"maxItems":1,"prefixItems":[{},{}]}': (
        '{"type":"array","items":{},"maxItems":1,"prefixItems":[{},{}]}'
    ),
    '{"type":"array","items":false,"maxItems":9,"prefixItems":[{}]}': (
        '{"type":"array","items":{},"maxItems":1,"prefixItems":[{}]}'
    ),
    '{"type":"arr\\u0061y"}': '{"type":"arr\\u0061y","items":{}}',
    '{"type":"array","x":1.50,"y":1e2,"minItems":10000000000000000000000}': (
        '{"type":"array","x":1.50,"y":1e2,"minItems":10000000000000000000000,"items":{}}'
    ),
}


@proves("ITEMS-03", "ITEMS-04", "ITEMS-05", "ITEMS-06", "ITEMS-13")
@pytest.mark.parametrize(("schema", "expected"), CHANGED.items())
def test_an_array_schema_gets_items_and_keeps_all_else(schema: str, expected: str) -> None:
    assert after(schema) == expected


@proves("ITEMS-02", "ITEMS-08", "ITEMS-10")
@pytest.mark.parametrize(
    "schema",
    [
        '{"type":["array","null"]}',
        '{"type":"array","items":true}',
        '{"type":"array","items":{}}',
        '{"type":"array","items":[]}',
        '{"type":"array","items":1}',
        '{"type":"array","items":"x"}',
        '{ "type" : "object", "properties" : {} }',
        '{"default":{"type":"array"},"const":{"type":"array"},"enum":[{"type":"array"}],"examples":[{"type":"array"}]}',
        '{"propertyNames":{"type":"array"},"x-own":{"type":"array"}}',
        '{"properties":[{"type":"array"}],"anyOf":{"a":{"type":"array"}}}',
        '{"dependencies":{"a":["array"]}}',
        "true",
        '"array"',
        '["array"]',
    ],
)
def test_what_the_rule_does_not_mean_keeps_its_bytes(schema: str) -> None:
    assert after(schema) == schema


MAPS = ("properties", "patternProperties", "dependencies", "dependentSchemas", "$defs", "definitions")
SINGLE = ("additionalProperties", "not", "if", "then", "else", "contains", "items")
LISTS = ("anyOf", "allOf", "oneOf", "prefixItems", "items")


@proves("ITEMS-09", "ITEMS-12")
@pytest.mark.parametrize(
    ("shape", "pointer"),
    [
        *(('{"' + name + '":{"a/b~c":HERE}}', f"/{name}/a~1b~0c") for name in MAPS),
        *(('{"' + name + '":HERE}', f"/{name}") for name in SINGLE),
        *(('{"' + name + '":[{},HERE]}', f"/{name}/1") for name in LISTS),
        ("HERE", ""),
        ('{"properties":{"a":{"items":{"anyOf":[HERE]}}}}', "/properties/a/items/anyOf/0"),
    ],
)
def test_the_walk_enters_the_keywords_that_hold_schemas_and_names_the_place(shape: str, pointer: str) -> None:
    text, notes = repaired(listed(shape.replace("HERE", '{"type":"array"}')))
    assert text == listed(shape.replace("HERE", '{"type":"array","items":{}}'))
    assert len(notes) == 1
    assert "'draw'" in notes[0]
    assert repr(pointer) in notes[0]


def nested(levels: int) -> str:
    return '{"not":' * levels + '{"type":"array"}' + "}" * levels


@proves("ITEMS-11")
def test_the_walk_stops_below_level_64_and_says_so() -> None:
    deepest, notes = repaired(listed(nested(64)))
    assert '"items"' in deepest
    assert len(notes) == 1
    source = listed(nested(65))
    deeper, notes = repaired(source)
    assert deeper == source
    assert len(notes) == 1
    assert "64" in notes[0]
    assert "/not" * 65 in notes[0]


@proves("ITEMS-12")
def test_each_change_has_its_own_note() -> None:
    _, notes = repaired(
        '{"tools":[{"name":"a","inputSchema":{"properties":{"x":{"type":"array"},"y":{"type":"array"}}}},'
        '{"name":"b","inputSchema":{"type":"array"}}]}'
    )
    assert [note.split(":")[0] for note in notes] == [
        "tool 'a', inputSchema at '/properties/x'",
        "tool 'a', inputSchema at '/properties/y'",
        "tool 'b', inputSchema at ''",
    ]


def test_tools_that_need_nothing_keep_their_bytes_beside_one_that_does() -> None:
    text, _ = repaired(
        '{"tools":[{ "name": "a", "n": 1.0, "n": 1.00 },{"name":"b","inputSchema":{"type":"array"}},7,'
        '{"description":"an \\"array\\" of things", "inputSchema":{}}]}'
    )
    assert text == (
        '{"tools":[{ "name": "a", "n": 1.0, "n": 1.00 },{"name":"b","inputSchema":{"type":"array","items":{}}},7,'
        '{"description":"an \\"array\\" of things", "inputSchema":{}}]}'
    )


@proves("ITEMS-01")
@pytest.mark.parametrize("schema", ['{"outputSchema":{"type":"array"}}', '{"annotations":{"type":"array"}}'])
def test_no_other_schema_of_a_tool_is_walked(schema: str) -> None:
    source = '{"tools":[' + schema + "]}"
    assert repaired(source) == (source, [])


@proves("PROF-08")
def test_nothing_is_done_without_the_quirk_or_for_another_method() -> None:
    source = '{"tools":[{"name":"t","inputSchema":{"type":"array"},"outputSchema":true}]}'
    assert repaired(source, Profile("test")) == (source, [])
    assert repaired(source, ARRAYS, "prompts/list") == (source, [])


@pytest.mark.parametrize("result", ["{}", '{"tools":null}', '{"tools":{"type":"array"}}', '{"tools":["array"]}'])
def test_a_list_of_no_tools_is_left_alone(result: str) -> None:
    assert repaired(result) == (result, [])


SAMPLES: list[list[Any]] = [list(items) for length in range(4) for items in product([1, "x", None], repeat=length)]
MEANINGFUL: list[dict[str, Any]] = [
    *({"type": "array", **more} for more in ({}, {"minItems": 2}, {"contains": {"type": "null"}})),
    {"type": "array", "items": False},
    {"type": "array", "items": False, "prefixItems": [{"type": "integer"}]},
    {"type": "array", "items": False, "prefixItems": [{}, {"type": "string"}]},
    {"type": "array", "items": False, "prefixItems": [{}, {}], "maxItems": 1},
    {"type": "array", "items": False, "prefixItems": [{}], "maxItems": 3},
    {"type": "array", "items": False, "prefixItems": [{}], "maxItems": 0},
    {"type": "array", "prefixItems": [{"type": "string"}]},
    {"type": "array", "unevaluatedItems": False},
    {"type": "array", "prefixItems": [{}], "unevaluatedItems": False},
    {"type": "array", "prefixItems": [{}], "unevaluatedItems": {"type": "string"}},
    {"anyOf": [{"type": "array", "items": False}, {"type": "array", "minItems": 3}]},
]


@proves("ITEMS-07")
@pytest.mark.parametrize("schema", MEANINGFUL, ids=json.dumps)
def test_a_changed_schema_accepts_the_same_arrays(schema: dict[str, Any]) -> None:
    changed = json.loads(after(json.dumps(schema)))
    assert changed != schema
    before, now = jsonschema_rs.validator_for(schema), jsonschema_rs.validator_for(changed)
    accepted = [before.is_valid(sample) for sample in SAMPLES]
    assert [now.is_valid(sample) for sample in SAMPLES] == accepted
    assert len(set(accepted)) == 2 or set(schema) <= {"type", "items", "prefixItems"}


@proves("PROF-09", "RES-07")
@pytest.mark.parametrize(
    "quirks", [Quirks(drop_non_object_output_schema=True), Quirks(strict_legacy_results=True)], ids=["drop", "strict"]
)
@pytest.mark.parametrize(
    ("schema", "stays"),
    [
        ('{"type":"object"}', True),
        ('{ "properties" : {}, "type" : "object" }', True),
        ('{"type":["object"]}', False),
        ('{"type":"array","items":{}}', False),
        ('{"$ref":"#/$defs/a"}', False),
        ('{"anyOf":[{"type":"object"}]}', False),
        ("true", False),
        ("null", False),
        ('"object"', False),
    ],
)
def test_only_an_object_schema_stays_as_output_schema(quirks: Quirks, schema: str, stays: bool) -> None:
    source = '{"tools":[{"name":"t","outputSchema":' + schema + ',"x":1.0}]}'
    text, notes = repaired(source, Profile("test", quirks=quirks))
    assert text == (source if stays else '{"tools":[{"name":"t","x":1.0}]}')
    assert len(notes) == (0 if stays else 1)


def test_results_are_changed_in_place_and_only_where_a_quirk_fires() -> None:
    members = opened(b'{"tools":[{"name":"t"}],"nextCursor":"c"}')
    before = dict(members)
    apply_quirks(ARRAYS, "tools/list", members, pytest.fail)
    assert all(members[name] is before[name] for name in before)
    assert isinstance(members["tools"], Raw)
