"""What is said of a server, from the facts of a visit: troubles, warnings, what clients get, and the whole report."""

import json
from typing import Any

import pytest

from dragoman.diagnostics.facts import Facts, Listed, Wire
from dragoman.diagnostics.outlook import Outlook, only_as_tasks, outlooks
from dragoman.diagnostics.report import Setup, for_machine, for_person, warnings
from dragoman.diagnostics.symptoms import symptom
from dragoman.exchange.events import Ready
from dragoman.faults import Cause, Fault
from dragoman.revisions import LATEST, LATEST_LEGACY, ORDER, Revision, named
from dragoman.wire.members import raw

SETUP = Setup("srv", ("--", "srv"))
SILENCE = Fault(Cause.INITIALIZE_FAILED, "no response in 30 s")


def ready(revision: Revision = LATEST, **capabilities: Any) -> Ready:
    info = raw({"name": "srv", "version": "2"})
    return Ready(revision, {name: raw(value) for name, value in capabilities.items()}, info)


def facts(server: Ready | None = None, wire: Wire = Wire.STDIO, **given: Any) -> Facts:
    return Facts(wire, server if server is not None or "fault" in given else ready(), **given)


def lost(status: int | None = None, detail: str | None = None, cause: Cause = Cause.TRANSPORT_FAILED) -> Fault:
    return Fault(cause, detail or (f"HTTP status {status}" if status else None), status=status)


def tools(*given: dict[str, Any]) -> Listed:
    return Listed(tuple(raw({"inputSchema": {"type": "object"}, **each}) for each in given))


# ---------------------------------------------------------------------- troubles


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "command_not_found",
            "No such file",
            facts(fault=Fault(Cause.SPAWN_FAILED), opening="No such file or directory"),
        ),
        ("command_not_started", "Permission", facts(fault=Fault(Cause.SPAWN_FAILED), opening="Permission denied")),
        ("exits_at_once", "exited with code 3", facts(fault=Fault(Cause.UPSTREAM_EXITED), end="exited with code 3")),
        ("exits_at_once", "closed its", facts(fault=Fault(Cause.CLOSED), end="closed its standard output")),
        ("noise", "standard output: 4, and its process exited", facts(
            fault=Fault(Cause.UPSTREAM_EXITED), end="exited with code 0", noise=4
        )),
        ("noise", "standard output: 1.", facts(fault=SILENCE, noise=1)),
        ("silent", "no response in 30 s", facts(fault=SILENCE)),
        ("sign_in", "401", facts(wire=Wire.UNKNOWN, fault=lost(401))),
        ("sign_in", "403", facts(wire=Wire.UNKNOWN, fault=lost(403))),
        ("wrong_path", "404", facts(wire=Wire.UNKNOWN, fault=lost(404))),
        ("wrong_path", "405", facts(wire=Wire.UNKNOWN, fault=lost(405))),
        ("proxy", "407", facts(wire=Wire.UNKNOWN, fault=lost(407))),
        ("busy", "429", facts(wire=Wire.UNKNOWN, fault=lost(429))),
        ("busy", "503", facts(wire=Wire.UNKNOWN, fault=lost(503))),
        ("refused", "418", facts(wire=Wire.UNKNOWN, fault=lost(418))),
        ("web_page", "web page", facts(
            wire=Wire.UNKNOWN,
            fault=lost(200, "HTTP status 200: neither JSON nor an event stream", Cause.INVALID_RESPONSE),
        )),
        ("tls", "certificate", facts(
            wire=Wire.UNKNOWN, fault=lost(detail="the TLS certificate was not accepted: self-signed")
        )),
        ("connection_refused", "refused", facts(
            wire=Wire.UNKNOWN, fault=lost(detail="no connection: connection refused")
        )),
        ("unknown_host", "host", facts(wire=Wire.UNKNOWN, fault=lost(detail="the name of the host is not known"))),
        ("proxy", "proxy", facts(wire=Wire.UNKNOWN, fault=lost(detail="no connection to the proxy: timed out"))),
        ("unreachable", "in time", facts(wire=Wire.UNKNOWN, fault=lost(detail="no connection in time"))),
        ("unreachable", "ended", facts(wire=Wire.SSE, fault=Fault(Cause.CLOSED))),
        ("unusable_environment", "proxy", facts(
            wire=Wire.UNKNOWN, fault=Fault(Cause.CONNECT_FAILED), opening="the proxy variable is wrong"
        )),
        ("not_understood", "error -32000): go away", facts(fault=Fault(Cause.DISCOVER_FAILED, "go away", -32000))),
    ],
)  # fmt: skip
def test_each_trouble_has_a_name_a_sentence_and_an_advice(name: str, text: str, found: Facts) -> None:
    told = symptom(found)
    assert told is not None
    assert told.name == name
    assert text in told.what
    assert told.advice.endswith(".")
    lines = list(for_person(found, SETUP))
    assert lines[:2] == [f"problem       {told.what}", f"what to do    {told.advice}"]
    report = json.loads(for_machine(found, SETUP))
    assert (report["understood"], report["problem"]["name"]) == (False, name)


def test_a_server_that_can_be_used_has_no_trouble() -> None:
    assert symptom(facts()) is None
    assert json.loads(for_machine(facts(), SETUP))["problem"] is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("standard output: 3", facts(noise=3)),
        ("started twice", facts(ready(LATEST_LEGACY), starts=2)),
        ("does not answer server/discover, which costs 5 s", facts(ready(LATEST_LEGACY), first_answer=5.1)),
        ("slow to start: it answered server/discover with error -32601 only after 6.2 s", facts(  # A10
            ready(LATEST_LEGACY), first_answer=6.2, discovered=6.2, discover_error=-32601
        )),
        ("prompts/list could not be read to its end: error -32000", facts(
            lists={"prompts/list": Listed((), "error -32000")}
        )),
        ("tool odd: inputSchema, /properties is no object; clients on the TypeScript SDK", facts(  # N14
            lists={"tools/list": tools({"name": "odd", "inputSchema": {"type": "object", "properties": []}})}
        )),
        ("tool odd: inputSchema, the schema is no object; clients on the TypeScript and the Python SDK", facts(
            lists={"tools/list": tools({"name": "odd", "inputSchema": 1})}
        )),
        ("only as tasks, which a client of another revision cannot ask for: slow", facts(
            lists={"tools/list": tools({"name": "slow", "execution": {"taskSupport": "required"}})}
        )),
    ],
)  # fmt: skip
def test_what_works_but_not_as_it_should_is_a_warning(text: str, found: Facts) -> None:
    (warning,) = warnings(found)
    assert text in warning
    assert f"warning       {warning}" in for_person(found, SETUP)


@pytest.mark.parametrize(
    "found",
    [
        facts(),
        facts(first_answer=6.0),  # a modern server may be slow
        facts(ready(LATEST_LEGACY), first_answer=1.0),
        facts(lists={"resources/templates/list": Listed((), "error -32601")}),
        facts(lists={"tools/list": tools({"name": "n", "execution": {"taskSupport": "optional"}})}),
    ],
)
def test_nothing_else_is(found: Facts) -> None:
    assert warnings(found) == []


# ---------------------------------------------------------------------- what clients get


def test_a_capability_that_is_made_up_is_said() -> None:
    """A server of 2024-11-05 may complete, and cannot say whether it does (A11, S1-05)."""
    oldest = ORDER[0]
    given = ready(oldest, prompts={})
    made_up = {each.revision.name: each.made_up for each in outlooks(given, {})}
    assert made_up == {each.name: () if each is oldest else ("completions",) for each in ORDER}
    told = "\n".join(for_person(facts(given), SETUP))
    assert "told of, though the server cannot say that it has it: completions, S1-05" in told


def outlook(client: str, server: Revision = LATEST, **lists: Listed) -> Outlook:
    known = {f"{name}/list": listed for name, listed in lists.items()}
    (found,) = [each for each in outlooks(ready(server), known) if each.revision.name == client]
    return found


FULL = {"name": "n", "title": "N", "icons": [{"src": "https://a.example/i.png"}], "outputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    ("client", "rows"),
    [
        ("2024-11-05", {"S2-06", "S2-03", "S3-16"}),
        ("2025-03-26", {"S2-06", "S2-03", "S3-16"}),
        ("2025-06-18", {"S3-16"}),
        ("2025-11-25", set[str]()),
    ],
)
def test_members_that_came_later_are_named_by_their_row(client: str, rows: set[str]) -> None:
    found = outlook(client, tools=tools(FULL, FULL))
    assert {each.row for each in found.unknown} == rows
    assert all(each.count == 2 for each in found.unknown)
    assert not found.changed


def test_what_is_rewritten_is_told_apart_from_what_is_not_known() -> None:
    schema = {"type": "object", "properties": {"a": True, "b": False}}
    listed = tools({"name": "n", "inputSchema": schema, "outputSchema": {"type": "array"}})
    found = outlook("2025-11-25", tools=listed)
    assert [(each.row, each.place, each.count) for each in found.changed] == [
        ("S4-17", "tools.inputSchema.properties", 2),
        ("S4-18", "tools.outputSchema", 1),
    ]


def test_the_other_way_nothing_is_taken_out() -> None:
    listed = tools({"name": "n", "execution": {"taskSupport": "optional"}})
    found = outlook("2026-07-28", LATEST_LEGACY, tools=listed)
    assert not found.changed


def test_capabilities_without_an_equivalent_are_named() -> None:
    server = ready(LATEST_LEGACY, tools={"listChanged": True}, tasks={"list": {}}, completions={})
    for each in outlooks(server, {}):
        assert each.is_same or each.capabilities == ("tasks",)


@pytest.mark.parametrize(
    ("client", "questions", "results"),
    [
        ("2024-11-05", ("forms", "web pages", "sampling with tools"), {"S1-02", "S2-04"}),
        ("2025-03-26", ("forms", "web pages", "sampling with tools"), {"S2-04"}),
        ("2025-06-18", ("web pages", "sampling with tools"), {"S4-19"}),
        ("2025-11-25", (), {"S4-19"}),
        ("2026-07-28", (), set[str]()),
    ],
)
def test_questions_and_results_follow_the_tables(client: str, questions: tuple[str, ...], results: set[str]) -> None:
    """As the tables of the translation document say, for a server of the newest revision."""
    found = outlook(client)
    assert (found.questions, set(found.results)) == (questions, results)


@pytest.mark.parametrize("each", ORDER, ids=repr)
def test_a_client_of_the_same_revision_gets_everything_as_it_is(each: Revision) -> None:
    found = outlook(each.name, each, tools=tools(FULL))
    assert found.is_same
    assert (found.changed, found.unknown) == ((), ())


def test_tools_that_are_tasks_only_are_found() -> None:
    assert only_as_tasks(None) == ()
    assert only_as_tasks(tools({"name": "a"}, {"name": "b", "execution": {"taskSupport": "required"}})) == ("b",)


# ---------------------------------------------------------------------- the report


def whole() -> Facts:
    server = ready(LATEST, tools={"listChanged": True, "x": False}, resources={})
    lists = {"tools/list": tools(FULL, FULL), "resources/list": Listed((raw({"name": "r", "uri": "a:b"}),))}
    return facts(server, versions=("2026-07-28", "2025-11-25"), lists=lists, first_answer=0.1234)


def test_the_report_for_a_person_says_all_of_it() -> None:
    lines = list(for_person(whole(), SETUP))
    assert lines[:6] == [
        "server        srv 2",
        "speaks        2026-07-28, without a handshake; it also names 2025-11-25",
        "transport     stdio",
        "capabilities  tools (listChanged), resources",
        "offers        2 tools, 1 resource",
        "first answer  after 0.12 s",
    ]
    assert all(any(line.startswith(f"  {each.name} ") for line in lines) for each in ORDER)
    assert lines[-1] == "  dragoman -- srv"


def test_a_name_cannot_play_with_the_terminal() -> None:
    server = Ready(LATEST, {"x\n": raw({})}, raw({"name": "a\x1b[2J\r\nverdict  fine", "version": "ü"}))
    lines = list(for_person(facts(server), SETUP))
    assert lines[0] == "server        a?[2J??verdict  fine ü"
    assert all(line.isprintable() for line in lines)


def test_the_report_for_a_machine_is_one_object() -> None:
    report = json.loads(for_machine(whole(), SETUP))
    assert report["lists"] == {"tools": {"count": 2, "failure": None}, "resources": {"count": 1, "failure": None}}
    assert (report["era"], report["revision"], report["firstAnswer"]) == ("modern", "2026-07-28", 0.123)
    assert [each["revision"] for each in report["clients"]] == [each.name for each in ORDER]
    assert all(named(each["revision"]) for each in report["clients"])
    assert report["configuration"] == {"mcpServers": {"srv": {"command": "dragoman", "args": ["--", "srv"]}}}
    assert report["command"] == ["dragoman", "--", "srv"]
