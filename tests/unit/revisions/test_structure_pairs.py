"""A tool that promises a structured result gives one, in every revision and under every policy."""

import json
from itertools import product
from typing import Any

import pytest

from dragoman.revisions import HANDSHAKE, LATEST, Revision
from dragoman.revisions.plan import Part, Policy, Refusal, lowering
from dragoman.wire.members import Members, closed, opened
from support.proofs import proves

POLICIES = [Policy(*flags) for flags in product((False, True), repeat=4)]
PAIRS: list[tuple[Any, Any]] = [({"type": "object"}, {"a": 1}), ({"type": "array"}, [1]), (True, "x"), (None, None)]


def lowered(target: Revision, method: str, value: Any, policy: Policy) -> Any:
    members: Members | Refusal = opened(json.dumps(value).encode())
    assert isinstance(members, dict)
    after = lowering(LATEST, target).apply(method, Part.RESULT, members, policy, [])
    return None if isinstance(after, Refusal) else json.loads(bytes(closed(after)))


@proves("B84")
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("target", HANDSHAKE, ids=repr)
@pytest.mark.parametrize(("schema", "structure"), PAIRS)
def test_an_output_schema_that_stays_is_kept(target: Revision, policy: Policy, schema: Any, structure: Any) -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}} | ({} if schema is None else {"outputSchema": schema})
    result: dict[str, Any] = {"content": []}
    if structure is not None:
        result["structuredContent"] = structure

    listed = lowered(target, "tools/list", {"tools": [tool]}, policy)
    called = lowered(target, "tools/call", result, policy)

    if "outputSchema" in listed["tools"][0]:
        assert called is None or "structuredContent" in called
