"""Every change between two neighbouring official schemas is claimed by a row, and no row claims a change that is none.

The changes are derived here from the schema files, so that a new file without new rows fails.
"""

from typing import Any, cast

import pytest

from dragoman.revisions import ORDER, Revision
from dragoman.revisions.methods import FORWARDED, asks, known_anywhere, notices, requests
from dragoman.revisions.rows import ROWS, STEPS
from dragoman.revisions.step import Step
from support import official
from support.proofs import proves

Schema = dict[str, Any]


def types_of(revision: Revision) -> dict[str, Schema]:
    document = official.schema(revision.name)
    return document.get("definitions") or document["$defs"]


def bare(value: Any) -> Any:
    """A schema without its prose, and without what two spellings of the same meaning differ in."""
    if isinstance(value, dict):
        schema = cast("Schema", value)
        return {
            name: sorted(part) if name in ("required", "enum") else bare(part)
            for name, part in schema.items()
            if not (name == "description" and isinstance(part, str))
        }
    if isinstance(value, list):
        return [bare(part) for part in cast("list[Any]", value)]
    return value.replace("#/definitions/", "#/$defs/") if isinstance(value, str) else value


def member_changes(name: str, old: Schema, new: Schema) -> set[str]:
    before, after = cast("Schema", old.pop("properties", {})), cast("Schema", new.pop("properties", {}))
    must, must_now = cast("list[str]", old.pop("required", [])), cast("list[str]", new.pop("required", []))
    common = before.keys() & after.keys()
    changed = {m for m in common if before[m] != after[m] or (m in must) != (m in must_now)}
    return (
        {f"+{name}.{m}" for m in after.keys() - before.keys()}
        | {f"-{name}.{m}" for m in before.keys() - after.keys()}
        | {f"~{name}.{m}" for m in changed}
        | ({f"~{name}"} if old != new else set())
    )


def changes(older: Revision, newer: Revision) -> set[str]:
    before, after = types_of(older), types_of(newer)
    came, went = after.keys() - before.keys(), before.keys() - after.keys()
    found = {f"+{name}" for name in came} | {f"-{name}" for name in went}
    for name in before.keys() & after.keys():
        old, new = bare(before[name]), bare(after[name])
        if ("properties" in old) != ("properties" in new):  # an object on one side and a union on the other
            found.add(f"~{name}")
        else:
            found |= member_changes(name, old, new)
    return found


@proves("REV-14")
@pytest.mark.parametrize("newer", ORDER[1:], ids=repr)
def test_every_change_is_claimed_and_nothing_else(newer: Revision) -> None:
    """REV-14."""
    step, older = STEPS[newer.place], ORDER[newer.place - 1]
    claimed = [change for changed in step.claims.values() for change in changed.split()]

    assert step.revision == newer.name
    assert set(claimed) == changes(older, newer)
    assert len(claimed) == len(set(claimed))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.revision)
def test_claims_belong_to_rows(step: Step) -> None:
    assert {row for rows in step.claims for row in rows.split()} <= ROWS.keys()


def test_a_row_that_changes_payloads_claims_a_change_of_the_schema() -> None:
    claiming = {row for step in STEPS for rows in step.claims for row in rows.split()}

    assert {row.id for step in STEPS for row in step.rows if row.falling or row.rising} <= claiming


def methods_in(types: dict[str, Schema], union: str) -> set[str]:
    """The methods of a union; a union of one type is written as that type."""
    schema = types.get(union, {})
    members = [types[part["$ref"].rpartition("/")[2]] for part in schema.get("anyOf", ())]
    return {member["properties"]["method"]["const"] for member in members or ([schema] if schema else [])}


@pytest.mark.parametrize("revision", ORDER, ids=repr)
def test_methods_are_those_of_the_unions(revision: Revision) -> None:
    """REV-14. In the newest revision the questions of a server are a union of their own."""
    types = types_of(revision)

    assert requests(revision) == methods_in(types, "ClientRequest")
    assert asks(revision) == methods_in(types, "ServerRequest") | methods_in(types, "InputRequest")
    assert notices(revision, from_server=True) == methods_in(types, "ServerNotification")
    assert notices(revision, from_server=False) == methods_in(types, "ClientNotification")


def test_forwarded_methods_exist_in_every_revision() -> None:
    assert len(FORWARDED) == 8
    assert all(requests(revision) >= FORWARDED for revision in ORDER)
    assert known_anywhere() > FORWARDED
