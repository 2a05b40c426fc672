"""Both peers played at random against the machines.

Whatever a client and a server do, in any order: each request gets exactly one answer or was cancelled or its client
left; nothing follows a cancel; ids of one side never show on the other; every end leaves empty tables.
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

FORM = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
KINDS: dict[str, dict[str, Any]] = {
    "form": {"method": "elicitation/create", "params": FORM},
    "page": {"method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": "https://a.example/"}},
    "sampling": {
        "method": "sampling/createMessage",
        "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 1},
    },
    "roots": {"method": "roots/list"},
}
ANSWERS: dict[str, dict[str, Any]] = {
    "elicitation/create": {"action": "accept", "content": {"a": "x"}},
    "sampling/createMessage": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "!"}},
    "roots/list": {"roots": [{"uri": "file:///x"}]},
}
ids = st.integers(-3, 12) | st.sampled_from(["1", "a", "b-1", "é"])
RUBBISH = [b"{", b"[]", b"5", b'{"id":null,"result":{}}', b"\xff", b'{"jsonrpc":"2.0","id":"b-1","result":', b"{}"]


@proves("QA-06", "CANC-09", "CANC-03", "PROG-07", "PROG-08", "BCLI-06", "B36", "B93", "LINE-10", "SDKMSG-06")
class Peers(RuleBasedStateMachine):
    @initialize(in_flight=st.integers(1, 5), rounds=st.integers(1, 4))
    def begin(self, in_flight: int, rounds: int) -> None:
        limits = Limits(in_flight=in_flight, rounds=rounds, timeouts=Timeouts(list=20, read=20, call=60, input=60))
        self.bridge = Dialogue(limits=limits)
        capabilities: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
        self.bridge.open(client=capabilities, server={"tools": {"listChanged": True}}, initialized=True)
        self.open: dict[str, int] = {}  # ids of requests that have no answer yet, with how many were sent
        self.silent: set[str] = set()  # ids whose last request was cancelled
        self.tokens: dict[str, str] = {}
        self.upstream: set[Any] = set()
        self.questions: set[str] = set()

    # ------------------------------------------------------------------ the client

    @rule(id=ids, wants_progress=st.booleans(), method=st.sampled_from(["tools/call", "tools/list", "resources/read"]))
    def request(self, id: Any, wants_progress: bool, method: str) -> None:
        params: dict[str, Any] = {"name": "t", "uri": "a:b"}
        if wants_progress:
            params["_meta"] = {"progressToken": f"token of {id}"}
        key = json.dumps(id)
        self.open[key] = self.open.get(key, 0) + 1
        self.silent.discard(key)
        self.bridge.client({"id": id, "method": method, "params": params})
        self.look()

    @rule(id=ids)
    def ping(self, id: Any) -> None:
        self.open[json.dumps(id)] = self.open.get(json.dumps(id), 0) + 1
        self.bridge.client({"id": id, "method": "ping"})
        self.look()

    @rule(id=ids)
    def cancel(self, id: Any) -> None:
        self.bridge.client({"method": "notifications/cancelled", "params": {"requestId": id}})
        self.look()
        if self.open.pop(json.dumps(id), 0):
            self.silent.add(json.dumps(id))

    @rule(line=st.sampled_from(RUBBISH))
    def rubbish(self, line: bytes) -> None:
        self.bridge.client(line)
        self.look(errors_without_id=True)

    @rule(data=st.data(), kind=st.sampled_from(["right", "error", "wrong"]))
    def answer(self, data: st.DataObject, kind: str) -> None:
        if not self.questions:
            return
        id = data.draw(st.sampled_from(sorted(self.questions)))
        method = id.partition(" ")[2]
        result = {"right": {"result": ANSWERS[method]}, "error": {"error": {"code": -1, "message": "no"}}}
        self.questions.discard(id)
        self.bridge.client({"id": id.partition(" ")[0], **result.get(kind, {"result": {"nonsense": 1}})})
        self.look()

    # ------------------------------------------------------------------ the server

    @rule(data=st.data(), how=st.sampled_from(["done", "error", "odd", "unreadable"]))
    def reply(self, data: st.DataObject, how: str) -> None:
        id = self.some_upstream(data)
        if id is None:
            return
        frames: dict[str, Any] = {
            "done": {"id": id, "result": {"resultType": "complete", "content": [], "tools": [], "contents": []}},
            "error": {"id": id, "error": {"code": -32000, "message": "no"}},
            "odd": {"id": id, "result": {"resultType": "task"}},
            "unreadable": b'{"jsonrpc":"2.0","id":%d,"result":{"x":NaN}}' % id,
        }
        self.bridge.server(frames[how])
        self.look()

    @rule(data=st.data(), kinds=st.lists(st.sampled_from(sorted(KINDS)), max_size=3), state=st.booleans())
    def ask(self, data: st.DataObject, kinds: list[str], state: bool) -> None:
        id = self.some_upstream(data)
        if id is None:
            return
        result: dict[str, Any] = {"resultType": "input_required"}
        if kinds:
            result["inputRequests"] = {f"q{place}": KINDS[kind] for place, kind in enumerate(kinds)}
        if state:
            result["requestState"] = "s"
        self.bridge.server({"id": id, "result": result})
        self.look()

    @rule(data=st.data(), value=st.integers(0, 50))
    def progress(self, data: st.DataObject, value: int) -> None:
        id = self.some_upstream(data)
        if id is not None:
            self.bridge.server({"method": "notifications/progress", "params": {"progressToken": id, "progress": value}})
            self.look()

    @rule(data=st.data())
    def late(self, data: st.DataObject) -> None:
        """The server answers something that was answered, cancelled, or never asked."""
        id = data.draw(st.integers(1, 60).filter(lambda id: id not in self.upstream))
        self.bridge.server({"id": id, "result": {"content": [], "tools": [], "contents": []}})
        self.look()

    @rule(seconds=st.sampled_from([0.1, 5, 21, 61]))
    def wait(self, seconds: float) -> None:
        self.bridge.wait(seconds)
        self.look()

    @precondition(lambda self: len(self.open) > 2)
    @rule()
    def server_dies(self) -> None:
        if self.bridge.front.state is State.READY:
            self.bridge.server_dies()
            self.upstream.clear()
            self.look()
            assert not self.open, "the loss of the server answers everything"

    # ------------------------------------------------------------------ what must be true

    def some_upstream(self, data: st.DataObject) -> int | None:
        return data.draw(st.sampled_from(sorted(self.upstream))) if self.upstream else None

    def look(self, errors_without_id: bool = False) -> None:
        """Account for everything that was written."""
        for frame in self.bridge.to_server:
            if "id" in frame and frame["method"] != "subscriptions/listen":
                assert frame["id"] not in self.upstream, "an id of an open request is used again"
                self.upstream.add(frame["id"])
            elif frame["method"] == "notifications/cancelled":
                self.upstream.discard(frame["params"]["requestId"])
        answered = {frame["id"] for frame in self.bridge.to_client if "method" not in frame}
        for frame in self.bridge.to_client:
            key = json.dumps(frame.get("id"))
            if "method" not in frame:
                if frame["id"] is None:
                    assert errors_without_id
                    continue
                assert self.open.get(key, 0) > 0, f"an answer too many: {frame}"
                self.open[key] -= 1
                if not self.open[key]:
                    del self.open[key]
            elif "id" in frame:
                self.questions.add(f"{frame['id']} {frame['method']}")
            elif frame["method"] == "notifications/progress":
                owner = frame["params"]["progressToken"].removeprefix("token of ")
                known = {*self.open, *map(json.dumps, answered)}
                assert owner in known or json.dumps(owner) in known, f"progress for nobody: {frame}"
            elif frame["method"] == "notifications/cancelled":
                gone = frame["params"]["requestId"]
                self.questions = {id for id in self.questions if id.partition(" ")[0] != gone}
        self.settle_upstream()
        self.bridge.forget()

    def settle_upstream(self) -> None:
        """What the back still waits for is what the server may still answer."""
        self.upstream &= {int(id) for id in self.bridge.back._rounds}  # pyright: ignore[reportPrivateUsage]

    @invariant()
    def every_open_request_is_known(self) -> None:
        front = self.bridge.front
        if front.state is State.READY:
            assert sum(self.open.values()) == len(front._flight)  # pyright: ignore[reportPrivateUsage]
            assert len(self.bridge.mediator.inflight) == len(front._flight)  # pyright: ignore[reportPrivateUsage]

    def teardown(self) -> None:
        if not hasattr(self, "bridge"):
            return
        self.bridge.client_leaves()
        assert not len(self.bridge.mediator.inflight)
        assert not len(self.bridge.front.asking)
        for table in (self.bridge.back._rounds, self.bridge.back._parked, self.bridge.mediator._rounds):  # pyright: ignore[reportPrivateUsage]
            assert not table
        self.bridge.forget()
        self.bridge.wait(100_000)
        assert not self.bridge.to_client


Peers.TestCase.settings = settings(max_examples=250, stateful_step_count=40, deadline=None)
TestPeers = pytest.mark.timeout(180)(Peers.TestCase)
