"""The probe, besides its playbook: what a failure says, and that nothing stands in between after the verdict."""

import json

import pytest
from msgspec import Raw

from dragoman.backs.discovery import suggests_other_era
from dragoman.backs.legacy import Legacy
from dragoman.backs.modern import Modern
from dragoman.backs.probe import FREQUENT, Probe
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import ServerError
from dragoman.exchange.nobody import Nobody
from dragoman.exchange.notes import NoNotes
from dragoman.faults import OF_SIGN_IN, Cause, Fault
from dragoman.limits import Limits
from dragoman.revisions import LATEST, LATEST_LEGACY, Era
from support.proofs import proves

CALLER = Caller(LATEST_LEGACY)
DISCOVERED: dict[str, object] = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
INITIALIZED = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}


def probe() -> Probe:
    return Probe(Nobody(), Limits(), NoNotes())


def sent(one: Probe) -> list[tuple[str, int]]:
    """Method and id of all that is to be sent."""
    frames = [json.loads(frame) for frame in one.out]
    one.out.clear()
    return [(frame["method"], frame["id"]) for frame in frames]


def answer(one: Probe, id: int, **members: object) -> None:
    one.receive(json.dumps({"jsonrpc": "2.0", "id": id, **members}).encode(), 1.0)


REFUSED: dict[str, object] = {"code": -32601, "message": "no"}


def owners(one: Probe) -> set[type]:
    return {type(getattr(one, name).__self__) for name in FREQUENT}


@proves("NEG-06")
def test_after_the_verdict_the_inner_back_is_spoken_to_directly() -> None:
    modern = probe()
    assert owners(modern) == {Modern}
    modern.open(CALLER, 0.0)
    assert owners(modern) == {Probe}
    answer(modern, 1, result=DISCOVERED)
    assert owners(modern) == {Modern}
    assert (modern.era, modern.revision) == (Era.MODERN, LATEST)
    legacy = probe()
    legacy.open(CALLER, 0.0)
    sent(legacy)
    answer(legacy, 1, error=REFUSED)
    assert owners(legacy) == {Probe}
    ((_, id),) = sent(legacy)
    answer(legacy, id, result=INITIALIZED)
    assert owners(legacy) == {Legacy}
    assert (legacy.era, legacy.revision.name) == (Era.LEGACY, "2025-06-18")


@proves("NEG-09")
def test_a_later_open_goes_straight_there_until_it_fails() -> None:
    one = probe()
    one.open(CALLER, 0.0)
    sent(one)
    answer(one, 1, error=REFUSED)
    ids = [id for _, id in sent(one)]
    answer(one, ids[-1], result=INITIALIZED)
    one.close()
    one.open(CALLER, 2.0)
    ((method, id),) = sent(one)
    assert method == "initialize"
    answer(one, id, error=REFUSED)
    assert one.era is None
    one.close()
    one.open(CALLER, 3.0)
    assert [method for method, _ in sent(one)] == ["server/discover"]


@proves("NEG-09")
def test_a_modern_server_that_is_one_no_longer_is_found_out_with_the_next_open() -> None:
    one = probe()
    one.open(CALLER, 0.0)
    sent(one)
    answer(one, 1, result=DISCOVERED)
    one.close()
    one.open(CALLER, 2.0)
    ((_, id),) = sent(one)
    assert one.wake() == 2.0 + Limits().timeouts.discover
    answer(one, id, error=REFUSED)
    assert sent(one) == []
    assert one.era is None


def test_what_was_never_sent_is_not_met_with_silence() -> None:
    one = probe()
    one.open(CALLER, 0.0)
    one.tick(5.0)  # the server before still ends
    assert one.wake() == 10.0
    assert [method for method, _ in sent(one)] == ["server/discover"]
    one.tick(10.0)
    assert [method for method, _ in sent(one)] == ["initialize"]


def test_the_ids_of_one_server_are_never_used_twice() -> None:
    one = probe()
    one.open(CALLER, 0.0)
    first = sent(one)
    one.tick(5.0)
    second = sent(one)
    assert {id for _, id in first}.isdisjoint(id for _, id in second)


@proves("B47", "B48")
@pytest.mark.parametrize("cause", list(Cause))
def test_what_a_failure_says_of_the_era(cause: Cause) -> None:
    says_nothing = {
        *(Cause.SPAWN_FAILED, Cause.CONNECT_FAILED, Cause.TOO_MANY_REQUESTS, Cause.INTERNAL, Cause.TRANSPORT_FAILED),
        Cause.SHUTTING_DOWN,
        *OF_SIGN_IN,
    }
    assert suggests_other_era(Fault(cause)) is (cause not in says_nothing)


@proves("B47")
def test_what_a_status_and_a_code_say_of_the_era() -> None:
    def of(status: int) -> bool:
        return suggests_other_era(Fault(Cause.TRANSPORT_FAILED, status=status))

    neutral = {401, 403, 407, 408, 429}
    assert [status for status in range(300, 600) if of(status)] == [s for s in range(400, 500) if s not in neutral]
    codes = {code for code in range(-32800, -31900) if not suggests_other_era(ServerError(code, Raw(b"{}")))}
    assert codes == {-32022, -32021, -32020}
