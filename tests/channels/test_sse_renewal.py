"""A server of HTTP+SSE whose stream ends: another one, with a handshake of its own, and nothing is done twice."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from channels.scripted_http import Request, Server, played, served
from channels.scripted_session import LATEST, QUICK, accept, opening, result
from channels.scripted_sse import SseSide, Stream
from dragoman.faults import Cause
from dragoman.limits import Limits, Timeouts
from dragoman.transports.http.address import address
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.sse_renewal import RenewedSse
from dragoman.transports.http.target import Target
from support.proofs import proves

END = b"0\r\n\r\n"


class Old(Stream):
    """Answers `initialize` with these revisions, one after the other, and calls unless they are `muted`."""

    def __init__(self, *revisions: str, muted: bool = False) -> None:
        super().__init__()
        self.revisions = list(revisions or (LATEST,))
        self.muted = muted
        self.refused = 0

    async def open(self, request: Request) -> None:
        if self.refused:
            self.refused -= 1
            await request.answer(b"", 503, None)
        else:
            await super().open(request)

    async def serve(self, request: Request) -> None:
        if request.message.get("method") == "initialize":
            await accept(request)
            revision = self.revisions.pop(0) if len(self.revisions) > 1 else self.revisions[0]
            await self.say(result(request.id, **opening(revision)))
        elif self.muted:
            await accept(request)
        else:
            await super().serve(request)

    @property
    def heard(self) -> list[Any]:
        return [message.get("method") for message in self.messages]

    async def cut(self) -> None:
        await self.streams[-1].raw(END)


@asynccontextmanager
async def talking(old: Old, limits: Limits = QUICK) -> AsyncGenerator[tuple[Server, SseSide], None]:
    """A server and a channel to it, after the handshake."""
    side = SseSide()
    async with served(old) as server:
        loop, target = asyncio.get_running_loop(), Target(address(server.url))
        ears = side.take, side.lose, side.end, side.drain, side.note, Bounds(), side.renew
        side.channel = channel = RenewedSse(target, loop, limits, *ears)
        try:
            await side.open()
            yield server, side
        finally:
            await channel.aclose()


@proves("B53", "B131")
def test_what_was_open_is_lost_and_what_follows_goes_to_a_new_stream() -> None:
    async def scene() -> None:
        old = Old(muted=True)
        async with talking(old) as (_, side):
            side.call(1)
            await side.until_true(lambda: "tools/call" in old.heard)
            await old.cut()
            loss = await side.loss()
            assert (loss.kind, loss.may_retry) == (Cause.TRANSPORT_FAILED, True)
            assert [id for id, _ in side.losses] == [b"1"]
            side.losses.clear()
            old.muted = False
            side.call(2)
            side.notify("notifications/roots/list_changed")
            assert await side.answer(2) == result(2, text="fine")
            assert (side.renewals, side.ends) == (1, [])
            side.call(3)
            await side.answer(3)
        handshake = ["initialize", "notifications/initialized", "tools/call"]
        assert old.heard == [*handshake, *handshake, "notifications/roots/list_changed", "tools/call"]
        first, again = (message for message in old.messages if message.get("method") == "initialize")
        assert first["params"] == again["params"]
        assert again["id"] not in (0, 1, 2, 3)
        assert len(old.streams) == 2

    played(scene)


@proves("B98")
def test_a_stream_that_lived_for_a_while_is_followed_by_another_unasked() -> None:
    async def scene() -> None:
        old = Old()
        async with talking(old, replace(QUICK, settled=0.0)) as (_, side):
            await old.cut()
            await side.until(lambda: bool(side.renewals))
            assert not side.losses
        assert old.heard.count("initialize") == 2

    played(scene)


@proves("EXIT-05")
def test_a_new_stream_that_cannot_be_had_is_the_loss_of_what_waits_and_is_tried_again() -> None:
    async def scene() -> None:
        old = Old()
        async with talking(old) as (_, side):
            await old.cut()
            await side.until(lambda: bool(side.notes))
            old.refused = 1
            side.call(1)
            side.call(2)
            await side.until(lambda: bool(side.losses))
            assert [(id, loss.status) for id, loss in side.losses] == [(b"1", 503), (b"2", 503)]
            side.losses.clear()
            side.call(3)
            await side.answer(3)
        assert [message["id"] for message in old.messages if message.get("method") == "tools/call"] == [3]

    played(scene)


@pytest.mark.parametrize("how", ["another revision", "silence"])
def test_a_server_that_came_back_as_another_one_gets_nothing(how: str) -> None:
    class Mute(Old):
        async def serve(self, request: Request) -> None:
            if len(self.streams) > 1:
                await accept(request)
            else:
                await super().serve(request)

    async def scene() -> None:
        old = Old(LATEST, "2024-11-05") if how == "another revision" else Mute()
        async with talking(old, replace(QUICK, timeouts=Timeouts(discover=0.2))) as (_, side):
            await old.cut()
            await side.until(lambda: bool(side.notes))
            side.call(1)
            loss = await side.loss()
            assert loss.kind is (Cause.INVALID_RESPONSE if how == "another revision" else Cause.TRANSPORT_FAILED)
            assert not side.renewals
        assert "tools/call" not in old.heard

    played(scene)


def test_a_stream_that_ends_before_its_handshake_is_the_end_of_the_server() -> None:
    async def scene() -> None:
        old = Old()
        side = SseSide()
        async with served(old) as server:
            old.post = accept
            loop, target = asyncio.get_running_loop(), Target(address(server.url))
            channel = RenewedSse(target, loop, QUICK, side.take, side.lose, side.end)
            side.channel = channel
            side.call(0, "initialize")
            await side.until_true(lambda: bool(old.messages))
            await old.cut()
            await side.until(lambda: bool(side.ends))
            assert side.ends == [("closed its event stream", Cause.CLOSED)]
            await channel.aclose()

    played(scene)
