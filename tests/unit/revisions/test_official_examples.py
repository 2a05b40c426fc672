"""The official examples of the newest revision, lowered to every legacy revision.

Each one fits the official schema of the older revision afterwards, or it is refused by the row that says so. A value is
refused only when it would not fit as it stands, with one exception: tools for the model fit into the open type of a
sampling request, and an older client would then ask the model without them.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.revisions import HANDSHAKE, LATEST, Revision
from dragoman.revisions.plan import Part, Policy, Refusal, Why, lowering
from dragoman.wire.members import closed, opened
from support import official
from support.proofs import proves

EXAMPLES = Path(__file__).parents[2] / "schemas" / "examples-2026-07-28"
SAMPLING, ELICITATION, ROOTS = "sampling/createMessage", "elicitation/create", "roots/list"
ANSWERS = {SAMPLING: "CreateMessageResult", ELICITATION: "ElicitResult", ROOTS: "ListRootsResult"}
FORWARDED = {
    "CallTool": "tools/call",
    "Complete": "completion/complete",
    "GetPrompt": "prompts/get",
    "ListPrompts": "prompts/list",
    "ListResources": "resources/list",
    "ListResourceTemplates": "resources/templates/list",
    "ListTools": "tools/list",
    "ReadResource": "resources/read",
}
ASKED = {"CreateMessage": SAMPLING, "Elicit": ELICITATION, "ListRoots": ROOTS}
METHODS = FORWARDED | ASKED

WITH_TOOLS = ("follow-up-with-tool-results", "multiple-content-blocks", "request-with-tools", "tool-use-response")
MESSAGE = {"role": "user"}
FORM = {"message": "m", "requestedSchema": {"type": "object"}}

Placed = tuple[str, Part, dict[str, Any]]


def placed(type_: str, value: Any) -> Placed | None:
    """The payload that an example is, is inside of, or can stand in; `None` for what never crosses as a payload."""
    for name, method in METHODS.items():
        if type_ in (f"{name}Request", f"{name}ResultResponse"):
            part = Part.PARAMS if type_.endswith("Request") else Part.RESULT
            return method, part, value.get(part.value, {})
        if type_ == f"{name}RequestParams":
            return method, Part.PARAMS, value
        if type_ == f"{name}Result":
            return method, Part.RESULT, value
    match type_:
        case "ElicitRequestFormParams" | "ElicitRequestURLParams":
            return ELICITATION, Part.PARAMS, value
        case "PaginatedRequestParams":
            return "tools/list", Part.PARAMS, value
        case "Tool":
            return "tools/list", Part.RESULT, {"tools": [value]}
        case "Resource":
            return "resources/list", Part.RESULT, {"resources": [value]}
        case "TextResourceContents" | "BlobResourceContents":
            return "resources/read", Part.RESULT, {"contents": [value]}
        case "TextContent" | "ImageContent" | "AudioContent" | "EmbeddedResource" | "ResourceLink":
            return "tools/call", Part.RESULT, {"content": [value]}
        case "ToolUseContent" | "ToolResultContent":
            return SAMPLING, Part.PARAMS, {"maxTokens": 1, "messages": [MESSAGE | {"content": value}]}
        case "SamplingMessage":
            return SAMPLING, Part.PARAMS, {"maxTokens": 1, "messages": [value]}
        case "ModelPreferences":
            return SAMPLING, Part.PARAMS, {"maxTokens": 1, "messages": [], "modelPreferences": value}
        case "Root":
            return ROOTS, Part.RESULT, {"roots": [value]}
        case _ if type_.endswith("Schema"):
            schema = {"type": "object", "properties": {"field": value}}
            return ELICITATION, Part.PARAMS, FORM | {"requestedSchema": schema}
        case _:
            return None


def refusing_row(type_: str, example: str, target: Revision) -> str | None:
    """What the rows say of an example, by the revision that first has what it needs."""
    if target.place < 1 and type_ == "AudioContent":
        return "S1-02"
    if target.place < 2 and type_ == "ResourceLink":
        return "S2-04"
    if target.place < 2 and (type_.startswith("Elicit") or type_.endswith("Schema")):
        return "S2-05"
    if target.place == 2 and (type_ == "ElicitRequestURLParams"):
        return "S3-02"
    if target.place == 2 and "MultiSelect" in type_:
        return "S3-07"
    if target.place < 3 and (type_ in ("ToolUseContent", "ToolResultContent") or example in WITH_TOOLS):
        return "S3-10"
    if target.place in (2, 3) and example == "result-with-array-structured-content":
        return "S4-19"
    return None


def examples() -> Iterator[tuple[str, str, Placed]]:
    for path in sorted(EXAMPLES.glob("*/*.json")):
        found = placed(path.parent.name, json.loads(path.read_bytes()))
        if found is not None:
            yield path.parent.name, path.stem, found


CASES = [
    pytest.param(type_, example, found, target, id=f"{type_}/{example}-{target.name}")
    for type_, example, found in examples()
    for target in HANDSHAKE
]


def faults_of(target: Revision, method: str, part: Part, payload: dict[str, Any]) -> list[str]:
    if part is Part.RESULT:
        return official.faults_of(target.name, (official.RESULTS | ANSWERS)[method], payload)
    frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": payload}
    return official.faults_of(target.name, official.REQUESTS[method], frame)


def knows(target: Revision, method: str) -> bool:
    types = official.schema(target.name)
    return official.REQUESTS[method] in (types.get("definitions") or types["$defs"])


def completed(method: str, target: Revision, payload: dict[str, Any]) -> dict[str, Any]:
    """With what a machine adds after the plan: the id of an elicitation by URL (S4-14)."""
    pages = method == ELICITATION and payload.get("mode") == "url" and target.place == 3
    return payload | {"elicitationId": "made up"} if pages else payload


@proves("REV-08", "LOSSY-04")
@pytest.mark.parametrize(("type_", "example", "found", "target"), CASES)
def test_fits_or_is_refused_by_its_row(type_: str, example: str, found: Placed, target: Revision) -> None:
    """REV-08, LOSSY-04."""
    method, part, payload = found
    payload = {name: value for name, value in payload.items() if part is Part.RESULT or name != "_meta"}
    given = opened(json.dumps(payload).encode())

    after = lowering(LATEST, target).apply(method, part, given, Policy(), [])

    expected = refusing_row(type_, example, target)
    if isinstance(after, Refusal):
        assert after.row == expected
        open_member = after.row == "S3-10" and after.place == "tools"
        assert open_member or not knows(target, method) or faults_of(target, method, part, payload)
    else:
        assert expected is None
        lowered = json.loads(bytes(closed(after)))
        assert faults_of(target, method, part, completed(method, target, lowered)) == []
        assert not {"resultType", "ttlMs", "cacheScope"} & lowered.keys()


@proves("LOSSY-05")
@pytest.mark.parametrize(("type_", "example", "found", "target"), CASES)
def test_downgrade_changes_refusals_by_policy_only(type_: str, example: str, found: Placed, target: Revision) -> None:
    """LOSSY-05."""
    method, part, payload = found
    text = json.dumps(payload).encode()
    plan = lowering(LATEST, target)

    refused = plan.apply(method, part, opened(text), Policy(), [])
    allowed = plan.apply(method, part, opened(text), Policy(allow_downgrade=True), [])

    if isinstance(refused, Refusal) and refused.why is Why.POLICY:
        assert not isinstance(allowed, Refusal)
        assert faults_of(target, method, part, json.loads(bytes(closed(allowed)))) == []
    else:
        assert isinstance(allowed, Refusal) == isinstance(refused, Refusal)


def test_examples_are_found() -> None:
    found = list(examples())

    assert {method for _, _, (method, _, _) in found} >= set(METHODS.values())
    assert len(found) > 70
