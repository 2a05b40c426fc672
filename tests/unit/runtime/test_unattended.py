"""A server that nobody can sign in to right now: a token that takes long does not make it an older one (D7)."""

import asyncio
import json

import pytest

from dragoman.exchange.notes import Level
from dragoman.fronts.handshake import Identity
from dragoman.limits import Limits
from dragoman.profile import named
from dragoman.revisions import Era
from dragoman.runtime.log import Log
from dragoman.runtime.seals import seal
from dragoman.runtime.shared import Shared
from dragoman.runtime.unattended import Unattended
from support.listener import Server, elapse, obliging, scene, settle

pytestmark = pytest.mark.timeout(20)


class Unknown(Server):
    """A server of which nobody knows the era, so that it may be asked in the words of either."""

    def send(self, frames: list[bytes], /) -> None:
        self.frames += map(json.loads, frames)


def looking(server: Server) -> Shared:
    """All that stands behind a listener, before it knows of which era its server is."""
    profile = named("neutral")
    assert profile is not None
    log = Log("dragoman", Level.DEBUG, lambda line: None)
    return Shared(lambda: server, None, profile, Limits(), log, Identity("x"), lambda data: None, seal(None, 600))


@pytest.mark.parametrize("is_renewed", [True, False])
@scene
async def test_a_listener_finds_the_era_out_in_the_server_s_own_time(is_renewed: bool) -> None:
    """D7"""
    server = Unknown()
    shared = looking(server)
    person = Unattended(lambda: shared.search)
    person.waits(60)  # nothing is looked at yet, so nobody minds
    search = asyncio.ensure_future(shared.ready())
    await settle()
    asked = await server.hears("server/discover")
    if is_renewed:
        person.waits(60)
    await elapse(20)
    assert bool(server.heard("initialize")) is not is_renewed
    if is_renewed:
        person.goes_on()
        await elapse(4)
        assert not server.heard("initialize")
        obliging(server, asked)
        await search
        assert shared.era is Era.MODERN
    search.cancel()
    await shared.aclose()


@scene
async def test_a_sign_in_that_is_over_gives_the_server_its_time_anew() -> None:
    """D7"""
    server = Unknown()
    shared = looking(server)
    person = Unattended(lambda: shared.search)
    search = asyncio.ensure_future(shared.ready())
    await server.hears("server/discover")
    person.waits(300)
    await elapse(100)
    person.waits_no_more(signed_in=True)
    await elapse(4)
    assert not server.heard("initialize")
    await elapse(2)
    assert server.heard("initialize")
    search.cancel()
    await shared.aclose()
