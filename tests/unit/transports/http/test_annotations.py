"""Marks in input schemas: which are valid, what they leave out, and the headers that they make."""

import json
from typing import Any

import pytest
from msgspec import Raw

from dragoman.transports.http.annotations import MOST_TOOLS, Annotations, InvalidMark, marks_of
from dragoman.transports.http.binding import Unmirrorable
from dragoman.wire.members import object_in, raw
from support.proofs import proves

MARKED = {"type": "string", "x-mcp-header": "Region"}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def tool(name: str, input_schema: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": input_schema}


def learned(*tools: Any) -> tuple[Annotations, list[Any] | None, list[str]]:
    annotations = Annotations()
    result, reasons = annotations.learn({"tools": raw(list(tools)), "nextCursor": raw("c")})
    if result is None:
        return annotations, None, reasons
    members = object_in(result)
    assert members is not None
    assert bytes(members["nextCursor"]) == b'"c"'
    return annotations, json.loads(bytes(members["tools"])), reasons


@proves("HTTP-03", "B120")
@pytest.mark.parametrize(
    ("input_schema", "found"),
    [
        (schema(), []),
        (schema(a=MARKED), [("Mcp-Param-Region", ("a",))]),
        (schema(a=schema(b=MARKED)), [("Mcp-Param-Region", ("a", "b"))]),
        (schema(a={**MARKED, "properties": {"b": {"type": "integer", "x-mcp-header": "B"}}}), None),
        (schema(a={"type": "integer", "x-mcp-header": "N"}), [("Mcp-Param-N", ("a",))]),
        (schema(a={"type": "boolean", "x-mcp-header": "!#$%&'*+-.^_`|~9z"}), [("Mcp-Param-!#$%&'*+-.^_`|~9z", ("a",))]),
        (schema(**{"x-mcp-header": {"type": "string"}}), []),
        (schema(a={"type": "string", "default": {"x-mcp-header": ""}}), []),
        (schema(a={"type": "string", "const": {"x-mcp-header": 1}, "examples": [{"x-mcp-header": 1}]}), []),
        (schema(a={"type": "string", "enum": [{"x-mcp-header": 1}]}), []),
        (True, []),
    ],
)
def test_marks_are_found_at_the_end_of_chains_of_properties(input_schema: Any, found: Any) -> None:
    marks = [(mark.header, mark.path) for mark in marks_of(raw(input_schema))]
    assert marks == found or (found is None and len(marks) == 2)


@proves("HTTP-03")
@pytest.mark.parametrize(
    "input_schema",
    [
        schema(a={"type": "string", "x-mcp-header": ""}),
        schema(a={"type": "string", "x-mcp-header": "two words"}),
        schema(a={"type": "string", "x-mcp-header": "a:b"}),
        schema(a={"type": "string", "x-mcp-header": "a\n"}),
        schema(a={"type": "string", "x-mcp-header": "é"}),
        schema(a={"type": "string", "x-mcp-header": 7}),
        schema(a={"type": "string", "x-mcp-header": None}),
        schema(a={"type": "number", "x-mcp-header": "A"}),
        schema(a={"type": "object", "x-mcp-header": "A"}),
        schema(a={"type": ["string", "null"], "x-mcp-header": "A"}),
        schema(a={"x-mcp-header": "A"}),
        schema(a={"type": "string", "x-mcp-header": "A"}, b={"type": "string", "x-mcp-header": "a"}),
        {**schema(), "x-mcp-header": "Root"},
        schema(a={"type": "array", "items": MARKED}),
        schema(a={"type": "array", "items": schema(b=MARKED)}),
        schema(a={"type": "array", "prefixItems": [MARKED]}),
        *({**schema(), keyword: [schema(a=MARKED)]} for keyword in ("oneOf", "anyOf", "allOf")),
        *({**schema(), keyword: schema(a=MARKED)} for keyword in ("not", "if", "then", "else", "additionalProperties")),
        *({**schema(), keyword: {"d": MARKED}} for keyword in ("$defs", "definitions", "patternProperties")),
    ],
)
def test_every_other_mark_is_invalid(input_schema: Any) -> None:
    with pytest.raises(InvalidMark):
        marks_of(raw(input_schema))
    annotations, kept, reasons = learned(tool("good", schema()), tool("bad", input_schema))
    assert kept == [tool("good", schema())]
    assert len(reasons) == 1
    assert reasons[0].startswith("'bad': ")
    assert annotations.headers(raw("bad"), raw({"a": "x"})) == {}


def test_a_schema_that_is_too_deep_is_not_trusted() -> None:
    with pytest.raises(InvalidMark):
        marks_of(Raw(b'{"not":' * 100_000 + b"true" + b"}" * 100_000))


def test_a_list_without_marks_stays_as_it_is() -> None:
    annotations, kept, reasons = learned(tool("a", schema(a={"type": "string"})), 5, {"name": 1})
    assert (kept, reasons, annotations.edition) == (None, [], 0)


def test_an_escaped_keyword_is_a_mark() -> None:
    annotations = Annotations()
    text = json.dumps([tool("t", schema(a=MARKED))]).replace("x-mcp", r"x\u002dmcp")
    annotations.learn({"tools": Raw(text.encode())})
    assert annotations.headers(raw("t"), raw({"a": "b"})) == {"Mcp-Param-Region": "b"}


@pytest.mark.parametrize(
    ("kind", "value", "header"),
    [
        ("string", b'"us-west1"', "us-west1"),
        ("string", b'""', ""),
        ("string", '"Hello, 世界"'.encode(), "=?base64?SGVsbG8sIOS4lueVjA==?="),
        ("integer", b"42", "42"),
        ("integer", b"-7", "-7"),
        ("integer", b"42.0", "42"),
        ("integer", b"1e3", "1000"),
        ("integer", b"9007199254740991", "9007199254740991"),
        ("integer", b"1.5", "1.5"),
        ("boolean", b"true", "true"),
        ("boolean", b" false ", "false"),
        ("string", b"null", None),
        ("string", b'{"x":1}', None),
        ("string", b"[1]", None),
    ],
)
def test_a_value_is_spelled_as_servers_compare_it(kind: str, value: bytes, header: str | None) -> None:
    annotations, _, _ = learned(tool("t", schema(a=schema(b={"type": kind, "x-mcp-header": "P"}))))
    headers = annotations.headers(raw("t"), Raw(b'{"b":"decoy","a":{"b":%s}}' % value))
    assert headers == ({} if header is None else {"Mcp-Param-P": header})


@proves("ERR-26")
@pytest.mark.parametrize("value", [b"9007199254740992", b"-9007199254740992", b"1e300", rb'"\ud800"'])
def test_a_value_that_no_header_can_hold_is_not_sent(value: bytes) -> None:
    annotations, _, _ = learned(tool("t", schema(a={"type": "integer", "x-mcp-header": "P"})))
    with pytest.raises(Unmirrorable):
        annotations.headers(raw("t"), Raw(b'{"a":%s}' % value))


@pytest.mark.parametrize("arguments", [None, raw({}), raw({"a": 1}), raw([]), raw({"b": {"b": "x"}})])
def test_an_absent_argument_has_no_header(arguments: Raw | None) -> None:
    annotations, _, _ = learned(tool("t", schema(a=schema(b=MARKED))))
    assert annotations.headers(raw("t"), arguments) == {}
    assert annotations.headers(raw("unknown"), arguments) == {}
    assert annotations.headers(None, arguments) == {}


def test_the_newest_schema_counts() -> None:
    annotations, _, _ = learned(tool("t", schema(a=MARKED)))
    first = annotations.edition
    annotations.learn({"tools": raw([tool("t", schema(a=MARKED))])})
    assert annotations.edition == first
    annotations.learn({"tools": raw([tool("t", schema(b=MARKED))])})
    assert annotations.edition > first
    assert annotations.headers(raw("t"), raw({"a": "x", "b": "y"})) == {"Mcp-Param-Region": "y"}
    annotations.learn({"tools": raw([tool("t", schema())])})
    assert annotations.headers(raw("t"), raw({"b": "y"})) == {}


def test_what_is_remembered_is_bounded() -> None:
    tools = [tool(f"t{number}", schema(a=MARKED)) for number in range(MOST_TOOLS + 1)]
    annotations, _, _ = learned(*tools)
    assert annotations.headers(raw("t0"), raw({"a": "x"})) == {}
    assert annotations.headers(raw(f"t{MOST_TOOLS}"), raw({"a": "x"})) == {"Mcp-Param-Region": "x"}
