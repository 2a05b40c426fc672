"""The authorization URL, and what the browser brings back: tables."""

import base64
import hashlib
import os
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.faults import Cause
from dragoman.signin.authorize import Redirect, authorization_url, check, check_proof_keys, code_of, proof
from dragoman.signin.failure import Failed
from dragoman.signin.metadata import Issuer
from support.proofs import proves

URI = "http://127.0.0.1:29417/callback"
AS = "https://as.example"
KEY = proof(lambda count: bytes(count))


def issuer(**members: Any) -> Issuer:
    given: dict[str, Any] = {"authorization_endpoint": f"{AS}/authorize", "code_challenge_methods_supported": ("S256",)}
    return Issuer(AS, f"{AS}/token", **{**given, **members})


def url(**given: Any) -> str:
    whole: dict[str, Any] = {"issuer": issuer(), "scopes": None, "resource": None, **given}
    return authorization_url(whole["issuer"], "me", URI, KEY, whole["scopes"], whole["resource"])


@proves("OAUTH-01")
def test_the_url_has_what_the_flow_needs_and_nothing_that_nobody_said() -> None:
    query = dict(parse_qsl(urlsplit(url()).query))
    digest = base64.urlsafe_b64encode(hashlib.sha256(KEY.verifier.encode()).digest()).rstrip(b"=").decode()
    assert query == {
        "response_type": "code",
        "client_id": "me",
        "redirect_uri": URI,
        "state": KEY.state,
        "code_challenge": digest,
        "code_challenge_method": "S256",
    }
    assert 43 <= len(KEY.verifier) <= 128


@proves("B143")
def test_scope_and_resource_are_sent_as_they_are() -> None:
    query = dict(parse_qsl(urlsplit(url(scopes=("r", "w:x"), resource="https://m.example/")).query))
    assert (query["scope"], query["resource"]) == ("r w:x", "https://m.example/")
    assert "prompt" not in query
    assert dict(parse_qsl(urlsplit(url(scopes=("offline_access",))).query))["prompt"] == "consent"


def test_a_query_of_the_endpoint_is_kept() -> None:
    found = url(issuer=issuer(authorization_endpoint=f"{AS}/authorize?tenant=a"))
    assert found.startswith(f"{AS}/authorize?tenant=a&response_type=code&")


@proves("OAUTH-18")
@pytest.mark.parametrize(
    "endpoint",
    [
        "http://as.example/authorize",
        "https:///authorize",
        "https://u:p@as.example/authorize",
        "https://as.example/authorize#f",
        "https://as.example/a b",
        *(f"https://as.example/{character}" for character in '"<>\\^`{|}é\x7f\n'),
        "https://as.example/%zz",
        "https://as.example/%4",
        f"https://as.example/{'a' * 8192}",
        "https://as.example/authorize?state=other",
        f"https://as.example/authorize?redirect_uri={quote('https://evil.example', safe='')}",
        "javascript:alert(1)",
        "file:///etc/passwd",
    ],
)
def test_no_user_is_sent_to_such_a_url(endpoint: str) -> None:
    with pytest.raises(Failed) as refused:
        url(issuer=issuer(authorization_endpoint=endpoint))
    assert refused.value.cause is Cause.SIGN_IN_INVALID_URL
    assert refused.value.detail is None


@proves("OAUTH-19")
def test_a_url_without_the_state_or_with_another_redirect_is_refused() -> None:
    check(url(), KEY.state, URI)
    for state, redirect in (("other", URI), (KEY.state, "http://127.0.0.1:1/callback")):
        with pytest.raises(Failed):
            check(url(), state, redirect)
    with pytest.raises(Failed):
        check(f"{AS}/authorize", KEY.state, URI)


@proves("OAUTH-18")
@given(st.text(max_size=80))
def test_what_passes_has_only_plain_characters(tail: str) -> None:
    try:
        found = url(issuer=issuer(authorization_endpoint=f"{AS}/{tail}"))
    except Failed:
        return
    assert found.isascii()
    assert found.isprintable()
    assert not set(found) & set('"<>\\^`{|} #')


def test_two_sign_ins_have_nothing_in_common() -> None:
    one, other = proof(os.urandom), proof(os.urandom)
    assert len({one.state, other.state, one.verifier, other.verifier}) == 4
    assert one.state not in repr(one)


@pytest.mark.parametrize(
    ("methods", "is_described", "fine"),
    [
        (("S256",), True, True),
        (("plain", "S256"), False, True),
        (("plain",), False, False),
        (("plain",), True, False),
        (None, True, False),
        (None, False, True),
    ],
)
def test_an_issuer_that_checks_no_proof_keys_is_refused(
    methods: tuple[str, ...] | None, is_described: bool, fine: bool
) -> None:
    described = issuer(code_challenge_methods_supported=methods)
    if fine:
        check_proof_keys(described, is_described)
    else:
        with pytest.raises(Failed):
            check_proof_keys(described, is_described)


@proves("OAUTH-03", "OAUTH-32", "OAUTH-33", "ERR-47")
@pytest.mark.parametrize(
    ("redirect", "must_name", "cause", "detail"),
    [
        (Redirect("c"), True, Cause.SIGN_IN_FAILED, None),
        (Redirect("c", iss=f"{AS}/"), False, Cause.SIGN_IN_FAILED, None),
        (Redirect("c", iss="https://evil.example"), False, Cause.SIGN_IN_FAILED, None),
        (Redirect(error="access_denied", iss="https://evil.example"), False, Cause.SIGN_IN_FAILED, None),
        (Redirect(error="access_denied"), False, Cause.SIGN_IN_DENIED, None),
        (Redirect(error="access_denied", iss=AS), True, Cause.SIGN_IN_DENIED, None),
        (Redirect(error="server_error"), False, Cause.SIGN_IN_ERROR, "server_error"),
        (Redirect(error="Server-Error"), False, Cause.SIGN_IN_ERROR, None),
        (Redirect(error="a" * 49), False, Cause.SIGN_IN_ERROR, None),
        (Redirect(), False, Cause.SIGN_IN_ERROR, None),
    ],
)
def test_a_redirect_that_is_no_success(redirect: Redirect, must_name: bool, cause: Cause, detail: str | None) -> None:
    with pytest.raises(Failed) as failed:
        code_of(redirect, issuer(authorization_response_iss_parameter_supported=must_name))
    assert failed.value.cause is cause
    if cause is not Cause.SIGN_IN_FAILED:
        assert failed.value.detail == detail


@pytest.mark.parametrize(("redirect", "must_name"), [(Redirect("c"), False), (Redirect("c", iss=AS), True)])
def test_a_code_of_the_right_issuer_is_taken(redirect: Redirect, must_name: bool) -> None:
    assert code_of(redirect, issuer(authorization_response_iss_parameter_supported=must_name)) == "c"
