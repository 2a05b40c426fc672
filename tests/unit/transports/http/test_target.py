"""Headers and certificates that the user gives."""

from pathlib import Path

import pytest
import trustme

from dragoman.transports.http.address import Refused, address
from dragoman.transports.http.target import (
    Header,
    Target,
    UnusableTrust,
    check_ca_file,
    header,
    header_from,
    together,
    trust,
)
from support.proofs import proves

SECRET = "s3cret"


@proves("CLI-17")
@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("X-Team:a", "X-Team", "a"),
        ("x-team: a b ", "x-team", "a b"),
        ("X-Url:http://h:1", "X-Url", "http://h:1"),
        ("Authorization: Bearer abc", "Authorization", "Bearer abc"),
        ("x-e:é", "x-e", "é"),
    ],
)
def test_a_header_of_the_command_line(text: str, name: str, value: str) -> None:
    assert header(text) == Header(name, value)


@proves("CLI-14", "CLI-18")
@pytest.mark.parametrize(
    "name",
    [
        *("Host", "connection", "Content-Length", "transfer-encoding", "ACCEPT", "content-type", "accept-encoding"),
        *("dpop", "te", "trailer", "upgrade", "keep-alive", "proxy-connection", "expect", "Proxy-Authorization"),
        *("mcp-method", "MCP-Protocol-Version", "Mcp-Param-X", "mcp-", "", "two words", "a\n", "é", "a\x00"),
    ],
)
def test_some_names_are_not_the_users_to_give(name: str) -> None:
    for give in (lambda: header(f"{name}:{SECRET}"), lambda: header_from(f"{name}=V", {"V": SECRET})):
        with pytest.raises(Refused) as refused:
            give()
        assert SECRET not in str(refused.value)


@proves("CLI-14", "CLI-19")
@pytest.mark.parametrize("value", ["", " \t", "a\nb", "a\rb", "a\x00", "a\x7f", "a\x85", "a\tb", "\udc80"])
def test_some_values_are_none(value: str) -> None:
    with pytest.raises(Refused):
        header(f"x-a:{value}")


@proves("CLI-14", "CLI-16")
@pytest.mark.parametrize("text", ["x-a", "x-a=", "=V", "x-a=UNSET", "x-a=EMPTY", "x-a=BAD"])
def test_a_variable_must_have_a_value(text: str) -> None:
    with pytest.raises(Refused) as refused:
        header_from(text, {"EMPTY": "", "BAD": SECRET + "\n"})
    assert SECRET not in str(refused.value)


def test_a_header_from_a_variable_is_not_shown() -> None:
    one = header_from("Authorization=TOKEN", {"TOKEN": SECRET})
    assert (one.name, one.value) == ("Authorization", SECRET)
    target = Target(address("https://h/"), (one,), environment={"TOKEN": SECRET})
    assert SECRET not in repr(one) + repr(target)


@proves("CLI-19")
def test_a_header_is_given_once() -> None:
    assert together([Header("A", "1"), Header("B", "2")]) == (Header("A", "1"), Header("B", "2"))
    with pytest.raises(Refused, match="x-a"):
        together([Header("X-A", SECRET), Header("x-a", SECRET)])


@proves("CLI-20", "HTTP-09")
@pytest.mark.parametrize("content", [b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nAAAA\n", None])
def test_a_file_without_certificates_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / SECRET
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(Refused, match="--ca-file") as refused:
        check_ca_file(str(file))
    assert SECRET not in str(refused.value)
    with pytest.raises(UnusableTrust):
        trust(Target(address("https://h/"), ca_file=str(file)))
    with pytest.raises(UnusableTrust):
        trust(Target(address("https://h/"), environment={"SSL_CERT_FILE": str(file)}))


@proves("CLI-20")
def test_the_file_adds_to_the_trust_of_the_system(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(file)
    check_ca_file(str(file))
    plain = trust(Target(address("https://h/"))).cert_store_stats()["x509"]
    assert trust(Target(address("https://h/"), ca_file=str(file))).cert_store_stats()["x509"] == plain + 1
