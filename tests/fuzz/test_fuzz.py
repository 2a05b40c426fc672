"""Twenty thousand inputs with mutations; `make fuzz` tries as many others as it is told to."""

import random

import pytest

from dragoman.backs.modern import Modern
from fuzz import requests
from fuzz.played import Broken, play
from support.proofs import proves

SEED = "dragoman"
CONVERSATIONS, REQUESTS = 16_000, 4_000
PIECES = 8

pytestmark = pytest.mark.timeout(300)


@proves("QA-06", "CANC-09")
@pytest.mark.parametrize("piece", range(PIECES))
def test_conversations_with_mutations(piece: int) -> None:
    size = CONVERSATIONS // PIECES
    for number in range(piece * size, (piece + 1) * size):
        try:
            play(random.Random(f"{SEED}:{number}"))
        except Broken as broken:
            raise AssertionError(f"make fuzz INPUTS=1 SEED={SEED} FIRST={number}\n{broken}") from broken


@proves("QA-06")
def test_requests_with_mutations() -> None:
    requests.play(SEED, 0, REQUESTS)


def test_a_machine_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def always_the_same(back: Modern) -> bytes:
        return b"1"

    monkeypatch.setattr(Modern, "next_id", always_the_same)
    assert any(_breaks(number) for number in range(500))


def _breaks(number: int) -> bool:
    try:
        play(random.Random(f"{SEED}:{number}"))
    except Broken:
        return True
    return False
