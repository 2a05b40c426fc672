"""Connections to where URLs of others lead: a name service is asked, and what it says is judged (C8)."""

import asyncio
import socket
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.abc import ResolveResult

from dragoman.signin.failure import Failed
from dragoman.signin.web import Web
from dragoman.transports.http.address import address
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.connection import Connections
from dragoman.transports.http.loss import Lost
from dragoman.transports.http.place import place
from dragoman.transports.http.resolver import OutOfReach, Resolver
from dragoman.transports.http.target import Target
from support.proofs import proves
from support.signing_in import account

NAMES = {
    "mcp.example": ("93.184.216.34",),
    "mcp.corp": ("10.0.0.5",),
    "near.example": ("127.0.0.2",),
    "sso.corp": ("10.0.0.7",),
    "evil.example": ("127.0.0.1",),
    "rebound.example": ("169.254.169.254",),
    "both.example": ("10.0.0.9", "93.184.216.35"),
    "far.example": ("93.184.216.36",),
}


class Names:
    """The system's name service, with names of ours."""

    async def resolve(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        if host not in NAMES:
            raise OSError("no such name")
        return [
            ResolveResult(hostname=host, host=number, port=port, family=socket.AF_INET, proto=0, flags=0)
            for number in NAMES[host]
        ]

    async def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiohttp, "ThreadedResolver", Names)


def played(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, 60))


@proves("C8")
@pytest.mark.parametrize(
    ("home", "host", "numbers"),
    [
        ("mcp.example", "far.example", {"93.184.216.36"}),
        ("mcp.example", "both.example", {"93.184.216.35"}),
        ("mcp.example", "sso.corp", set[str]()),
        ("mcp.example", "evil.example", set[str]()),
        ("mcp.example", "rebound.example", set[str]()),
        ("mcp.example", "localhost", set[str]()),
        ("mcp.corp", "sso.corp", {"10.0.0.7"}),
        ("mcp.corp", "evil.example", set[str]()),
        ("near.example", "evil.example", {"127.0.0.1"}),
        ("localhost", "sso.corp", {"10.0.0.7"}),
        ("127.0.0.1", "localhost", {"127.0.0.1", "::1"}),
        ("not.known", "sso.corp", set[str]()),
        ("evil.example", "evil.example", {"127.0.0.1"}),
    ],
)
def test_a_name_leads_where_the_users_server_is_and_no_nearer(home: str, host: str, numbers: set[str]) -> None:
    async def scene() -> None:
        resolver = Resolver(home, frozenset(), allow_intranet=False)
        if numbers:
            assert {one["host"] for one in await resolver.resolve(host, 443)} == numbers
        else:
            with pytest.raises(OutOfReach):
                await resolver.resolve(host, 443)

    played(scene())


@proves("C8")
def test_the_user_may_permit_private_networks_and_name_a_host() -> None:
    async def scene() -> None:
        wide = Resolver("mcp.example", frozenset(), allow_intranet=True)
        assert await wide.resolve("sso.corp", 443)
        for host in ("evil.example", "rebound.example"):
            with pytest.raises(OutOfReach):
                await wide.resolve(host, 443)
        named = Resolver("mcp.example", frozenset({"sso.corp"}), allow_intranet=False)
        assert await named.resolve("sso.corp", 443)
        with pytest.raises(OutOfReach):
            await named.resolve("evil.example", 443)

    played(scene())


@proves("C8")
@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("sso.corp", "a private network, and the user did not write it; --allow-intranet permits it"),
        ("evil.example", "leads to this machine"),
        ("rebound.example", "no server's"),
        ("127.1", "leads to this machine"),
        ("[::ffff:127.0.0.1]", "leads to this machine"),
        ("0.0.0.0", "leads to this machine"),
        ("10.0.0.7", "a private network"),
        ("localhost.", "leads to this machine"),
    ],
)
def test_nothing_is_sent_where_others_may_not_lead(host: str, why: str) -> None:
    async def scene() -> None:
        target = Target(address("https://mcp.example/mcp"))
        connections = Connections(target, asyncio.get_running_loop(), Bounds())
        try:
            with pytest.raises(Lost) as lost:
                await connections.fetch("GET", place(address(f"https://{host}/x"), target, False), None, {})
            assert why in str(lost.value)
            assert host.strip("[]") not in str(lost.value)
        finally:
            await connections.close()

    played(scene())


@proves("C8")
@pytest.mark.parametrize("url", ["https://sso.corp/authorize?x=1", "https://192.168.1.1/reboot", "https://localhost./"])
def test_no_browser_is_sent_there_either(url: str) -> None:
    async def scene() -> None:
        web = Web(Target(address("https://mcp.example/mcp")))
        try:
            with pytest.raises(Failed, match="not opened"):
                await web.check_page(url)
            for fine in ("https://far.example/authorize", "https://not.known/authorize"):
                await web.check_page(fine)
        finally:
            await web.close()

    played(scene())


@proves("C8")
def test_a_sign_in_ends_where_a_server_leads_it_into_our_network(tmp_path: Path) -> None:
    async def scene() -> None:
        async with account("https://mcp.example/mcp", tmp_path) as one:
            with pytest.raises(Failed, match=r"private network.*--allow-intranet"):
                await one.meets(401, 'Bearer resource_metadata="https://sso.corp/.well-known/oauth-protected-resource"')
            assert one.someone.lines == []

    played(scene())
