"""The demo's server keeps to revision 2026-07-28, in every message that it writes."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.demo.server import Server
from support import official

REVISION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
EVERYTHING: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
RECOMMEND = {"type": "ref/prompt", "name": "recommend"}

Json = dict[str, Any]


class Peer:
    """A client without a pipe: it calls the server and keeps what the server writes."""

    def __init__(self, start: Callable[[Callable[[], None]], None] | None = None) -> None:
        self.heard: list[Json] = []
        self.server = Server(lambda line: self.heard.append(json.loads(line)), start or (lambda work: work()))
        self.id = 0

    def raw(self, line: str) -> list[Json]:
        before = len(self.heard)
        self.server.receive(line.encode())
        return self.heard[before:]

    def send(self, method: str, params: Json, id: Any = None) -> list[Json]:
        self.id += 1
        frame = {"jsonrpc": "2.0", "id": self.id if id is None else id, "method": method, "params": params}
        return self.raw(json.dumps(frame))

    def meta(self, capabilities: Json = EVERYTHING, **more: Any) -> Json:
        return {PREFIX + "protocolVersion": REVISION, PREFIX + "clientCapabilities": capabilities, **more}

    def request(
        self, method: str, params: Json | None = None, capabilities: Json = EVERYTHING, **meta: Any
    ) -> list[Json]:
        """What the server writes for a good request, each message valid as the schema has it."""
        frames = self.send(method, {**(params or {}), "_meta": self.meta(capabilities, **meta)})
        for frame in frames:
            asks = frame.get("result", {}).get("resultType") == "input_required"
            if asks:
                official.check(REVISION, "InputRequiredResult", frame["result"])
            elif frame.get("method") != "notifications/subscriptions/acknowledged":
                official.check_frame(REVISION, frame, answers=method)
        return frames

    def result(self, method: str, params: Json | None = None) -> Json:
        *_, last = self.request(method, params)
        return last["result"]

    def call(self, name: str, arguments: Json | None = None, **params: Any) -> Json:
        return self.result("tools/call", {"name": name, "arguments": arguments or {}, **params})

    def error(self, method: str, params: Json | None = None, capabilities: Json = EVERYTHING) -> Json:
        (frame,) = self.request(method, params, capabilities)
        return frame["error"]


@pytest.fixture
def peer() -> Peer:
    return Peer()


def text(result: Json) -> str:
    return result["content"][0]["text"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("server/discover", {}),
        ("tools/list", {}),
        ("prompts/list", {}),
        ("prompts/get", {"name": "recommend", "arguments": {"mood": "cosy"}}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "menu://today"}),
        ("resources/read", {"uri": "menu://dish/soup"}),
        ("completion/complete", {"ref": RECOMMEND, "argument": {"name": "mood", "value": "c"}}),
        ("tools/call", {"name": "greet"}),
        ("tools/call", {"name": "order_soup"}),
    ],
)  # fmt: skip
def test_each_result_is_complete_and_names_the_server(peer: Peer, method: str, params: Json) -> None:
    result = peer.result(method, params)
    assert result["resultType"] == "complete"
    assert result["_meta"][PREFIX + "serverInfo"]["name"] == "the-golden-dragoman"


def test_a_completion_has_the_values_that_begin_so(peer: Peer) -> None:
    ask: Json = {"ref": {"type": "ref/resource", "uri": "menu://dish/{dish}"}}
    assert peer.result("completion/complete", {**ask, "argument": {"name": "dish", "value": "p"}})["completion"] == {
        "values": ["pilaf"], "total": 1, "hasMore": False
    }  # fmt: skip


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        (None, -32602),
        ({}, -32602),
        ([], -32602),
        ({PREFIX + "protocolVersion": REVISION}, -32602),
        ({PREFIX + "clientCapabilities": {}}, -32602),
        ({PREFIX + "protocolVersion": 7, PREFIX + "clientCapabilities": {}}, -32602),
        ({PREFIX + "protocolVersion": REVISION, PREFIX + "clientCapabilities": []}, -32602),
        ({PREFIX + "protocolVersion": "2025-11-25", PREFIX + "clientCapabilities": {}}, -32022),
    ],
)
def test_a_request_says_its_revision_and_capabilities(peer: Peer, meta: Any, code: int) -> None:
    for method in ("tools/list", "subscriptions/listen", "no/such"):
        (frame,) = peer.send(method, {} if meta is None else {"_meta": meta})
        assert frame["error"]["code"] == code
        if code == -32022:
            assert frame["error"]["data"] == {"supported": [REVISION], "requested": "2025-11-25"}


def test_a_handshake_is_told_which_revision_is_spoken(peer: Peer) -> None:
    (frame,) = peer.send("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}})
    assert frame["error"]["code"] == -32601
    assert REVISION in frame["error"]["message"]
    assert frame["error"]["data"]["supported"] == [REVISION]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such", {}, -32601),
        ("ping", {}, -32601),
        ("tools/call", {"name": "fly"}, -32602),
        ("tools/call", {"name": "order_stone"}, -32602),
        ("tools/call", {"name": "_greet"}, -32602),
        ("tools/call", {"name": "greet", "arguments": []}, -32602),
        ("tools/call", {"name": "book_table", "inputResponses": []}, -32602),
        ("tools/call", {"name": "book_table", "inputResponses": {"evening": 7}}, -32603),
        ("tools/call", {"name": "book_table", "requestState": "AAAA"}, -32602),
        ("tools/call", {"name": "book_table", "requestState": "é"}, -32602),
        ("tools/call", {"name": "book_table", "requestState": 7}, -32602),
        ("prompts/get", {"name": "recommend"}, -32602),
        ("resources/read", {"uri": "menu://dish/stone"}, -32602),
        ("completion/complete", {"ref": {"type": "ref/prompt"}, "argument": {"name": "x"}}, -32602),
        ("subscriptions/listen", {}, -32602),
    ],
)
def test_what_cannot_be_answered_gets_an_error(peer: Peer, method: str, params: Json, code: int) -> None:
    assert peer.error(method, params)["code"] == code


@pytest.mark.parametrize(("line", "code"), [("{", -32700), ("[]", -32600), ('{"id":1}', None), ('"x"', -32600)])
def test_a_line_that_is_no_request(peer: Peer, line: str, code: int | None) -> None:
    assert [frame["error"]["code"] for frame in peer.raw(line)] == ([] if code is None else [code])


# ---------------------------------------------------------------------- input


def test_a_table_is_booked_in_two_rounds(peer: Peer) -> None:
    first = peer.call("book_table")
    assert list(first["inputRequests"]) == ["evening"]
    evening = {"evening": {"action": "accept", "content": {"day": "Friday", "guests": 3}}}
    second = peer.call("book_table", inputResponses=evening, requestState=first["requestState"])
    assert list(second["inputRequests"]) == ["seat"]
    assert "3" in second["inputRequests"]["seat"]["params"]["message"]
    seat = {"seat": {"action": "accept", "content": {"seat": "garden"}}}
    done = peer.call("book_table", inputResponses=seat, requestState=second["requestState"])
    assert done["structuredContent"] == {"day": "Friday", "guests": 3, "seat": "garden"}
    assert "garden" in text(done)


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_guest_who_does_not_say_gets_no_table(peer: Peer, action: str) -> None:
    state = peer.call("book_table")["requestState"]
    assert text(peer.call("book_table", inputResponses={"evening": {"action": action}}, requestState=state)) == (
        "No table was booked."
    )


def test_state_is_of_this_server_and_unchanged(peer: Peer) -> None:
    state = peer.call("book_table")["requestState"]
    forged = ("B" if state[0] == "A" else "A") + state[1:]
    assert peer.error("tools/call", {"name": "book_table", "requestState": forged})["code"] == -32602
    assert Peer().error("tools/call", {"name": "book_table", "requestState": state})["code"] == -32602


def test_the_model_of_the_client_praises_a_dish(peer: Peer) -> None:
    asked = peer.call("praise_dish", {"dish": "pilaf"})["inputRequests"]["praise"]
    assert "pilaf" in asked["params"]["messages"][0]["content"]["text"]
    block = {"type": "text", "text": "What a pilaf!"}
    for content in (block, [block]):
        answer = {"praise": {"role": "assistant", "model": "m", "content": content}}
        assert text(peer.call("praise_dish", inputResponses=answer)) == "What a pilaf!"


def test_recipes_are_looked_for_in_the_roots(peer: Peer) -> None:
    assert peer.call("find_recipes")["inputRequests"] == {"places": {"method": "roots/list"}}
    answer = {"places": {"roots": [{"uri": "file:///kitchen"}]}}
    assert "file:///kitchen" in text(peer.call("find_recipes", inputResponses=answer))


def test_a_bill_is_paid_on_a_page_that_is_asked_for_twice(peer: Peer) -> None:
    first = peer.call("pay")
    accepted = {"page": {"action": "accept"}}
    second = peer.call("pay", inputResponses=accepted, requestState=first["requestState"])
    assert first["inputRequests"] == second["inputRequests"]
    assert text(peer.call("pay", inputResponses=accepted, requestState=second["requestState"])) == "Paid. Thank you!"
    declined = {"page": {"action": "decline"}}
    assert "open" in text(peer.call("pay", inputResponses=declined, requestState=second["requestState"]))


@pytest.mark.parametrize(
    ("tool", "capabilities", "needed"),
    [
        ("book_table", {}, {"elicitation": {"form": {}}}),
        ("book_table", {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        ("pay", {"elicitation": {}}, {"elicitation": {"url": {}}}),
        ("praise_dish", {}, {"sampling": {}}),
        ("find_recipes", {}, {"roots": {}}),
    ],
)
def test_a_client_that_cannot_be_asked_is_not_asked(peer: Peer, tool: str, capabilities: Json, needed: Json) -> None:
    error = peer.error("tools/call", {"name": tool}, capabilities)
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": needed}
    official.check(REVISION, "ClientCapabilities", error["data"]["requiredCapabilities"])


def test_a_client_with_plain_elicitation_can_be_asked_forms(peer: Peer) -> None:
    (frame,) = peer.request("tools/call", {"name": "book_table"}, {"elicitation": {}})
    assert frame["result"]["resultType"] == "input_required"


# ---------------------------------------------------------------------- progress, log, cancellation


def test_progress_comes_with_the_token_and_before_the_result(peer: Peer) -> None:
    frames = peer.request("tools/call", {"name": "count", "arguments": {"plates": 3}}, progressToken="t")
    assert [frame["params"]["progress"] for frame in frames[:-1]] == [1, 2, 3]
    assert {frame["params"]["progressToken"] for frame in frames[:-1]} == {"t"}
    assert "3" in text(frames[-1]["result"])
    assert len(peer.request("tools/call", {"name": "count", "arguments": {"plates": 1}})) == 1


@pytest.mark.parametrize("plates", [0, 101, "3", True, None])
def test_only_a_number_of_plates_is_counted(peer: Peer, plates: Any) -> None:
    assert peer.call("count", {"plates": plates}).get("isError", False) is (plates is not True)


@pytest.mark.parametrize(("level", "told"), [("debug", 1), ("info", 1), ("warning", 0), ("loud", 0)])
def test_log_messages_come_only_when_they_are_wanted(peer: Peer, level: str, told: int) -> None:
    params = {"name": "add_dish", "arguments": {"dish": "halva"}}
    frames = peer.request("tools/call", params, EVERYTHING, **{PREFIX + "logLevel": level})
    assert [frame.get("method") for frame in frames[:-1]] == ["notifications/message"] * told
    assert len(peer.request("tools/call", params)) == 1


def test_a_cancelled_tool_stops_and_is_not_answered() -> None:
    held: list[Callable[[], None]] = []
    peer = Peer(held.append)
    assert peer.request("tools/call", {"name": "count", "arguments": {"plates": 100}}, progressToken=1) == []
    assert peer.raw('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}') == []
    held[0]()
    assert peer.heard == []
    assert peer.request("tools/call", {"name": "greet"}) == []
    held[1]()
    assert [frame["id"] for frame in peer.heard] == [2]


def test_closing_stops_what_runs() -> None:
    held: list[Callable[[], None]] = []
    peer = Peer(held.append)
    peer.request("tools/call", {"name": "count", "arguments": {"plates": 100}})
    peer.server.close()
    held[0]()
    assert peer.heard == []


# ---------------------------------------------------------------------- changes


def listen(peer: Peer, id: Any, **wanted: Any) -> list[Json]:
    return peer.send("subscriptions/listen", {"notifications": wanted, "_meta": peer.meta()}, id)


def test_a_listener_is_told_what_it_will_hear(peer: Peer) -> None:
    (told,) = listen(
        peer, "s", toolsListChanged=True, promptsListChanged=False, resourceSubscriptions=["menu://today"], x=1
    )
    official.check(REVISION, "SubscriptionsAcknowledgedNotification", told)
    assert told["params"]["_meta"] == {PREFIX + "subscriptionId": "s"}
    assert told["params"]["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": ["menu://today"]}


def test_changes_come_before_the_result_to_each_who_wants_them(peer: Peer) -> None:
    listen(peer, "tools", toolsListChanged=True)
    listen(peer, 7, resourceSubscriptions=["menu://today"])
    listen(peer, "other", resourceSubscriptions=["menu://dish/soup"], resourcesListChanged=True)
    *events, result = peer.request("tools/call", {"name": "add_dish", "arguments": {"dish": "Rice Pudding"}})
    assert [(event["method"], event["params"]["_meta"][PREFIX + "subscriptionId"]) for event in events] == [
        ("notifications/tools/list_changed", "tools"),
        ("notifications/resources/updated", 7),
    ]
    assert "result" in result
    assert "order_rice_pudding" in [tool["name"] for tool in peer.result("tools/list")["tools"]]
    assert "rice_pudding" in peer.result("resources/read", {"uri": "menu://today"})["contents"][0]["text"]


def test_a_listener_that_cancels_hears_nothing_more(peer: Peer) -> None:
    listen(peer, "s", toolsListChanged=True)
    assert peer.raw('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}') == []
    assert len(peer.request("tools/call", {"name": "add_dish", "arguments": {"dish": "halva"}})) == 1


def test_a_dish_without_a_name_is_not_put_on_the_menu(peer: Peer) -> None:
    for dish in ("", "  ", "a/b", "ß"):
        assert peer.call("add_dish", {"dish": dish})["isError"]
