"""Which tokens a command line asks of clients, and by which URL it tells them so."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click
import pytest
import trustme

from dragoman.auth.gate import ProtectedResource
from dragoman.cli.listeners import Listener, read_listener
from dragoman.cli.servers import read_server
from dragoman.revisions import Era
from dragoman.transports.http.server.authentication import Challenge, Open, Token

LISTEN = "http://127.0.0.1:8000/mcp"
ISSUER = "https://as.example"
WELL_KNOWN = "/.well-known/oauth-protected-resource"
NOTHING: dict[str, Any] = {
    **dict.fromkeys(
        ("tls_cert", "tls_key", "tls_client_ca", "auth_token_env", "auth_token_file", "auth_issuer", "auth_audience")
    ),
    "public_url": None,
    "ca_file": None,
    "auth_scope": (),
    "allow_host": (),
    "allow_origin": (),
    "shared_upstream": False,
}


def read(environment: dict[str, str] | None = None, **options: Any) -> Listener:
    given = {**NOTHING, "listen": LISTEN, **options}
    listener = read_listener(given, frozenset(options), environment or {})
    assert listener is not None
    return listener


def refused(environment: dict[str, str] | None = None, **options: Any) -> str:
    with pytest.raises(click.UsageError) as refusal:
        read(environment, **options)
    return refusal.value.message


def challenge(listener: Listener) -> str:
    outcome = asyncio.run(listener.gate.admit(None))
    assert isinstance(outcome, Challenge)
    return outcome.header


def resource(listener: Listener) -> Any:
    return json.loads(listener.gate.description().body)["resource"]


@pytest.mark.parametrize("era", [None, Era.LEGACY])
def test_strangers_share_a_server_that_keeps_state_only_if_that_is_said(era: Era | None) -> None:
    """T19."""
    far: dict[str, Any] = {**NOTHING, "listen": "http://0.0.0.0:1/mcp"}
    with pytest.raises(click.UsageError) as refusal:
        read_listener(far, frozenset(), {}, era)
    assert "--shared-upstream" in refusal.value.message
    for told in ({"shared_upstream": True}, {"auth_token_env": "T"}, {"listen": LISTEN}):
        assert read_listener({**far, **told}, frozenset(), {"T": "secret"}, era) is not None
    listener = read_listener(far, frozenset(), {}, Era.MODERN)
    assert listener is not None
    assert "everyone" in listener.warnings[0]


def test_the_gate_is_what_the_options_ask_for() -> None:
    assert isinstance(read().gate, Open)
    assert isinstance(read({"T": "secret"}, auth_token_env="T").gate, Token)
    assert isinstance(read(auth_issuer=ISSUER).gate, ProtectedResource)


@pytest.mark.parametrize(
    ("options", "url", "path"),
    [
        ({}, LISTEN, "/mcp"),
        ({"listen": "http://localhost/a"}, "http://localhost/a", "/a"),
        ({"public_url": "https://mcp.example"}, "https://mcp.example", ""),
        ({"public_url": "https://MCP.example/x/", "listen": "http://0.0.0.0:1"}, "https://mcp.example/x/", "/x/"),
    ],
)
def test_the_resource_is_where_clients_reach_it(options: dict[str, Any], url: str, path: str) -> None:
    listener = read(auth_issuer=ISSUER, **options)
    assert resource(listener) == url
    origin = url.removesuffix(path)
    assert challenge(listener) == f'Bearer resource_metadata="{origin}{WELL_KNOWN}{path}"'


def test_a_port_that_goes_without_saying_is_left_out() -> None:
    files: dict[str, Any] = {"tls_cert": "c", "tls_key": "k"}
    assert resource(read(auth_issuer=ISSUER, listen="https://[2001:db8::443]:443/m", **files)) == (
        "https://[2001:db8::443]/m"
    )
    assert resource(read(auth_issuer=ISSUER, listen="https://h:444/m", **files)) == "https://h:444/m"


def test_the_host_of_the_public_url_is_admitted() -> None:
    listener = read(public_url="https://mcp.example/x", allow_host=("other.example",))
    for host, is_admitted in {"mcp.example": True, "other.example": True, "x.example": False}.items():
        assert listener.admission.admits_host(host) is is_admitted


def test_scopes_are_told_once_and_in_order() -> None:
    listener = read(auth_issuer=ISSUER, auth_scope=("b", "a", "b"))
    assert challenge(listener).endswith('scope="b a"')


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"auth_token_env": "T", "auth_issuer": ISSUER},
            "give only one of --auth-token-env,",
        ),
        ({"auth_scope": ("SECRET",)}, "the option --auth-scope needs --auth-issuer"),
        ({"auth_audience": "SECRET"}, "the option --auth-audience needs --auth-issuer"),
        ({"auth_issuer": "http://SECRET.example"}, "the value of --auth-issuer cannot be used: the URL must use https"),
        ({"auth_issuer": "https://h/?SECRET"}, "the value of --auth-issuer cannot be used: the URL must not have a q"),
        ({"auth_issuer": "SECRET"}, "the value of --auth-issuer cannot be used: the URL must begin with"),
        ({"public_url": "http://SECRET.example"}, "the value of --public-url cannot be used: the URL must use https"),
        ({"public_url": "https://h/?SECRET"}, "the value of --public-url cannot be used: the URL must not have a q"),
        ({"auth_issuer": ISSUER, "auth_scope": ("a SECRET",)}, "the value of --auth-scope is no scope"),
        ({"auth_issuer": ISSUER, "auth_scope": ("",)}, "the value of --auth-scope is no scope"),
        ({"auth_issuer": ISSUER, "auth_scope": ('SECRET"',)}, "the value of --auth-scope is no scope"),
        ({"auth_issuer": ISSUER, "auth_audience": ""}, "the value of --auth-audience is empty"),
        ({"auth_issuer": ISSUER, "listen": "http://0.0.0.0:1/SECRET"}, "--auth-issuer needs --public-url"),
        ({"auth_issuer": ISSUER, "listen": "http://127.0.0.1:0/SECRET"}, "--auth-issuer needs --public-url"),
        ({"auth_issuer": ISSUER, "listen": "http://SECRET:1"}, "--auth-issuer needs --public-url"),
        ({"auth_issuer": ISSUER, "ca_file": "/SECRET"}, "the file of --ca-file cannot be read"),
    ],
)
def test_what_cannot_be_is_refused_without_the_value(options: dict[str, Any], why: str) -> None:
    message = refused({"T": "x"}, **options)
    assert message.startswith(why)
    assert "SECRET" not in message


@pytest.mark.parametrize("name", ["auth_issuer", "auth_audience", "auth_scope", "public_url"])
def test_the_options_are_for_a_listener_on_http(name: str) -> None:
    given: dict[str, Any] = {name: "x"}
    message = refused(listen="stdio:.", **given)
    assert message == f"the option --{name.replace('_', '-')} is for --listen http://… only"


def test_an_issuer_can_have_certificates_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(file))
    assert isinstance(read(auth_issuer=ISSUER, ca_file=str(file)).gate, ProtectedResource)
    options = {**NOTHING, "upstream": None, "target": None}
    assert read_server(["server"], options, frozenset({"ca_file", "auth_issuer"})).command == ("server",)
    with pytest.raises(click.UsageError):
        read_server(["server"], options, frozenset({"ca_file"}))


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "has no token"), ("# a\n\n", "has no token"), ("a b\n", "no header"), ("t\u00f6ken", "no header")],
)
def test_a_file_of_tokens_that_cannot_be_used_is_refused_at_the_start(text: str, why: str, tmp_path: Path) -> None:
    """And nothing of it is repeated (C13, C17)."""
    file = tmp_path / "tokens"
    file.write_text(text, "utf-8")
    message = refused(auth_token_file=str(file))
    assert "--auth-token-file" in message
    assert why in message
    assert "a b" not in message


def test_a_file_of_tokens_that_is_not_there_is_refused() -> None:
    assert "cannot be read" in refused(auth_token_file="/nowhere/tokens")
    assert "only one of" in refused({"T": "t"}, auth_token_file="/nowhere/tokens", auth_token_env="T")


def test_each_token_of_a_file_is_the_same_caller(tmp_path: Path) -> None:
    """So a token can be replaced by another while both are good (C13)."""
    file = tmp_path / "tokens"
    file.write_bytes(b"\xef\xbb\xbfone\r\n#two\n three \n")
    gate = read(auth_token_file=str(file)).gate
    admitted = [asyncio.run(gate.admit(f"Bearer {token}")) for token in ("one", "#two", "three")]
    assert admitted[0] == admitted[2] == "token"
    assert isinstance(admitted[1], Challenge)
