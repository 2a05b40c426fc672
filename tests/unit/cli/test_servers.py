"""Which server a command line names."""

from typing import Any

import click
import pytest

from dragoman.cli.servers import Server, read_server
from dragoman.runtime.targets import Transport
from support.proofs import proves

URL = "http://127.0.0.1:1/mcp"


def read(upstream: str, **options: Any) -> Server:
    given: dict[str, Any] = {"header": (), "header_env": (), "ca_file": None, "target": None, **options}
    return read_server(None, {**given, "upstream": upstream}, frozenset())


@pytest.mark.parametrize(
    ("text", "transport"),
    [
        (URL, None),
        (f"http-stateless:{URL}", Transport.STATELESS),
        (f"http-session:{URL}", Transport.SESSION),
        (f"sse:{URL}", Transport.SSE),
    ],
)
def test_a_url_may_say_how_its_server_is_spoken_to(
    text: str, transport: Transport | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "k-1")
    server = read(text, header=("Authorization:b",), header_env=("X-Key=KEY",))
    assert server.target is not None
    assert (server.target.address.url, server.transport, server.command) == (URL, transport, ())
    assert [(header.name, header.value) for header in server.target.headers] == [
        ("Authorization", "b"),
        ("X-Key", "k-1"),
    ]
    assert len(server.warnings) == 1


def test_plain_http_is_allowed_by_an_option_that_warns() -> None:
    """T24"""
    with pytest.raises(click.UsageError, match="--allow-http"):
        read("http://intra.example/mcp")
    server = read("http://intra.example/mcp", allow_http=True)
    assert server.target is not None
    assert server.target.address.is_plain
    (warning,) = server.warnings
    assert "plain http" in warning
    assert not read(URL, allow_http=True).warnings


@proves("CLI-15")
@pytest.mark.parametrize(
    "text",
    [
        "sse:",
        "sse:server",
        "http-session:http://example.com/",
        "http-session:sse:http://127.0.0.1/",
        "unix:/a",
        "a2a:x",
    ],
)
def test_what_is_no_usable_url_behind_it_is_refused_without_the_value(text: str) -> None:
    with pytest.raises(click.UsageError) as refusal:
        read(text)
    assert text.partition(":")[2] not in refusal.value.message or not text.partition(":")[2]


def test_a_command_is_no_url() -> None:
    assert read("stdio:sse http-session:x").command == ("sse", "http-session:x")
