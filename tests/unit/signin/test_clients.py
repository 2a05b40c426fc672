"""As which client the bridge signs in, what it registers, and how it proves who it is."""

import base64
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from dragoman.faults import Cause
from dragoman.signin.assertion import SigningKey
from dragoman.signin.clients import Client, Kind, documented, given, proved, registered, registration
from dragoman.signin.failure import Failed
from dragoman.signin.metadata import Issuer
from support.proofs import proves
from support.tokens import private

AS = "https://as.example"
URI = "http://127.0.0.1:29417/callback"
NOW = 1_800_000_000.0


def issuer(*methods: str, **members: Any) -> Issuer:
    return Issuer(AS, f"{AS}/token", token_endpoint_auth_methods_supported=methods or None, **members)


def pem(kind: str) -> bytes:
    return private(kind).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@proves("OAUTH-07")
def test_a_registration_is_that_of_a_native_program_under_our_own_name() -> None:
    body = registration(issuer(), URI, ("r", "w"))
    assert body == {
        "client_name": "dragoman",
        "application_type": "native",
        "redirect_uris": [URI],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": "r w",
    }


@pytest.mark.parametrize(
    ("methods", "method"),
    [
        ((), "none"),
        (("none", "client_secret_basic"), "none"),
        (("client_secret_basic",), "client_secret_basic"),
        (("client_secret_post",), "client_secret_post"),
    ],
)
def test_a_registration_asks_for_no_secret_unless_the_issuer_wants_one(methods: tuple[str, ...], method: str) -> None:
    assert registration(issuer(*methods), URI, None)["token_endpoint_auth_method"] == method
    assert "scope" not in registration(issuer(*methods), URI, None)


@pytest.mark.parametrize(
    ("answer", "client"),
    [
        ({"client_id": "i"}, Client("i", Kind.REGISTERED)),
        ({"client_id": "i", "token_endpoint_auth_method": "none", "client_secret": "s"}, Client("i", Kind.REGISTERED)),
        (
            {"client_id": "i", "client_secret": "s", "client_secret_expires_at": 0},
            Client("i", Kind.REGISTERED, "client_secret_basic", "s"),
        ),
        (
            {
                "client_id": "i",
                "client_secret": "s",
                "client_secret_expires_at": 5,
                "token_endpoint_auth_method": "client_secret_post",
            },
            Client("i", Kind.REGISTERED, "client_secret_post", "s", 5.0),
        ),
    ],
)
def test_what_was_registered(answer: dict[str, Any], client: Client) -> None:
    assert registered(201, json.dumps(answer).encode(), issuer()) == client


@proves("ERR-54")
@pytest.mark.parametrize(
    ("status", "body", "detail"),
    [
        (400, b'{"error":"invalid_redirect_uri"}', "HTTP status 400, invalid_redirect_uri"),
        (403, b"<html>", "HTTP status 403"),
        (201, b"{}", "HTTP status 201, no client id"),
        (201, b'{"client_id":"i","token_endpoint_auth_method":"private_key_jwt"}', None),
        (201, b'{"client_id":"i","token_endpoint_auth_method":"client_secret_post"}', None),
    ],
)
def test_a_registration_that_made_no_client(status: int, body: bytes, detail: str | None) -> None:
    with pytest.raises(Failed) as failed:
        registered(status, body, issuer())
    assert failed.value.cause is Cause.REGISTRATION_FAILED
    assert detail is None or failed.value.detail == detail


def test_a_client_proves_itself_as_it_was_registered() -> None:
    """D1: its id stands in the form whatever the header says."""
    form = {"grant_type": "x"}
    public = Client("i", Kind.REGISTERED)
    assert proved(form, public, AS, None, NOW) == ({**form, "client_id": "i"}, {})
    post = Client("i", Kind.GIVEN, "client_secret_post", "s")
    assert proved(form, post, AS, None, NOW) == ({**form, "client_id": "i", "client_secret": "s"}, {})
    basic = Client("i d", Kind.GIVEN, "client_secret_basic", "s:t")
    fields, headers = proved(form, basic, AS, None, NOW)
    assert fields == {**form, "client_id": "i d"}
    assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")) == b"i%20d:s%3At"


@pytest.mark.parametrize(
    ("methods", "method"),
    [
        ((), "client_secret_basic"),
        (("client_secret_post", "client_secret_basic"), "client_secret_basic"),
        (("client_secret_post", "none"), "client_secret_post"),
    ],
)
def test_a_secret_is_shown_as_the_issuer_wants_it(methods: tuple[str, ...], method: str) -> None:
    assert given("i", "s", None, issuer(*methods)) == Client("i", Kind.GIVEN, method, "s")


def test_clients_without_a_secret() -> None:
    assert given("i", None, None, issuer()) == Client("i", Kind.GIVEN)
    assert documented("https://c.example/d") == Client("https://c.example/d", Kind.DOCUMENT)


@pytest.mark.parametrize(
    ("kind", "algorithm"), [("RSA", "RS256"), ("P-256", "ES256"), ("P-521", "ES512"), ("OKP", "EdDSA")]
)
def test_a_key_signs_who_the_client_is_for_this_issuer_once(kind: str, algorithm: str) -> None:
    key = SigningKey(pem(kind))
    client = given("i", None, key, issuer())
    fields, headers = proved({"grant_type": "x"}, client, AS, key, NOW)
    assert headers == {}
    assert fields["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    options: Any = {"verify_exp": False, "verify_iat": False}
    public = private(kind).public_key()
    claims = jwt.decode(fields["client_assertion"], public, [algorithm], options, audience=AS)
    assert (claims["iss"], claims["sub"], claims["exp"] - claims["iat"]) == ("i", "i", 60)
    again, _ = proved({}, client, AS, key, NOW)
    assert jwt.decode(again["client_assertion"], public, [algorithm], options, audience=AS)["jti"] != claims["jti"]


@pytest.mark.parametrize("data", [b"", b"s3cr3t", pem("RSA")[:200]])
def test_what_is_no_key_is_refused_without_showing_it(data: bytes) -> None:
    with pytest.raises(ValueError, match="private key") as refused:
        SigningKey(data)
    assert "s3cr3t" not in str(refused.value)


def test_a_client_does_not_show_its_secret() -> None:
    assert "s3cr3t" not in repr(Client("i", Kind.GIVEN, "client_secret_post", "s3cr3t"))
