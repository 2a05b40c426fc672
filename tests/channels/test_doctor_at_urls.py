"""A visit to servers at URLs of every kind, and to what is no server."""

import asyncio
import json
import ssl
from typing import Any

import pytest
import trustme

from channels.scripted_http import Request, Script, served
from channels.scripted_kinds import DISCOVERED, TOOLS, Older, Oldest, modern
from dragoman.diagnostics.doctor import PAGES, examine
from dragoman.diagnostics.facts import Facts, Wire
from dragoman.diagnostics.symptoms import symptom
from dragoman.exchange.notes import Level
from dragoman.runtime.log import Log
from dragoman.runtime.targets import Transport, to_url
from dragoman.transports.http.address import address
from dragoman.transports.http.target import Target
from support.proofs import proves


def visited(script: Script, transport: Transport | None = None, seconds: float = 8, **how: Any) -> Facts:
    """The facts of one visit to a scripted server."""

    async def scene() -> Facts:
        async with served(script, **how) as server:
            url = server.url.replace("http:", "https:") if how else server.url
            way = to_url(Target(address(url), environment={}), transport, 1 << 20)
            log = Log("d", Level.ERR, lambda _: None)
            return await examine(way(), transport, seconds, log, lambda _: None)

    return asyncio.run(scene())


@proves("BCLI-03")
@pytest.mark.parametrize("transport", [None, Transport.STATELESS])
def test_a_modern_server_is_understood_and_its_pages_are_read(transport: Transport | None) -> None:
    facts = visited(modern, transport)
    assert facts.ready is not None
    assert (facts.ready.revision.name, facts.wire) == ("2026-07-28", Wire.STREAMABLE)
    assert facts.versions == ("2026-07-28",)
    listed = facts.lists["tools/list"]
    assert [json.loads(bytes(item))["name"] for item in listed.items] == ["a", "b", "c"]
    assert listed.failure is None
    assert facts.first_answer is not None


@proves("BCLI-03")
@pytest.mark.parametrize("transport", [None, Transport.SESSION])
def test_a_server_with_sessions_is_understood_and_its_session_ended(transport: Transport | None) -> None:
    server = Older()
    facts = visited(server, transport)
    assert facts.ready is not None
    assert (facts.ready.revision.name, facts.wire) == ("2025-06-18", Wire.SESSION)
    assert len(facts.lists["tools/list"].items) == 3
    assert server.seen[-1] == "DELETE"
    asked = {each for each in server.seen if each.startswith("POST")} - {"POST server/discover"}
    assert asked == {"POST initialize", "POST notifications/initialized", "POST tools/list"}


@proves("BCLI-03")
@pytest.mark.parametrize("transport", [None, Transport.SSE])
def test_a_server_of_http_and_sse_is_understood(transport: Transport | None) -> None:
    facts = visited(Oldest(), transport)
    assert facts.ready is not None
    assert (facts.ready.revision.name, facts.wire) == ("2024-11-05", Wire.SSE)
    assert len(facts.lists["tools/list"].items) == 3


def test_a_list_without_an_end_does_not_hold_the_visit() -> None:
    async def endless(request: Request) -> None:
        if request.message["method"] == "server/discover":
            await request.result(**DISCOVERED)
        else:
            await request.result(tools=TOOLS[:1], nextCursor="x", ttlMs=0, cacheScope="private")

    listed = visited(endless).lists["tools/list"]
    assert len(listed.items) == PAGES
    assert "more than" in (listed.failure or "")


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ({"error": {"code": -32000, "message": "m"}}, "error -32000"),
        ({"result": {"resultType": "complete"}}, "the result has no such list"),
        (None, "no response in 2 s"),
    ],
)
def test_a_list_that_cannot_be_read_is_told_and_the_server_is_understood(
    answer: dict[str, Any] | None, failure: str
) -> None:
    async def broken(request: Request) -> None:
        if request.message["method"] == "server/discover":
            await request.result(**DISCOVERED)
        elif answer is None:
            await request.gone()
        else:
            await request.answer({"jsonrpc": "2.0", "id": request.id, **answer})

    facts = visited(broken, seconds=2)
    assert facts.is_fine
    assert facts.lists["tools/list"].failure == failure


def status(code: int, kind: str = "text/html") -> Script:
    async def script(request: Request) -> None:
        await request.answer(b"<html>", code, kind)

    return script


async def silent(request: Request) -> None:
    await request.gone()


async def speechless(request: Request) -> None:
    request.writer.close()


async def refusing(request: Request) -> None:
    await request.error(-32000)


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("wrong_path", status(404)),
        ("wrong_path", status(405)),
        ("sign_in", status(401)),
        ("sign_in", status(403, "application/json")),
        ("busy", status(503)),
        ("web_page", status(200)),
        ("silent", silent),
        ("unreachable", speechless),
        ("not_understood", refusing),
    ],
)
def test_what_is_no_usable_server_gets_a_name(name: str, script: Script) -> None:
    found = symptom(visited(script, seconds=2))
    assert found is not None
    assert found.name == name


def test_a_certificate_that_nobody_vouches_for_is_told() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)  # pyright: ignore[reportUnknownMemberType]
    found = symptom(visited(modern, tls=context))
    assert found is not None
    assert (found.name, "certificate" in found.what) == ("tls", True)


def test_a_place_without_a_listener_is_told() -> None:
    way = to_url(Target(address("http://127.0.0.1:9/mcp"), environment={}), None, 1 << 20)
    log = Log("d", Level.ERR, lambda _: None)
    found = symptom(asyncio.run(examine(way(), None, 5, log, lambda _: None)))
    assert found is not None
    assert found.name == "connection_refused"
