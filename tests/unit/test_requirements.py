"""The map of rules and proofs holds in both directions."""

import re

import requirements

ROWS_AND_DECISIONS = re.compile(r"[CHLNSTX]\d?-?\d+")


def test_every_must_rule_of_a_finished_area_has_a_proof() -> None:
    elsewhere = {id for ids in requirements.ELSEWHERE.values() for id in ids.split()}
    missing = requirements.must(requirements.FINISHED) - elsewhere - set(requirements.proofs())
    assert not missing, f"{len(missing)} rules without a proof: {' '.join(sorted(missing))}"


def test_every_id_that_a_test_names_exists() -> None:
    named = {id for id in requirements.proofs() if not ROWS_AND_DECISIONS.fullmatch(id)}
    assert not named - requirements.known()


def test_what_is_excused_is_a_must_rule_without_a_proof() -> None:
    for ids in requirements.ELSEWHERE.values():
        assert set(ids.split()) <= requirements.must(requirements.FINISHED)
