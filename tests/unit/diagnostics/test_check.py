"""The report on one reply: what a running bridge would do with it, by the same machines."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from dragoman.cli.commands import run
from dragoman.cli.entry import Early
from dragoman.diagnostics.check import Finding, Unreadable, Verdict, capable, examine, read_reply
from dragoman.diagnostics.trace import Traced
from dragoman.profile import Profile, Quirks, named
from dragoman.revisions import LATEST, ORDER, Revision
from dragoman.revisions import named as revision_named
from dragoman.revisions.methods import FORWARDED
from dragoman.revisions.plan import Loss, Part, Policy, Refusal, lowering
from dragoman.wire.members import Members, opened
from support import official
from support.dialogue import Dialogue
from support.proofs import proves

TABLES = Path(__file__).parents[2] / "tables" / "lowering"
NEUTRAL = named("neutral") or Profile("none")
FLAGS: dict[str, dict[str, Any]] = {
    "default": {},
    "allow_downgrade": {"allow_downgrade": True},
    "allow_reencode": {"allow_reencode": True},
    "strict": {"quirks": Quirks(strict_legacy_results=True)},
    "keep_structure": {"keep_structure": True},
}
TEXT = {"type": "text", "text": "t"}
AUDIO = {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}
FORM = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
PAGE = {"mode": "url", "message": "?", "url": "http://example.com/", "elicitationId": "e"}


class Case(msgspec.Struct, rename={"source": "from", "target": "to"}):
    name: str
    source: str
    target: str
    method: str
    part: Part
    given: Raw


CASES = [
    case for path in sorted(TABLES.glob("*.json")) for case in msgspec.json.decode(path.read_bytes(), type=list[Case])
]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.method} {case.name}")
each_policy = pytest.mark.parametrize("policy", FLAGS)


def revision(name: str) -> Revision:
    found = revision_named(name)
    assert found is not None
    return found


def found(given: Any, source: str = "2026-07-28", target: str = "2025-11-25", **how: Any) -> Finding:
    """The finding on a result; `method` and the fields of a profile may be given."""
    method = how.pop("method", None)
    reply = read_reply(json.dumps({"jsonrpc": "2.0", "id": 7, "result": given}, separators=(",", ":")).encode(), method)
    return examine(reply, revision(source), revision(target), replace(NEUTRAL, **how))


def seen(outcome: Members | Refusal) -> Any:
    """An outcome that can be compared."""
    return outcome if isinstance(outcome, Refusal) else {name: bytes(value) for name, value in outcome.items()}


def rules(finding: Finding) -> list[tuple[str, str, str]]:
    return [(rule.row, rule.kind, rule.place) for rule in finding.rules]


# ---------------------------------------------------------------------- the same as the bridge


@each_case
@each_policy
def test_a_traced_plan_does_what_the_plan_does(case: Case, policy: str) -> None:
    plan = lowering(revision(case.source), revision(case.target))
    traced = Traced(plan)
    outcomes: list[tuple[Members | Refusal, list[Loss]]] = []
    for each in (plan, traced):
        report: list[Loss] = []
        permitted: Policy = replace(NEUTRAL, **FLAGS[policy]).policy()
        outcomes.append((each.apply(case.method, case.part, opened(case.given), permitted, report), report))
    (plain, told), (watched, told_again) = outcomes
    assert seen(plain) == seen(watched)
    assert told == told_again
    assert traced.refusal == (plain if isinstance(plain, Refusal) else None)
    if isinstance(plain, dict) and seen(plain) != seen(opened(case.given)):
        assert traced.fired
    assert [loss for loss in traced.fired if loss in told] == told


@proves("CHECK-01")
@pytest.mark.parametrize("case", [case for case in CASES if case.part is Part.RESULT and case.method in FORWARDED])
@each_policy
def test_a_finding_is_what_the_plan_gives(case: Case, policy: str) -> None:
    profile = replace(NEUTRAL, **FLAGS[policy])
    given = b'{"jsonrpc":"2.0","id":7,"result":' + bytes(case.given) + b"}"
    finding = examine(read_reply(given, case.method), revision(case.source), revision(case.target), profile)
    plan = lowering(revision(case.source), revision(case.target))
    outcome = plan.apply(case.method, Part.RESULT, opened(bytes(case.given).replace(b"\n", b" ")), profile.policy(), [])
    if isinstance(outcome, Refusal):
        assert finding.verdict is Verdict.REFUSED
        assert finding.refusal == outcome
    else:
        assert finding.verdict in (Verdict.FORWARDED, Verdict.DOWNGRADED)
        (frame,) = finding.frames
        assert seen(opened(opened(frame)["result"])) == seen(outcome)


RESULTS: dict[str, Any] = {
    "text": {"resultType": "complete", "content": [TEXT]},
    "no type": {"content": [TEXT]},
    "structure": {"resultType": "complete", "content": [], "structuredContent": {"a": 1.50}},
    "array": {"resultType": "complete", "content": [TEXT], "structuredContent": [1]},
    "audio": {"resultType": "complete", "content": [AUDIO]},
    "link": {"resultType": "complete", "content": [{"type": "resource_link", "name": "n", "uri": "a:b"}]},
    "unknown type": {"resultType": "unheard-of", "content": []},
}


@proves("CHECK-03", "LOSSY-10")
@pytest.mark.parametrize("client", [each.name for each in ORDER[:-1]])
@pytest.mark.parametrize("policy", ["default", "allow_downgrade", "allow_reencode"])
@pytest.mark.parametrize("name", RESULTS)
def test_a_running_bridge_does_the_same(name: str, policy: str, client: str) -> None:
    """CHECK-03."""
    profile = replace(NEUTRAL, **FLAGS[policy])
    bridge = Dialogue(profile)
    bridge.client(bridge.initialize(client)).server(bridge.discovered())
    bridge.client({"id": 7, "method": "tools/call", "params": {"name": "n"}})
    bridge.server({"id": bridge.last("tools/call")["id"], "result": RESULTS[name]})
    finding = found(RESULTS[name], target=client, method="tools/call", **FLAGS[policy])
    assert [json.loads(frame) for frame in finding.frames] == [bridge.to_client[-1]]
    assert (finding.verdict is Verdict.REFUSED) == ("error" in bridge.to_client[-1])


@pytest.mark.parametrize("client", [each.name for each in ORDER[:-1]])
def test_what_is_forwarded_is_valid_where_it_goes(client: str) -> None:
    for result in RESULTS.values():
        for policy in ("default", "allow_downgrade", "allow_reencode"):
            finding = found(result, target=client, method="tools/call", **FLAGS[policy])
            official.check_frame(client, json.loads(finding.frames[0]), "tools/call")


# ---------------------------------------------------------------------- verdicts


def test_a_reply_without_a_loss_is_forwarded_with_its_silent_rules() -> None:
    finding = found({"resultType": "complete", "tools": [], "ttlMs": 5, "cacheScope": "private"})
    assert finding.verdict is Verdict.FORWARDED
    assert rules(finding) == [("S4-04", "L", "resultType"), ("S4-05", "L", "ttlMs"), ("S4-05", "L", "cacheScope")]
    assert finding.frames == (b'{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}',)


def test_a_reply_between_equal_revisions_is_untouched() -> None:
    for each in ORDER:
        given = {"resultType": "complete", "content": [AUDIO], "structuredContent": [1]}
        finding = found(given, each.name, each.name)
        assert (finding.verdict, finding.rules) == (Verdict.FORWARDED, ())
        assert json.loads(finding.frames[0])["result"] == given


def test_a_lift_adds_what_a_newer_client_expects() -> None:
    finding = found(
        {"tools": [{"name": "n", "inputSchema": {"type": "object"}, "execution": {}}]}, "2025-11-25", "2026-07-28"
    )
    assert finding.verdict is Verdict.FORWARDED
    assert rules(finding) == [
        ("S4-04", "L", "resultType"),
        ("S4-05", "B", "ttlMs"),
        ("S4-05", "B", "cacheScope"),
    ]
    official.check_frame("2026-07-28", json.loads(finding.frames[0]), "tools/list")


@proves("CHECK-01")
def test_a_loss_is_a_refusal_until_it_is_allowed() -> None:
    given = RESULTS["array"]
    refused, allowed = found(given), found(given, allow_downgrade=True)
    assert (refused.verdict, refused.would_help) == (Verdict.REFUSED, ("allow_downgrade",))
    assert refused.refusal is not None
    assert (refused.refusal.row, refused.refusal.why.name, refused.refusal.place) == (
        "S4-19",
        "POLICY",
        "structuredContent",
    )
    assert allowed.verdict is Verdict.DOWNGRADED
    assert ("S4-19", "F", "structuredContent") in rules(allowed)


@proves("LOSSY-08")
def test_a_loss_without_a_fallback_stays_refused() -> None:
    given = RESULTS["audio"]
    assert found(given, target="2024-11-05", allow_downgrade=True).verdict is Verdict.REFUSED
    assert found(given, target="2024-11-05").would_help == ("allow_reencode",)
    assert found(given, target="2024-11-05", allow_reencode=True).verdict is Verdict.DOWNGRADED


def asking(params: dict[str, Any], method: str = "elicitation/create") -> dict[str, Any]:
    requests = {"who": {"method": method, "params": params}}
    return {"resultType": "input_required", "inputRequests": requests, "requestState": "s"}


@proves("LOSSY-03")
@pytest.mark.parametrize(
    ("client", "verdict"),
    [
        ("2024-11-05", Verdict.REFUSED),
        ("2025-03-26", Verdict.REFUSED),
        ("2025-06-18", Verdict.ASKED),
        ("2025-11-25", Verdict.ASKED),
        ("2026-07-28", Verdict.FORWARDED),
    ],
)
def test_a_question_is_asked_where_the_revision_has_it(client: str, verdict: Verdict) -> None:
    """LOSSY-03: no policy changes a refusal."""
    finding = found(asking(FORM), target=client)
    assert finding.verdict is verdict
    frame = json.loads(finding.frames[0])
    if verdict is Verdict.ASKED:
        official.check_frame(client, frame)
    if verdict is Verdict.REFUSED:
        assert frame["error"]["code"] == -32601
        assert not finding.would_help


def test_a_page_that_nobody_should_see_is_declined_for_the_user() -> None:
    finding = found(asking({**PAGE, "url": "javascript:alert(1)"}))
    assert finding.verdict is Verdict.REPEATED
    assert "not safe to show" in finding.remarks[0]


def test_a_page_that_an_older_server_wants_visited_first_is_asked_of_a_modern_client() -> None:
    page = {"mode": "url", "message": "?", "url": "https://example.com/", "elicitationId": "e"}
    error = {"code": -32042, "message": "m", "data": {"elicitations": [page]}}
    reply = read_reply(json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode())
    finding = examine(reply, ORDER[3], LATEST, NEUTRAL)
    assert (finding.verdict, finding.rules[-1].row) == (Verdict.ASKED, "S4-15")
    (frame,) = finding.frames
    result = json.loads(frame)["result"]
    official.check("2026-07-28", "InputRequiredResult", result)
    (question,) = result["inputRequests"].values()
    assert question["params"]["url"] == "https://example.com/"


def test_a_state_alone_sends_the_request_again() -> None:
    finding = found({"resultType": "input_required", "requestState": "s"})
    assert (finding.verdict, finding.frames) == (Verdict.REPEATED, ())


def test_a_list_may_not_ask() -> None:
    finding = found({**asking(FORM), "tools": []}, method="tools/list")
    assert finding.verdict is Verdict.REFUSED
    assert finding.fault is not None
    assert (finding.fault.cause.value, finding.refusal) == ("invalid_response", None)


def test_repairs_of_a_profile_are_told() -> None:
    tools = [{"name": "n", "inputSchema": {"type": "object", "properties": {"a": {"type": "array"}}}}]
    vscode = named("vscode")
    assert vscode is not None
    reply = read_reply(json.dumps({"tools": tools}).encode())
    (remark,) = examine(reply, LATEST, ORDER[3], vscode).remarks
    assert "wrote items" in remark
    assert not examine(reply, LATEST, ORDER[3], NEUTRAL).remarks


def test_icons_of_a_remote_server_do_not_pass() -> None:
    reply = read_reply(b'{"tools":[{"name":"n","icons":[{"src":"https://a.example/i.png"}]}]}')
    local, remote = (examine(reply, LATEST, ORDER[3], NEUTRAL, is_remote) for is_remote in (False, True))
    assert b"icons" in local.frames[0]
    assert b"icons" not in remote.frames[0]


@pytest.mark.parametrize(
    ("source", "target", "method", "given", "code", "row"),
    [
        ("2025-11-25", "2026-07-28", "resources/read", -32002, -32602, "S4-16"),
        ("2026-07-28", "2025-11-25", "resources/read", -32602, -32002, "S4-16"),
        ("2025-11-25", "2025-06-18", None, -32042, -32603, "S3-03"),
        ("2025-06-18", "2026-07-28", None, -32050, -32050, None),
        ("2026-07-28", "2024-11-05", None, -32021, -32600, "S4-27"),
        ("2026-07-28", "2024-11-05", None, 7, 7, None),
    ],
)
def test_an_error_is_an_answer_under_a_code_that_the_client_knows(
    source: str, target: str, method: str | None, given: int, code: int, row: str | None
) -> None:
    error = {"code": given, "message": "m", "data": {"uri": "a:b"}}
    reply = read_reply(json.dumps({"jsonrpc": "2.0", "id": "x", "error": error}).encode(), method)
    profile = replace(NEUTRAL, quirks=Quirks(restore_resource_not_found=True))
    finding = examine(reply, revision(source), revision(target), profile)
    frame = json.loads(finding.frames[0])
    assert finding.verdict is Verdict.FORWARDED
    assert (frame["id"], frame["error"]["code"], frame["error"]["message"]) == ("x", code, "m")
    assert [rule.row for rule in finding.rules] == ([row] if row else [])


@pytest.mark.parametrize("each", ORDER, ids=repr)
def test_the_client_of_a_check_can_be_asked_all_that_its_revision_has(each: Revision) -> None:
    kind = {name: json.loads(bytes(value)) for name, value in capable(each).items()}
    official.check(each.name, "ClientCapabilities", kind)


# ---------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("text", "method", "told_by"),
    [
        ('{"tools":[]}', "tools/list", "tools"),
        ('{"resources":[]}', "resources/list", "resources"),
        ('{"resourceTemplates":[]}', "resources/templates/list", "resourceTemplates"),
        ('{"prompts":[]}', "prompts/list", "prompts"),
        ('{"contents":[]}', "resources/read", "contents"),
        ('{"messages":[]}', "prompts/get", "messages"),
        ('{"completion":{}}', "completion/complete", "completion"),
        ('{"_meta":{},"content":[]}', "tools/call", "content"),
        ('{"structuredContent":1}', "tools/call", "structuredContent"),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}', "tools/call", "error"),
        ('\ufeff\n{"jsonrpc":"2.0",\r\n"id":1,"result":{\n"tools":[]}}\n', "tools/list", "tools"),
    ],
)
def test_the_method_is_told_by_the_reply(text: str, method: str, told_by: str) -> None:
    reply = read_reply(text.encode())
    assert (reply.method, reply.told_by) == (method, told_by)
    said = read_reply(text.encode(), "prompts/get")
    assert (said.method, said.told_by) == ("prompts/get", "")


def test_a_bare_result_stays_bare() -> None:
    reply = read_reply(b'{"content":[],"resultType":"complete","n":1.50}')
    assert examine(reply, LATEST, ORDER[0], NEUTRAL).frames == (b'{"content":[],"n":1.50}',)


def test_a_pretty_reply_is_what_its_line_would_be() -> None:
    reply = read_reply(b'{"jsonrpc":"2.0","id":1,\n  "result": {\n "content": [\n ]\n}\n}')
    (frame,) = examine(reply, LATEST, LATEST, NEUTRAL).frames
    assert b"\n" not in frame


UNREADABLE = [
    (b"", None, "not valid JSON"),
    (b"{", None, "not valid JSON"),
    (b"\xff{}", None, "not valid UTF-8"),
    (b"[]", None, "no JSON object"),
    (b"3", None, "no JSON-RPC message"),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', None, "a request"),
    (b'{"jsonrpc":"2.0","id":1}', None, "neither a result nor an error"),
    (b'{"jsonrpc":"2.0","id":1,"result":{}}', None, "say the method"),
    (b"{}", None, "say the method"),
    (b'{"tools":[]}', "ping", "these methods only"),
]


@pytest.mark.parametrize(("data", "method", "text"), UNREADABLE)
def test_what_is_no_reply_is_told_apart(data: bytes, method: str | None, text: str) -> None:
    with pytest.raises(Unreadable, match=text):
        read_reply(data, method)


# ---------------------------------------------------------------------- the command


def commanded(path: Path, given: Any, *words: str) -> int:
    file = path / "reply.json"
    file.write_bytes(given if isinstance(given, bytes) else json.dumps(given).encode())
    return run([*words[:1], *(("--check-result",) if words[0] == "bridge" else ()), str(file), *words[1:]], Early())


@proves("CHECK-04")
@pytest.mark.parametrize("command", ["check", "bridge"])
@pytest.mark.parametrize(
    ("given", "options", "code", "verdict"),
    [
        (RESULTS["text"], (), 0, "forwarded"),
        (RESULTS["array"], (), 3, "refused"),
        (RESULTS["array"], ("--allow-downgrade",), 0, "downgraded"),
        (RESULTS["array"], ("--to", "2024-11-05"), 0, "forwarded"),
        (RESULTS["array"], ("--profile", "vscode"), 0, "forwarded"),
        (RESULTS["audio"], ("--to=2024-11-05",), 3, "refused"),
        (RESULTS["audio"], ("--to=2024-11-05", "--allow-reencode"), 0, "downgraded"),
        ({"tools": []}, ("--from", "2025-06-18", "--to", "draft"), 0, "forwarded"),
        (asking(FORM), (), 0, "asked"),
    ],
)
def test_the_exit_code_is_the_verdict(
    command: str,
    given: Any,
    options: tuple[str, ...],
    code: int,
    verdict: str,
    tmp_path: Path,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """CHECK-04, for both forms; what the command says is the same."""
    assert commanded(tmp_path, given, command, "--json", *options) == code
    out, err = capsysbinary.readouterr()
    report = json.loads(out)
    assert (report["verdict"], err) == (verdict, b"")
    assert (report["refusal"] is not None) == (code == 3)
    assert commanded(tmp_path, given, command, *options) == code
    text = capsysbinary.readouterr().out.decode()
    assert all(f"{rule['row']:6} {rule['class']:3} {rule['place']}" in text for rule in report["rules"])
    assert [json.loads(line) for line in text.splitlines() if line.startswith("{")] == report["frames"]


@pytest.mark.parametrize("command", ["check", "bridge"])
@pytest.mark.parametrize(("data", "method", "text"), UNREADABLE)
def test_what_cannot_be_read_is_code_2(
    command: str,
    data: bytes,
    method: str | None,
    text: str,
    tmp_path: Path,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    options = () if method is None else ("--method", method)
    assert commanded(tmp_path, data, command, *options) == 2
    out, err = capsysbinary.readouterr()
    assert out == b""
    assert text in err.decode()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["check"], "FILE"),
        (["check", "/no/such/file"], "cannot be read: No such file"),
        (["check", "x", "y"], "one too many"),
        (["check", "x", "--from", "1999-01-01"], "--from must be one of"),
        (["check", "x", "--to"], "--to needs a value"),
        (["bridge", "--json", "--", "x"], "--json needs --check-result"),
        (["bridge", "--from", "draft", "--", "x"], "--from needs --check-result"),
        (["bridge", "--to=draft", "--", "x"], "--to needs --check-result"),
        (["bridge", "--method=x", "--", "x"], "--method needs --check-result"),
        (["bridge", "--check-result", "x", "--upstream", "a://b"], "cannot be read"),
    ],
)
def test_a_wrong_command_line_is_code_2(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words, Early()) == 2
    assert text in capsys.readouterr().err


def test_a_server_may_stand_in_the_line_and_a_url_counts_as_remote(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "reply.json"
    file.write_text('{"tools":[{"name":"n","icons":[{"src":"https://a.example/i.png"}]}]}')
    for behind, shown in ((["--", "no-such-command"], True), (["https://nowhere.invalid/mcp"], False)):
        assert run(["--check-result", str(file), *behind], Early()) == 0
        assert (b"icons" in capsysbinary.readouterr().out) is shown
