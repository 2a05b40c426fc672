"""A client on a pipe tells its era by how it begins."""

import json
from typing import Any

import pytest

from dragoman.exchange.events import Reason
from dragoman.fronts.modern import Modern
from dragoman.fronts.opening import Opening
from dragoman.profile import named
from dragoman.revisions import LATEST
from dragoman.wire.lines import Overlong
from support.dialogue import Dialogue
from support.listener import initialize, modern, notice, request
from support.proofs import proves

PING = request(1, "ping")
LIST = modern(request(2, "tools/list"))
DISCOVER = modern(request(3, "server/discover"))


def slashed(message: Any) -> bytes:
    """A message as an encoder writes it that escapes every solidus (A4)."""
    return json.dumps(message).replace("/", "\\/").encode()


class Client:
    """`bridge` lends its machines; `frames` are what the client is told."""

    def __init__(self, profile: str = "neutral", is_open: bool = False) -> None:
        self.bridge = Dialogue(profile)
        self.begun = 0
        self.opening = Opening(self.bridge.front, self._begin, self._begin_handshake, is_open)

    def _begin(self) -> Modern:
        self.begun += 1
        bridge = self.bridge
        bridge.mediator.front = front = Modern(bridge.mediator, bridge.limits, bridge.notes, bridge.out, 10)
        bridge.mediator.join(LATEST, LATEST)
        return front

    def _begin_handshake(self) -> None:
        self.bridge.mediator.front = self.bridge.front

    def say(self, *messages: Any) -> list[Any]:
        """All of it in one read; gives what the client is told at once."""
        lines = [one if isinstance(one, bytes | Overlong) else json.dumps(one).encode() for one in messages]
        self.opening.receive(lines, 0.0)
        frames = [json.loads(frame) for frame in self.bridge.out]
        self.bridge.out.clear()
        return frames

    @property
    def is_modern(self) -> bool:
        return isinstance(self.opening.front, Modern)

    @property
    def upstream(self) -> list[str]:
        return [json.loads(frame)["method"] for frame in self.bridge.back.out]


@proves("EMB-08", "EMB-09", "EMB-10")
@pytest.mark.parametrize(
    ("messages", "is_modern", "upstream"),
    [
        ([LIST], True, ["tools/list"]),
        ([DISCOVER], True, ["server/discover"]),
        ([slashed(LIST)], True, ["tools/list"]),
        ([slashed(DISCOVER), initialize()], False, ["server/discover", "notifications/cancelled", "server/discover"]),
        ([DISCOVER, LIST, initialize()], True, ["server/discover", "tools/list"]),
        ([json.dumps(initialize()).replace("initialize", "\\u0069nitialize").encode()], False, ["server/discover"]),
        ([initialize()], False, ["server/discover"]),
        ([initialize(), LIST], False, ["server/discover"]),
        ([LIST, initialize()], True, ["tools/list"]),
        ([PING, LIST, DISCOVER], True, ["tools/list", "server/discover"]),
        ([notice("initialized"), b"rubbish", b"[]", LIST], True, ["tools/list"]),
        ([modern(initialize())], False, ["server/discover"]),
        ([modern(request(2, "tools/list"), "2099-01-01")], True, []),
        ([modern(request(2, "tools/list"), "2025-11-25")], True, []),
        ([PING, request(2, "tools/list"), notice("x")], False, []),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_the_first_message_that_can_tell_decides(
    messages: list[Any], is_modern: bool, upstream: list[str], at_once: bool
) -> None:
    client = Client()
    for read in [messages] if at_once else [[message] for message in messages]:
        client.say(*read)
    assert client.is_modern is is_modern
    assert client.begun <= 1
    assert client.upstream == upstream


def test_what_comes_before_is_answered_as_before_a_handshake() -> None:
    first, second, third = Client().say(PING, request(2, "tools/list"), b"{")
    assert first["result"] == {}
    assert second["error"]["data"]["cause"] == "not_initialized"
    assert third["error"]["code"] == -32700


@proves("EMB-03")
def test_an_era_once_found_stays() -> None:
    client = Client()
    client.say(LIST)
    assert client.say(initialize())[0]["error"]["code"] == -32602
    assert client.say(request(9, "ping"))[0]["error"]["data"]["cause"] == "missing_meta"
    assert client.is_modern
    other = Client()
    other.say(initialize())
    other.say(LIST)
    assert not other.is_modern


def test_a_line_that_is_too_long_tells_nothing() -> None:
    client = Client()
    (answer,) = client.say(Overlong(b'{"jsonrpc":"2.0","id":1,"method":"initialize"', b"}"))
    assert answer["error"]["data"]["cause"] == "line_too_long"
    client.say(LIST)
    assert client.is_modern


@pytest.mark.parametrize(("profile", "is_open"), [("vscode", False), ("neutral", True)])
def test_where_a_handshake_is_sure_no_other_era_begins(profile: str, is_open: bool) -> None:
    found = named(profile)
    assert found is not None
    client = Client(profile, is_open or found.reply_revision is None)
    assert client.say(LIST)[0]["error"]["code"] == -32601
    assert not client.begun
    assert not client.is_modern


def test_the_front_that_is_there_hears_that_the_client_leaves() -> None:
    client = Client()
    client.say(LIST)
    client.opening.leave(Reason.CLIENT_LEFT, 0.0)
    assert client.upstream == ["tools/list", "notifications/cancelled"]
