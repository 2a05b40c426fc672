"""A modern client before a server with a handshake: what is asked of it comes as a result, and it comes back."""

import json
from itertools import count
from typing import Any

import pytest

from dragoman.backs.legacy import Legacy
from dragoman.core.mediator import Mediator
from dragoman.exchange.events import Call
from dragoman.exchange.outlet import Pipe
from dragoman.fronts.handshake import Identity
from dragoman.fronts.sealing import Seal
from dragoman.fronts.stateful import Stateful
from dragoman.limits import Limits
from dragoman.profile import named
from dragoman.wire.members import Members
from support import official
from support.dialogue import Kept
from support.proofs import proves

MODERN, SERVER = "2026-07-28", "2025-06-18"
FORM = {"message": "Name?", "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}}}
ALL: dict[str, Any] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}


class Scene:
    """A client and a server, played by hand."""

    def __init__(self, declared: dict[str, Any] | None = None) -> None:
        profile = named("neutral")
        assert profile is not None
        self.limits, self.now = Limits(), 1000.0
        self.declared = ALL if declared is None else declared
        self.mediator = Mediator(profile, self.limits, Kept())
        self.out = Pipe()
        made = count(1)
        seal = Seal(bytes(32), 600.0, lambda size: next(made).to_bytes(size), lambda: self.now)
        self.front = Stateful(self.mediator, self.limits, Kept(), self.out, 9, seal, Identity("fallback"))
        self.mediator.front = self.mediator.timed = self.front
        self.mediator.back = self.back = Legacy(self.mediator, self.limits, Kept())
        self.asked: dict[Any, str] = {}

    def client(self, id: Any, method: str, **params: Any) -> None:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": self.declared,
        }
        self.asked[id] = method
        frame = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta, **params}}
        self.front.receive([json.dumps(frame).encode()], self.now)

    def server(self, **frame: Any) -> None:
        self.back.receive(json.dumps({"jsonrpc": "2.0", **frame}).encode(), self.now)

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while (wake := self.mediator.wake()) <= end:
            self.now = max(self.now, wake)
            self.mediator.tick(self.now)
        self.now = end

    def to_server(self) -> list[Any]:
        frames = [json.loads(frame) for frame in self.back.out]
        self.back.out.clear()
        for frame in frames:
            if "method" in frame:
                official.check_frame("2025-11-25", frame)
        return frames

    def to_client(self) -> list[Any]:
        frames = [json.loads(frame) for frame in self.out]
        self.out.clear()
        for frame in frames:
            if frame.get("result", {}).get("resultType") == "input_required":
                official.check(MODERN, "InputRequiredResult", frame["result"])
            else:
                official.check_frame(MODERN, frame, self.asked.get(frame.get("id")))
        return frames

    def open(self) -> "Scene":
        self.client("d", "server/discover")
        (hello,) = self.to_server()
        declared = {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "logging": {}}
        info = {"name": "old", "version": "3"}
        self.server(id=hello["id"], result={"protocolVersion": SERVER, "capabilities": declared, "serverInfo": info})
        self.discovered = self.to_client()[0]["result"]
        self.client("r", "no/such")  # from now on it is a modern client for sure
        self.to_client()
        self.to_server()
        return self

    def calls(self, id: Any = 1) -> Any:
        """A call of the client; gives the server's id for it."""
        self.client(id, "tools/call", name="t", arguments={})
        (sent,) = self.to_server()
        return sent

    def parks(self, id: Any = 1) -> tuple[Any, dict[str, Any]]:
        """A call in which the server asks; gives the server's id for it and what the client was told."""
        sent = self.calls(id)
        self.server(id="q", method="elicitation/create", params=FORM)
        self.wait(self.limits.gather)
        (told,) = self.to_client()
        return sent["id"], told["result"]


def retry(scene: Scene, id: Any, told: dict[str, Any], **answers: Any) -> None:
    scene.client(id, "tools/call", name="t", arguments={}, inputResponses=answers, requestState=told["requestState"])


ANSWER = {"action": "accept", "content": {"n": "x"}}
FINE = {"content": [{"type": "text", "text": "fine"}]}


def test_the_server_is_shown_as_a_modern_one() -> None:
    result = Scene().open().discovered
    assert result["supportedVersions"] == [MODERN]
    assert result["capabilities"]["tools"] == {"listChanged": True}
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"] == {"name": "old", "version": "3"}
    assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 0, "private")


@proves("REV-03")
def test_a_call_gets_a_result_of_its_revision_and_nothing_of_it_reaches_the_server() -> None:
    scene = Scene().open()
    sent = scene.calls()
    assert sent["params"] == {"name": "t", "arguments": {}}
    scene.server(id=sent["id"], result=FINE)
    (told,) = scene.to_client()
    assert told["result"]["resultType"] == "complete"


@proves("B92", "SDKMRTR-02")
def test_a_question_parks_its_call_and_the_retry_brings_the_answer() -> None:
    scene = Scene().open()
    sent, told = scene.parks()
    assert told["resultType"] == "input_required"
    (name,) = told["inputRequests"]
    assert told["inputRequests"][name]["method"] == "elicitation/create"
    assert not scene.to_server()
    retry(scene, 2, told, **{name: ANSWER, "unknown": {}})
    (answer,) = scene.to_server()
    assert (answer["id"], answer["result"]["action"]) == ("q", "accept")
    scene.server(id=sent, result=FINE)
    (done,) = scene.to_client()
    assert (done["id"], done["result"]["resultType"]) == (2, "complete")


def test_questions_asked_at_the_same_time_come_in_one_round_and_what_is_missing_is_asked_again() -> None:
    scene = Scene().open()
    scene.calls()
    scene.server(id="q", method="elicitation/create", params=FORM)
    scene.server(id="r", method="roots/list")
    scene.wait(scene.limits.gather)
    (told,) = scene.to_client()
    one, other = told["result"]["inputRequests"]
    retry(scene, 2, told["result"], **{one: ANSWER})
    assert [frame["id"] for frame in scene.to_server()] == ["q"]
    scene.wait(scene.limits.gather)
    (again,) = scene.to_client()
    assert list(again["result"]["inputRequests"]) == [other]
    assert again["id"] == 2


def test_a_state_is_good_once_and_for_its_own_request() -> None:
    scene = Scene().open()
    _, told = scene.parks()
    (name,) = told["inputRequests"]
    retry(scene, 2, {"requestState": told["requestState"][:-2] + "AA"}, **{name: ANSWER})
    retry(scene, 3, told, **{name: ANSWER})
    retry(scene, 4, told, **{name: ANSWER})
    scene.client(5, "tools/call", name="t", arguments={}, inputResponses={})
    assert [(frame["id"], frame["error"]["code"]) for frame in scene.to_client()] == [
        (2, -32602),
        (4, -32602),
        (5, -32602),
    ]


def test_an_outcome_that_comes_while_the_client_is_away_is_kept_for_it() -> None:
    scene = Scene().open()
    sent, told = scene.parks()
    scene.server(id=sent, result=FINE)
    assert not scene.to_client()
    retry(scene, 2, told)
    (done,) = scene.to_client()
    assert (done["id"], done["result"]["content"]) == (2, FINE["content"])


def test_a_client_that_never_comes_back_ends_its_call_at_the_server() -> None:
    scene = Scene().open()
    sent, told = scene.parks()
    scene.wait(scene.limits.state_life)
    answer, cancelled = scene.to_server()
    assert (answer["id"], answer["result"]["action"]) == ("q", "cancel")
    assert cancelled["params"]["requestId"] == sent
    retry(scene, 2, told)
    assert scene.to_client()[0]["error"]["code"] == -32602


@proves("SDKMRTR-06")
def test_what_the_request_did_not_declare_is_never_asked_and_named_when_the_call_fails_of_it() -> None:
    scene = Scene({}).open()
    sent = scene.calls()
    scene.server(id="q", method="elicitation/create", params=FORM)
    (refusal,) = scene.to_server()
    assert refusal["error"]["code"] in (-32601, -32602)
    scene.server(id=sent["id"], error={"code": -32600, "message": "no", "data": {"required": {"elicitation": {}}}})
    (failed,) = scene.to_client()
    assert failed["error"]["code"] == -32021
    assert failed["error"]["data"]["requiredCapabilities"] == {"elicitation": {"form": {}}}


def test_roots_before_any_call_wait_for_one_and_then_there_are_none() -> None:
    scene = Scene().open()
    scene.server(id="r", method="roots/list")
    assert not scene.to_server()
    scene.wait(scene.limits.roots_wait)
    (answer,) = scene.to_server()
    assert answer == {"jsonrpc": "2.0", "id": "r", "result": {"roots": []}}


@proves("SDKSUB-02", "SDKSUB-03", "SDKSUB-04")
def test_a_stream_is_acknowledged_hears_what_it_wants_and_ends_with_its_call() -> None:
    scene = Scene().open()
    wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["a:b"]}
    scene.client("l", "subscriptions/listen", notifications=wanted)
    (subscribe,) = scene.to_server()
    assert (subscribe["method"], subscribe["params"]["uri"]) == ("resources/subscribe", "a:b")
    assert not scene.to_client()
    scene.server(id=subscribe["id"], result={})
    (acknowledged,) = scene.to_client()
    assert acknowledged["params"]["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": ["a:b"]}
    scene.server(method="notifications/tools/list_changed")
    scene.server(method="notifications/prompts/list_changed")
    scene.server(method="notifications/resources/updated", params={"uri": "a:b"})
    heard = scene.to_client()
    assert [frame["method"].rpartition("/")[0] for frame in heard] == ["notifications/tools", "notifications/resources"]
    assert all(frame["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "l" for frame in heard)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "l"}}
    scene.front.receive([json.dumps(cancel).encode()], scene.now)
    assert [frame["method"] for frame in scene.to_server()] == ["resources/unsubscribe"]
    scene.server(method="notifications/tools/list_changed")
    assert not scene.to_client()


def test_a_fault_of_ours_costs_one_parked_call_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is due at the same moment is done all the same (B1)."""
    scene = Scene().open()
    sealed: list[Call] = []
    seal = Seal.seal

    def breaks_once(self: Seal, handle: str, round_: int, call: Call, params: Members) -> str:
        sealed.append(call)
        if len(sealed) == 1:
            raise ArithmeticError
        return seal(self, handle, round_, call, params)

    monkeypatch.setattr(Seal, "seal", breaks_once)
    for id, question in ((1, "a"), (2, "b")):
        sent = scene.calls(id)
        asked = {"jsonrpc": "2.0", "id": question, "method": "elicitation/create", "params": FORM}
        scene.back.receive(json.dumps(asked).encode(), scene.now, json.dumps(sent["id"]).encode())
    scene.wait(scene.limits.gather)
    told = {frame["id"]: frame for frame in scene.to_client()}
    assert told[1]["error"]["data"]["cause"] == "internal"
    assert told[2]["result"]["resultType"] == "input_required"
    assert "notifications/cancelled" in [frame.get("method") for frame in scene.to_server()]
