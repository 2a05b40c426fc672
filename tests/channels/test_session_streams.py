"""The GET stream of a session, and streams that are resumed."""

import asyncio
from itertools import pairwise

import pytest

from channels.scripted_http import Request, event, html, played
from channels.scripted_session import LOG, Sessions, echo, held, opened, opening, result
from dragoman.faults import Cause
from support.proofs import proves


def primed(id: str) -> bytes:
    return f"id: {id}\ndata:\n\n".encode()


# ---------------------------------------------------------------------- initialize


@proves("B94")
def test_what_the_server_asks_before_the_answer_to_initialize_is_answered_in_its_session() -> None:
    ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}

    class Early(Sessions):
        async def initialize(self, request: Request) -> None:
            self.known.add("s1")
            await request.raw(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: s1\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
            await request.chunk(event(ping))
            await self.until_seen("POST", 1)
            await request.chunk(event(result(request.id, **opening())))
            await request.raw(b"0\r\n\r\n")

    async def scene() -> None:
        sessions = Early()
        async with opened(sessions, handshake=False) as (server, side):
            side.call(0, "initialize")
            assert await side.messages(1) == [ping]
            side.say({"id": "p", "result": {}})
            await side.answer(0)
            answer = server.requests[1]
            assert (answer["Mcp-Session-Id"], answer["MCP-Protocol-Version"]) == ("s1", None)

    played(scene)


# ---------------------------------------------------------------------- GET


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_what_the_get_stream_carries_is_of_no_request(end: bytes) -> None:
    question = {"jsonrpc": "2.0", "id": "q", "method": "roots/list"}

    async def get(request: Request) -> None:
        data = (b"\xef\xbb\xbf: hello\n\n" + event(LOG) + event(question)).replace(b"\n", end)
        await request.stream(*(data[place : place + 7] for place in range(0, len(data), 7)), end=False)
        await request.gone()

    async def scene() -> None:
        async with opened(Sessions(get=get)) as (_, side):
            assert await side.messages(2) == [LOG, question]
            assert side.of == [None, None]

    played(scene)


@proves("B113")
@pytest.mark.parametrize("form", ["405", "404", "406", "400", "501", "text", "json"])
def test_a_server_without_the_stream_is_asked_once(form: str) -> None:
    async def get(request: Request) -> None:
        if form.isdigit():
            await request.answer(b"", int(form), None)
        else:
            await request.answer(b"{}", 200, "text/plain" if form == "text" else "application/json")

    async def scene() -> None:
        sessions = Sessions(get=get)
        async with opened(sessions) as (_, side):
            for id in (1, 2):
                side.call(id)
                await side.answer(id)
            await asyncio.sleep(0.02)
            assert len(side.notes) == (form != "405")
        assert sessions.seen.count("GET") == 1

    played(scene)


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_a_server_in_trouble_is_asked_for_the_stream_again(status: int) -> None:
    async def get(request: Request) -> None:
        if sessions.seen.count("GET") < 4:
            await request.answer(b"", status, None)
        else:
            await request.stream(event(LOG), end=False)
            await request.gone()

    sessions = Sessions(get=get)

    async def scene() -> None:
        async with opened(sessions) as (_, side):
            assert await side.messages(1) == [LOG]
            assert not side.notes
        assert sessions.seen.count("GET") == 4

    played(scene)


def test_an_ended_stream_is_opened_again_from_where_it_was_left() -> None:
    async def scene() -> None:
        again = asyncio.Event()

        async def get(request: Request) -> None:
            asked.append(request["Last-Event-ID"])
            if len(asked) == 1:
                await request.stream(b"id: a/1\n" + event(LOG), b"id: a/2\n" + event(LOG), b"id: a/3\ndata: cut")
            elif len(asked) == 2:
                await request.stream(b"retry: 2\n" + event(LOG), end=False)
                request.reset()
            else:
                again.set()
                await held(request)

        asked: list[str | None] = []
        async with opened(Sessions(get=get)) as (_, side):
            await again.wait()
            assert await side.messages(3) == [LOG] * 3
        assert asked == [None, "a/2", "a/2"]

    played(scene)


@proves("B113")
def test_a_stream_that_ends_at_once_is_asked_for_less_and_less_often() -> None:
    async def get(request: Request) -> None:
        await request.stream()

    async def scene() -> None:
        sessions = Sessions(get=get)
        async with opened(sessions) as (_, side):
            await sessions.until_seen("GET", 6)
            assert not side.notes
            side.call(1)
            await side.answer(1)

    played(scene)


@proves("SIZE-04")
def test_an_event_above_the_limit_ends_the_get_stream_and_nothing_else() -> None:
    async def get(request: Request) -> None:
        await request.stream(event(LOG) + b"data: " + b"x" * 5000, end=False)
        await request.gone()

    async def scene() -> None:
        sessions = Sessions(get=get)
        async with opened(sessions, response=2000) as (_, side):
            await side.until(lambda: bool(side.notes))
            assert "limit of 2000 bytes" in side.notes[0]
            side.call(1)
            await side.answer(1)
        assert sessions.seen.count("GET") == 1

    played(scene)


def test_a_response_on_the_get_stream_still_answers_its_request() -> None:
    async def scene() -> None:
        called = asyncio.Event()

        async def call(request: Request) -> None:
            called.set()
            await request.gone()

        async def get(request: Request) -> None:
            await request.stream(b":\n\n", end=False)
            await called.wait()
            await request.chunk(event(result(9)) + event(result(1, a=1)))
            await request.gone()

        async with opened(Sessions(call=call, get=get)) as (_, side):
            side.call(1)
            assert await side.messages(1) == [result(1, a=1)]
            assert side.of == [None]
            await side.until(lambda: bool(side.notes) and side.channel.backlog == 0)

    played(scene)


# ---------------------------------------------------------------------- resuming


@proves("B131")
@pytest.mark.parametrize("how", ["end", "reset", "close"])
def test_a_cut_stream_is_resumed_where_it_was_left(how: str) -> None:
    async def leave(request: Request) -> None:
        if how == "end":
            await request.raw(b"0\r\n\r\n")
        elif how == "reset":
            await asyncio.sleep(0.01)  # a reset throws away what the other side has not read
            request.reset()
        else:
            request.writer.close()

    async def call(request: Request) -> None:
        await request.stream(primed("r/0"), b"id: r/1\n" + event(LOG), end=False)
        await leave(request)

    async def get(request: Request) -> None:
        last = request["Last-Event-ID"]
        asked.append(last)
        if last is None:
            await request.answer(b"", 405, None)
        elif last == "r/1":
            await request.stream(b"id: r/2\n" + event(LOG), end=False)
            await leave(request)
        else:
            await request.stream(b"id: r/3\n" + event(result(1, a=1)))

    asked: list[str | None] = []

    async def scene() -> None:
        sessions = Sessions(call=call, get=get)
        async with opened(sessions) as (server, side):
            side.call(1)
            assert await side.messages(3) == [LOG, LOG, result(1, a=1)]
            assert side.of == [b"1"] * 3
            resumed = server.requests[-1]
            assert resumed["Accept"] == "text/event-stream"
            assert (resumed["Mcp-Session-Id"], resumed["MCP-Protocol-Version"]) == ("s1", "2025-11-25")
        assert asked == [None, "r/1", "r/2"]
        assert sessions.seen.count("POST tools/call") == 1

    played(scene)


def test_a_server_that_wants_to_be_asked_again_is_asked_when_it_says() -> None:
    async def call(request: Request) -> None:
        await request.stream(primed("p/0"), b"retry: 3\n\n")

    async def get(request: Request) -> None:
        last = request["Last-Event-ID"]
        if last is None:
            await request.answer(b"", 405, None)
            return
        times.append(asyncio.get_running_loop().time())
        if len(times) < 10:
            await request.stream(b"retry: 3\n\n")
        else:
            await request.stream(event(result(1)))

    times: list[float] = []

    async def scene() -> None:
        # more polls than may come to nothing, as each says again when to come back
        async with opened(Sessions(call=call, get=get), retry_least=0.0, resumes=2) as (_, side):
            side.call(1)
            await side.answer(1)
        assert len(times) == 10
        assert all(after - before >= 0.002 for before, after in pairwise(times))

    played(scene)


def test_a_stream_without_an_id_is_lost_once_and_its_call_not_sent_again() -> None:
    async def call(request: Request) -> None:
        if request.id == 1:
            await request.stream(event(LOG), end=False)
            request.writer.close()
        elif request.id == 2:
            request.reset()
        else:
            await echo(request)

    async def scene() -> None:
        sessions = Sessions(call=call)
        async with opened(sessions) as (_, side):
            side.call(1)
            loss = await side.loss()
            assert (loss.status, loss.kind) == (200, Cause.TRANSPORT_FAILED)
            side.losses.clear()
            side.call(2)
            assert (await side.loss()).status is None
            side.losses.clear()
            side.call(3)
            await side.answer(3)
        assert sessions.seen.count("POST tools/call") == 3
        assert sessions.count == 1

    played(scene)


@proves("EXIT-05")
@pytest.mark.parametrize("form", ["503", "empty", "404", "400", "text", "reset"])
def test_a_stream_that_cannot_be_resumed_is_lost(form: str) -> None:
    async def call(request: Request) -> None:
        await request.stream(primed("r/0"))

    async def get(request: Request) -> None:
        if request["Last-Event-ID"] is None:
            await request.answer(b"", 405, None)
        elif form == "empty":
            await request.stream()
        elif form == "text":
            await html(request)
        elif form == "reset":
            await request.stream(b"id\ndata:\n\n")  # from here on it cannot be resumed
        else:
            await request.answer(b"", int(form), None)

    async def scene() -> None:
        sessions = Sessions(call=call, get=get)
        async with opened(sessions, resumes=3) as (_, side):
            side.call(1)
            loss = await side.loss()
            assert (loss.detail or "").startswith("HTTP status ")
            assert side.losses == [(b"1", loss)]
        tries = sessions.seen.count("GET") - 1
        assert tries == (4 if form in ("503", "empty") else 1)

    played(scene)


def test_a_cancel_ends_the_wait_for_a_stream() -> None:
    async def call(request: Request) -> None:
        if request.id == 1:
            await request.stream(b"retry: 3600000\n" + primed("r/0") + event(LOG))
        else:
            await echo(request)

    async def scene() -> None:
        sessions = Sessions(call=call)
        async with opened(sessions) as (_, side):
            side.call(1)
            await side.messages(1)
            side.cancel(1)
            side.call(2)
            await side.answer(2)
            await side.idle()
            assert not side.losses
        assert sessions.seen.count("GET") == 1
        assert "POST notifications/cancelled" in sessions.seen

    played(scene)


def test_the_answer_to_initialize_is_resumed_in_the_session_that_it_begins() -> None:
    class Leaving(Sessions):
        async def initialize(self, request: Request) -> None:
            self.known.add("s1")
            await request.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: s1\r\n\r\n")
            await request.raw("id: 界\ndata:\n\n".encode())
            request.writer.close()

    async def get(request: Request) -> None:
        asked.append(request["Last-Event-ID"])
        if len(asked) == 1:
            await request.stream(event(result(0, **opening())))
        else:
            await request.answer(b"", 405, None)

    asked: list[str | None] = []

    async def scene() -> None:
        async with opened(Leaving(get=get)) as (server, side):
            side.call(1)
            await side.answer(1)
            assert server.requests[1]["MCP-Protocol-Version"] is None
        assert asked == ["界".encode().decode("latin-1"), None]

    played(scene)
