"""Where metadata is looked for, and which of it is believed: tables."""

import json
from typing import Any

import pytest

from dragoman.auth.discovery import Unfit
from dragoman.signin import metadata
from dragoman.signin.metadata import covers, is_same, place, resource_places
from dragoman.transports.http.address import address
from support.proofs import proves

SERVER = address("https://m.example/a/mcp?key=1")
LOCAL = address("http://127.0.0.1:9/mcp")
AS = "https://as.example/x"


@proves("B141")
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://m.example", ["https://m.example/.well-known/oauth-protected-resource"]),
        ("https://m.example/", ["https://m.example/.well-known/oauth-protected-resource"]),
        (
            "https://m.example/a/mcp/?key=1",
            [
                "https://m.example/.well-known/oauth-protected-resource/a/mcp",
                "https://m.example/.well-known/oauth-protected-resource",
            ],
        ),
    ],
)
def test_the_places_of_a_resource(url: str, expected: list[str]) -> None:
    assert list(resource_places(address(url))) == expected


@proves("OAUTH-02")
@pytest.mark.parametrize(
    ("name", "server", "does"),
    [
        ("https://m.example/a/mcp", "https://m.example/a/mcp", True),
        ("https://m.example/a/mcp/", "https://m.example/a/mcp", True),
        ("https://m.example/a/mcp", "https://m.example/a/mcp/", True),
        ("https://M.example:443/a", "https://m.example/a/mcp", True),
        ("https://m.example", "https://m.example/a/mcp", True),
        ("https://m.example/", "https://m.example", True),
        ("https://m.example/a/mcp", "https://m.example/a/mcp?key=1", True),
        ("https://m.example/a/mcp?key=1", "https://m.example/a/mcp?key=1", True),
        ("https://m.example/a/mcp?key=2", "https://m.example/a/mcp?key=1", False),
        ("https://m.example/a/mc", "https://m.example/a/mcp", False),
        ("https://m.example/a/mcp/b", "https://m.example/a/mcp", False),
        ("https://m.example/b", "https://m.example/a/mcp", False),
        ("https://m.example/a", "https://m.example/a/../b", False),
        ("https://n.example/a/mcp", "https://m.example/a/mcp", False),
        ("https://m.example:444/a/mcp", "https://m.example/a/mcp", False),
        ("http://m.example/a/mcp", "https://m.example/a/mcp", False),
        ("https://u@m.example/a/mcp", "https://m.example/a/mcp", False),
        ("urn:m", "https://m.example/a/mcp", False),
    ],
)
def test_a_resource_covers_what_is_below_it_on_its_origin(name: str, server: str, does: bool) -> None:
    assert covers(name, address(server)) is does


@proves("B143")
def test_the_name_of_the_resource_is_kept_as_it_is_written() -> None:
    for name in ("https://m.example", "https://m.example/", "https://M.EXAMPLE/a/mcp"):
        document = json.dumps({"resource": name, "authorization_servers": [AS]}).encode()
        assert metadata.resource(document, SERVER).resource == name


@proves("OAUTH-02")
@pytest.mark.parametrize(
    "document", [b"<html>", b"{}", b"[]", b'{"resource":1}', b'{"resource":"https://n.example"}', b"[" * 9999]
)
def test_what_is_no_metadata_of_this_resource_is_refused(document: bytes) -> None:
    with pytest.raises(Unfit):
        metadata.resource(document, SERVER)


def described(**members: Any) -> bytes:
    whole = {"issuer": AS, "token_endpoint": f"{AS}/token", "authorization_endpoint": f"{AS}/authorize", **members}
    return json.dumps({name: value for name, value in whole.items() if value is not None}).encode()


@pytest.mark.parametrize(
    ("members", "trusted"),
    [
        ({}, None),
        ({"issuer": f"{AS}/"}, None),
        ({"issuer": "https://as.example"}, "https://as.example"),
        ({"authorization_endpoint": None}, None),
        ({"registration_endpoint": f"{AS}/register", "unknown": 1}, None),
    ],
)
def test_metadata_of_the_issuer_is_taken(members: dict[str, Any], trusted: str | None) -> None:
    assert metadata.issuer(described(**members), AS, trusted, SERVER).token_endpoint == f"{AS}/token"


@proves("OAUTH-02")
@pytest.mark.parametrize(
    ("members", "trusted"),
    [
        ({"issuer": "https://as.example"}, None),
        ({"issuer": "https://as.example"}, "https://other.example"),
        ({"issuer": "https://AS.example/x"}, None),
        ({"issuer": None}, None),
        ({"token_endpoint": None}, None),
        ({"token_endpoint": "http://as.example/token"}, None),
        ({"token_endpoint": "http://127.0.0.1/token"}, None),
        ({"authorization_endpoint": "https://localhost/authorize"}, None),
    ],
)
def test_other_metadata_is_refused(members: dict[str, Any], trusted: str | None) -> None:
    with pytest.raises(Unfit) as refused:
        metadata.issuer(described(**members), AS, trusted, SERVER)
    assert "m.example" not in str(refused.value)


@pytest.mark.parametrize(
    ("member", "value", "read"),
    [
        ("scopes_supported", "a b", ("a", "b")),
        ("scopes_supported", ["a", 1, "b"], ("a", "b")),
        ("scopes_supported", {}, None),
        ("grant_types_supported", None, None),
        ("token_endpoint_auth_methods_supported", 7, None),
        ("code_challenge_methods_supported", "S256", ("S256",)),
        ("client_id_metadata_document_supported", "true", True),
        ("client_id_metadata_document_supported", "perhaps", False),
        ("authorization_response_iss_parameter_supported", 1, False),
        ("registration_endpoint", "ftp://as.example", None),
        ("device_authorization_endpoint", "https://as.example/#a", None),
        ("revocation_endpoint", "/revoke", None),
        ("revocation_endpoint", ["https://as.example/x/revoke"], None),
        ("revocation_endpoint", f"{AS}/revoke", f"{AS}/revoke"),
    ],
)
def test_what_is_optional_is_read_as_what_it_says_or_counts_as_absent(member: str, value: Any, read: Any) -> None:
    """E: with one line that names the member, and no value."""
    notes: list[str] = []
    found = metadata.issuer(described(**{member: value}), AS, None, SERVER, notes.append)
    assert getattr(found, member) == read
    is_lost = value is not None and (read is None or read is False)
    assert [member in note for note in notes] == [True] * is_lost
    assert not any(str(value) in note for note in notes)


@pytest.mark.parametrize(
    ("servers", "read"), [(AS, (AS,)), ([AS, None], (AS,)), ({"a": AS}, ()), (None, ()), ([AS, AS], (AS, AS))]
)
def test_one_authorization_server_alone_is_a_list(servers: Any, read: tuple[str, ...]) -> None:
    """E"""
    document = json.dumps({"resource": SERVER.url, "authorization_servers": servers}).encode()
    assert metadata.resource(document, SERVER).authorization_servers == read


@pytest.mark.parametrize(
    ("template", "name", "fits"),
    [
        ("https://l.example/{tenantid}/v2.0", "https://l.example/common/v2.0", True),
        ("https://l.example/{tenantid}/v2.0/", "https://l.example/8eaef023/v2.0", True),
        ("https://l.example/{tenantid}/v2.0", "https://l.example/a/b/v2.0", False),
        ("https://l.example/{tenantid}/v2.0", "https://l.example//v2.0", False),
        ("https://{tenantid}/v2.0", "https://evil.example/v2.0", False),
        ("https://l.example/{tenantid}/v2.0", "https://evil.example/common/v2.0", False),
        ("https://l.example/{tenantid}x/v2.0", "https://l.example/commonx/v2.0", False),
        ("https://l.example/common/v2.0", "https://l.example/common/v2.0", False),
    ],
)
def test_an_issuer_of_many_tenants_is_known_by_its_pattern(template: str, name: str, fits: bool) -> None:
    """D4: as Microsoft Entra ID calls itself."""
    assert metadata.is_template(template, name) is fits


@proves("B145")
def test_a_refusal_for_the_name_of_the_issuer_has_both_names() -> None:
    with pytest.raises(Unfit, match=r"https://as\.example, .* https://as\.example/x"):
        metadata.issuer(described(issuer="https://as.example"), AS, None, SERVER)


@pytest.mark.parametrize(("other", "same"), [(AS, True), (f"{AS}/", True), (f"{AS}//", False), (AS.upper(), False)])
def test_names_of_issuers_are_compared_as_text_but_for_one_slash(other: str, same: bool) -> None:
    assert is_same(AS, other) is same


def test_a_server_of_this_machine_may_have_its_issuer_here_and_no_other_may() -> None:
    assert place("http://localhost:8/token", LOCAL).port == 8
    for url in ("http://localhost:8/token", "https://127.0.0.1/token"):
        with pytest.raises(Unfit):
            place(url, SERVER)
    with pytest.raises(Unfit):
        place("http://as.example/token", LOCAL)


def test_a_server_without_metadata_is_its_own_issuer() -> None:
    issuer = metadata.without_metadata(SERVER)
    assert issuer.issuer == "https://m.example"
    assert [issuer.authorization_endpoint, issuer.token_endpoint, issuer.registration_endpoint] == [
        f"https://m.example/{name}" for name in ("authorize", "token", "register")
    ]
