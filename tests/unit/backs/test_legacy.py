"""The back for servers with a handshake: every pair of revisions, and what playbooks cannot show byte for byte."""

import itertools
import json
from typing import Any

import pytest
from msgspec import Raw

from dragoman.backs.handshake import initialize_params, other_revision, read_result
from dragoman.backs.legacy import Legacy
from dragoman.core.mediator import Mediator
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Filter, Ready, Reason, ServerError
from dragoman.exchange.notes import NoNotes
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.profile.neutral import PROFILE
from dragoman.revisions import HANDSHAKE, LATEST, LATEST_LEGACY, Revision
from dragoman.wire.lines import Overlong
from dragoman.wire.members import Members, opened
from support.dialogue import Dialogue
from support.proofs import proves

NAMES = [revision.name for revision in HANDSHAKE]
PAIRS = list(itertools.product(NAMES, NAMES))
CALLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tools/list": ({}, {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
    "tools/call": ({"name": "t", "arguments": {"a": 1}}, {"content": [{"type": "text", "text": "x"}]}),
    "prompts/list": ({}, {"prompts": [{"name": "p"}], "nextCursor": ""}),
    "prompts/get": ({"name": "p"}, {"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}]}),
    "resources/list": ({"cursor": "c"}, {"resources": [{"name": "r", "uri": "a:b"}]}),
    "resources/templates/list": ({}, {"resourceTemplates": [{"name": "r", "uriTemplate": "a:{b}"}]}),
    "resources/read": ({"uri": "a:b"}, {"contents": [{"uri": "a:b", "text": "x"}]}),
    "completion/complete": (
        {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}},
        {"completion": {"values": ["x"]}},
    ),
}


@proves("REV-01", "REV-06")
@pytest.mark.parametrize(("client", "server"), PAIRS)
def test_every_pair_has_all_methods(client: str, server: str) -> None:
    declared: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}
    bridge = Dialogue(server_revision=server).open(client, {}, declared, initialized=True)
    for number, (method, (params, result)) in enumerate(CALLS.items()):
        bridge.client({"id": number, "method": method, "params": params})
        sent = bridge.to_server[-1]
        assert (sent["method"], sent["params"]) == (method, params)
        bridge.server({"id": sent["id"], "result": result})
        assert bridge.answer_to(number)["result"] == result


@pytest.mark.parametrize(("client", "server"), PAIRS)
def test_every_pair_can_ask_for_a_text_and_for_roots(client: str, server: str) -> None:
    bridge = Dialogue(server_revision=server).open(client, {"sampling": {}, "roots": {}}, initialized=True)
    message = {"role": "user", "content": {"type": "text", "text": "?"}}
    asked = {"messages": [message], "maxTokens": 1}
    bridge.server({"id": "s", "method": "sampling/createMessage", "params": asked})
    question = bridge.to_client[-1]
    assert question["params"] == asked
    answer = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "!"}}
    bridge.client({"id": question["id"], "result": answer})
    assert bridge.to_server[-1] == {"jsonrpc": "2.0", "id": "s", "result": answer}
    bridge.server({"id": "r", "method": "roots/list"})
    bridge.client({"id": bridge.to_client[-1]["id"], "result": {"roots": []}})
    assert bridge.to_server[-1] == {"jsonrpc": "2.0", "id": "r", "result": {"roots": []}}


@proves("REV-09")
@pytest.mark.parametrize("name", NAMES)
def test_between_equal_revisions_bytes_pass_unchanged(name: str) -> None:
    bridge = Dialogue(server_revision=name).open(name, {"sampling": {}}, initialized=True)
    params = b'{"name":"t","arguments":{ "a" : 1.0e2, "b":"\\u00e9", "b":2},"x":[1,  2]}'
    bridge.client(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}' % params)
    assert bridge.raw_to_server[-1] == b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":%b}' % params
    result = b'{"content":[ {"type":"new", "x":1.50} ],"isError":false,"y":null}'
    bridge.out.clear()
    bridge.handshake.receive(b'{"jsonrpc":"2.0","id":2,"result":%b}' % result, bridge.now)
    assert bridge.out == [b'{"jsonrpc":"2.0","id":1,"result":%b}' % result]


@proves("SIZE-05")
def test_an_answer_that_is_too_long_fails_its_call_as_soon_as_its_id_is_seen() -> None:
    bridge = Dialogue(server_revision="2025-06-18").open(initialized=True)
    bridge.client({"id": 1, "method": "tools/list"})
    id = bridge.last("tools/list")["id"]
    head = b'{"jsonrpc":"2.0","id":%d,"result":{"tools":[' % id
    bridge.server(Overlong(head, b"", False))
    assert bridge.answer_to(1)["error"]["data"]["cause"] == "invalid_response"
    bridge.server(Overlong(head, b"]}}", True))
    assert len(bridge.to_client) == 1


def test_a_question_that_is_too_long_is_refused_once() -> None:
    bridge = Dialogue(server_revision="2025-06-18").open(client={"sampling": {}}, initialized=True)
    bridge.client({"id": 1, "method": "tools/list"})
    head = b'{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{"messages":['
    bridge.forget()
    bridge.server(Overlong(head, b"", False))
    assert not bridge.to_server
    bridge.server(Overlong(head, b"]}}", True))
    assert [frame["error"]["data"]["cause"] for frame in bridge.to_server] == ["line_too_long"]
    assert not bridge.to_client, "the call of the same number is another one"


# ---------------------------------------------------------------------- the handshake


def test_a_client_without_a_name_is_introduced_as_the_bridge() -> None:
    params = json.loads(initialize_params(Caller(LATEST), LATEST_LEGACY))
    assert params["clientInfo"]["name"] == "dragoman"
    assert params["protocolVersion"] == LATEST_LEGACY.name


@proves("REV-06", "NEG-02")
@pytest.mark.parametrize("name", NAMES)
def test_every_revision_with_a_handshake_is_accepted(name: str) -> None:
    result: Members = {
        "protocolVersion": Raw(b'"%b"' % name.encode()),
        "capabilities": Raw(b'{"tools":5,"logging":{}}'),
    }
    ready = read_result(result)
    assert isinstance(ready, Ready)
    assert (ready.revision.name, set(ready.capabilities), ready.instructions) == (name, {"logging"}, None)


@proves("NEG-02", "B52")
@pytest.mark.parametrize("version", [b'"1999-01-01"', b'"2026-07-28"', b'"draft"', b"5", b"null"])
def test_no_other_revision_is(version: bytes) -> None:
    refused = read_result({"protocolVersion": Raw(version)})
    assert isinstance(refused, Fault)
    assert refused.cause is Cause.INITIALIZE_FAILED
    assert isinstance(read_result(None), Fault)


@pytest.mark.parametrize(
    ("code", "data", "picked"),
    [
        (-32602, '{"supported":["2024-11-05","2025-06-18"]}', "2025-06-18"),
        (-32602, '{"supported":["2026-07-28","2025-11-25",7]}', None),
        (-32602, '{"supported":["1999-01-01"]}', None),
        (-32602, '{"supported":5}', None),
        (-32602, "[]", None),
        (-32601, '{"supported":["2024-11-05"]}', None),
    ],
)
def test_what_is_tried_after_a_refusal(code: int, data: str, picked: str | None) -> None:
    error = ServerError(code, Raw(b'{"code":%d,"message":"no","data":%b}' % (code, data.encode())))
    other = other_revision(error, LATEST_LEGACY)
    assert (other.name if other is not None else None) == picked
    assert other_revision(Fault(Cause.TIMEOUT), LATEST_LEGACY) is None


# ---------------------------------------------------------------------- wishes


class Listener(Mediator):
    """Keeps what a back says of wishes."""

    def __init__(self) -> None:
        super().__init__(PROFILE, Limits(), NoNotes())
        self.heard: list[object] = []

    def ready(self, ready: Ready, now: float) -> None:
        pass

    def watching(self, change: int | None, granted: Filter, gap: bool, now: float) -> None:
        self.heard.append((change, granted.uris))

    def not_watching(self, change: int, why: Fault | ServerError, granted: Filter, now: float) -> None:
        self.heard.append((change, type(why).__name__))


def ready_back(revision: Revision = LATEST_LEGACY) -> tuple[Legacy, Listener]:
    listener = Listener()
    back = Legacy(listener, Limits(), NoNotes())
    back.open(Caller(LATEST_LEGACY), 0.0)
    back.receive(b'{"id":1,"result":{"protocolVersion":"%b","capabilities":{}}}' % revision.name.encode(), 0.0)
    back.settled(0.0)
    back.out.clear()
    return back, listener


def answer(back: Legacy, failed: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Answer all requests that the back wrote; gives their methods and URIs."""
    asked: list[tuple[str, str]] = []
    for line in list(back.out):
        frame = json.loads(line)
        uri = frame["params"]["uri"]
        asked.append((frame["method"], uri))
        outcome = b'"error":{"code":1,"message":"no"}' if uri in failed else b'"result":{}'
        back.receive(b'{"id":%d,%b}' % (frame["id"], outcome), 0.0)
    back.out.clear()
    return asked


def test_a_wish_asks_for_just_the_difference() -> None:
    back, listener = ready_back()
    back.watch(1, Filter(uris=("a:1", "a:2")), 0.0)
    assert answer(back) == [("resources/subscribe", "a:1"), ("resources/subscribe", "a:2")]
    back.watch(2, Filter(uris=("a:2", "a:3")), 0.0)
    assert answer(back) == [("resources/subscribe", "a:3"), ("resources/unsubscribe", "a:1")]
    back.watch(3, Filter(tools=True, uris=("a:2", "a:3")), 0.0)
    assert not back.out
    assert listener.heard == [(1, ("a:1", "a:2")), (2, ("a:2", "a:3")), (3, ("a:2", "a:3"))]
    back.unwatch(Reason.CLIENT_LEFT)
    assert answer(back) == [("resources/unsubscribe", "a:2"), ("resources/unsubscribe", "a:3")]


def test_a_wish_is_granted_in_part_and_fails_as_a_whole() -> None:
    back, listener = ready_back()
    back.watch(1, Filter(uris=("a:1", "a:2")), 0.0)
    answer(back, failed=("a:1",))
    back.watch(2, Filter(uris=("a:2", "a:3")), 0.0)
    answer(back, failed=("a:3",))
    assert listener.heard == [(1, ("a:2",)), (2, "ServerError")]


def test_the_first_wish_gets_no_answer_and_a_lost_lane_fails_one() -> None:
    back, listener = ready_back()
    back.watch(0, Filter(tools=True), 0.0)
    assert (back.out, listener.heard) == ([], [])
    back.watch(1, Filter(uris=("a:1",)), 0.0)
    id = opened(back.out[-1])["id"]
    back.lane_lost(bytes(id), Fault(Cause.TRANSPORT_FAILED), True, 0.0)
    assert listener.heard == [(1, "Fault")]
    assert back.wake() is None
