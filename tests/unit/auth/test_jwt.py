"""What is believed of an access token."""

from typing import Any

import pytest

from dragoman.auth.jwt import LEEWAY, Claims, Untrusted, claims, key_named
from dragoman.auth.keys import KINDS, Keys
from support import tokens
from support.tokens import AUDIENCE, ISSUER, NOW, jwk, key_set, token

KIND_OF = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "EdDSA": "OKP"}


def checked(text: str, *entries: Any, audiences: frozenset[str] = frozenset({AUDIENCE}), now: float = NOW) -> Claims:
    algorithm, kid = key_named(text)
    key = Keys(key_set(*(entries or (jwk(),)))).find(algorithm, kid)
    assert key is not None
    return claims(text, key, algorithm, ISSUER, audiences, now)


@pytest.mark.parametrize("algorithm", KINDS)
def test_every_algorithm_that_is_taken_works(algorithm: str) -> None:
    kind = KIND_OF.get(algorithm, "RSA")
    found = checked(token(algorithm, kind), jwk(kind))
    assert found == Claims(ISSUER, "ann", "editor", frozenset({"use"}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "opaque",
        "a.b",
        "a.b.c.d",
        tokens.unsigned(),
        tokens.unsigned() + "AAAA",
        tokens.signed_with_public_key(),
        tokens.headed(b"\xff"),
        tokens.headed(b"[]"),
        tokens.headed(b"{}"),
        tokens.headed(b'{"alg":1}'),
        tokens.headed(b'{"alg":"ES256K"}'),
        tokens.headed(b'{"alg":"ES256","kid":1}'),
        tokens.headed(b'{"a":' * 3000 + b"1" + b"}" * 3000),
    ],
)
def test_what_cannot_be_judged_by_a_public_key_is_not_taken(text: str) -> None:
    with pytest.raises(Untrusted) as why:
        key_named(text)
    assert str(why.value) in ("the token is no signed JWT", "the algorithm of the token is not allowed")


def test_a_signature_of_another_key_does_not_hold() -> None:
    with pytest.raises(Untrusted, match="signature"):
        checked(token(number=1))


def test_a_changed_claim_breaks_the_signature() -> None:
    header, _, signature = token().split(".")
    other = token(sub="eve").split(".")[1]
    with pytest.raises(Untrusted, match="signature"):
        checked(f"{header}.{other}.{signature}")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"iss": "https://as.example"}, "the token is of another issuer"),
        ({"iss": f"{ISSUER}/"}, "the token is of another issuer"),
        ({"aud": "https://other.example/mcp"}, "the token is for another audience"),
        ({"aud": []}, "the token is for another audience"),
        ({"aud": ["a", "b"]}, "the token is for another audience"),
        ({"exp": NOW - LEEWAY}, "the token has expired"),
        ({"nbf": NOW + LEEWAY + 1}, "the token is not valid yet"),
        ({"sub": ""}, "the token has no subject"),
    ],
)
def test_a_token_for_somewhere_or_sometime_else_is_not_taken(given: dict[str, Any], why: str) -> None:
    with pytest.raises(Untrusted) as untrusted:
        checked(token(**given))
    assert str(untrusted.value) == why


@pytest.mark.parametrize("name", ["iss", "aud", "sub", "exp"])
def test_a_claim_that_is_needed_may_not_be_missing(name: str) -> None:
    missing: dict[str, Any] = {name: None}
    with pytest.raises(Untrusted, match="a claim"):
        checked(token(**missing))


@pytest.mark.parametrize(
    "given", [{"exp": "tomorrow"}, {"exp": True}, {"nbf": "x"}, {"aud": 1}, {"sub": 1}, {"scope": 1}, {"azp": [1]}]
)
def test_a_claim_has_its_type(given: dict[str, Any]) -> None:
    with pytest.raises(Untrusted, match="a claim"):
        checked(token(**given))


def test_clocks_may_differ_a_little() -> None:
    assert checked(token(exp=NOW - LEEWAY + 1, nbf=NOW + LEEWAY)).subject == "ann"


def test_one_of_several_audiences_is_enough() -> None:
    assert checked(token(aud=["x", AUDIENCE])).subject == "ann"
    assert checked(token(aud="y"), audiences=frozenset({"x", "y"})).subject == "ann"


@pytest.mark.parametrize(
    ("given", "scopes"),
    [
        ({"scope": "a b"}, {"a", "b"}),
        ({"scope": None, "scp": "a b"}, {"a", "b"}),
        ({"scope": None, "scp": ["a", "b"]}, {"a", "b"}),
        ({"scope": "a", "scp": ["b"]}, {"a"}),
        ({"scope": None}, set[str]()),
    ],
)
def test_scopes_have_two_spellings(given: dict[str, Any], scopes: set[str]) -> None:
    assert checked(token(**given)).scopes == scopes


def test_the_client_is_named_in_two_ways() -> None:
    assert checked(token(azp="other")).client == "editor"
    assert checked(token(client_id=None, azp="other")).client == "other"
    assert checked(token(client_id=None)).client is None
