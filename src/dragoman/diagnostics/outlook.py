"""What clients of each revision get of a server through the bridge, by the tables of the revisions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Raw

from dragoman.diagnostics.facts import LISTS, Listed
from dragoman.exchange.events import Ready
from dragoman.revisions import ORDER, Revision, Trait
from dragoman.revisions.capabilities import server_capabilities
from dragoman.revisions.methods import asks
from dragoman.revisions.plan import Loss, Part, Policy, lowering
from dragoman.revisions.rows import ROWS
from dragoman.wire.members import Members, encoded, object_in, text_of

INDEX = re.compile(r"\[\d+\]")
RESULTS = ("tools/call", "prompts/get", "resources/read")


@dataclass(frozen=True, slots=True)
class Difference:
    """Members of listed things, all under one row: `place` without indexes, and how many there are."""

    row: str
    place: str
    count: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Outlook:
    """For clients of one revision.

    `is_same` tells that nothing has to be translated. `changed` is rewritten or removed in lists, `unknown` is passed
    on though the client does not know it. `made_up` are capabilities that the client is told of though the server
    cannot say whether it has them (S1-05). `capabilities` have no equivalent, `questions` cannot be asked, and rows in
    `results` are refused or reduced when a result has what they are about.
    """

    revision: Revision
    is_same: bool
    changed: tuple[Difference, ...] = ()
    unknown: tuple[Difference, ...] = ()
    made_up: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


def outlooks(ready: Ready, lists: Mapping[str, Listed]) -> tuple[Outlook, ...]:
    """One for each revision, the oldest first."""
    return tuple(_outlook(ready, lists, client) for client in ORDER)


def _outlook(ready: Ready, lists: Mapping[str, Listed], client: Revision) -> Outlook:
    changed = _changes(ready.revision, client, lists, Policy())
    strict = _changes(ready.revision, client, lists, Policy(strict=True))
    kept = {(loss.row, loss.place) for loss in changed}
    told = server_capabilities(ready.capabilities, ready.revision, client)
    return Outlook(
        client,
        client is ready.revision,
        _counted(changed),
        _counted([loss for loss in strict if (loss.row, loss.place) not in kept]),
        tuple(name for name in told if name not in ready.capabilities),
        _missing(ready.capabilities, told),
        _unaskable(client),
        _risks(ready.revision, client),
    )


def only_as_tasks(tools: Listed | None) -> tuple[str, ...]:
    """Names of tools that want to be run as tasks, which only a client of the same revision can ask for (S3-15)."""
    found: list[str] = []
    for item in tools.items if tools is not None else ():
        tool = object_in(item) or {}
        if text_of((object_in(tool.get("execution")) or {}).get("taskSupport")) == "required":
            found.append(text_of(tool.get("name")) or "?")
    return tuple(found)


def _changes(server: Revision, client: Revision, lists: Mapping[str, Listed], policy: Policy) -> list[Loss]:
    plan, report = lowering(server, client), list[Loss]()
    for method, listed in lists.items():
        result: Members = {LISTS[method][1]: Raw(encoded(list(listed.items)))}
        plan.apply(method, Part.RESULT, result, policy, report)
    return report


def _counted(losses: list[Loss]) -> tuple[Difference, ...]:
    groups: dict[tuple[str, str, str], set[str]] = {}
    for loss in losses:
        place = INDEX.sub("", loss.place)
        # The name of a property is the server's own word; what matters is whose schema it is in.
        whole = re.sub(r"\.properties\..*", ".properties", place)
        groups.setdefault((loss.row, whole, loss.detail), set()).add(loss.place)
    return tuple(Difference(row, place, len(places), detail) for (row, place, detail), places in groups.items())


def _missing(declared: Members, told: Members) -> tuple[str, ...]:
    gone = [name for name, value in declared.items() if name not in told and object_in(value) != {}]
    for name in told:
        before, after = object_in(declared.get(name)) or {}, object_in(told[name]) or {}
        gone += [f"{name}.{part}" for part in before if part not in after]
    return tuple(gone)


def _unaskable(client: Revision) -> tuple[str, ...]:
    can = asks(client)
    lacking: list[str] = []
    if "elicitation/create" not in can:
        lacking.append("forms")
    if not client.has(Trait.ELICITATION_MODES):
        lacking.append("web pages")
    if not client.has(Trait.SAMPLING_TOOLS):
        lacking.append("sampling with tools")
    return tuple(lacking)


def _risks(server: Revision, client: Revision) -> tuple[str, ...]:
    plan = lowering(server, client)
    acting = [rule for method in RESULTS for rule in plan.rules(method, Part.RESULT) if rule.row]
    rows = dict.fromkeys(rule.row for rule in acting if rule.only is not None or not _is_for_some(rule.row))
    return tuple(row for row in rows if "R" in (kind := ROWS[row].kind(server, client)) or kind == "F")


def _is_for_some(row: str) -> bool:
    """Whether what a row refuses depends on the target; its other rules then lose nothing."""
    return any(rule.only is not None for rule in (*ROWS[row].falling, *ROWS[row].rising))
