"""The states of parked calls: only this bridge can make them, and each is good for one request of one caller."""

from typing import Any

import pytest
from msgspec import Raw

from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Call
from dragoman.fronts.sealing import Seal, Unsealed
from dragoman.revisions import LATEST
from dragoman.runtime.seals import read_key
from dragoman.wire.members import raw
from support.proofs import proves

KEY = bytes(range(32))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def sealing(key: bytes = KEY, clock: Clock | None = None) -> Seal:
    count = iter(range(1, 1000))
    return Seal(key, 600.0, lambda size: next(count).to_bytes(size), clock or Clock())


def call(method: str = "tools/call", principal: str | None = None, **params: Any) -> Call:
    members = {name: raw(value) for name, value in {"name": "t", **params}.items()}
    return Call(1, method, members, Caller(LATEST, principal=principal), None, False)


@proves("SEAL-01")
def test_a_state_comes_back_as_what_it_was_and_no_two_are_alike() -> None:
    seal = sealing()
    first, second = seal.seal("h", 2, call(), call().params), seal.seal("h", 2, call(), call().params)
    assert first != second
    assert seal.opened(first, call(), call().params) == seal.opened(second, call(), call().params) == ("h", 2)


def test_answers_and_the_spelling_of_params_are_no_part_of_what_it_is_bound_to() -> None:
    seal = sealing()
    asked = call(arguments={"a": 1, "b": 2})
    again = call(arguments={"b": 2, "a": 1}, inputResponses={"x": {}}, requestState="s")
    again.params["arguments"] = Raw(b'{ "b" : 2, "a":1 }')
    assert seal.opened(seal.seal("h", 1, asked, asked.params), again, again.params) == ("h", 1)


@proves("SEAL-04", "SEAL-05", "SEAL-06")
@pytest.mark.parametrize(
    "other",
    [
        call("prompts/get"),
        call(name="u"),
        call(arguments={}),
        call(principal="someone"),
        call(principal='["i","s","c"]'),
    ],
    ids=["method", "target", "params", "caller", "another caller"],
)
def test_another_request_or_caller_cannot_use_it(other: Call) -> None:
    seal = sealing()
    with pytest.raises(Unsealed):
        seal.opened(seal.seal("h", 1, call(), call().params), other, other.params)


@proves("SEAL-02", "SEAL-08")
def test_any_change_is_noticed() -> None:
    seal = sealing()
    state = seal.seal("h", 1, call(), call().params)
    for place in range(len(state)):
        other = "A" if state[place] != "A" else "B"
        with pytest.raises(Unsealed):
            seal.opened(state[:place] + other + state[place + 1 :], call(), call().params)
    for changed in ("", "1.", state[:-1], state + "A", state + "====", "2" + state[1:], "1.é"):
        with pytest.raises(Unsealed):
            seal.opened(changed, call(), call().params)


@proves("SEAL-03")
def test_it_lives_ten_minutes() -> None:
    clock = Clock()
    seal = sealing(clock=clock)
    state = seal.seal("h", 1, call(), call().params)
    clock.now += 599
    assert seal.opened(state, call(), call().params) == ("h", 1)
    clock.now += 1
    with pytest.raises(Unsealed, match="too old"):
        seal.opened(state, call(), call().params)


@proves("SEAL-07")
def test_another_process_opens_it_with_the_same_key_only() -> None:
    state = sealing().seal("h", 1, call(), call().params)
    assert sealing().opened(state, call(), call().params) == ("h", 1)
    with pytest.raises(Unsealed):
        sealing(bytes(32)).opened(state, call(), call().params)


@pytest.mark.parametrize("text", [KEY.hex(), "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"])
def test_a_key_is_read_as_digits_or_base64(text: str) -> None:
    assert read_key(text) == KEY


@pytest.mark.parametrize("text", ["", "x", "00" * 31, "AAEC"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        read_key(text)
