"""The defaults of the limits: each is the number of its rule."""

import pytest

from dragoman.limits import Limits, Patience, Reception, Timeouts, patience_of
from dragoman.signin import account, authorize, options, receiver, shelf, tokens
from dragoman.transports.http.bounds import Bounds
from dragoman.wire.lines import EDGE
from support.proofs import proves

HOUR = 3600.0
MIB = 1 << 20


@proves("TIME-01", "TIME-02", "TIME-03", "TIME-04")
@pytest.mark.parametrize(
    ("method", "first", "later"),
    [
        ("tools/list", 120.0, 120.0),
        ("prompts/list", 120.0, 120.0),
        ("resources/list", 120.0, 120.0),
        ("resources/templates/list", 120.0, 120.0),
        ("completion/complete", 120.0, 120.0),
        ("prompts/get", 120.0, HOUR),
        ("resources/read", 120.0, HOUR),
        ("tools/call", HOUR, HOUR),
    ],
)
def test_each_round_of_a_request_has_its_time(method: str, first: float, later: float) -> None:
    timeouts = Timeouts()
    assert [timeouts.of(patience_of(method, number)) for number in (1, 2, 10)] == [first, later, later]


@proves("TIME-05", "TIME-06", "B43", "LOSS-02")
def test_answers_and_openings_have_their_times() -> None:
    timeouts = Timeouts()
    assert timeouts.of(Patience.INPUT) == HOUR
    assert (timeouts.discover, timeouts.probe, timeouts.acknowledgement) == (60.0, 5.0, 10.0)


@proves("CLI-06", "CLI-07", "SIZE-02", "FLIGHT-01", "ROUND-11", "ERR-20", "CHK-11")
def test_sizes_and_numbers_of_one_client() -> None:
    limits = Limits()
    assert (limits.line, Bounds().response) == (64 * MIB, 64 * MIB)
    assert (limits.depth, limits.in_flight, limits.rounds, limits.questions) == (64, 256, 10, 16)


@proves("EXIT-06", "EXIT-07", "EXIT-08", "SEAL-03")
def test_times_of_the_end_and_of_a_state() -> None:
    limits = Limits()
    assert (limits.grace, limits.watchdog, limits.state_life) == (2.0, 8.0, 600.0)


@proves("GAP-05", "LOSS-08", "LOSS-09", "HTTP-12")
def test_how_a_lost_stream_is_opened_again() -> None:
    limits = Limits()
    assert (limits.reopen_at_once, limits.reopen_first, limits.reopen_last, limits.settled) == (3, 0.5, 30.0, 10.0)
    assert Bounds().hops == 3


@proves("THTTP-05", "B67", "B131")
def test_a_listener_is_bounded() -> None:
    reception = Reception()
    assert (reception.body, reception.head) == (4 * MIB, 16 << 10)
    assert (reception.head_time, reception.idle, reception.comment_after) == (10.0, 60.0, 15.0)
    assert reception.unheld_idle < reception.session_idle < float("inf")


@proves("LINE-01", "CLI-30", "OAUTH-16", "OAUTH-18", "OAUTH-31", "STORE-10", "STORE-09")
def test_numbers_that_are_nobodys_to_set() -> None:
    assert EDGE == 256
    assert (account.COOLDOWN, options.TIMEOUT, authorize.LONGEST) == (60.0, 300, 8 << 10)
    assert (receiver.HEAD, receiver.HEAD_TIME, receiver.CONNECTIONS) == (16 << 10, 10.0, 16)
    assert (shelf.ANSWER, shelf.PROMPT, tokens.EARLY) == (25.0, 300.0, 60.0)
