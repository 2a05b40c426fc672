"""Which key of a key set a token is checked with."""

from typing import Any

import pytest

from dragoman.auth.keys import Keys
from support.tokens import jwk, key_set


@pytest.mark.parametrize("document", [b"", b"[]", b"{}", b'{"keys":{}}', b"<html>", b'{"keys":' + b"[" * 20_000])
def test_what_is_no_key_set_is_refused(document: bytes) -> None:
    with pytest.raises(ValueError, match="no key set"):
        Keys(document)


def test_a_key_is_found_by_its_id() -> None:
    keys = Keys(key_set(jwk(kid="a"), jwk(kid="b", number=1)))
    a, b = keys.find("ES256", "a"), keys.find("ES256", "b")
    assert a is not None
    assert b is not None
    assert a.key != b.key
    assert keys.find("ES256", "a") is a
    assert keys.find("ES256", "c") is None


def test_without_an_id_there_must_be_no_choice() -> None:
    assert Keys(key_set(jwk(), jwk("RSA"))).find("ES256", None) is not None
    assert Keys(key_set(jwk(), jwk(number=1, kid="k2"))).find("ES256", None) is None


@pytest.mark.parametrize(
    "entry",
    [
        jwk("RSA"),
        jwk("P-384"),
        jwk(use="enc"),
        jwk(alg="ES384"),
        jwk(key_ops=["encrypt"]),
        {**jwk(), "x": None},
        {"kty": "EC", "crv": "P-256", "kid": "k1"},
        {"kty": "oct", "k": "AAAA", "kid": "k1"},
        "no object",
        None,
    ],
)
def test_a_key_for_something_else_is_not_used(entry: Any) -> None:
    assert Keys(key_set(entry)).find("ES256", "k1") is None


@pytest.mark.parametrize("members", [{"use": "sig"}, {"alg": "ES256"}, {"key_ops": ["verify"]}, {"d": "AAAA"}])
def test_what_else_a_key_says_of_itself_may_be_there(members: dict[str, Any]) -> None:
    assert Keys(key_set("junk", jwk(**members))).find("ES256", "k1") is not None


def test_no_key_serves_an_algorithm_that_is_not_taken() -> None:
    assert Keys(key_set(jwk("RSA"))).find("HS256", "k1") is None


def test_a_key_that_can_be_guessed_is_not_used() -> None:
    assert Keys(key_set(jwk("weak"))).find("RS256", "k1") is None
