"""A server that no longer knows the session: one new beginning, and nothing is done twice."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from channels.scripted_http import Request, Script, event, played, served
from channels.scripted_session import LATEST, LOG, QUICK, Sessions, echo, held, opened, result, unknown
from dragoman.faults import Cause
from dragoman.limits import Timeouts
from support.proofs import proves


async def bad(request: Request) -> None:
    error = {"code": -32000, "message": "no valid session"}
    await request.answer({"jsonrpc": "2.0", "id": None, "error": error}, 400)


async def empty(request: Request) -> None:
    await request.answer(b"", 404, None)


async def page(request: Request) -> None:
    await request.answer(b"<p>", 404, "text/html")


async def own(request: Request) -> None:
    error = {"code": -32001, "message": "Session not found"}
    await request.answer({"jsonrpc": "2.0", "id": request.id, "error": error}, 404)


@proves("B53", "B108")
@pytest.mark.parametrize("stranger", [unknown, bad, empty, page, own], ids=lambda script: script.__name__)
def test_a_lost_session_is_begun_anew_and_the_request_sent_once_more(stranger: Script) -> None:
    async def scene() -> None:
        sessions = Sessions(stranger=stranger)
        async with opened(sessions) as (server, side):
            side.call(1)
            await side.answer(1)
            sessions.known.clear()
            del sessions.seen[:]
            side.call(2, name="x")
            assert await side.answer(2) == result(2, text="fine")
            assert side.of == [b"1", b"2"]
            assert not side.losses
            assert len(side.notes) == 1
            side.call(3)
            await side.answer(3)
        assert sessions.seen == [
            "POST tools/call",
            "POST initialize",
            "POST notifications/initialized",
            "GET",
            "POST tools/call",
            "POST tools/call",
            "DELETE",
        ]
        first, again = (one for one in server.requests if b'"initialize"' in one.body)
        assert again["Mcp-Session-Id"] is again["MCP-Protocol-Version"] is None
        assert again.message["params"] == first.message["params"]
        assert again.id not in (0, 1, 2, 3)
        assert [one["Mcp-Session-Id"] for one in server.requests[-4:]] == ["s2"] * 4

    played(scene)


async def gone(request: Request) -> None:
    await request.answer(b"", 410, None)


async def polite(request: Request) -> None:
    error = {"code": -32600, "message": "The server is not initialized"}
    await request.answer({"jsonrpc": "2.0", "id": request.id, "error": error})


async def streamed(request: Request) -> None:
    error = {"code": -32001, "message": "unknown SESSION id"}
    await request.stream(event({"jsonrpc": "2.0", "id": request.id, "error": error}))


async def broken(request: Request) -> None:
    error = {"code": -32002, "message": "session expired"}
    await request.answer({"jsonrpc": "2.0", "id": None, "error": error}, 500)


@pytest.mark.parametrize("stranger", [gone, polite, streamed, broken], ids=lambda script: script.__name__)
def test_each_word_for_the_end_of_a_session_begins_a_new_one(stranger: Script) -> None:
    """T26: 410, and an error that speaks of the session whatever its status."""

    async def scene() -> None:
        sessions = Sessions(stranger=stranger)
        async with opened(sessions) as (_, side):
            side.call(1)
            await side.answer(1)
            sessions.known.clear()
            side.call(2)
            assert await side.answer(2) == result(2, text="fine")
            assert not side.losses
        assert sessions.count == 2

    played(scene)


async def no_reason(request: Request) -> None:
    await request.answer(b"", 400, None)


@pytest.mark.parametrize(("method", "is_repeated"), [("tools/call", False), ("resources/read", True)])
def test_a_request_that_may_have_been_begun_is_not_sent_again(method: str, is_repeated: bool) -> None:
    """B53: 400 without a word says nothing about what was done."""

    async def scene() -> None:
        sessions = Sessions(stranger=no_reason)
        async with opened(sessions) as (server, side):
            side.call(1)
            await side.answer(1)
            sessions.known.clear()
            side.call(2, method)
            if is_repeated:
                await side.answer(2)
            else:
                loss = await side.loss()
                assert loss.status == 400
                assert "not sent again" in (loss.detail or "")
                side.losses.clear()
            side.call(3)
            await side.answer(3)
        assert sessions.count == 2
        assert [one.id for one in server.requests if method.encode() in one.body].count(2) == 1 + is_repeated

    played(scene)


@pytest.mark.parametrize("message", ["The database is not ready", "Server busy"])
def test_an_error_about_something_else_is_the_server_s_answer(message: str) -> None:
    """T26"""

    async def scene() -> None:
        failing: list[bool] = []

        async def call(request: Request) -> None:
            if failing:
                error = {"code": -32000, "message": message}
                await request.answer({"jsonrpc": "2.0", "id": request.id, "error": error})
            else:
                await echo(request)

        sessions = Sessions(call=call)
        async with opened(sessions) as (_, side):
            side.call(1)
            await side.answer(1)
            failing.append(True)
            side.call(2)
            assert (await side.answer(2))["error"]["message"] == message
        assert sessions.count == 1

    played(scene)


def test_requests_that_meet_the_end_together_share_one_new_session() -> None:
    async def scene() -> None:
        arrived = asyncio.Semaphore(0)
        go = asyncio.Event()

        async def stranger(request: Request) -> None:
            arrived.release()
            await go.wait()
            await unknown(request)

        sessions = Sessions(stranger=stranger)
        async with opened(sessions) as (server, side):
            side.call(1)
            await side.answer(1)
            sessions.known.clear()
            for id in range(2, 18):
                side.call(id)
            for _ in range(16):
                await arrived.acquire()
            go.set()
            for id in range(2, 18):
                assert await side.answer(id) == result(id, text="fine")
        assert sessions.count == 2
        calls = [one.id for one in server.requests if b"tools/call" in one.body]
        assert sorted(calls) == sorted([1, *range(2, 18), *range(2, 18)])

    played(scene)


def test_what_comes_while_a_new_session_begins_waits_for_it() -> None:
    async def scene() -> None:
        begun, go = asyncio.Event(), asyncio.Event()

        class Slow(Sessions):
            async def initialize(self, request: Request) -> None:
                if self.count:
                    begun.set()
                    await go.wait()
                await super().initialize(request)

        sessions = Slow()
        async with opened(sessions) as (_, side):
            side.call(1)
            await side.answer(1)
            sessions.known.clear()
            side.call(2)
            await begun.wait()
            del sessions.seen[:]
            side.call(3)
            side.notify("notifications/roots/list_changed")
            side.call(4)
            await asyncio.sleep(0.01)
            assert not sessions.seen
            go.set()
            for id in (2, 3, 4):
                await side.answer(id)
        assert sessions.seen[:2] == ["POST notifications/initialized", "GET"]
        assert "POST initialize" not in sessions.seen

    played(scene)


@proves("B110")
def test_a_400_of_a_session_that_never_worked_is_an_error() -> None:
    async def call(request: Request) -> None:
        await request.answer(b"", 400, None)

    async def scene() -> None:
        sessions = Sessions(call=call)
        async with opened(sessions) as (_, side):
            side.call(1)
            assert (await side.loss()).detail == "HTTP status 400"
        assert sessions.count == 1

    played(scene)


@proves("B110", "B122")
def test_a_second_400_is_told_and_the_same_request_begins_no_third_session() -> None:
    async def call(request: Request) -> None:
        await (bad if request.id >= 100 else echo)(request)

    async def scene() -> None:
        sessions = Sessions(call=call)
        async with opened(sessions) as (_, side):
            side.call(1)
            await side.answer(1)
            side.call(100)
            assert (await side.answer(100))["error"] == {"code": -32000, "message": "no valid session"}
            side.call(2)
            await side.answer(2)
            side.call(101)
            assert "error" in await side.answer(101)
            assert sessions.count == 2

    played(scene)


@proves("B122", "HTTP-10")
def test_a_second_404_is_told() -> None:
    async def call(request: Request) -> None:
        await (empty if request.id == 2 else echo)(request)

    async def scene() -> None:
        sessions = Sessions(call=call)
        async with opened(sessions) as (_, side):
            side.call(2)
            assert (await side.loss()).detail == "HTTP status 404"
            side.losses.clear()
            side.call(3)
            await side.answer(3)
        assert sessions.count == 2
        assert sessions.seen.count("POST tools/call") == 3

    played(scene)


def test_a_404_that_says_a_method_is_not_there_is_an_answer() -> None:
    async def call(request: Request) -> None:
        error = {"code": -32601, "message": "no"}
        await request.answer({"jsonrpc": "2.0", "id": request.id, "error": error}, 404)

    async def scene() -> None:
        sessions = Sessions(call=call)
        async with opened(sessions) as (_, side):
            side.call(1)
            assert (await side.answer(1))["error"]["code"] == -32601
        assert sessions.count == 1

    played(scene)


async def refuse(request: Request) -> None:
    await request.answer({"jsonrpc": "2.0", "id": request.id, "error": {"code": -32602, "message": "no"}})


async def unavailable(request: Request) -> None:
    await request.answer(b"", 503, None)


async def silent(request: Request) -> None:
    await request.gone()


async def other(request: Request) -> None:
    await request.answer(result(request.id, protocolVersion="2024-11-05"), 200, "application/json")


@proves("EXIT-05")
@pytest.mark.parametrize(
    ("again", "status", "words"),
    [
        (refuse, 200, "answered with an error"),
        (unavailable, 503, "there is no new one"),
        (silent, None, "no new one in time"),
        (other, 200, "another revision"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_no_new_session_is_told_and_the_next_request_tries_again(again: Script, status: int | None, words: str) -> None:
    class Once(Sessions):
        failed = 0

        async def initialize(self, request: Request) -> None:
            if self.count and not self.failed:
                self.failed += 1
                await again(request)
            else:
                await super().initialize(request)

    async def scene() -> None:
        both = asyncio.Event()

        async def stranger(request: Request) -> None:
            if request.id == 3:
                both.set()
            await both.wait()
            await unknown(request)

        sessions = Once(stranger=stranger)
        async with opened(sessions, replace(QUICK, timeouts=replace(Timeouts(), discover=0.05))) as (_, side):
            side.call(1)
            await side.answer(1)
            sessions.known.clear()
            side.call(2)
            side.call(3)
            await side.until(lambda: len(side.losses) == 2)
            assert {id for id, _ in side.losses} == {b"2", b"3"}
            for _, loss in side.losses:
                assert loss.status == status
                assert words in (loss.detail or "")
                assert status is None or (loss.detail or "").startswith(f"HTTP status {status}")
            side.losses.clear()
            side.call(4)
            assert await side.answer(4) == result(4, text="fine")
        assert sessions.count == 2

    played(scene)


def test_what_may_have_been_carried_out_is_not_sent_again_after_a_restart() -> None:
    async def scene() -> None:
        arrived = asyncio.Event()
        waiting: list[Request] = []

        async def call(request: Request) -> None:
            if request.id == 2:
                waiting.append(request)
                await request.stream(event(LOG), end=False)
                arrived.set()
                await request.gone()
            else:
                await echo(request)

        sessions = Sessions(call=call)
        async with opened(sessions) as (server, side):
            side.call(1)
            await side.answer(1)
            side.call(2)
            await arrived.wait()
            sessions.known.clear()
            waiting[0].reset()
            loss = await side.loss()
            assert loss.kind is Cause.TRANSPORT_FAILED
            side.losses.clear()
            side.call(3)
            await side.answer(3)
        assert [one.id for one in server.requests if b"tools/call" in one.body] == [1, 2, 3, 3]

    played(scene)


def test_a_request_that_is_cancelled_in_between_is_not_sent_again() -> None:
    async def scene() -> None:
        begun, go = asyncio.Event(), asyncio.Event()

        class Slow(Sessions):
            async def initialize(self, request: Request) -> None:
                if self.count:
                    begun.set()
                    await go.wait()
                await super().initialize(request)

        sessions = Slow()
        async with opened(sessions) as (server, side):
            side.call(1)
            await side.answer(1)
            sessions.known.clear()
            side.call(2)
            await begun.wait()
            side.cancel(2)
            side.call(3)
            go.set()
            await side.answer(3)
        assert [one.id for one in server.requests if b"tools/call" in one.body] == [1, 2, 3]

    played(scene)


@proves("B98")
def test_the_get_stream_is_of_the_new_session() -> None:
    async def scene() -> None:
        sessions = Sessions(get=held)
        async with opened(sessions) as (server, side):
            side.call(1)
            await side.answer(1)
            sessions.known.clear()
            side.call(2)
            await side.answer(2)
        assert [one["Mcp-Session-Id"] for one in server.requests if one.method == "GET"] == ["s1", "s2"]

    played(scene)


@proves("HTTP-11")
def test_a_session_id_goes_to_nobody_but_who_made_it() -> None:
    async def scene() -> None:
        async def there(request: Request) -> None:
            await request.answer(result(json.loads(request.body)["id"], text="there"))

        class Sending(Sessions):
            async def __call__(self, request: Request) -> None:
                if b"away" in request.body:
                    await request.answer(b"", 307, None, f"Location: http://127.0.0.1:{second.port}/")
                else:
                    await super().__call__(request)

        async with served(there) as second, opened(Sending()) as (_, side):
            side.call(1, name="away")
            assert (await side.answer(1))["result"] == {"text": "there"}
            (request,) = second.requests
            assert request["Mcp-Session-Id"] is None
            assert request["MCP-Protocol-Version"] == LATEST

    played(scene)


def test_a_redirect_keeps_post_get_and_delete_with_their_session() -> None:
    class Moved(Sessions):
        async def __call__(self, request: Request) -> None:
            if request.target == "/mcp":
                moved.append(request.method)
                await request.answer(b"", 308, None, "Location: /mcp/")
            else:
                await super().__call__(request)

    moved: list[Any] = []

    async def scene() -> None:
        sessions = Moved(get=held)
        async with opened(sessions) as (_, side):
            side.call(1)
            await side.answer(1)
        assert moved == ["POST"]
        assert sessions.seen[-1] == "DELETE"

    played(scene)


@pytest.mark.parametrize("lives", [True, False], ids=["after a while", "at once"])
def test_a_stream_whose_session_is_forgotten_begins_a_new_one_unless_it_never_lived(lives: bool) -> None:
    async def scene() -> None:
        go = asyncio.Event()

        async def get(request: Request) -> None:
            await request.stream(b": here\n\n", end=False)
            if request["Mcp-Session-Id"] == "s1":
                await go.wait()
                sessions.known.clear()
                await request.raw(b"0\r\n\r\n")
            else:
                await request.gone()

        sessions = Sessions(get=get)
        async with opened(sessions, replace(QUICK, settled=0.0 if lives else 60.0)) as (_, side):
            await sessions.until_seen("GET", 1)
            go.set()
            await sessions.until_seen("GET", 3 if lives else 2)
            await side.until(lambda: bool(side.renewals if lives else side.notes))
            assert (side.renewals, sessions.count) == (lives, 1 + lives)
            side.call(2)
            assert await side.answer(2) == result(2, text="fine")
            assert (side.renewals, sessions.count) == (1, 2)

    played(scene)
