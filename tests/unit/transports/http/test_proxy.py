"""The proxy variables, in both cases, with all their exceptions."""

import pytest

from dragoman.transports.http.address import address
from dragoman.transports.http.proxy import Proxy, UnusableProxy, is_excepted, proxy_for
from support.proofs import proves

HERE = address("https://api.example.com:8443/mcp")
A, B = "http://a.proxy:3128", "http://b.proxy:3128"


def place(environment: dict[str, str], url: str = HERE.url) -> str | None:
    proxy = proxy_for(address(url), environment)
    return None if proxy is None else f"{proxy.scheme}://{proxy.host}:{proxy.port}"


@proves("HTTP-06")
@pytest.mark.parametrize(
    ("environment", "used"),
    [
        ({}, None),
        ({"HTTPS_PROXY": A}, A),
        ({"https_proxy": A}, A),
        ({"https_proxy": A, "HTTPS_PROXY": B}, A),
        ({"ALL_PROXY": A}, A),
        ({"all_proxy": A}, A),
        ({"ALL_PROXY": A, "HTTPS_PROXY": B}, B),
        ({"HTTP_PROXY": A, "http_proxy": A}, None),
        ({"HTTPS_PROXY": "", "ALL_PROXY": " "}, None),
        ({"HTTPS_PROXY": "a.proxy:3128"}, A),
        ({"HTTPS_PROXY": "a.proxy"}, "http://a.proxy:80"),
        ({"HTTPS_PROXY": "https://a.proxy/"}, "https://a.proxy:443"),
        ({"HTTPS_PROXY": "http://[::1]:3128"}, "http://::1:3128"),
        ({"HTTPS_PROXY": A, "NO_PROXY": "other"}, A),
        ({"HTTPS_PROXY": A, "NO_PROXY": "example.com"}, None),
        ({"HTTPS_PROXY": A, "no_proxy": "*"}, None),
    ],
)
def test_which_proxy_is_used(environment: dict[str, str], used: str | None) -> None:
    assert place(environment) == used


@proves("HTTP-06")
@pytest.mark.parametrize(
    ("environment", "used"),
    [
        ({"HTTP_PROXY": A}, A),
        ({"http_proxy": A, "HTTP_PROXY": B}, A),
        ({"HTTPS_PROXY": A}, None),
        ({"ALL_PROXY": A}, A),
        ({"HTTP_PROXY": A, "NO_PROXY": "example.com"}, None),
        ({"HTTP_PROXY": A, "REQUEST_METHOD": "GET"}, None),
        ({"http_proxy": A, "HTTP_PROXY": B, "REQUEST_METHOD": "GET"}, A),
    ],
)
def test_plain_http_has_a_proxy_of_its_own(environment: dict[str, str], used: str | None) -> None:
    """A header of a client must not become a proxy, as it would in a CGI program."""
    found = proxy_for(address("http://example.com/mcp", allow_http=True), environment)
    assert (f"{found.scheme}://{found.host}:{found.port}" if found is not None else None) == used


@proves("HTTP-06")
@pytest.mark.parametrize(
    "url", ["http://localhost:1/", "https://localhost/", "https://a.localhost/", "http://127.0.0.2/", "https://[::1]/"]
)
def test_this_machine_has_no_proxy(url: str) -> None:
    assert place({"HTTPS_PROXY": A, "ALL_PROXY": A, "HTTP_PROXY": A}, url) is None
    assert place({"HTTPS_PROXY": "socks5://broken"}, url) is None


@proves("HTTP-06")
@pytest.mark.parametrize(
    ("host", "exceptions", "excepted"),
    [
        ("api.example.com", "api.example.com", True),
        ("api.example.com", "EXAMPLE.COM", True),
        ("api.example.com", ".example.com", True),
        ("example.com", ".example.com", True),
        ("api.example.com", "*.example.com", True),
        ("myexample.com", "example.com", False),
        ("api.example.com", "com.", True),
        ("api.example.com", "a, b example.com ,c", True),
        ("api.example.com", "example.com:443", True),
        ("api.example.com", "example.com:80", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "1.2.3", False),
        ("[2001:db8::5]", "2001:db8::/32", True),
        ("[2001:db8::5]", "[2001:db8::5]", True),
        ("[2001:db8::5]", "[2001:db8::5]:443", True),
        ("[2001:db8::5]", "2001:db8::5", True),
        ("[2001:db8::5]", "10.0.0.0/8", False),
        ("api.example.com", "", False),
        ("api.example.com", ",, .", False),
        ("api.example.com", "10.0.0.0/99", False),
    ],
)
def test_which_hosts_are_excepted(host: str, exceptions: str, excepted: bool) -> None:
    assert is_excepted(address(f"https://{host}/"), exceptions) is excepted


@proves("HTTP-06", "B152")
def test_credentials_come_from_the_url_of_the_proxy_and_are_not_shown() -> None:
    proxy = proxy_for(HERE, {"HTTPS_PROXY": "http://us%40er:p%3Ass@w0rd@a.proxy:1"})
    assert proxy == Proxy("http", "a.proxy", 1, "us@er", "p:ss@w0rd")
    assert "w0rd" not in repr(proxy)
    assert "us@er" not in repr(proxy)


@proves("HTTP-09", "B152")
@pytest.mark.parametrize(
    "value",
    ["socks5://secret:1", "ftp://secret", "http://", "http://secret:0", "http://secret:99999", "http://se cret"],
)
def test_a_value_that_names_no_proxy_is_told_by_its_variable(value: str) -> None:
    with pytest.raises(UnusableProxy, match="ALL_PROXY") as refused:
        proxy_for(HERE, {"ALL_PROXY": value})
    assert "secret" not in str(refused.value)
    assert proxy_for(HERE, {"ALL_PROXY": value, "NO_PROXY": "*"}) is None
