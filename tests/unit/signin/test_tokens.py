"""Answers of the token endpoint: a table, and what a refresh leaves as it was."""

import json
from typing import Any

import pytest

from dragoman.signin.tokens import OTHER_TYPE, UNSENDABLE, Refusal, Tokens, tokens
from support.proofs import proves

NOW = 1000.0


def answered(status: int = 200, **members: Any) -> Tokens | Refusal:
    return tokens(status, json.dumps(members).encode(), NOW, ("r",), None)


def test_an_answer_with_everything() -> None:
    found = answered(access_token="a", token_type="bearer", refresh_token="f", scope="r w", expires_in=3600)
    assert found == Tokens("a", "f", ("r", "w"), 4600.0, 4540.0)


def test_what_is_left_out_is_what_was_asked_for() -> None:
    assert answered(access_token="a", token_type="Bearer") == Tokens("a", None, ("r",), None, None)


@proves("B136")
def test_a_refresh_keeps_the_refresh_token_and_the_scopes_that_it_does_not_name() -> None:
    kept: Tokens | Refusal = Tokens("a", "f", ("r", "w"), 1.0, 1.0)
    for number in range(3):
        assert isinstance(kept, Tokens)
        body = json.dumps({"access_token": f"a{number}", "token_type": "Bearer"}).encode()
        kept = tokens(200, body, NOW, kept.scopes, kept)
        assert kept == Tokens(f"a{number}", "f", ("r", "w"), None, None)


@proves("STORE-09")
@pytest.mark.parametrize(("lasts", "stale"), [(3600, 3540), (300, 240), (5, 4), ("300", 240), (0.5, 0.4)])
def test_a_token_is_renewed_a_minute_early_and_a_short_one_in_its_last_fifth(lasts: object, stale: float) -> None:
    found = answered(access_token="a", expires_in=lasts)
    assert isinstance(found, Tokens)
    assert found.stale == NOW + stale
    assert found.is_stale(NOW + stale)
    assert not found.is_stale(NOW + stale - 0.3)
    assert found.is_over(NOW + float(str(lasts)))


@pytest.mark.parametrize("lasts", [0, -3, "0", "an hour", "", None, True, [], {}, "inf", "nan", 10**400])
def test_a_life_that_is_none_says_nothing(lasts: object) -> None:
    """D6, N21"""
    found = answered(access_token="a", expires_in=lasts)
    assert isinstance(found, Tokens)
    assert (found.ends, found.stale) == (None, None)


@pytest.mark.parametrize("token", ["00D!AQ.x", "12|ab", "id:s", "a%b^c*d(e)#f$g&h", "a=b=c", "{a}", "~", "x" * 9000])
def test_any_visible_character_may_stand_in_a_token(token: str) -> None:
    """D3, N27"""
    found = answered(access_token=token)
    assert isinstance(found, Tokens)
    assert found.access == token


def test_a_token_without_an_end_is_neither() -> None:
    assert not Tokens("a").is_stale(1e12)
    assert not Tokens("a").is_over(1e12)


@pytest.mark.parametrize(
    ("status", "body", "refusal"),
    [
        (400, b'{"error":"invalid_grant"}', Refusal(400, "invalid_grant")),
        (401, b'{"error":"invalid_client"}', Refusal(401, "invalid_client")),
        (200, b'{"error":"bad_verification_code"}', Refusal(200, "bad_verification_code")),
        (400, b'{"error":"<script>"}', Refusal(400, None)),
        (400, b"<html>", Refusal(400, None)),
        (503, b"", Refusal(503, None)),
        (200, b"{}", Refusal(200, None)),
        (200, b'{"access_token":"a","token_type":"mac"}', Refusal(200, None, OTHER_TYPE)),
        (200, b'{"access_token":"a\\r\\nX: y"}', Refusal(200, None, UNSENDABLE)),
        (200, b'{"access_token":""}', Refusal(200, None)),
        (200, '{"access_token":"é"}'.encode(), Refusal(200, None, UNSENDABLE)),
        (200, b"[" * 9999, Refusal(200, None)),
    ],
)
def test_what_gives_no_token(status: int, body: bytes, refusal: Refusal) -> None:
    assert tokens(status, body, NOW, None, None) == refusal


@pytest.mark.parametrize(
    ("refusal", "of_grant", "of_client", "passing"),
    [
        (Refusal(400, "invalid_grant"), True, False, False),
        (Refusal(400, "invalid_client"), False, True, False),
        (Refusal(401, "invalid_client"), False, True, False),
        (Refusal(400, "unauthorized_client"), False, True, False),
        (Refusal(503, None), False, False, True),
        (Refusal(429, None), False, False, True),
        (Refusal(400, None), False, False, False),
    ],
)
def test_what_a_refusal_is_of(refusal: Refusal, of_grant: bool, of_client: bool, passing: bool) -> None:
    assert (refusal.is_of_grant, refusal.is_of_client, refusal.is_passing) == (of_grant, of_client, passing)


def test_a_token_does_not_show_itself() -> None:
    assert "s3cr3t" not in repr(Tokens("s3cr3t", "s3cr3t"))
