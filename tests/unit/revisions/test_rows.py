"""The index of rows is whole, and plans are made of it."""

import re
from itertools import permutations

import pytest

from dragoman.revisions import ORDER, Revision
from dragoman.revisions.methods import asks, known_anywhere, methods, notices, requests, row_of_absence
from dragoman.revisions.plan import Part, Plan, Policy, Refusal, Why, lowering
from dragoman.revisions.rows import ROWS, STEPS
from dragoman.wire.members import opened
from support.proofs import proves

COUNTS = {"H": 16, "S1": 9, "S2": 14, "S3": 23, "S4": 34}
PAIRS = list(permutations(ORDER, 2))


@proves("REV-14")
def test_every_row_is_there_once_and_in_order() -> None:
    assert list(ROWS) == [f"{group}-{number:02}" for group, count in COUNTS.items() for number in range(1, count + 1)]
    assert sum(len(step.rows) for step in STEPS) + COUNTS["H"] == len(ROWS)


def test_rows_tell_what_they_are() -> None:
    for row in ROWS.values():
        assert row.subject.endswith("."), row.id
        assert re.fullmatch("[LFRB]{0,2}", row.older_client), row.id
        assert re.fullmatch("[LFRB]{0,2}", row.newer_client), row.id
    assert len({row.subject for row in ROWS.values()}) == len(ROWS)


def test_steps_are_the_revisions() -> None:
    assert [step.revision for step in STEPS] == [revision.name for revision in ORDER]


def every_rule_of(plan: Plan) -> set[str]:
    names = [*known_anywhere(), "vendor/method"]
    return {rule.row for name in names for part in Part for rule in plan.rules(name, part)} - {""}


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=repr)
def test_rules_come_from_the_steps_between(source: Revision, target: Revision) -> None:
    plan = lowering(source, target)
    low, high = sorted((source.place, target.place))
    between = {row.id for step in STEPS[low + 1 : high + 1] for row in step.rows}
    gone = {row_of_absence(name, target) for name in known_anywhere()}

    assert (plan.source, plan.target) == (source, target)
    assert lowering(source, target) is plan
    assert {row for row in every_rule_of(plan) if not row.startswith("H-")} <= between | gone


@pytest.mark.parametrize("revision", ORDER, ids=repr)
def test_equal_revisions_have_no_rules(revision: Revision) -> None:
    assert every_rule_of(lowering(revision, revision)) == set()


@proves("LOSSY-08")
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=repr)
def test_a_method_that_the_target_lacks_is_refused_by_its_row(source: Revision, target: Revision) -> None:
    """LOSSY-08."""
    for name in methods(source).keys() - methods(target).keys():
        for part in Part:
            refusal = lowering(source, target).apply(name, part, opened(b"{}"), Policy(True, True, True, True), [])
            assert isinstance(refusal, Refusal)
            assert refusal.why is Why.LACKS_FEATURE
            assert refusal.row in ROWS


@pytest.mark.parametrize(
    ("name", "target", "row"),
    [
        ("elicitation/create", 0, "S2-05"),
        ("tasks/get", 2, "S3-14"),
        ("tasks/get", 4, "S4-12"),
        ("ping", 4, "S4-06"),
        ("initialize", 4, "S4-01"),
        ("server/discover", 3, "S4-01"),
        ("notifications/elicitation/complete", 4, "S4-14"),
        ("notifications/elicitation/complete", 0, "S3-04"),
        ("tools/call", 0, None),
        ("vendor/method", 0, None),
    ],
)
def test_row_of_absence(name: str, target: int, row: str | None) -> None:
    assert row_of_absence(name, ORDER[target]) == row


def test_every_method_has_a_sender_somewhere() -> None:
    for revision in ORDER:
        sent = requests(revision) | asks(revision)
        told = notices(revision, from_server=True) | notices(revision, from_server=False)
        assert methods(revision).keys() == sent | told
        assert not sent & told
