"""Where an issuer is looked up, and which metadata is believed."""

import json
from typing import Any

import pytest

from dragoman.auth.discovery import Unfit, place_of_keys, places
from dragoman.transports.http.address import address

NAME = "https://as.example/tenant"


def test_the_places_come_in_the_order_of_the_specification() -> None:
    host = "https://as.example"
    assert places(address(f"{host}/tenant")) == (
        f"{host}/.well-known/oauth-authorization-server/tenant",
        f"{host}/.well-known/openid-configuration/tenant",
        f"{host}/tenant/.well-known/openid-configuration",
    )
    plain = (f"{host}/.well-known/oauth-authorization-server", f"{host}/.well-known/openid-configuration")
    assert places(address(host)) == places(address(f"{host}/")) == plain
    assert places(address(f"{host}/a/b/")) == places(address(f"{host}/a/b"))


def read(at: str = NAME, **members: Any) -> str:
    document = {"issuer": NAME, "jwks_uri": "https://keys.example/jwks", **members}
    kept = {name: value for name, value in document.items() if value is not None}
    return place_of_keys(json.dumps(kept).encode(), NAME, address(at)).url


def test_keys_may_be_at_another_host() -> None:
    assert read() == "https://keys.example/jwks"
    assert read("http://127.0.0.1:1", jwks_uri="http://127.0.0.1:2/") == "http://127.0.0.1:2/"


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"issuer": "https://as.example"}, "another issuer"),
        ({"issuer": f"{NAME}/"}, "another issuer"),
        ({"issuer": None}, "no issuer"),
        ({"jwks_uri": None}, "no jwks_uri"),
        ({"jwks_uri": 1}, "no jwks_uri"),
        ({"jwks_uri": "http://keys.example/jwks"}, "must use https"),
        ({"jwks_uri": "file:///etc/keys"}, "must begin with https"),
        ({"jwks_uri": "/jwks"}, "must begin with https"),
        ({"jwks_uri": "https://localhost/jwks"}, "leads to this machine"),
        ({"jwks_uri": "http://127.0.0.1/jwks"}, "leads to this machine"),
    ],
)
def test_metadata_that_does_not_fit_is_refused_without_its_values(members: dict[str, Any], why: str) -> None:
    with pytest.raises(Unfit, match=why) as unfit:
        read(**members)
    assert "example" not in str(unfit.value)


@pytest.mark.parametrize("document", [b"", b"<html>", b"[]", b"\xff", b"[" * 20_000])
def test_what_is_no_metadata_is_refused(document: bytes) -> None:
    with pytest.raises(Unfit):
        place_of_keys(document, NAME, address(NAME))
