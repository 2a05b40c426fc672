"""Calls of a modern client that wait in the bridge while an older server waits for its answer: what if one of the three
goes away meanwhile."""

import os
import secrets
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest

from support.listener import call, error_of, modern, text_of
from support.listening import Client, Listening
from support.processes import MODERN, OLDER, Bridge, Scripted, is_gone
from support.proofs import proves

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="the scripted server locks files as POSIX does"),
]

Make = Callable[..., Scripted]
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
ACCEPTED = {"action": "accept", "content": {"n": "x"}}


def tool(id: Any, name: str, declared: dict[str, Any] = FORMS, /, **params: Any) -> dict[str, Any]:
    return modern(call(id, name, **params), **{CAPABILITIES: declared})


def parked(answer: Any) -> tuple[str, str]:
    """The key of the one question in an answer, and the state to come back with."""
    result = answer["result"]
    assert result["resultType"] == "input_required", answer
    (key,) = result["inputRequests"]
    return key, result["requestState"]


def back(client: Client, id: Any, key: str, state: str, answer: Any = ACCEPTED) -> Any:
    return client.post(tool(id, "ask", requestState=state, inputResponses={key: answer}))


def asked(server: Scripted) -> int:
    return sum(frame["params"]["name"] == "ask" for frame in server.received("tools/call"))


@proves("SDKMRTR-02", "B92")
def test_the_server_dies_while_three_calls_are_parked(scripted: Make) -> None:
    server = scripted(script=OLDER)
    with Listening(server.command) as one, one.client() as client, one.client() as other:
        states = [parked(client.post(tool(number, "ask"))) for number in range(3)]
        assert error_of(other.post(tool(9, "die"))) == (-32603, "upstream_exited")
        for number, (key, state) in enumerate(states):
            assert error_of(back(client, 10 + number, key, state)) == (-32603, "upstream_exited")
        for number, (key, state) in enumerate(states):
            assert error_of(back(client, 20 + number, key, state)) == (-32602, "invalid_params")
        assert asked(server) == 3, "nothing is called twice"

        key, state = parked(client.post(tool(30, "ask")))
        assert text_of(back(client, 31, key, state)) == "accept"
        assert one.stop() == 0


def test_a_client_that_vanishes_between_two_rounds_disturbs_nobody(scripted: Make) -> None:
    server = scripted(script=OLDER)
    with Listening(server.command) as one:
        with one.client() as vanishing:
            parked(vanishing.post(tool(1, "ask")))
        with one.client() as other:
            key, state = parked(other.post(tool(1, "ask")))
            assert text_of(back(other, 2, key, state, {"action": "decline"})) == "decline"
            (pid,) = {int(text_of(other.post(tool(number, "t")))) for number in range(3, 6)}
        assert one.stop() == 0
        assert is_gone(pid)


def test_a_client_on_a_pipe_that_vanishes_ends_bridge_and_server(scripted: Make) -> None:
    server = scripted(script=OLDER)
    with Bridge(server.command) as bridge:
        bridge.revision = MODERN
        bridge.send(tool(1, "ask"))
        parked(bridge.answer(1))
        assert bridge.end() == 0
    assert is_gone(server.pids()[-1])
    assert asked(server) == 1


@proves("EXIT-02")
def test_a_client_on_a_pipe_hears_of_a_server_that_stopped_while_nobody_called(scripted: Make) -> None:
    server = scripted(script=OLDER)
    with Bridge(server.command) as bridge:
        bridge.revision = MODERN
        bridge.send(tool(1, "t"))
        os.kill(int(text_of(bridge.answer(1))), signal.SIGKILL)
        bridge.says(b"the server's process")
        bridge.send(tool(2, "t"))
        assert error_of(bridge.answer(2)) == (-32603, "upstream_exited")
        assert bridge.wait() == 1


@proves("SEAL-07")
@pytest.mark.parametrize("is_kept", [True, False], ids=["key kept", "key lost"])
def test_a_bridge_that_restarts_between_two_rounds_repeats_nothing(
    scripted: Make, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_KEY", secrets.token_hex(32))
    options = ("--state-key-env", "STATE_KEY") if is_kept else ()
    server = scripted(script=OLDER)
    with Listening(server.command, *options) as one, one.client() as client:
        key, state = parked(client.post(tool(1, "ask")))
        assert one.stop() == 0
    with Listening(server.command, *options) as one, one.client() as client:
        told = back(client, 2, key, state)
        assert error_of(told) == (-32602, "invalid_params")
        detail = told["error"]["data"]["detail"]
        assert ("nothing waits for this requestState any more" in detail) is is_kept
        assert asked(server) == 1
        key, state = parked(client.post(tool(3, "ask")))
        assert text_of(back(client, 4, key, state)) == "accept"
        assert one.stop() == 0


def test_clients_that_declare_different_things_share_no_conversation(scripted: Make) -> None:
    server = scripted(script=OLDER)
    with Listening(server.command) as one, one.client() as plain, one.client() as able, one.client() as same:
        assert text_of(plain.post(tool(1, "client", {}))) == "{}"
        assert '"elicitation"' in text_of(able.post(tool(1, "client")))
        assert text_of(plain.post(tool(2, "client", {}))) == "{}"
        first = {text_of(client.post(tool(3, "t", declared))) for client, declared in ((plain, {}), (able, FORMS))}
        assert len(first) == 2
        assert text_of(same.post(tool(3, "t"))) in first
        assert one.stop() == 0
