"""The rows that change a payload, case by case: `tests/tables/lowering/*.json`.

A case has one payload and what becomes of it under each policy. Without `gives` it stays as it is; `with` tells the
policies under which something else happens than under the default one. `fires` is the report: row, class and place.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from dragoman.revisions import HANDSHAKE, LATEST, Revision, named
from dragoman.revisions.plan import Loss, Part, Policy, Refusal, lowering
from dragoman.revisions.rows import ROWS
from dragoman.wire.members import Members, closed, opened
from support.proofs import proves

POLICIES = {
    "default": Policy(),
    "allow_downgrade": Policy(allow_downgrade=True),
    "allow_reencode": Policy(allow_reencode=True),
    "strict": Policy(strict=True),
    "keep_structure": Policy(keep_structure=True),
}


SAME = Raw()


class Outcome(msgspec.Struct, forbid_unknown_fields=True):
    gives: Raw = SAME
    fires: list[tuple[str, str, str]] = []
    refused: tuple[str, str, str] | None = None


class Case(msgspec.Struct, forbid_unknown_fields=True, rename={"source": "from", "target": "to", "other": "with"}):
    name: str
    row: str
    source: str
    target: str
    method: str
    part: Part
    given: Raw
    gives: Raw = SAME
    fires: list[tuple[str, str, str]] = []
    refused: tuple[str, str, str] | None = None
    other: dict[str, Outcome] = {}

    def outcome(self, policy: str) -> Outcome:
        return self.other.get(policy) or Outcome(self.gives, self.fires, self.refused)


def cases() -> list[Case]:
    folder = Path(__file__).parents[2] / "tables" / "lowering"
    tables = [msgspec.json.decode(path.read_bytes(), type=list[Case]) for path in sorted(folder.glob("*.json"))]
    return [case for table in tables for case in table]


CASES = cases()


def revision(name: str) -> Revision:
    found = named(name)
    assert found is not None
    return found


def applied(case: Case, policy: Policy, given: Members) -> tuple[Members | Refusal, list[Loss]]:
    report: list[Loss] = []
    plan = lowering(revision(case.source), revision(case.target))
    return plan.apply(case.method, case.part, given, policy, report), report


def value(raw: Raw) -> Any:
    return json.loads(bytes(raw))


@proves("RES-03", "RES-04", "RES-05", "RES-06", "RES-08", "RES-09", "RES-10", "RES-11", "LOSSY-01", "LOSSY-02")
@proves("LOSSY-04", "LOSSY-06", "LOSSY-10", "RES-14", "FWD-03")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.row} {case.name}")
def test_payload(case: Case, policy: str) -> None:
    given = opened(case.given)
    before = dict(given)
    expected = case.outcome(policy)

    after, report = applied(case, POLICIES[policy], given)

    if isinstance(after, Refusal):
        assert (after.row, after.why.name, after.place) == expected.refused
        assert (after.source, after.target) == (case.source, case.target)
        assert after.detail
        return
    assert expected.refused is None
    assert value(closed(after)) == value(case.given if expected.gives is SAME else expected.gives)
    assert [(loss.row, loss.kind, loss.place) for loss in report] == expected.fires
    assert all(loss.detail for loss in report)
    if expected.gives is SAME:
        assert list(after) == list(before)
        assert all(after[name] is before[name] for name in before)


def test_every_row_with_a_rule_has_a_case_in_each_direction() -> None:
    def falls(case: Case) -> bool:
        return revision(case.source).place > revision(case.target).place

    changing = {(case.row, falls(case)) for case in CASES if case.gives is not SAME or case.refused is not None}

    assert {(row.id, True) for row in ROWS.values() if row.falling} <= changing
    assert {(row.id, False) for row in ROWS.values() if row.rising} <= changing


@proves("LOSSY-08", "REV-11")
def test_each_way_to_refuse_has_a_case() -> None:
    """LOSSY-08."""
    reasons = {case.outcome(name).refused for case in CASES for name in POLICIES}

    assert {refused[1] for refused in reasons if refused} == {"LACKS_FEATURE", "POLICY", "WRONG_TYPE"}


@proves("LOSSY-05", "LOSSY-07")
def test_a_downgrade_helps_exactly_where_the_specification_has_a_fallback() -> None:
    """LOSSY-05, LOSSY-07: rows of class F that ask for the option, and no row of class R."""
    helped = {
        case.row for case in CASES if case.refused is not None and case.outcome("allow_downgrade").refused is None
    }

    assert helped
    assert all("F" in ROWS[row].older_client + ROWS[row].newer_client for row in helped)
    assert all("R" not in ROWS[row].older_client + ROWS[row].newer_client for row in helped)


@proves("LOSSY-09")
def test_policies_allow_nothing_else() -> None:
    """LOSSY-09: re-encoding allows no downgrade, and a downgrade no re-encoding."""
    for case in CASES:
        if case.refused is not None:
            helping = {name for name in POLICIES if case.outcome(name).refused is None}
            assert not {"allow_downgrade", "allow_reencode"} <= helping, case.name


@proves("RES-12")
def test_strict_results_go_before_kept_structures() -> None:
    """RES-12: a profile that keeps any structure can still be told to be strict."""
    case = next(case for case in CASES if case.row == "S4-19" and case.outcome("strict").fires)

    after, _ = applied(case, Policy(strict=True, keep_structure=True), opened(case.given))

    assert isinstance(after, dict)
    assert "structuredContent" not in after


@proves("RES-13")
@pytest.mark.parametrize("target", HANDSHAKE, ids=repr)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("schema", "structure"), [("object", b"{}"), ("array", b"[]")])
def test_no_schema_promises_what_is_removed(target: Revision, policy: str, schema: str, structure: bytes) -> None:
    """RES-13: a structure that a client does not get has no output schema in the list that it gets (B84)."""
    plan = lowering(LATEST, target)
    listed = opened(f'{{"tools":[{{"name":"n","outputSchema":{{"type":"{schema}"}}}}]}}'.encode())
    called = opened(b'{"content":[],"structuredContent":' + structure + b"}")

    tools = plan.apply("tools/list", Part.RESULT, listed, POLICIES[policy], [])
    result = plan.apply("tools/call", Part.RESULT, called, POLICIES[policy], [])

    if isinstance(result, dict) and "structuredContent" not in result:
        assert isinstance(tools, dict)
        assert b"outputSchema" not in bytes(tools["tools"])
