"""Which URLs are accepted, how they are sent, and where redirects may lead."""

import pytest

from dragoman.transports.http.address import Plain, Refused, address, is_loopback, redirected
from support.proofs import proves


@proves("CLI-15")
@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://h.example/mcp", ("https", "h.example", 443)),
        ("HTTPS://H.Example:8443/Mcp", ("https", "h.example", 8443)),
        ("https://[2001:DB8::1]/", ("https", "2001:db8::1", 443)),
        ("http://localhost:3000/mcp", ("http", "localhost", 3000)),
        ("http://app.localhost/mcp", ("http", "app.localhost", 80)),
        ("http://127.0.0.1/", ("http", "127.0.0.1", 80)),
        ("http://127.9.8.7:1/", ("http", "127.9.8.7", 1)),
        ("http://[::1]:8080/mcp", ("http", "::1", 8080)),
    ],
)
def test_https_anywhere_and_http_on_this_machine(url: str, origin: tuple[str, str, int]) -> None:
    assert address(url).origin == origin


@proves("CLI-14", "CLI-15")
@pytest.mark.parametrize(
    "url",
    [
        "http://h.example/",
        "http://192.168.0.1/",
        "http://10.0.0.1/",
        "http://0.0.0.0/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost.example/",
        "http://notlocalhost/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.1.example/",
        "https://user@h/",
        "https://user:secret@h/",
        "https://@h/",
        "http://localhost@evil.example/",
        "https://h/#anchor",
        "https://h#",
        "https://h:0/",
        "https://h:65536/",
        "https://h:/",
        "https://h:80a/",
        "https://",
        "https:///path",
        "https://?x",
        "https://[::1",
        "https://[fe80::1%25eth0]/",
        "https://h\\@evil/",
        "https://h/a b",
        "https://h/\n",
        "https://hé/",
        "https://.h/",
        "https://a..b/",
        "ftp://h/",
        "ws://localhost/",
        "file:///etc/passwd",
        "h.example/mcp",
        "//h/",
        "",
    ],
)
def test_everything_else_is_refused_without_a_word_of_it(url: str) -> None:
    with pytest.raises(Refused) as refused:
        address(url)
    for part in ("secret", "evil", "example", "anchor", "passwd", "user@"):
        assert part not in str(refused.value)


@proves("B117")
@pytest.mark.parametrize("rest", ["/mcp/", "/mcp", "/a%2Fb?x=1", "", "?x=1", "/a/../b%zz?q=%41&q=", "//", "/;p"])
def test_the_path_and_query_stay_as_they_are_written(rest: str) -> None:
    assert address("https://h" + rest).url == "https://h" + rest


@proves("B115")
@pytest.mark.parametrize(
    ("place", "location", "to"),
    [
        ("https://h/mcp", "/mcp/", "https://h/mcp/"),
        ("https://h/a/mcp?x=1", "b", "https://h/a/b"),
        ("https://h/mcp", "?y=2", "https://h/mcp?y=2"),
        ("https://h/mcp", "https://other.example/m#here", "https://other.example/m"),
        ("https://h/mcp", "//other.example/m", "https://other.example/m"),
        ("http://localhost:1/mcp", "http://127.0.0.1:2/", "http://127.0.0.1:2/"),
        ("http://localhost:1/mcp", "https://h.example/", "https://h.example/"),
    ],
)
def test_a_redirect_leads_where_urls_may_be(place: str, location: str, to: str) -> None:
    assert redirected(address(place), location).url == to


@pytest.mark.parametrize(
    ("place", "location"),
    [
        ("https://h/mcp", None),
        ("https://h/mcp", ""),
        ("https://h/mcp", "http://h/mcp"),
        ("https://h/mcp", "https://localhost/mcp"),
        ("https://h/mcp", "https://127.0.0.1:6379/"),
        ("https://h/mcp", "https://user:password@h/"),
        ("https://localhost/mcp", "http://localhost/mcp"),
        ("http://localhost/mcp", "http://h.example/"),
        ("https://h/mcp", "javascript:x"),
        ("https://h/mcp", "https://[::1"),
        ("https://h/mcp", "/ü"),
    ],
)
def test_other_redirects_are_not_followed(place: str, location: str | None) -> None:
    with pytest.raises(Refused):
        redirected(address(place), location)


def test_plain_http_to_another_machine_is_for_the_user_to_allow() -> None:
    """T24, CLI-15"""
    with pytest.raises(Plain):
        address("http://h.example/mcp")
    allowed = address("http://h.example/mcp", allow_http=True)
    assert (allowed.url, allowed.is_plain) == ("http://h.example/mcp", True)
    assert redirected(allowed, "http://other.example/").is_plain
    assert not redirected(allowed, "https://other.example/").is_plain
    assert not address("http://localhost/mcp", allow_http=True).is_plain
    with pytest.raises(Refused):
        redirected(allowed, "http://localhost/")


@proves("B158")
def test_the_names_of_this_machine() -> None:
    assert all(map(is_loopback, ("localhost", "a.b.localhost", "127.0.0.1", "127.255.255.254", "::1")))
    assert not any(map(is_loopback, ("localhost.", "xlocalhost", "::", "128.0.0.1", "h", "")))
