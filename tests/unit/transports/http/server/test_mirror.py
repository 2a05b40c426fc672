"""Headers of a modern request against its body."""

import json
from typing import Any

import pytest

from dragoman.fronts.opening import parts
from dragoman.transports.http.annotations import Annotations
from dragoman.transports.http.binding import sealed
from dragoman.transports.http.server.mirror import mismatch
from dragoman.wire import frame as wire
from dragoman.wire.frame import Frame
from dragoman.wire.members import opened, raw
from support.proofs import proves

REVISION = "2026-07-28"
VERSION = {"mcp-protocol-version": REVISION}
CALL = {**VERSION, "mcp-method": "tools/call", "mcp-name": "t"}
GREETING = "=?base64?SGVsbG8sIOS4lueVjA==?="
TOOL = {
    "name": "t",
    "inputSchema": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "x-mcp-header": "City"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "sure": {"type": "boolean", "x-mcp-header": "Sure"},
            "deep": {"type": "object", "properties": {"in": {"type": "string", "x-mcp-header": "In"}}},
        },
    },
}


def judged(headers: dict[str, str], method: str, *, meta: Any = None, **params: Any) -> str | None:
    """What is said of a request with these headers; the tool `t` has been listed."""
    annotations = Annotations()
    annotations.learn(opened(raw({"tools": [TOOL]})))
    carried = {"io.modelcontextprotocol/protocolVersion": REVISION} if meta is None else meta
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": carried}}
    frame = wire.parse(json.dumps(body).encode())
    assert isinstance(frame, Frame)
    return mismatch(headers, method, *parts(frame), annotations)


@proves("THTTP-03")
@pytest.mark.parametrize(
    ("headers", "said"),
    [
        (CALL, None),
        ({**CALL, "mcp-protocol-version": f" {REVISION}\t", "mcp-name": " t "}, None),
        ({**CALL, "mcp-protocol-version": "2025-11-25"}, "MCP-Protocol-Version differs from the body"),
        ({**CALL, "mcp-method": "Tools/Call"}, "Mcp-Method differs from the body"),
        ({**CALL, "mcp-name": "T"}, "Mcp-Name differs from the body"),
        ({**CALL, "mcp-name": ""}, "Mcp-Name differs from the body"),
        ({**CALL, "mcp-name": "t, t"}, "Mcp-Name differs from the body"),
        ({**CALL, "mcp-name": "=?base64?dA==?="}, None),
        ({**CALL, "mcp-name": "=?base64?dA=?="}, "Mcp-Name differs from the body"),
        ({**CALL, "mcp-name": "=?BASE64?dA==?="}, "Mcp-Name differs from the body"),
    ],
)
def test_a_header_says_what_the_body_says(headers: dict[str, str], said: str | None) -> None:
    assert judged(headers, "tools/call", name="t") == said


@proves("THTTP-03")
@pytest.mark.parametrize("header", list(CALL))
def test_a_missing_header_is_named(header: str) -> None:
    said = judged({name: value for name, value in CALL.items() if name != header}, "tools/call", name="t")
    assert said is not None
    assert said.lower() == f"{header} is missing"


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/list", {}, None),
        ("server/discover", {"name": "x"}, None),
        ("prompts/get", {"name": "p"}, "p"),
        ("resources/read", {"uri": "a:b"}, "a:b"),
        ("resources/read", {"uri": "a:b", "name": "other"}, "a:b"),
        ("prompts/get", {}, None),
        ("prompts/get", {"name": 5}, None),
    ],
)
def test_which_member_is_the_name_depends_on_the_method(method: str, params: Any, name: str | None) -> None:
    headers = {**VERSION, "mcp-method": method}
    assert judged(headers if name is None else {**headers, "mcp-name": name}, method, **params) is None
    if name is not None:
        assert judged(headers, method, **params) == "Mcp-Name is missing"


@pytest.mark.parametrize("meta", [{}, 5, None, {"io.modelcontextprotocol/protocolVersion": 5}])
def test_a_body_that_names_no_revision_is_somebody_else_s_matter(meta: Any) -> None:
    headers = {**VERSION, "mcp-method": "tools/list"}
    assert judged(headers, "tools/list", meta={} if meta is None else meta) is None


@pytest.mark.parametrize("name", ["Hello, 世界", " padded ", "line1\nline2", "", "=?base64?dA==?=", "plain"])
def test_a_name_that_is_not_plain_travels_as_base64(name: str) -> None:
    assert judged({**CALL, "mcp-name": sealed(name)}, "tools/call", name=name) is None


@pytest.mark.parametrize(
    "spelled",
    [
        GREETING.replace("==", ""),
        GREETING.replace("==", "="),
        GREETING.replace("S", "T", 1),
        GREETING.replace("S", "*", 1),
        GREETING.replace("jA==", "jB=="),  # the same bytes, if unused bits did not count
        "=?base64?/w==?=",
        GREETING[:-1],
    ],
)
def test_a_broken_sentinel_is_a_mismatch(spelled: str) -> None:
    assert judged({**CALL, "mcp-name": GREETING}, "tools/call", name="Hello, 世界") is None
    assert judged({**CALL, "mcp-name": spelled}, "tools/call", name="Hello, 世界") is not None


CITY, COUNT, SURE, IN = "mcp-param-city", "mcp-param-count", "mcp-param-sure", "mcp-param-in"


@pytest.mark.parametrize(
    ("headers", "arguments", "fits"),
    [
        ({}, {}, True),
        ({CITY: "Rome"}, {"city": "Rome"}, True),
        ({CITY: "rome"}, {"city": "Rome"}, False),
        ({}, {"city": "Rome"}, False),
        ({CITY: "Rome"}, {}, False),
        ({CITY: "Rome"}, {"city": None}, False),
        ({}, {"city": None}, True),
        ({CITY: ""}, {"city": ""}, True),
        ({}, {"city": ""}, False),
        ({CITY: GREETING}, {"city": "Hello, 世界"}, True),
        ({CITY: GREETING[:-3] + "?="}, {"city": "Hello, 世界"}, False),
        ({COUNT: "42"}, {"count": 42}, True),
        ({COUNT: "42.0"}, {"count": 42}, True),
        ({COUNT: "42"}, {"count": 42.0}, True),
        ({COUNT: "42.5"}, {"count": 42}, False),
        ({COUNT: "43"}, {"count": 42}, False),
        ({COUNT: "-0"}, {"count": 0}, True),
        ({COUNT: "nan"}, {"count": 42}, False),
        ({COUNT: "inf"}, {"count": 42}, False),
        ({COUNT: "9007199254740991"}, {"count": 9007199254740991}, True),
        ({COUNT: "9007199254740992.0"}, {"count": 9007199254740991}, False),
        ({}, {"count": 9007199254740992}, True),  # no header can carry it
        ({SURE: "true"}, {"sure": True}, True),
        ({SURE: "True"}, {"sure": True}, False),
        ({SURE: "1"}, {"sure": True}, False),
        ({IN: "x"}, {"deep": {"in": "x"}}, True),
        ({}, {"deep": {"in": "x"}}, False),
        ({}, {"deep": {}, "in": "x"}, True),
        ({CITY: "Rome", COUNT: "1"}, {"city": "Rome", "count": 1}, True),
        ({"mcp-param-unknown": "x"}, {}, True),
    ],
)
def test_marked_arguments_stand_in_headers_too(headers: dict[str, str], arguments: Any, fits: bool) -> None:
    assert (judged({**CALL, **headers}, "tools/call", name="t", arguments=arguments) is None) is fits


def test_of_a_tool_that_was_never_listed_no_argument_is_compared() -> None:
    headers = {**CALL, "mcp-name": "other", CITY: "Rome"}
    assert judged(headers, "tools/call", name="other", arguments={"city": "Oslo"}) is None


def test_params_and_meta_that_are_no_objects_cause_no_fault() -> None:
    frame = wire.parse(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}')
    assert isinstance(frame, Frame)
    assert mismatch({"mcp-method": "tools/call"}, "tools/call", *parts(frame), Annotations()) is None
