"""Which places one can listen on."""

import pytest

from dragoman.transports.http.address import Refused
from dragoman.transports.http.server.listening import Place, place


@pytest.mark.parametrize(
    ("text", "expected", "url"),
    [
        ("http://127.0.0.1:8000/mcp", ("127.0.0.1", 8000, "/mcp"), "http://127.0.0.1:8000/mcp"),
        ("HTTP://LocalHost:0", ("localhost", 0, "/mcp"), "http://localhost:0/mcp"),
        ("http://[::1]:8000/a/b/", ("::1", 8000, "/a/b/"), "http://[::1]:8000/a/b/"),
        ("http://0.0.0.0", ("0.0.0.0", 80, "/mcp"), "http://0.0.0.0:80/mcp"),
        ("http://box.example:8000/", ("box.example", 8000, "/"), "http://box.example:8000/"),
    ],
)
def test_a_place_is_a_host_a_port_and_a_path(text: str, expected: tuple[str, int, str], url: str) -> None:
    where = place(text)
    assert (where.host, where.port, where.path) == expected
    assert where.url == url


def test_https_has_a_certificate_and_perhaps_a_client_ca() -> None:
    assert place("https://h", "c", "k") == Place("https", "h", 443, "/mcp", "c", "k")
    assert place("https://h:1/x", "c", "k", "ca").client_ca == "ca"


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("", ()),
        ("127.0.0.1:8000", ()),
        ("ftp://127.0.0.1", ()),
        ("http://", ()),
        ("http://:80", ()),
        ("http://u:p@localhost", ()),
        ("http://localhost:70000", ()),
        ("http://localhost:port", ()),
        ("http://localhost:-1", ()),
        ("http://localhost/a?b", ()),
        ("http://localhost/a#b", ()),
        ("http://localhost?b", ()),
        ("http://localhost/\xe9", ()),
        ("http://localhost/a b", ()),
        ("http://::1/", ()),
        ("https://localhost", ()),
        ("https://localhost", ("c",)),
        ("http://localhost", ("c", "k")),
        ("http://localhost", (None, None, "ca")),
    ],
)
def test_anything_else_is_refused_without_repeating_it(text: str, files: tuple[str, ...]) -> None:
    with pytest.raises(Refused) as refused:
        place(text, *files)
    assert "localhost" not in str(refused.value)
