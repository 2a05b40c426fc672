"""Which URLs a user may be sent to.

`HOSTS` is an independent reader: the host that a browser (WHATWG URL, checked by hand against its host parser) finds in
each URL, or `None` where it finds none. Whatever is offered must have that host by our reading too.
"""

from ipaddress import ip_address

import pytest

from dragoman.core.addresses import AUTHORITY, URL, host_of, is_offered
from support.proofs import proves

OFFERED = {
    "https://example.com": "example.com",
    "https://example.com/sign-in?x=1&y=%2F#part": "example.com",
    "HTTPS://EXAMPLE.COM./": "example.com",
    "https://user:secret@example.com:8443/": "example.com",
    "https://example.com:/": "example.com",
    "https://example.com:65535": "example.com",
    "https://example.com?next=//evil.example": "example.com",
    "https://example.com#@evil.example": "example.com",
    "https://8.8.8.8/": "8.8.8.8",
    "https://[2001:DB8::1]/": "2001:db8::1",
    "https://xn--bcher-kva.example/": "xn--bcher-kva.example",
    "https://a_b.example": "a_b.example",
    "https://localhost": "localhost",
    "http://localhost": "localhost",
    "http://LocalHost:8080/x": "localhost",
    "http://localhost./": "localhost",
    "http://127.0.0.1:1/": "127.0.0.1",
    "http://127.255.255.254": "127.255.255.254",
    "http://[::1]:80/": "::1",
    "http://[0:0:0:0:0:0:0:1]": "::1",
    "http://[::ffff:127.0.0.1]/": "::ffff:127.0.0.1",
    "http://[::FFFF:7f00:1]/": "::ffff:127.0.0.1",
    "http://[::ffff:7f12:3456]/": "::ffff:127.18.52.86",
    "http://localhost/path@evil.example": "localhost",
}

HOSTILE = {
    # plain http to anywhere else
    "http://example.com": "example.com",
    "http://128.0.0.1": "128.0.0.1",
    "http://[::2]": "::2",
    "http://[::ffff:8.8.8.8]": "::ffff:8.8.8.8",
    "http://[::127.0.0.1]/": "::7f00:1",
    "http://0.0.0.0": "0.0.0.0",
    "http://localhost.evil.example": "localhost.evil.example",
    "http://evil-localhost": "evil-localhost",
    "http://localhost..": None,
    "http://127.0.0.1.evil.example": "127.0.0.1.evil.example",
    # user information
    "http://localhost@evil.example/": "evil.example",
    "http://localhost:80@evil.example/": "evil.example",
    "http://evil.example@localhost/": "localhost",
    "http://@localhost/": "localhost",
    "https://a@b@evil.example/": "evil.example",
    # backslashes, spaces, controls
    "https://example.com\\@evil.example": "example.com",
    "https:\\\\example.com": "example.com",
    "https://example.com/a\\b": "example.com",
    "https://example.com#\\": "example.com",
    "http://localhost\\.evil.example": "localhost",
    " https://example.com": "example.com",
    "https://example.com ": "example.com",
    "https://example.com/a b": "example.com",
    "ht\ttps://example.com": "example.com",
    "https://exa\nmple.com": "example.com",
    "https://example.com\r\n": "example.com",
    "https://example.com\x00": None,
    "https://example.com/\x7f": "example.com",
    "https://example.com/\x1b[2J": "example.com",
    # slashes
    "https:example.com": "example.com",
    "https:/example.com": "example.com",
    "https:///example.com": "example.com",
    "https:////example.com": "example.com",
    "https://": None,
    "https://?x": None,
    "https://#x": None,
    "//example.com": None,
    "/sign-in": None,
    "example.com": None,
    "": None,
    # hosts that letters do not show
    "http://0x7f.1/": "127.0.0.1",
    "http://0177.0.0.1/": "127.0.0.1",
    "http://127.1/": "127.0.0.1",
    "http://2130706433/": "127.0.0.1",
    "http://0x7f000001/": "127.0.0.1",
    "http://127.0.0.01/": "127.0.0.1",
    "https://127.0.0.1./": "127.0.0.1",
    "https://0x7f.0.0.1/": "127.0.0.1",
    "https://017700000001/": "127.0.0.1",
    "https://0x/": "0.0.0.0",
    "https://1.2.3.4.5/": None,
    "https://256.1.1.1/": None,
    "https://example.1/": None,
    "https://example.0x1f/": None,
    "https://%6c%6fcalhost/": "localhost",
    "http://%31%32%37.0.0.1/": "127.0.0.1",
    "https://ex%61mple.com/": "example.com",
    "http://１２７.0.0.1/": "127.0.0.1",
    "http://ⓛocalhost/": "localhost",
    "https://bücher.example/": "xn--bcher-kva.example",
    "https://example。com/": "example.com",
    "https://exam\u00adple.com/": "example.com",
    "https://exam\u200bple.com/": "example.com",
    "https://faß.example/": "xn--fa-hia.example",
    "https://xn--localhost-/": None,
    "https://xn--/": None,
    "https://xn--a\u00e9/": None,
    "https://xn--99999999/": None,
    "https://xn--a/": None,  # a control character
    "https://xn--8g7ccp.0.0.x/": None,  # full-width digits
    "https://xn--ocalhost-in2e/": None,  # a letter in a circle
    "https://xn--Bcher-2pa/": None,  # a capital letter
    # malformed authorities
    "https://example.com:99999/": None,
    "https://example.com:-1/": None,
    "https://example.com:80:80/": None,
    "https://example.com:8o/": None,
    "https://[::1/": None,
    "https://[::1]x/": None,
    "https://[::1%25eth0]/": None,
    "https://[1.2.3.4]/": None,
    "https://[:::1]/": None,
    "https://::1/": None,
    "https://exa<mple.com/": None,
    "https://exa^mple.com/": None,
    "https://a..b/": "a..b",
    "https://.example.com/": ".example.com",
    "https://" + "a" * 64 + ".com/": "a" * 64 + ".com",
    "https://" + "a." * 127 + "com/": "a." * 127 + "com",
    # other schemes
    "file:///etc/passwd": "",
    "vscode://extension/x": "extension",
    "command:workbench.action": None,
    "javascript://example.com/%0aalert(1)": "example.com",
    "data:text/html,x": None,
    "ftp://localhost/": "localhost",
    "ws://localhost/": "localhost",
    "view-source:https://example.com": None,
    "blob:https://example.com/x": None,
    "httpss://example.com": "example.com",
    "https+x://example.com": "example.com",
    "https\u017f://example.com": None,
    "https://example.com/\ud800": "example.com",
}


@proves("URLR-01", "URLR-02", "URLR-06")
@pytest.mark.parametrize("url", OFFERED)
def test_what_is_offered(url: str) -> None:
    assert is_offered(url)


@proves("URLR-02", "URLR-03", "URLR-04")
@pytest.mark.parametrize("url", HOSTILE)
def test_what_is_refused(url: str) -> None:
    assert not is_offered(url)


@proves("URLR-07")
@pytest.mark.parametrize(("url", "expected"), [*OFFERED.items()])
def test_our_reader_finds_the_host_that_a_browser_finds(url: str, expected: str) -> None:
    found = URL.fullmatch(url)
    assert found is not None
    parts = AUTHORITY.fullmatch(found["authority"])
    assert parts is not None
    host = host_of(parts["host"])
    assert host == (ip_address(expected) if ":" in expected or expected[0].isdigit() else expected)


def test_a_long_url_costs_its_length() -> None:
    assert is_offered("https://example.com/" + "a" * 1_000_000)
    assert not is_offered("https://" + "a.-" * 300_000)
    assert not is_offered("https://" + "@" * 1_000_000)
