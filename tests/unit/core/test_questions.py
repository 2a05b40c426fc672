"""What may be asked of a client, and what counts as an answer."""

import json
from typing import Any

import pytest
from msgspec import Raw

from dragoman.core.questions import Round, judge, read_round
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Answer, Answered, Erred, Question, ServerError
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.revisions import LATEST, named
from dragoman.revisions.plan import Loss, Policy, lowering
from dragoman.wire.members import opened
from support.proofs import proves

EVERYTHING: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}

TEXT = {"type": "text", "text": "secret words"}
USE: dict[str, Any] = {"type": "tool_use", "id": "u1", "name": "look", "input": {}}
OTHER_USE: dict[str, Any] = {**USE, "id": "u2"}
RESULT: dict[str, Any] = {"type": "tool_result", "toolUseId": "u1", "content": []}
OTHER_RESULT: dict[str, Any] = {**RESULT, "toolUseId": "u2"}

Value = dict[str, Any]


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def caller(revision: str = "2025-11-25", capabilities: Value = EVERYTHING) -> Caller:
    found = named(revision)
    assert found is not None
    return Caller(found, opened(raw(capabilities)))


def form(properties: Value | None = None, **more: Any) -> Value:
    fields = {"name": {"type": "string"}} if properties is None else properties
    schema = {"type": "object", "properties": fields}
    return {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": schema, **more}}


def page(url: str = "https://example.com/x", **more: Any) -> Value:
    return {"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": url, **more}}


def sampling(*messages: Value, **more: Any) -> Value:
    asked = list(messages) or [said("user", TEXT)]
    return {"method": "sampling/createMessage", "params": {"messages": asked, "maxTokens": 5, **more}}


def said(role: str, content: Any) -> Value:
    return {"role": role, "content": content}


ROOTS: Value = {"method": "roots/list"}


def read(requests: Any, who: Caller | None = None, limits: Limits | None = None) -> tuple[Round | Fault, list[Loss]]:
    who = who or caller()
    report: list[Loss] = []
    given = requests if isinstance(requests, Raw) else raw(requests)
    return read_round(given, who, lowering(LATEST, who.revision), Policy(), limits or Limits(), report), report


def round_of(requests: Any, who: Caller | None = None) -> Round:
    outcome, _ = read(requests, who)
    assert isinstance(outcome, Round), outcome
    return outcome


def fault_of(requests: Any, who: Caller | None = None, limits: Limits | None = None) -> Fault:
    outcome, _ = read(requests, who, limits)
    assert isinstance(outcome, Fault), outcome
    return outcome


def shown(question: Question) -> Value:
    return {name: json.loads(bytes(value)) for name, value in question.params.items()}


def answer(
    requests: Any, answers: dict[str, Answer], who: Caller | None = None
) -> dict[str, Raw] | Fault | ServerError:
    who = who or caller()
    return judge(round_of(requests, who), answers, who, lowering(who.revision, LATEST), Policy(), [])


# ---------------------------------------------------------------------- the round as a whole


@proves("CHK-13")
@pytest.mark.parametrize("requests", ["[]", "null", '"x"', "7", "true"])
def test_input_requests_are_an_object(requests: str) -> None:
    fault = fault_of(Raw(requests.encode()))
    assert fault.cause is Cause.INVALID_INPUT_REQUEST
    assert fault.detail == "inputRequests is no object"


@proves("CHK-11", "ERR-42")
def test_sixteen_may_be_asked_and_seventeen_not() -> None:
    assert len(round_of({f"k{n}": ROOTS for n in range(16)}).questions) == 16
    fault = fault_of({f"k{n}": ROOTS for n in range(17)})
    assert fault.cause is Cause.TOO_MANY_INPUT_REQUESTS
    assert fault.detail == "17 input requests in one round, limit: 16"
    assert fault_of({"a": ROOTS, "b": ROOTS}, limits=Limits(questions=1)).detail is not None


@proves("CHK-01", "ROUND-02")
def test_one_failed_check_leaves_no_question_whatever_its_place() -> None:
    for requests in ({"a": ROOTS, "bad": {}}, {"bad": {}, "a": ROOTS}):
        fault = fault_of(requests)
        assert fault.cause is Cause.INVALID_INPUT_REQUEST
        assert "'bad'" in str(fault.detail)


@proves("QUES-01")
def test_the_questions_keep_order_keys_and_params_without_task() -> None:
    asked = {
        "z": form(mode="form", task={"ttl": 1}, note="kept"),
        "a": page(task={}),
        "m": sampling(includeContext="allServers", temperature=0.5, task={}),
        "": {**ROOTS, "params": {"_meta": {"a": 1}, "task": {}}},
    }
    round_ = round_of(asked)
    assert [(q.key, q.method, q.url, q.empty_form) for q in round_.questions] == [
        ("z", "elicitation/create", None, False),
        ("a", "elicitation/create", "https://example.com/x", False),
        ("m", "sampling/createMessage", None, False),
        ("", "roots/list", None, False),
    ]
    for question in round_.questions:
        expected: Value = {name: value for name, value in asked[question.key]["params"].items() if name != "task"}
        assert shown(question) == expected


def test_params_keep_their_spelling() -> None:
    schema = b'{ "type":"object", "properties":{"n":{"type":"number","minimum":1.50}}}'
    params = b'{"message":"\\u0041","requestedSchema":' + schema + b"}"
    round_ = round_of(Raw(b'{"k":{"method":"elicitation/create","params":' + params + b"}}"))
    assert bytes(round_.questions[0].params["requestedSchema"]) == schema
    assert bytes(round_.questions[0].params["message"]) == b'"\\u0041"'


@proves("QUES-03")
def test_a_form_without_a_field_is_marked() -> None:
    assert round_of({"k": form({})}).questions[0].empty_form
    assert not round_of({"k": form()}).questions[0].empty_form


# ---------------------------------------------------------------------- one input request

SHAPELESS: dict[str, Any] = {
    "no object": 7,
    "null": None,
    "no method": {"params": {}},
    "another method": {"method": "tools/list", "params": {}},
    "a method that is no text": {"method": ["roots/list"]},
    "a form without params": {"method": "elicitation/create"},
    "a form with null params": {"method": "elicitation/create", "params": None},
    "a form without a schema": {"method": "elicitation/create", "params": {"message": "m"}},
    "a nested form": form({"a": {"type": "object", "properties": {}}}),
    "an unknown mode": form(mode="voice"),
    "a URL that is no text": page(url=7),  # pyright: ignore[reportArgumentType]
    "a URL without a message": {"method": "elicitation/create", "params": {"mode": "url", "url": "https://a.b"}},
    "sampling without maxTokens": {"method": "sampling/createMessage", "params": {"messages": []}},
    "sampling with a strange block": sampling(said("user", {"type": "video"})),
    "roots with an array for params": {**ROOTS, "params": []},
}


@proves("CHK-02", "CHK-03")
@pytest.mark.parametrize("request_", SHAPELESS.values(), ids=list(SHAPELESS))
def test_the_shape_comes_first(request_: Any) -> None:
    fault = fault_of({"the key": request_}, caller(capabilities={}))
    assert fault.cause is Cause.INVALID_INPUT_REQUEST
    assert str(fault.detail).startswith("input request 'the key': ")


@proves("CHK-02", "CHK-04", "CHK-06", "CHK-07", "CHK-08", "CHK-10", "CHK-15", "CHK-16")
@pytest.mark.parametrize(
    ("capabilities", "request_", "missing"),
    [
        ({}, form(), "elicitation.form"),
        ({"elicitation": {"url": {}}}, form(), "elicitation.form"),
        ({"elicitation": {"url": {}}}, form({}), "elicitation.form"),
        ({"elicitation": {}}, form(), None),
        ({"elicitation": {"form": {}}}, form(), None),
        ({"elicitation": True}, form(), "elicitation.form"),
        ({}, page(), "elicitation.url"),
        ({"elicitation": {}}, page(), "elicitation.url"),
        ({"elicitation": {"form": {}}}, page(), "elicitation.url"),
        ({"elicitation": {"form": {}}}, page("http://evil.example"), "elicitation.url"),
        ({"elicitation": {"url": {}}}, page(), None),
        ({"roots": {}}, sampling(), "sampling"),
        ({"sampling": {}}, sampling(), None),
        ({"sampling": {}}, sampling(includeContext="thisServer"), None),
        ({"sampling": {}}, sampling(tools=[]), "sampling.tools"),
        ({"sampling": {}}, sampling(toolChoice={"mode": "auto"}), "sampling.tools"),
        ({"sampling": {}}, sampling(said("assistant", USE), said("user", RESULT)), "sampling.tools"),
        ({"sampling": {}}, sampling(said("user", [TEXT]), said("assistant", [TEXT, USE])), "sampling.tools"),
        ({"sampling": {"tools": {}}}, sampling(said("assistant", USE), said("user", RESULT), tools=[]), None),
        ({"sampling": {}}, ROOTS, "roots"),
        ({"roots": {}}, ROOTS, None),
    ],
)
def test_only_what_the_client_declared_is_asked(capabilities: Value, request_: Value, missing: str | None) -> None:
    outcome, _ = read({"k": request_}, caller(capabilities=capabilities))
    if missing is None:
        assert isinstance(outcome, Round)
    else:
        assert outcome == Fault(
            Cause.UNDECLARED_INPUT_REQUEST, f"input request 'k': the client did not declare {missing}"
        )


MULTI = {"a": {"type": "array", "items": {"type": "string", "enum": ["x"]}}}
AUDIO = {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}


@pytest.mark.parametrize(
    ("request_", "revisions"),
    [
        (ROOTS, "2024-11-05 2025-03-26 2025-06-18 2025-11-25"),
        (sampling(), "2024-11-05 2025-03-26 2025-06-18 2025-11-25"),
        (sampling(said("user", [TEXT])), "2024-11-05 2025-03-26 2025-06-18 2025-11-25"),
        (sampling(said("user", AUDIO)), "2025-03-26 2025-06-18 2025-11-25"),
        (sampling(said("user", [TEXT, TEXT])), "2025-11-25"),
        (sampling(tools=[]), "2025-11-25"),
        (sampling(toolChoice={}), "2025-11-25"),
        (sampling(said("assistant", USE), said("user", RESULT)), "2025-11-25"),
        (form(), "2025-06-18 2025-11-25"),
        (form(mode="form"), "2025-06-18 2025-11-25"),
        (form(MULTI), "2025-11-25"),
        (page(), "2025-11-25"),
        (page("http://evil.example"), "2025-11-25"),
    ],
)
def test_the_revision_of_the_client_decides_before_its_capabilities(request_: Value, revisions: str) -> None:
    for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        expressible = revision in revisions.split()
        undeclared = fault_of({"k": request_}, caller(revision, {}))
        assert undeclared.cause is (
            Cause.UNDECLARED_INPUT_REQUEST if expressible else Cause.INEXPRESSIBLE_INPUT_REQUEST
        )
        if expressible:
            assert isinstance(read({"k": request_}, caller(revision))[0], Round)
        else:
            error = json.loads(bytes(undeclared.error()))
            assert error["code"] == -32601
            assert error["data"]["rule"][0] == "S"
            assert (error["data"]["from"], error["data"]["to"]) == ("2026-07-28", revision)
            assert error["data"]["detail"].startswith("input request 'k': ")


def test_an_older_client_sees_its_own_spelling() -> None:
    choices = {"a": {"type": "string", "oneOf": [{"const": "x", "title": "The X"}]}}
    round_ = round_of({"k": form(choices, mode="form")}, caller("2025-06-18", {"elicitation": {}}))
    assert shown(round_.questions[0])["requestedSchema"]["properties"] == {
        "a": {"type": "string", "enum": ["x"], "enumNames": ["The X"]}
    }
    assert "mode" not in round_.questions[0].params


def test_what_changed_on_the_way_is_reported() -> None:
    choices = {"a": {"type": "string", "oneOf": [{"const": "x", "title": "The X"}]}}
    _, report = read({"k": form(choices)}, caller("2025-06-18"))
    assert "S3-06" in [loss.row for loss in report]


@proves("CHK-05")
@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"type": "string", "pattern": "("}},
        {"a": {"type": "string", "minLength": -1}},
        {"a": {"$ref": "x", "type": "string"}},
    ],
)
def test_a_form_compiles(properties: Value) -> None:
    assert fault_of({"k": form(properties)}) == Fault(
        Cause.INVALID_INPUT_REQUEST, "input request 'k': its requestedSchema does not compile"
    )


@proves("CHK-09")
@pytest.mark.parametrize(
    ("messages", "wrong"),
    [
        ([said("assistant", USE), said("user", RESULT)], None),
        ([said("assistant", [TEXT, USE, OTHER_USE]), said("user", [OTHER_RESULT, RESULT]), said("user", TEXT)], None),
        ([said("assistant", USE), said("user", RESULT), said("assistant", USE), said("user", [RESULT])], None),
        ([said("user", RESULT)], "message 1 has a tool result without"),
        ([said("assistant", USE), said("user", [RESULT, OTHER_RESULT])], "message 2 has a tool result without"),
        ([said("assistant", USE), said("user", RESULT), said("user", RESULT)], "message 3 has a tool result without"),
        ([said("assistant", USE), said("user", [RESULT, TEXT])], "message 2 mixes"),
        ([said("assistant", USE), said("assistant", RESULT)], "message 2 mixes"),
        ([said("assistant", USE), said("user", TEXT)], "message 2 does not bring"),
        ([said("assistant", [USE, OTHER_USE]), said("user", RESULT)], "message 2 does not bring"),
        ([said("assistant", USE)], "the last message uses a tool"),
        ([said("user", USE), said("user", RESULT)], "message 1 uses a tool"),
    ],
)
def test_sampling_messages_keep_the_order_of_tools(messages: list[Value], wrong: str | None) -> None:
    outcome, _ = read({"k": sampling(*messages)})
    if wrong is None:
        assert isinstance(outcome, Round)
    else:
        assert isinstance(outcome, Fault)
        assert outcome.cause is Cause.INVALID_INPUT_REQUEST
        assert str(outcome.detail).startswith(f"input request 'k': {wrong}")


@proves("URLR-05")
def test_a_refused_url_is_declined_and_the_rest_is_asked() -> None:
    url = "http://evil.example/secret"
    round_ = round_of({"a": page(url), "b": form(), "c": page()})
    assert [question.key for question in round_.questions] == ["b", "c"]
    assert {key: bytes(value) for key, value in round_.ready.items()} == {"a": b'{"action":"decline"}'}
    assert len(round_.notes) == 1
    assert "'a'" in round_.notes[0]
    assert "secret" not in round_.notes[0]


def test_a_detail_holds_no_content_and_not_all_of_a_long_key() -> None:
    fault = fault_of({"k" * 1000: sampling(said("system", TEXT))})
    assert "secret" not in str(fault.detail)
    assert len(str(fault.detail)) < 400


# ---------------------------------------------------------------------- answers

ACCEPT = {"action": "accept", "content": {"name": "Zoë"}}
HALVES = {"action": "accept", "content": {"n": 1.5}}
SEVERAL = {"action": "accept", "content": {"a": ["x"]}}
ERROR = raw({"code": -32000, "message": "no", "data": {"a": [1.0]}})


@proves("ANS-01", "ANS-02", "ANS-03", "ANS-08")
@pytest.mark.parametrize(
    ("request_", "result", "expected"),
    [
        (form(), ACCEPT, ACCEPT),
        (form(), {"action": "accept"}, {"action": "accept", "content": {}}),
        (form(), {"action": "decline", "content": {"name": 1}}, {"action": "decline"}),
        (form(), {"action": "cancel", "content": {}}, {"action": "cancel"}),
        (form(), {**ACCEPT, "_meta": {}}, ACCEPT),
        (form(), {**ACCEPT, "_meta": {"a": 1}, "extra": 1}, {**ACCEPT, "_meta": {"a": 1}, "extra": 1}),
        (form({"n": {"type": "number"}}), HALVES, HALVES),
        (form(MULTI), SEVERAL, SEVERAL),
        (form({}), {"action": "accept", "content": {"continue": "Continue"}}, {"action": "accept", "content": {}}),
        (form({}), {"action": "accept"}, {"action": "accept", "content": {}}),
        (form({}), {"action": "decline"}, {"action": "decline"}),
        (page(), {"action": "accept"}, {"action": "accept"}),
        (page(), {"action": "accept", "content": {"continue": "Continue"}}, {"action": "accept"}),
        (page(), {"action": "cancel", "content": {}}, {"action": "cancel"}),
        (ROOTS, {"roots": []}, {"roots": []}),
        (
            ROOTS,
            {"roots": [{"uri": uri} for uri in ("file:///a", "https://b", "FILE:///c", " file:///d", "file:/e")]},
            {"roots": [{"uri": "file:///a"}]},
        ),
    ],
)  # fmt: skip
def test_an_answer_of_the_client(request_: Value, result: Value, expected: Value) -> None:
    judged = answer({"k": request_}, {"k": Answered(raw(result))})
    assert isinstance(judged, dict)
    assert json.loads(bytes(judged["k"])) == expected


@proves("ANS-05")
def test_an_accepted_form_and_a_sampling_result_keep_their_spelling() -> None:
    content = b'{"role":"assistant","model":"\\u006d","content":[{ "type":"text", "text":"x" }],"n":1.00}'
    judged = answer(
        {"s": sampling(), "f": form({"n": {"type": "number"}})},
        {"s": Answered(Raw(content)), "f": Answered(Raw(b'{"action":"accept","content":{ "n": 1.50 }}'))},
    )
    assert isinstance(judged, dict)
    assert bytes(judged["s"]) == content
    assert bytes(judged["f"]) == b'{"action":"accept","content":{ "n": 1.50 }}'


@proves("ANS-05", "ANS-09")
@pytest.mark.parametrize(
    ("request_", "result", "condition"),
    [
        (form(), {"action": "accept", "content": {"name": 5}}, "requestedSchema"),
        (form({"a": {"type": "boolean"}}), {"action": "accept", "content": {"a": "true"}}, "requestedSchema"),
        (form(), {"action": "ok"}, "/action"),
        (form(), {}, "required"),
        (form(), [], "type"),
        (form(), {"action": "accept", "content": []}, "/content"),
        (form(), {"action": "decline", "content": {"a": None}}, "/content/a"),
        (form({}), {"action": "fine"}, "/action"),
        (page(), {"action": 1}, "/action"),
        (sampling(), {"role": "assistant", "content": TEXT}, "required"),
        (sampling(), {"role": "assistant", "model": "m", "content": {"type": "poem"}}, "/content"),
        (sampling(), None, "type"),
        (ROOTS, {}, "required"),
        (ROOTS, {"roots": [{"uri": "file:///a"}, {"name": "b"}]}, "/roots/1"),
    ],
)
def test_a_result_without_the_right_shape_fails_the_call(request_: Value, result: Any, condition: str) -> None:
    judged = answer({"fine": form(), "k": request_}, {"fine": Answered(raw(ACCEPT)), "k": Answered(raw(result))})
    assert isinstance(judged, Fault)
    assert judged.cause is Cause.INVALID_CLIENT_ANSWER
    assert str(judged.detail).startswith("input request 'k': ")
    assert condition in str(judged.detail)
    assert "secret" not in str(judged.detail)


@proves("ANS-02")
def test_missing_content_is_an_empty_form_and_must_fit_too() -> None:
    request_ = form()
    request_["params"]["requestedSchema"]["required"] = ["name"]
    judged = answer({"k": request_}, {"k": Answered(raw({"action": "accept"}))})
    assert isinstance(judged, Fault)
    assert judged.cause is Cause.INVALID_CLIENT_ANSWER


@proves("ANS-04")
@pytest.mark.parametrize("error", [ERROR, None], ids=["an error", "an invalid line"])
@pytest.mark.parametrize("request_", [form(), form({}), page()], ids=["form", "empty form", "url"])
def test_no_result_for_an_elicitation_is_its_cancellation(request_: Value, error: Raw | None) -> None:
    judged = answer({"k": request_}, {"k": Erred(error)})
    assert isinstance(judged, dict)
    assert bytes(judged["k"]) == b'{"action":"cancel"}'


@proves("ANS-06")
@pytest.mark.parametrize("request_", [sampling(), ROOTS], ids=["sampling", "roots"])
def test_an_error_for_sampling_or_roots_is_the_error_of_the_call(request_: Value) -> None:
    judged = answer({"open": sampling(), "k": request_, "form": form()}, {"k": Erred(ERROR)})
    assert judged == ServerError(-32000, ERROR)


@proves("ANS-07")
@pytest.mark.parametrize("request_", [sampling(), ROOTS], ids=["sampling", "roots"])
@pytest.mark.parametrize(
    "given",
    [
        Erred(None),
        *(Erred(Raw(error)) for error in (b"{}", b'{"code":"1","message":"m"}', b'{"code":1}', b"[]", b"null")),
    ],
)
def test_no_answer_to_sampling_or_roots_fails_the_call(request_: Value, given: Erred) -> None:
    judged = answer({"k": request_}, {"k": given})
    assert isinstance(judged, Fault)
    assert judged.cause is Cause.INVALID_CLIENT_ANSWER
    assert "'k'" in str(judged.detail)


@proves("ROUND-06")
def test_there_is_one_answer_for_each_input_request_in_their_order() -> None:
    requests = {"d": page("file:///x"), "c": form(), "b": page("http://x"), "a": page()}
    judged = answer(requests, {"a": Answered(raw({"action": "decline"})), "c": Answered(raw(ACCEPT))})
    assert isinstance(judged, dict)
    assert list(judged) == ["d", "c", "b", "a"]
    assert [json.loads(bytes(value))["action"] for value in judged.values()] == [
        "decline", "accept", "decline", "decline"
    ]  # fmt: skip


def test_an_older_client_s_answer_is_judged_by_the_form_that_the_server_sent() -> None:
    choices = {"a": {"type": "string", "oneOf": [{"const": "x", "title": "The X"}]}}
    who = caller("2025-06-18", {"elicitation": {}})
    for value, right in (("x", True), ("z", True), (["x"], False)):
        judged = answer({"k": form(choices)}, {"k": Answered(raw({"action": "accept", "content": {"a": value}}))}, who)
        assert isinstance(judged, dict) is right


def test_an_old_client_s_sampling_result_goes_up_as_it_is() -> None:
    result = {"role": "assistant", "model": "m", "content": TEXT}
    judged = answer({"k": sampling()}, {"k": Answered(raw(result))}, caller("2024-11-05"))
    assert isinstance(judged, dict)
    assert json.loads(bytes(judged["k"])) == result
