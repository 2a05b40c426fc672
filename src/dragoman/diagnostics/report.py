"""The report of a visit to a server, for a person and for a machine. It is made of facts and does nothing."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import Raw

from dragoman.diagnostics.facts import LISTS, Facts, Listed
from dragoman.diagnostics.outlook import Difference, Outlook, only_as_tasks, outlooks
from dragoman.diagnostics.symptoms import symptom
from dragoman.limits import Limits
from dragoman.profile.input_schemas import flaws
from dragoman.revisions import Era
from dragoman.revisions.rows import ROWS
from dragoman.wire.members import Members, closed, encoded, object_in, text_of

WORDS = {"tools": "tool", "prompts": "prompt", "resources": "resource", "resourceTemplates": "resource template"}
ERAS = {Era.MODERN: "without a handshake", Era.LEGACY: "with a handshake"}


@dataclass(frozen=True, slots=True)
class Setup:
    """How this server is put behind the bridge: a `name` for it, and the words behind `dragoman`."""

    name: str
    words: tuple[str, ...]

    @property
    def configuration(self) -> dict[str, object]:
        return {"mcpServers": {self.name: {"command": "dragoman", "args": list(self.words)}}}

    @property
    def line(self) -> str:
        return shlex.join(("dragoman", *self.words))


def for_person(facts: Facts, setup: Setup) -> Iterator[str]:
    """The report as lines. What the server says of itself cannot move the cursor of a terminal, or pass for a line."""
    for line in _told(facts, setup):
        yield "".join(char if char.isprintable() else "?" for char in line)


def _told(facts: Facts, setup: Setup) -> Iterator[str]:
    problem = symptom(facts)
    if problem is not None:
        yield f"problem       {problem.what}"
        yield f"what to do    {problem.advice}"
        yield f"transport     {facts.wire.value}"
        return
    assert facts.ready is not None
    ready = facts.ready
    yield f"server        {_name(ready.info) or 'does not say its name'}"
    others = [name for name in facts.versions if name != ready.revision.name]
    yield f"speaks        {ready.revision.name}, {ERAS[ready.revision.era]}" + (
        f"; it also names {', '.join(others)}" if others else ""
    )
    yield f"transport     {facts.wire.value}"
    yield f"capabilities  {', '.join(_capability(*each) for each in ready.capabilities.items()) or 'none'}"
    yield f"offers        {_offers(facts)}"
    if facts.first_answer is not None:
        yield f"first answer  after {facts.first_answer:.2f} s"
    for text in warnings(facts):
        yield f"warning       {text}"
    yield ""
    yield "What clients get through dragoman"
    rows: dict[str, None] = {}
    for outlook in outlooks(ready, facts.lists):
        for place, (text, named) in enumerate(_lines(outlook)):
            yield f"  {outlook.revision.name if place == 0 else '':12}{text}"
            rows |= dict.fromkeys(named)
    if rows:
        yield ""
        yield from (f"  {row:8} {ROWS[row].subject}" for row in rows)
    yield ""
    yield "For a configuration"
    yield f"  {encoded(setup.configuration).decode()}"
    yield "By hand"
    yield f"  {setup.line}"


def for_machine(facts: Facts, setup: Setup) -> bytes:
    """The report as one JSON object."""
    problem, ready = symptom(facts), facts.ready
    report: dict[str, object] = {
        "understood": facts.is_fine,
        "problem": {"name": problem.name, "what": problem.what, "advice": problem.advice} if problem else None,
        "transport": facts.wire.value,
        "firstAnswer": round(facts.first_answer, 3) if facts.first_answer is not None else None,
    }
    if ready is not None:
        report |= {
            "server": ready.info,
            "era": ready.revision.era.value,
            "revision": ready.revision.name,
            "revisions": facts.versions or (ready.revision.name,),
            "capabilities": closed(ready.capabilities),
            "lists": {
                LISTS[method][1]: {"count": len(listed.items), "failure": listed.failure}
                for method, listed in facts.lists.items()
            },
            "warnings": warnings(facts),
            "clients": [_client(outlook) for outlook in outlooks(ready, facts.lists)],
            "configuration": setup.configuration,
            "command": ("dragoman", *setup.words),
        }
    return encoded(report)


def warnings(facts: Facts) -> list[str]:
    """What works, but not as it should."""
    found: list[str] = []
    probe = Limits().timeouts.probe
    if facts.noise:
        found.append(
            f"it wrote lines that are no messages to its standard output: {facts.noise}; they belong on standard error"
        )
    if facts.starts > 1:
        found.append("it ends when it is asked server/discover, so it is started twice each time")
    elif facts.ready is not None and facts.ready.revision.era is Era.LEGACY:
        found += _waits(facts, probe)
    for method, listed in facts.lists.items():
        if listed.failure is not None and not (method == "resources/templates/list" and not listed.items):
            found.append(f"{method} could not be read to its end: {listed.failure}")
    found += _schemas(facts.lists.get("tools/list"))
    tasks = only_as_tasks(facts.lists.get("tools/list"))
    if tasks:
        found.append(
            f"tools that run only as tasks, which a client of another revision cannot ask for: {', '.join(tasks)}"
        )
    return found


def _waits(facts: Facts, probe: float) -> list[str]:
    """What each start of an older server waits for, as it was seen (A10)."""
    if facts.discovered is None and (facts.first_answer or 0) >= probe:
        return [f"it does not answer server/discover, which costs {probe:g} s at each start"]
    if facts.discovered is not None and facts.discovered >= probe:
        said = f"with error {facts.discover_error} " if facts.discover_error is not None else ""
        return [f"it is slow to start: it answered server/discover {said}only after {facts.discovered:.1f} s"]
    return []


def _schemas(tools: Listed | None) -> list[str]:
    """Tools for whose input schema some clients refuse the whole list (N14)."""
    found: list[str] = []
    for place, item in enumerate(tools.items if tools is not None else ()):
        tool = object_in(item) or {}
        name = text_of(tool.get("name")) or f"number {place + 1}"
        found += [
            f"tool {name}: inputSchema, {flaw}; {flaw.refused_by} may drop all tools for it, "
            "which --profile vscode and the quirk repair_input_schemas prevent"
            for flaw in flaws(tool.get("inputSchema"))
        ]
    return found


def _name(info: Raw | None) -> str | None:
    members = object_in(info) or {}
    name, version = text_of(members.get("name")), text_of(members.get("version"))
    return " ".join(part for part in (name, version) if part) or None


def _capability(name: str, value: Raw) -> str:
    parts = [part for part, flag in (object_in(value) or Members()).items() if bytes(flag).strip() != b"false"]
    return f"{name} ({', '.join(parts)})" if parts else name


def _offers(facts: Facts) -> str:
    counts = {WORDS[LISTS[method][1]]: len(listed.items) for method, listed in facts.lists.items()}
    return ", ".join(f"{count} {word}{'s' * (count != 1)}" for word, count in counts.items()) or "no lists"


def _lines(outlook: Outlook) -> Iterator[tuple[str, list[str]]]:
    """What to say of one revision, each with the rows that it names."""
    if outlook.is_same:
        yield "everything as it is", []
        return
    quiet = True
    for word, differences in (("changed", outlook.changed), ("not known there", outlook.unknown)):
        for each in differences:
            quiet = False
            yield f"{word}: {_difference(each)}", [each.row]
    if outlook.made_up:
        quiet = False
        yield f"told of, though the server cannot say that it has it: {', '.join(outlook.made_up)}, S1-05", ["S1-05"]
    for word, names in (("no such capability", outlook.capabilities), ("cannot be asked for", outlook.questions)):
        if names:
            quiet = False
            yield f"{word}: {', '.join(names)}", []
    if outlook.results:
        yield f"can be refused in results: {', '.join(outlook.results)}", list(outlook.results)
    elif quiet:
        yield "everything, translated", []


def _difference(each: Difference) -> str:
    times = f" ({each.count} times)" if each.count > 1 else ""
    return f"{each.place}{times}, {each.row}"


def _client(outlook: Outlook) -> dict[str, object]:
    def told(differences: tuple[Difference, ...]) -> list[dict[str, object]]:
        return [{"row": each.row, "place": each.place, "count": each.count} for each in differences]

    return {
        "revision": outlook.revision.name,
        "same": outlook.is_same,
        "changed": told(outlook.changed),
        "unknown": told(outlook.unknown),
        "madeUp": outlook.made_up,
        "capabilitiesWithoutEquivalent": outlook.capabilities,
        "cannotBeAsked": outlook.questions,
        "refusedInResults": outlook.results,
    }
