"""The stream of changes over a transport that can lose it."""

from dragoman.faults import Cause, Fault
from support.dialogue import Dialogue
from support.proofs import proves


def listening() -> Dialogue:
    return Dialogue().open(server={"tools": {"listChanged": True}}, initialized=True, acknowledge=True)


def lose(bridge: Dialogue, may_retry: bool = True) -> None:
    stream = bridge.back.watcher.active or bridge.back.watcher.opening
    assert stream is not None
    bridge.back.lane_lost(stream.id, Fault(Cause.TRANSPORT_FAILED), may_retry, bridge.now)
    bridge.server()


@proves("GAP-05", "LOSS-01")
def test_a_lost_stream_is_opened_again_at_once_three_times_and_then_after_a_wait() -> None:
    bridge = listening()
    for _ in range(3):
        lose(bridge)
        assert [frame["method"] for frame in bridge.to_server] == ["subscriptions/listen"]
        bridge.forget()
    lose(bridge)
    assert not bridge.to_server
    bridge.wait(0.6)
    assert [frame["method"] for frame in bridge.to_server] == ["subscriptions/listen"]


@proves("GAP-03")
def test_what_may_have_been_missed_is_told_after_the_loss() -> None:
    bridge = listening()
    lose(bridge)
    listen = bridge.to_server[-1]
    bridge.forget()
    bridge.server(bridge.acknowledgement(listen))
    assert [frame["method"] for frame in bridge.to_client] == ["notifications/tools/list_changed"]


@proves("SIZE-04", "SIZE-05")
def test_an_answer_that_is_too_long_fails_its_call_before_it_ends() -> None:
    from dragoman.wire.lines import Lines

    bridge = Dialogue().open()
    bridge.client({"id": "big", "method": "tools/list"})
    id = bridge.last("tools/list")["id"]
    framer = Lines(1000, eager=True)
    for line in framer.feed(b'{"jsonrpc":"2.0","id":%d,"result":{"tools":"' % id + b"x" * 2000):
        bridge.server(line)
    error = bridge.answer_to("big")["error"]
    assert error["data"]["cause"] == "invalid_response"
    for line in framer.feed(b'x"}}\n'):
        bridge.server(line)
    assert "longer than the line limit" in bridge.notes.texts()
    assert len(bridge.to_client) == 1
