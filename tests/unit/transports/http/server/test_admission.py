"""Who may speak to the endpoint: hosts, origins, and what web pages are told."""

import pytest

from dragoman.transports.http.server.admission import admission
from support.listener import Listener, call, initialize, scene
from support.proofs import proves

LOCAL = [
    "localhost",
    "localhost:8000",
    "LOCALHOST",
    "app.localhost:1",
    "127.0.0.1",
    "127.0.0.1:65535",
    "127.8.9.1",
    "[::1]",
    "[::1]:8000",
]
FOREIGN = [
    "evil.example",
    "evil.example:8000",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "10.0.0.1",
    "[fe80::1]",
]
BROKEN = [
    None,
    "",
    ":80",
    "[::1",
    "localhost:port",
    "localhost:99999",
    "127.1",
    "2130706433",
    "0177.0.0.1",
    "[",
    "\xe9",
]


@pytest.mark.parametrize("host", LOCAL)
@pytest.mark.parametrize("listen", ["127.0.0.1", "::1", "localhost", None, "0.0.0.0"])
def test_names_of_this_machine_are_always_fine(listen: str | None, host: str) -> None:
    assert admission(listen).admits_host(host)


@proves("THTTP-02", "B154")
@pytest.mark.parametrize("host", [*FOREIGN, *BROKEN])
def test_other_hosts_are_not_when_only_this_machine_is_served(host: str | None) -> None:
    assert not admission("127.0.0.1").admits_host(host)
    assert not admission(None).admits_host(host)


@pytest.mark.parametrize("listen", ["0.0.0.0", "::"])
@pytest.mark.parametrize(
    ("host", "fine"),
    [
        ("10.0.0.1:8000", True),
        ("[fe80::1]:8000", True),
        ("evil.example", False),
        ("0.0.0.0.example", False),
        ("", False),
    ],
)
def test_beyond_this_machine_a_plain_address_is_fine_and_a_name_is_not(listen: str, host: str, fine: bool) -> None:
    assert admission(listen).admits_host(host) is fine


@proves("B154")
@pytest.mark.parametrize(
    ("pattern", "host", "fine"),
    [
        ("api.example", "api.example", True),
        ("api.example", "API.example:443", True),
        ("api.example", "api.example.evil", False),
        ("api.example:443", "api.example:443", True),
        ("api.example:443", "api.example:444", False),
        ("api.example:443", "api.example", False),
        ("*.example:*", "a.example:1", True),
        ("*.example:*", "a.b.example", True),
        ("*.example", "example", False),
        ("*.example", "badexample", False),
        ("*", "anything.at.all:5", True),
        ("[fd00::1]", "[fd00::1]:8000", True),
        ("fd00::1", "[fd00::2]", False),
    ],
)
def test_an_option_names_further_hosts(pattern: str, host: str, fine: bool) -> None:
    assert admission("127.0.0.1", hosts=[pattern]).admits_host(host) is fine


def test_the_host_that_is_listened_on_is_fine() -> None:
    assert admission("Box.example").admits_host("box.example:8000")


@pytest.mark.parametrize(
    ("origin", "fine"),
    [
        (None, True),
        ("http://localhost:5173", True),
        ("https://127.0.0.1", True),
        ("http://[::1]:3000", True),
        ("https://app.example", True),
        ("https://app.example:444", False),
        ("http://app.example", False),
        ("https://evil.example", False),
        ("https://localhost.evil.example", False),
        ("null", False),
        ("", False),
        ("file://", False),
        ("chrome-extension://localhost", False),
        ("http://[", False),
        ("http://[::1", False),
        ("http://\xe9", False),
    ],
)
def test_a_page_of_this_machine_or_of_an_option_may_speak(origin: str | None, fine: bool) -> None:
    assert admission("0.0.0.0", origins=["https://app.example/"]).admits_origin(origin) is fine


@proves("THTTP-02")
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS", "PUT"])
@scene
async def test_a_foreign_page_or_name_gets_403_whatever_it_does(method: str) -> None:
    listener = Listener()
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"host": "evil.example"},
        {"origin": "http://["},
    ):
        answer = await listener.send(method, initialize(), {"content-type": "application/json", **headers})
        assert answer.status == 403
        assert not any(name.startswith("access-control") for name in answer.headers)
    assert not listener.server.starts
    await listener.close()


@proves("B154")
@scene
async def test_a_refusal_names_the_host_and_the_setting() -> None:
    listener = Listener()
    await listener.send("POST", headers={"host": "my\r\nproxy.example"})
    await listener.send("POST", headers={"origin": "https://a.example"})
    host, origin = listener.refused
    assert "'my\\r\\nproxy.example'" in host
    assert "--allow-host" in host
    assert "'https://a.example'" in origin
    assert "--allow-origin" in origin
    await listener.close()


WANTED = "mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, Mcp-Param-X, last-event-id, authorization"


@proves("B156")
@scene
async def test_a_preflight_of_an_allowed_page_allows_all_that_mcp_has() -> None:
    listener = Listener(admitted=admission("127.0.0.1", origins=["https://app.example"]))
    asks = {"access-control-request-method": "POST", "access-control-request-headers": f"{WANTED}, x-other"}
    answer = await listener.send("OPTIONS", headers={"origin": "https://app.example", **asks})
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-credentials" not in answer.headers
    assert {"POST", "GET", "DELETE"} <= set(answer.headers["access-control-allow-methods"].split(", "))
    allowed = answer.headers["access-control-allow-headers"].split(", ")
    assert set(WANTED.lower().split(", ")) <= set(allowed)
    assert "x-other" not in allowed
    await listener.close()


@scene
async def test_a_page_can_read_the_answer_and_its_session() -> None:
    listener = Listener()
    page = {"origin": "http://localhost:5173"}
    opened = await listener.post(initialize(), **page)
    assert opened.headers["access-control-allow-origin"] == page["origin"]
    assert "mcp-session-id" in opened.headers["access-control-expose-headers"]
    assert opened.headers["vary"] == "origin"
    for answer in (
        await listener.post(call(1), **page),
        await listener.post(b"{", **page),
        await listener.get("x", **page),
    ):
        assert answer.headers["access-control-allow-origin"] == page["origin"]
    assert "access-control-allow-origin" not in (await listener.post(call(1))).headers
    await listener.close()
