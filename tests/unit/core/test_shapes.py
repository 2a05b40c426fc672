"""The shapes of official types, and forms."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from dragoman.core import shapes
from support.proofs import proves


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


SHAPES = {
    "ElicitRequestFormParams": shapes.FORM,
    "ElicitRequestURLParams": shapes.PAGE,
    "CreateMessageRequestParams": shapes.SAMPLING,
    "ElicitResult": shapes.ELICIT_RESULT,
    "CreateMessageResult": shapes.SAMPLING_RESULT,
    "ListRootsResult": shapes.ROOTS_RESULT,
}
OFFICIAL = Path(__file__).parents[2] / "schemas" / "examples-2026-07-28"
EXAMPLES = sorted(path for type_name in SHAPES for path in (OFFICIAL / type_name).glob("*.json"))

TEXT = {"type": "text", "text": "hi"}
ASKED = {"messages": [{"role": "user", "content": TEXT}], "maxTokens": 10}
FORM = {"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
PAGE = {"mode": "url", "message": "m", "url": "https://example.com"}

GOOD: list[tuple[str, Any]] = [
    (shapes.FORM, FORM),
    (shapes.FORM, {**FORM, "mode": "form", "extra": None}),
    (shapes.PAGE, PAGE),
    (shapes.SAMPLING, ASKED),
    (shapes.SAMPLING, {**ASKED, "maxTokens": 1.5}),
    (shapes.SAMPLING, {**ASKED, "metadata": {"a": None, "b": 1.5, "c": [None, {"d": 0.5}]}}),
    (shapes.ROOTS, {}),
    (shapes.ROOTS, {"_meta": {"a": 1}}),
    (shapes.ELICIT_RESULT, {"action": "accept", "content": {"a": 1.5, "b": ["x"], "c": True, "d": 10**30}}),
    (shapes.ELICIT_RESULT, {"action": "decline", "content": {}}),
    (shapes.SAMPLING_RESULT, {"role": "assistant", "model": "m", "content": TEXT}),
    (shapes.SAMPLING_RESULT, {"role": "assistant", "model": "m", "content": [TEXT], "stopReason": "mine"}),
    (shapes.ROOTS_RESULT, {"roots": [{"uri": "file:///a"}, {"uri": "https://b", "name": "b"}]}),
]

BAD: list[tuple[str, Any, str]] = [
    (shapes.FORM, {"message": "m"}, "required fails at ''"),
    (shapes.FORM, {**FORM, "message": 1}, "type fails at '/message'"),
    (shapes.FORM, {**FORM, "mode": "page"}, "const fails at '/mode'"),
    (shapes.FORM, {**FORM, "requestedSchema": {"type": "object"}}, "required fails at '/requestedSchema'"),
    (
        shapes.FORM,
        {**FORM, "requestedSchema": {"type": "object", "properties": {"a/b": {"type": "object"}}}},
        "anyOf fails at '/requestedSchema/properties/a~1b'",
    ),
    (shapes.PAGE, {**PAGE, "url": 7}, "type fails at '/url'"),
    (shapes.SAMPLING, {"messages": []}, "required fails at ''"),
    (shapes.SAMPLING, {**ASKED, "messages": [{"role": "system", "content": TEXT}]}, "enum fails at '/messages/0/role'"),
    (shapes.SAMPLING, {**ASKED, "maxTokens": "10"}, "type fails at '/maxTokens'"),
    (shapes.ROOTS, [], "type fails at ''"),
    (shapes.ROOTS, None, "type fails at ''"),
    (shapes.ELICIT_RESULT, {"action": "yes"}, "enum fails at '/action'"),
    (shapes.ELICIT_RESULT, {"action": "accept", "content": {"a": None}}, "anyOf fails at '/content/a'"),
    (shapes.ELICIT_RESULT, {"action": "accept", "content": {"a": {}}}, "anyOf fails at '/content/a'"),
    (shapes.SAMPLING_RESULT, {"role": "assistant", "content": TEXT}, "required fails at ''"),
    (shapes.ROOTS_RESULT, {"roots": [{"name": "x"}]}, "required fails at '/roots/0'"),
]


@pytest.mark.parametrize(("type_name", "value"), GOOD)
def test_what_the_protocol_allows_has_the_shape(type_name: str, value: Any) -> None:
    assert shapes.flaw(type_name, raw(value)) is None


@proves("CHK-03", "ANS-09")
@pytest.mark.parametrize(("type_name", "value", "flaw"), BAD)
def test_what_it_does_not_allow_is_named_by_keyword_and_place(type_name: str, value: Any, flaw: str) -> None:
    assert shapes.flaw(type_name, raw(value)) == flaw


def test_a_flaw_shows_nothing_of_the_value() -> None:
    assert "secret" not in str(shapes.flaw(shapes.ELICIT_RESULT, raw({"action": "secret"})))


def test_what_nobody_can_read_has_no_shape() -> None:
    deep = Raw(b'{"_meta":' + b'{"a":' * 300_000 + b"1" + b"}" * 300_001)
    assert shapes.flaw(shapes.ROOTS, deep) == "it cannot be read"


def form(properties: dict[str, Any], **more: Any) -> Raw:
    return raw({"type": "object", "properties": properties, **more})


FORMS: list[tuple[Raw, list[Any], list[Any]]] = [
    (form({"a": {"type": "string"}}), [{}, {"a": "x"}, {"b": 1}], [{"a": 1}, [], "x", None]),
    (form({"a": {"type": "integer"}}, required=["a"]), [{"a": 1}, {"a": 2.0}, {"a": 10**30}], [{}, {"a": 1.5}]),
    (form({"a": {"type": "number", "maximum": 2}}), [{"a": 1.5}], [{"a": 2.5}]),
    (
        form({"a": {"type": "string", "enum": ["x", "y"], "enumNames": ["X", "Y"]}}),
        [{"a": "y"}, {"a": "z"}],
        [{"a": 1}],
    ),
    (
        form({"a": {"type": "string", "oneOf": [{"const": "x", "title": "X"}]}}),
        [{"a": "x"}, {"a": "z"}],
        [{"a": ["x"]}],
    ),
    (
        form({"a": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "maxItems": 1}}),
        [{"a": []}, {"a": ["y"]}, {"a": ["z"]}],
        [{"a": [1]}, {"a": ["x", "y"]}, {"a": "x"}],
    ),
    (form({"a": {"type": "string", "format": "email"}}), [{"a": "no address"}], [{"a": 7}]),
    (
        raw(
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {"a": {"type": "string", "format": "date", "minLength": 2}},
            }
        ),
        [{"a": "no date"}],
        [{"a": "x"}],
    ),
    (form({"a": {"type": "string", "pattern": "^x+$"}}), [{"a": "xx"}], [{"a": "y"}]),
]


@proves("ANS-02")
@pytest.mark.parametrize(("schema", "accepted", "refused"), FORMS)
def test_a_form_takes_what_its_schema_takes(schema: Raw, accepted: list[Any], refused: list[Any]) -> None:
    compiled = shapes.Form(schema)
    assert [content for content in accepted if not compiled.accepts(raw(content))] == []
    assert [content for content in refused if compiled.accepts(raw(content))] == []


@proves("CHK-05")
@pytest.mark.parametrize(
    "schema",
    [
        form({"a": {"type": "text"}}),
        form({"a": {"type": "string", "minLength": -1}}),
        form({"a": {"type": "string", "pattern": "("}}),
        form({"a": {"$ref": "http://127.0.0.1:9/schema.json"}}),
        form({"a": {"$ref": "file:///etc/passwd"}}),
        form({"a": {"$ref": "#/$defs/missing"}}),
        form({}, required="a"),
        raw({"$schema": "https://example.com/own", "type": "object", "properties": {}}),
    ],
)
def test_a_form_that_does_not_compile_is_refused(schema: Raw) -> None:
    with pytest.raises(ValueError, match="does not compile"):
        shapes.Form(schema)


def test_nothing_is_fetched_for_a_form(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"type":"string"}')
    with pytest.raises(ValueError, match="does not compile"):
        shapes.Form(form({"a": {"$ref": other.as_uri()}}))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_official_examples_have_their_shape(example: Path) -> None:
    assert shapes.flaw(SHAPES[example.parent.name], Raw(example.read_bytes())) is None


def test_there_are_official_examples_of_each_shape() -> None:
    assert {example.parent.name for example in EXAMPLES} == set(SHAPES)
