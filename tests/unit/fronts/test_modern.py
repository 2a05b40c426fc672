"""The stateless front: its ladder, its ids and tokens, and what it tells when."""

import json
from typing import Any

import pytest
from msgspec import Raw

from dragoman.channel import LINK
from dragoman.exchange.events import Call, Reason, ServerError
from dragoman.faults import Cause, Fault
from dragoman.fronts.modern import Modern
from dragoman.limits import Limits
from dragoman.wire import frame as wire
from dragoman.wire.members import Members, opened, raw
from support import official
from support.dialogue import Kept
from support.listener import MODERN, NAMESPACE, SUBSCRIPTION, modern, notice, request
from support.proofs import proves

VERSION, CAPABILITIES = NAMESPACE + "protocolVersion", NAMESPACE + "clientCapabilities"
META: dict[str, Any] = {VERSION: MODERN, CAPABILITIES: {}}


class Middle:
    """Keeps what the front hands on."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.cancelled: list[tuple[Call, Reason]] = []
        self.is_left = False

    def call(self, call: Call, now: float) -> None:
        self.calls.append(call)

    def cancel(self, call: Call, reason: Reason, now: float) -> None:
        self.cancelled.append((call, reason))

    def left(self, reason: Reason, now: float) -> None:
        self.is_left = True


class Scene:
    """A front with a client. `told` and `answers` are what it wrote, each with its lane."""

    def __init__(self, most: int = 5, rate: int | None = None) -> None:
        self.middle = Middle()
        self.front = Modern(self.middle, Limits(), Kept(), self, most, rate)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        self.told: list[tuple[int, Any]] = []
        self.answers: list[tuple[int, Any]] = []
        self.whys: list[Any] = []

    def tell(self, lane: int, frame: bytes, /) -> None:
        self.told.append((lane, json.loads(frame)))
        official.check_frame(MODERN, self.told[-1][1])

    def answer(self, lane: int, frame: bytes, why: Fault | ServerError | None = None, /) -> None:
        self.answers.append((lane, json.loads(frame)))
        self.whys.append(why)

    def drop(self, lane: int, /) -> None: ...

    def say(self, message: Any, lane: int = LINK, principal: str | None = None) -> Call | None:
        """The client's message; gives the call that it became."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        before = len(self.middle.calls)
        if lane == LINK:
            self.front.receive([data], 0.0)
        else:
            self.front.receive_on(lane, data, wire.parse(data, 64), 0.0, principal)
        return self.middle.calls[-1] if len(self.middle.calls) > before else None

    def begin(self, message: Any, lane: int = LINK) -> Call:
        call = self.say(message, lane)
        assert call is not None, self.answers
        return call

    def done(self, call: Call, **result: Any) -> Any:
        self.front.done(call, members(resultType="complete", **result), 1.0)
        return self.answers[-1][1]

    @property
    def error(self) -> tuple[Any, int, str]:
        (_, answer), *others = self.answers
        assert not others
        return answer["id"], answer["error"]["code"], answer["error"]["data"]["cause"]


def members(**values: Any) -> Members:
    return opened(raw(values))


def asked(id: Any = 1, method: str = "tools/list", **params: Any) -> dict[str, Any]:
    return modern(request(id, method, **params))


LANES = pytest.mark.parametrize("lane", [LINK, 7], ids=["pipe", "lane"])


# ---------------------------------------------------------------------- the ladder


@proves("SDKMSG-01", "SDKMETA-03", "B28", "B106")
@LANES
@pytest.mark.parametrize(
    ("message", "error"),
    [
        (b"{", (None, -32700, "parse_error")),
        (b"[]", (None, -32600, "invalid_request_shape")),
        ([asked(1), asked(2)], (None, -32600, "invalid_request_shape")),
        ({**asked(), "jsonrpc": "1.0"}, (1, -32600, "invalid_request_shape")),
        ({**asked(), "id": None}, (None, -32600, "invalid_request_shape")),
        ({**asked(), "id": True}, (None, -32600, "invalid_request_shape")),
        ({**asked(), "id": 1.5}, (None, -32600, "invalid_request_shape")),
        ({**asked(), "id": {}}, (None, -32600, "invalid_request_shape")),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, (None, -32600, "invalid_request_shape")),
        (b'{"jsonrpc":"2.0","id":1,"id":1,"method":"x"}', (1, -32600, "invalid_request_shape")),
        ({"jsonrpc": "2.0", "id": 1, "method": "x"}, (1, -32602, "missing_meta")),
        ({"jsonrpc": "2.0", "id": 1, "method": "x", "params": [1]}, (1, -32602, "missing_meta")),
        (request(1, "x"), (1, -32602, "missing_meta")),
        (request(1, "x", _meta=5), (1, -32602, "missing_meta")),
        (request(1, "x", _meta={}), (1, -32602, "missing_meta")),
        (request(1, "x", _meta={VERSION: MODERN}), (1, -32602, "missing_meta")),
        (request(1, "x", _meta={CAPABILITIES: {}}), (1, -32602, "missing_meta")),
        (request(1, "x", _meta={**META, VERSION: 5}), (1, -32602, "missing_meta")),
        (request(1, "x", _meta={**META, VERSION: None}), (1, -32602, "missing_meta")),
        (request(1, "x", _meta={**META, CAPABILITIES: 1}), (1, -32602, "missing_meta")),
        (request(1, "x", _meta={**META, CAPABILITIES: None}), (1, -32602, "missing_meta")),
        (request(1, "x", _meta={**META, VERSION: "2099-01-01"}), (1, -32022, "unsupported_version")),
        (request(1, "x", _meta={VERSION: "2099-01-01"}), (1, -32022, "unsupported_version")),
        (request(1, "x", _meta={**META, VERSION: "2025-11-25"}), (1, -32022, "unsupported_version")),
    ],
)
def test_a_message_is_judged_rung_by_rung(message: Any, error: Any, lane: int) -> None:
    scene = Scene()
    assert scene.say(message, lane) is None
    assert scene.error == error
    assert scene.answers[0][0] == lane
    assert isinstance(scene.whys[0], Fault)
    assert len(scene.front) == 0


@proves("SDKMETA-04")
def test_an_unknown_revision_is_told_which_ones_there_are() -> None:
    scene = Scene()
    scene.say(modern(request("a", "x"), "2099-01-01"))
    data = scene.answers[0][1]["error"]["data"]
    assert (data["supported"], data["requested"]) == ([MODERN], "2099-01-01")
    official.check(MODERN, "UnsupportedProtocolVersionError", scene.answers[0][1])


@LANES
def test_a_notification_is_never_answered(lane: int) -> None:
    scene = Scene()
    for message in (notice("x"), notice("cancelled"), notice("cancelled", requestId=1), notice("initialized")):
        assert scene.say(message, lane) is None
    assert not scene.answers


@proves("SDKMSG-03")
def test_an_initialize_needs_what_every_request_needs() -> None:
    scene = Scene()
    scene.say(request(1, "initialize", protocolVersion="2025-11-25", capabilities={}))
    assert scene.error == (1, -32602, "missing_meta")


@proves("SDKMSG-02")
@pytest.mark.parametrize("id", [b"12345678901234567890123", b'"\\u0041\\/"', b'""', b"-7", b'"1"'])
def test_an_id_comes_back_byte_for_byte(id: bytes) -> None:
    written: list[bytes] = []
    scene = Scene()
    scene.answer = lambda lane, frame, why=None, /: written.append(frame)  # type: ignore[method-assign]
    call = scene.begin(json.dumps(asked("ID")).encode().replace(b'"ID"', id))
    scene.front.done(call, members(resultType="complete"), 0.0)
    assert b'"id":%b,' % id in written[0]


# ---------------------------------------------------------------------- who asks


def test_what_a_request_says_of_its_client_holds_for_that_request_only() -> None:
    scene = Scene()
    info: dict[str, Any] = {
        NAMESPACE + "clientInfo": {"name": "a"},
        NAMESPACE + "logLevel": "info",
        CAPABILITIES: {"roots": {}},
    }
    first, second = scene.begin(modern(request(1, "x"), **info)), scene.begin(asked(2))
    assert (first.caller.level, second.caller.level) == ("info", None)
    assert first.caller.has("roots")
    assert not second.caller.has("roots")
    assert first.caller.info is not None
    assert second.caller.info is None


def test_equal_clients_with_other_principals_are_not_the_same() -> None:
    scene = Scene()
    callers = [scene.say(asked(place), place + 1, who) for place, who in enumerate(["ada", "bob", None, "ada"])]
    assert [one and one.caller.principal for one in callers] == ["ada", "bob", None, "ada"]


@pytest.mark.parametrize("level", ["loud", 5, None])
def test_a_level_that_is_none_is_refused(level: Any) -> None:
    scene = Scene()
    assert scene.say(modern(request(1, "x"), **{NAMESPACE + "logLevel": level})) is None
    assert scene.error == (1, -32602, "missing_meta")


# ---------------------------------------------------------------------- ids


@proves("B29")
def test_on_a_pipe_an_id_in_flight_is_refused_and_the_first_goes_on() -> None:
    scene = Scene()
    call = scene.begin(asked("1"))
    assert scene.begin(asked(1))  # another type is another id
    assert scene.say(asked("1")) is None
    assert scene.error == ("1", -32600, "duplicate_id")
    assert scene.done(call)["id"] == "1"
    assert scene.begin(asked("1"))


@proves("B29")
def test_on_lanes_of_their_own_equal_ids_do_not_meet() -> None:
    scene = Scene()
    first, second = scene.begin(asked(1), 3), scene.begin(asked(1), 4)
    scene.done(second, tools=[])
    scene.done(first, tools=[])
    assert [lane for lane, _ in scene.answers] == [4, 3]


@proves("FLIGHT-02")
@LANES
def test_one_request_more_than_may_be_is_refused_at_once(lane: int) -> None:
    scene = Scene(most=2)
    first = scene.begin(asked(1), lane)
    scene.begin(asked(2), lane and lane + 1)
    assert scene.say(asked(3), lane and lane + 2) is None
    assert scene.error == (3, -32603, "too_many_requests")
    scene.done(first)
    assert scene.begin(asked(3), lane)


# ---------------------------------------------------------------------- cancelling


@proves("SDKCXL-01", "SDKCXL-03")
def test_a_cancel_on_a_pipe_silences_its_request() -> None:
    scene = Scene()
    call = scene.begin(modern(request(1, "tools/call"), progressToken="t"))
    scene.say(notice("cancelled", requestId="1"))
    scene.say(notice("cancelled", requestId=2))
    assert not scene.middle.cancelled
    scene.say(notice("cancelled", requestId=1, reason="whatever"))
    scene.say(notice("cancelled", requestId=1))
    assert scene.middle.cancelled == [(call, Reason.CLIENT_CANCELLED)]
    scene.front.told(call, "notifications/progress", members(progress=1), 0.0)
    scene.front.done(call, members(resultType="complete"), 0.0)
    scene.front.failed(call, Fault(Cause.TIMEOUT), 0.0)
    assert (scene.told, scene.answers) == ([], [])


def test_a_lane_that_closes_is_a_cancel_of_what_is_on_it() -> None:
    scene = Scene()
    gone, stays = scene.begin(asked(1), 3), scene.begin(asked(1), 4)
    scene.say(notice("cancelled", requestId=1), 5)  # means nothing there
    scene.front.lane_closed(3, 0.0)
    scene.front.lane_closed(3, 0.0)
    assert [call for call, _ in scene.middle.cancelled] == [gone]
    scene.front.done(gone, members(resultType="complete"), 0.0)
    scene.done(stays)
    assert [lane for lane, _ in scene.answers] == [4]


def test_a_client_that_leaves_is_told_nothing_more() -> None:
    scene = Scene()
    call = scene.begin(asked(1))
    scene.front.leave(Reason.CLIENT_LEFT, 0.0)
    assert scene.middle.is_left
    scene.front.done(call, members(resultType="complete"), 0.0)
    assert not scene.answers


# ---------------------------------------------------------------------- what is told


@LANES
@pytest.mark.parametrize("token", ["t", 7, 0, ""])
def test_progress_has_the_client_s_token(token: Any, lane: int) -> None:
    scene = Scene()
    call = scene.begin(modern(request(1, "tools/call"), progressToken=token), lane)
    assert call.wants_progress
    scene.front.told(call, "notifications/progress", members(progressToken="9.1", progress=1, total=2), 0.0)
    scene.front.progress(call, {"progress": Raw(b"2"), "message": Raw(b'"m"')}, 0.0)
    assert [told for told, _ in scene.told] == [lane, lane]
    first, second = (frame["params"] for _, frame in scene.told)
    assert first == {"progressToken": token, "progress": 1, "total": 2}
    assert second == {"progressToken": token, "progress": 2, "message": "m"}


def test_only_progress_that_rises_is_told_and_no_more_of_it_than_the_rate() -> None:
    scene = Scene(rate=2)
    call = scene.begin(modern(request(1, "tools/call"), progressToken=0))
    for place, value in enumerate((1, 1, 0.5, 2, 3, 4)):
        scene.front.told(call, "notifications/progress", members(progress=value), 10.0 if place < 5 else 11.0)
    scene.front.told(call, "notifications/progress", members(progress="5"), 11.0)
    assert [frame["params"]["progress"] for _, frame in scene.told] == [1, 2, 4]


@LANES
def test_a_listen_stream_that_is_lost_ends_as_one_that_may_be_asked_for_again(lane: int) -> None:
    scene = Scene()
    early, heard = (scene.begin(asked(id, "subscriptions/listen", notifications={}), lane) for id in ("a", "b"))
    scene.front.told(heard, "notifications/subscriptions/acknowledged", members(notifications={}), 0.0)
    for call in (early, heard):
        scene.front.failed(call, Fault(Cause.UPSTREAM_EXITED), 0.0)
    (_, refused), (_, ended) = scene.answers
    assert refused["error"]["data"]["cause"] == "upstream_exited"
    assert ended["result"] == {"resultType": "complete", "_meta": {SUBSCRIPTION: "b"}}


@pytest.mark.parametrize("token", [None, {}, []])
def test_a_token_that_is_none_wants_no_progress(token: Any) -> None:
    scene = Scene()
    call = scene.begin(modern(request(1, "tools/call"), progressToken=token))
    assert not call.wants_progress
    scene.front.told(call, "notifications/progress", members(progress=1), 0.0)
    assert not scene.told


def test_a_log_message_passes_as_it_is() -> None:
    scene = Scene()
    call = scene.begin(asked(1), 3)
    scene.front.told(call, "notifications/message", members(level="info", data={"a": 1}), 0.0)
    assert scene.told == [(3, notice("message", level="info", data={"a": 1}))]


@proves("SDKSUB-04")
@LANES
def test_events_and_the_end_of_a_listen_stream_carry_its_id(lane: int) -> None:
    scene = Scene()
    call = scene.begin(asked("l", "subscriptions/listen", notifications={"toolsListChanged": True}), lane)
    upstream = {SUBSCRIPTION: "9.1", "kept": 1}
    scene.front.told(call, "notifications/subscriptions/acknowledged", members(notifications={}, _meta=upstream), 0.0)
    scene.front.told(call, "notifications/tools/list_changed", members(_meta=upstream), 0.0)
    for told, frame in scene.told:
        assert told == lane
        assert frame["params"]["_meta"] == {SUBSCRIPTION: "l", "kept": 1}
    answer = scene.done(call)
    official.check_frame(MODERN, answer, "subscriptions/listen")
    assert answer["result"] == {"resultType": "complete", "_meta": {SUBSCRIPTION: "l"}}
    ends = scene.told[2:]
    assert ends == ([(LINK, notice("cancelled", requestId="l"))] if lane == LINK else [])


@proves("SDKSUB-05")
def test_the_end_of_the_bridge_ends_every_listen_stream_and_nothing_else() -> None:
    scene = Scene()
    pipe, lane = (scene.begin(asked(1, "subscriptions/listen", notifications={}), on) for on in (LINK, 3))
    scene.begin(asked(2))
    scene.front.end_streams()
    assert scene.middle.cancelled == [(pipe, Reason.SERVER_STOPPED), (lane, Reason.SERVER_STOPPED)]
    assert [on for on, _ in scene.answers] == [LINK, 3]
    assert len(scene.front) == 1


@pytest.mark.parametrize(
    ("given", "served"),
    [
        ([MODERN], [MODERN]),
        ([MODERN, "2025-11-25", "2099-01-01", 5], [MODERN]),
        (["2025-11-25"], []),
        (None, []),
    ],
)
def test_discover_names_only_what_needs_no_handshake(given: Any, served: list[str]) -> None:
    scene = Scene()
    call = scene.begin(asked(1, "server/discover"))
    result = scene.done(call, **({} if given is None else {"supportedVersions": given}))["result"]
    assert result["supportedVersions"] == served


def test_a_list_of_tools_is_shown_to_who_wants_to_know() -> None:
    scene = Scene()
    shown: list[Members] = []
    scene.front.listed = shown.append
    scene.done(scene.begin(asked(1, "tools/list")), tools=[])
    scene.done(scene.begin(asked(1, "prompts/list")), prompts=[])
    assert [list(one) for one in shown] == [["resultType", "tools"]]


def test_an_error_of_the_server_comes_as_it_is() -> None:
    scene = Scene()
    call = scene.begin(asked(1), 3)
    error: dict[str, Any] = {"code": -32021, "message": "m", "data": {"requiredCapabilities": {"roots": {}}}}
    scene.front.failed(call, ServerError(-32021, raw(error)), 0.0)
    assert scene.answers == [(3, {"jsonrpc": "2.0", "id": 1, "error": error})]
    assert isinstance(scene.whys[0], ServerError)


def test_after_the_server_is_gone_nothing_is_said_of_what_was_asked() -> None:
    scene = Scene()
    call = scene.begin(asked(1))
    scene.front.server_gone(Fault(Cause.UPSTREAM_EXITED), 0.0)
    scene.front.done(call, members(resultType="complete"), 0.0)
    assert not scene.answers
