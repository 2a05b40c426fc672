"""A client and a server that both have a handshake, of any two revisions, played at random against the machines.

Each request of either side gets exactly one answer, or was cancelled, or the other side is gone; nothing follows a
cancellation; ids of one side never show on the other; no question comes before the client is ready; every end leaves
empty tables.
"""

import json
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dragoman.fronts.lifecycle import State
from dragoman.limits import Limits, Timeouts
from support.dialogue import Dialogue
from support.proofs import proves

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
CLIENT: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}},
    "roots": {"listChanged": True},
}
SERVER: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {},
    "resources": {"subscribe": True, "listChanged": True},
    "logging": {},
}
FORM = {"message": "?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
PAGE = {"mode": "url", "message": "?", "url": "https://a.example/", "elicitationId": "e"}
TEXT = {"role": "user", "content": {"type": "text", "text": "?"}}
ASKED: dict[str, dict[str, Any]] = {
    "form": {"method": "elicitation/create", "params": FORM},
    "page": {"method": "elicitation/create", "params": PAGE},
    "sampling": {"method": "sampling/createMessage", "params": {"messages": [TEXT], "maxTokens": 1}},
    "nonsense": {"method": "sampling/createMessage", "params": {"messages": 1}},
    "roots": {"method": "roots/list"},
    "ping": {"method": "ping"},
    "unknown": {"method": "tasks/list"},
}
ANSWERS: dict[str, dict[str, Any]] = {
    "elicitation/create": {"action": "accept", "content": {"a": "x"}},
    "sampling/createMessage": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "!"}},
    "roots/list": {"roots": [{"uri": "file:///x"}]},
}
NOTICES: tuple[dict[str, Any], ...] = (
    {"method": "notifications/message", "params": {"level": "error", "data": 1}},
    {"method": "notifications/tools/list_changed"},
    {"method": "notifications/resources/updated", "params": {"uri": "a:b"}},
    {"method": "notifications/elicitation/complete", "params": {"elicitationId": "e"}},
    {"method": "notifications/cancelled", "params": {"requestId": "nobody's"}},
    {"method": "notifications/unknown"},
)
METHODS = ("tools/call", "tools/list", "resources/read", "resources/subscribe", "resources/unsubscribe")
ids = st.integers(-3, 12) | st.sampled_from(["1", "a", "b-1", "é"])
RUBBISH = [b"{", b"[]", b"[[]]", b"5", b"\xff", b"{}", b'{"jsonrpc":"2.0","id":null,"result":{}}']


@proves("REV-06", "QA-06", "CANC-09", "BCLI-06", "B93", "B94")
class HandshakePeers(RuleBasedStateMachine):
    @initialize(client=st.sampled_from(REVISIONS), server=st.sampled_from(REVISIONS), in_flight=st.integers(1, 5))
    def begin(self, client: str, server: str, in_flight: int) -> None:
        limits = Limits(in_flight=in_flight, timeouts=Timeouts(list=20, read=20, call=60, input=60))
        self.bridge = Dialogue(limits=limits, server_revision=server)
        self.bridge.open(client, CLIENT, SERVER)
        self.open: dict[str, int] = {}  # ids of requests of the client without an answer, with how many were sent
        self.upstream: set[int] = set()
        self.asked: set[str] = set()  # ids of requests of the server without an answer
        self.questions: set[str] = set()
        self.ready = False

    # ------------------------------------------------------------------ the client

    @rule()
    def initialized(self) -> None:
        self.ready = True
        self.bridge.client({"method": "notifications/initialized"})
        self.look()

    @rule(id=ids, wants_progress=st.booleans(), method=st.sampled_from(METHODS))
    def request(self, id: Any, wants_progress: bool, method: str) -> None:
        params: dict[str, Any] = {"name": "t", "uri": "a:b"}
        if wants_progress:
            params["_meta"] = {"progressToken": f"token of {id}"}
        key = json.dumps(id)
        self.open[key] = self.open.get(key, 0) + 1
        self.ready = True
        self.bridge.client({"id": id, "method": method, "params": params})
        self.look()

    @rule(id=ids, level=st.sampled_from([None, "debug", "emergency"]))
    def answered_by_the_bridge(self, id: Any, level: str | None) -> None:
        self.open[json.dumps(id)] = self.open.get(json.dumps(id), 0) + 1
        method = {"method": "logging/setLevel", "params": {"level": level}} if level else {"method": "ping"}
        self.bridge.client({"id": id, **method})
        self.look()

    @rule(id=ids)
    def cancel(self, id: Any) -> None:
        self.bridge.client({"method": "notifications/cancelled", "params": {"requestId": id}})
        self.look()
        self.open.pop(json.dumps(id), 0)

    @rule(data=st.data(), kind=st.sampled_from(["right", "error", "wrong", "unreadable"]))
    def answer(self, data: st.DataObject, kind: str) -> None:
        if not self.questions:
            return
        question = data.draw(st.sampled_from(sorted(self.questions)))
        id, _, method = question.partition(" ")
        self.questions.discard(question)
        frames: dict[str, Any] = {
            "right": {"id": id, "result": ANSWERS[method]},
            "error": {"id": id, "error": {"code": -1, "message": "no"}},
            "wrong": {"id": id, "result": {"nonsense": 1}},
            "unreadable": b'{"jsonrpc":"2.0","id":"%b","result":{"x":NaN}}' % id.encode(),
        }
        self.bridge.client(frames[kind])
        self.look()
        self.bridge.client({"id": id, "result": {}})  # and once more, which nobody waits for
        self.look()

    @rule()
    def roots_change(self) -> None:
        self.bridge.client({"method": "notifications/roots/list_changed"})
        self.look()

    @rule(line=st.sampled_from(RUBBISH))
    def rubbish(self, line: bytes) -> None:
        self.bridge.client(line)
        self.look(errors_without_id=True)

    # ------------------------------------------------------------------ the server

    @rule(data=st.data(), how=st.sampled_from(["done", "error", "odd", "unreadable"]))
    def reply(self, data: st.DataObject, how: str) -> None:
        if not self.upstream:
            return
        id = data.draw(st.sampled_from(sorted(self.upstream)))
        self.upstream.discard(id)
        frames: dict[str, Any] = {
            "done": {"id": id, "result": {"content": [], "tools": [], "contents": []}},
            "error": {"id": id, "error": {"code": -32000, "message": "no"}},
            "odd": {"id": id, "result": []},
            "unreadable": b'{"jsonrpc":"2.0","id":%d,"result":{"x":NaN}}' % id,
        }
        self.bridge.server(frames[how])
        self.look()

    @precondition(lambda self: self.bridge.running)
    @rule(id=ids, kind=st.sampled_from(sorted(ASKED)), data=st.data(), in_response=st.booleans())
    def ask(self, id: Any, kind: str, data: st.DataObject, in_response: bool) -> None:
        of = data.draw(st.sampled_from(sorted(self.upstream))) if in_response and self.upstream else None
        self.asked.add(json.dumps(id))
        self.bridge.server({"id": id, **ASKED[kind]}, of=of)
        self.look()

    @precondition(lambda self: self.bridge.running)
    @rule(data=st.data(), open_one=st.booleans())
    def withdraw(self, data: st.DataObject, open_one: bool) -> None:
        id = json.loads(data.draw(st.sampled_from(sorted(self.asked)))) if open_one and self.asked else data.draw(ids)
        self.asked.discard(json.dumps(id))
        self.bridge.server({"method": "notifications/cancelled", "params": {"requestId": id}})
        self.look()

    @precondition(lambda self: self.bridge.running)
    @rule(notice=st.sampled_from(NOTICES))
    def tell(self, notice: dict[str, Any]) -> None:
        self.bridge.server(notice)
        self.look()

    @precondition(lambda self: self.bridge.running)
    @rule(data=st.data(), value=st.integers(0, 50))
    def progress(self, data: st.DataObject, value: int) -> None:
        if self.upstream:
            id = data.draw(st.sampled_from(sorted(self.upstream)))
            self.bridge.server({"method": "notifications/progress", "params": {"progressToken": id, "progress": value}})
            self.look()

    @precondition(lambda self: self.bridge.running)
    @rule(data=st.data())
    def late(self, data: st.DataObject) -> None:
        """The server answers something that was answered, cancelled, or never asked."""
        id = data.draw(st.integers(1, 60).filter(lambda id: id not in self.upstream))
        self.bridge.server({"id": id, "result": {"content": [], "tools": [], "contents": []}})
        self.look()

    @precondition(lambda self: self.bridge.running)
    @rule(line=st.sampled_from(RUBBISH))
    def noise(self, line: bytes) -> None:
        self.bridge.server(line)
        self.look()

    @rule(seconds=st.sampled_from([0.1, 5, 21, 61]))
    def wait(self, seconds: float) -> None:
        self.bridge.wait(seconds)
        self.look()

    @precondition(lambda self: len(self.open) + 2 * len(self.questions) > 3)
    @rule()
    def server_dies(self) -> None:
        if self.bridge.front.state is State.READY:
            self.bridge.server_dies()
            self.upstream.clear()
            self.asked.clear()
            self.look()
            assert not self.open, "the loss of the server answers everything"
            assert not self.questions, "nobody waits for these answers"

    # ------------------------------------------------------------------ what must be true

    def look(self, errors_without_id: bool = False) -> None:
        """Account for everything that was written."""
        for frame in self.bridge.to_server:
            if "method" in frame and "id" in frame:
                assert type(frame["id"]) is int
                self.upstream.add(frame["id"])
            elif frame.get("method") == "notifications/cancelled":
                self.upstream.discard(frame["params"]["requestId"])
            elif "method" not in frame:
                if frame.get("error", {}).get("data") == {"cause": "duplicate_id"}:
                    continue  # the first of that id still waits
                assert json.dumps(frame["id"]) in self.asked, f"an answer too many: {frame}"
                self.asked.discard(json.dumps(frame["id"]))
        answered = {frame["id"] for frame in self.bridge.to_client if "method" not in frame}
        for frame in self.bridge.to_client:
            self.look_at(frame, answered, errors_without_id)
        self.bridge.forget()

    def look_at(self, frame: dict[str, Any], answered: set[Any], errors_without_id: bool) -> None:
        if "method" not in frame:
            if frame["id"] is None:
                assert errors_without_id
                return
            key = json.dumps(frame["id"])
            assert self.open.get(key, 0) > 0, f"an answer too many: {frame}"
            self.open[key] -= 1
            if not self.open[key]:
                del self.open[key]
        elif "id" in frame:
            assert self.ready, "a question before the client was ready"
            assert frame["id"].startswith("b-")
            self.questions.add(f"{frame['id']} {frame['method']}")
        elif frame["method"] == "notifications/progress":
            owner = frame["params"]["progressToken"].removeprefix("token of ")
            known = {*self.open, *map(json.dumps, answered)}
            assert owner in known or json.dumps(owner) in known, f"progress for nobody: {frame}"
        elif frame["method"] == "notifications/cancelled":
            gone = frame["params"]["requestId"]
            assert any(id.startswith(f"{gone} ") for id in self.questions), "only open questions are withdrawn"
            self.questions = {id for id in self.questions if id.partition(" ")[0] != gone}

    @invariant()
    def what_is_open_is_known_to_all(self) -> None:
        front, back, inquiries = self.bridge.front, self.bridge.handshake, self.bridge.mediator.inquiries
        if front.state is State.READY:
            assert sum(self.open.values()) == len(front._flight)  # pyright: ignore[reportPrivateUsage]
            assert len(front.asking) == len(inquiries) == len(self.questions)
            assert len(back.inquiries) == len(self.asked)
            assert len(back._flight) == len(self.bridge.mediator.inflight)  # pyright: ignore[reportPrivateUsage]

    def teardown(self) -> None:
        if not hasattr(self, "bridge"):
            return
        self.bridge.client_leaves()
        self.look()
        assert not self.asked
        back, front = self.bridge.handshake, self.bridge.front
        assert not len(self.bridge.mediator.inflight)
        assert not len(self.bridge.mediator.inquiries)
        assert not len(back.inquiries)
        assert not len(front.asking)
        for table in (back._flight, front.asking._exchanges):  # pyright: ignore[reportPrivateUsage]
            assert not table
        self.bridge.wait(100_000)
        assert not self.bridge.to_client


HandshakePeers.TestCase.settings = settings(max_examples=250, stateful_step_count=40, deadline=None)
TestHandshakePeers = pytest.mark.timeout(180)(HandshakePeers.TestCase)
