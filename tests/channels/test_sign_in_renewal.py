"""Tokens that end: one renewal for all who share them, and nothing given up that could still be of use."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from channels.scripted_http import played
from dragoman.faults import Cause
from dragoman.signin.account import Visit
from dragoman.signin.failure import Failed
from support.authorization import Behaviour, guarded
from support.processes import eventually
from support.proofs import proves
from support.signing_in import KEY, Bench, account, free_port


async def signed_in(one: Bench) -> str:
    await one.meets()
    token = await one.account.bearer()
    assert token is not None
    return token


def test_a_refused_token_is_renewed_without_a_person(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path) as one:
                first = await signed_in(one)
                issuer.revoke()
                assert await one.meets(used=first)
                second = await one.account.bearer()
                assert issuer.admits(f"Bearer {second}")
                assert (issuer.sign_ins, issuer.renewals) == (1, 1)
                assert issuer.place.of("/token")[-1].form["resource"] == server.url

    played(scene)


@proves("INIT-12", "STORE-09")
def test_a_token_that_is_about_to_end_is_renewed_before_it_is_used(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded(Behaviour(life=0.5)) as (issuer, server):
            async with account(server.url, tmp_path) as one:
                first = await signed_in(one)
                await asyncio.sleep(0.45)
                issuer.does.life = 3600
                second = await one.account.bearer()
                assert second != first
                assert await one.account.bearer() == second
                assert (issuer.sign_ins, issuer.renewals) == (1, 1)

    played(scene)


@proves("B136")
def test_a_renewal_that_names_no_refresh_token_and_no_scope_keeps_them(tmp_path: Path) -> None:
    async def scene() -> None:
        port = free_port()
        with guarded(Behaviour(rotates=False, names_scope=False)) as (issuer, server):
            for number in range(4):  # over restarts
                async with account(server.url, tmp_path, redirect_port=port) as one:
                    token = await one.account.bearer() or await signed_in(one)
                    issuer.revoke()
                    assert await one.meets(used=token)
                    assert issuer.renewals == number + 1
            assert issuer.sign_ins == 1

    played(scene)


@proves("OAUTH-17")
def test_many_requests_of_one_process_are_one_renewal(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path) as one:
                first = await signed_in(one)
                issuer.revoke()
                assert all(await asyncio.gather(*(one.meets(used=first) for _ in range(10))))
                assert (issuer.renewals, issuer.reuses) == (1, 0)

    played(scene)


def test_a_refresh_token_that_is_refused_leads_to_one_new_sign_in(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path) as one:
                first = await signed_in(one)
                issuer.revoke()
                issuer.refreshes.clear()
                assert await one.meets(used=first)
                assert issuer.sign_ins == 2
                assert len(issuer.place.of("/register")) == 1

    played(scene)


@pytest.mark.parametrize("trouble", [(503, {}, b""), (429, {}, b"")])
def test_an_issuer_that_is_busy_costs_nothing_but_time(
    trouble: tuple[int, dict[str, str], bytes], tmp_path: Path
) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path) as one:
                first = await signed_in(one)
                issuer.revoke()
                issuer.does.token_errors = [trouble]
                with pytest.raises(Failed) as failed:
                    await one.meets(used=first)
                assert failed.value.cause is Cause.SIGN_IN_FAILED
                assert failed.value.detail == f"the renewal of the token: HTTP status {trouble[0]}"
                assert failed.value.is_passing
                assert await one.meets(used=first)
                assert (issuer.sign_ins, issuer.renewals) == (1, 1)

    played(scene)


def test_a_token_that_was_used_and_has_ended_is_never_sent_again(tmp_path: Path) -> None:
    """D6: some servers give up the whole sign-in when they see one."""

    async def scene() -> None:
        with guarded(Behaviour(life=1.0)) as (issuer, server):
            async with account(server.url, tmp_path) as one:
                first = await signed_in(one)
                assert await one.account.bearer() == first
                await asyncio.sleep(1.1)
                second = await one.account.bearer()
                assert second not in (None, first)
                assert issuer.renewals == 1

    played(scene)


@proves("STORE-09")
def test_a_token_serves_until_its_end_while_it_cannot_be_renewed(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded(Behaviour(life=3.0)) as (issuer, server):
            async with account(server.url, tmp_path) as one:
                first = await signed_in(one)
                await asyncio.sleep(2.45)
                issuer.does.token_errors = [(503, {}, b"")]
                assert await one.account.bearer() == first
                assert any("503" in note for note in one.someone.notes)

    played(scene)


@proves("B134")
def test_two_processes_renew_once_and_share_the_result(tmp_path: Path) -> None:
    async def scene() -> None:
        port = free_port()
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path, redirect_port=port) as one:
                first = await signed_in(one)
                async with account(server.url, tmp_path, redirect_port=port) as two:
                    assert await two.account.bearer() == first
                    issuer.revoke()
                    assert all(await asyncio.gather(one.meets(used=first), two.meets(used=first)))
                    assert await one.account.bearer() == await two.account.bearer() != first
                    assert (issuer.renewals, issuer.reuses, issuer.sign_ins) == (1, 0, 1)

    played(scene)


@proves("B149")
def test_two_processes_sign_in_once(tmp_path: Path) -> None:
    async def scene() -> None:
        port = free_port()
        with guarded() as (issuer, server):
            async with (
                account(server.url, tmp_path, redirect_port=port) as one,
                account(server.url, tmp_path, redirect_port=port) as two,
            ):
                assert all(await asyncio.gather(one.meets(), two.meets()))
                assert issuer.sign_ins == 1
                assert await one.account.bearer() == await two.account.bearer()

    played(scene)


def test_who_waited_for_a_sign_in_that_was_denied_does_not_ask_again(tmp_path: Path) -> None:
    async def scene() -> None:
        port = free_port()
        with guarded(Behaviour(redirect_error="access_denied")) as (issuer, server):
            async with (
                account(server.url, tmp_path, redirect_port=port) as one,
                account(server.url, tmp_path, redirect_port=port) as two,
            ):
                outcomes = await asyncio.gather(one.meets(), two.meets(), return_exceptions=True)
                assert [isinstance(one, Failed) and one.cause for one in outcomes] == [Cause.SIGN_IN_DENIED] * 2
                assert len(one.someone.lines) + len(two.someone.lines) == 1
            issuer.does.redirect_error = None
            async with account(server.url, tmp_path, redirect_port=port) as later:
                assert await later.meets()

    played(scene)


@proves("B149", "B150")
def test_who_waits_takes_over_when_the_first_process_is_killed(tmp_path: Path) -> None:
    code = """
        import asyncio, sys
        from pathlib import Path
        from support.signing_in import Someone, account

        async def main(url, folder, port):
            async with account(url, Path(folder), Someone(signs_in=False), redirect_port=int(port)) as one:
                one.someone.say = lambda line: print("waits", flush=True)
                one.account._around = type(one.account._around)(
                    one.someone, one.someone.say, one.someone.notes.append, one.account._around.clock
                )
                await one.meets()

        asyncio.run(main(*sys.argv[1:]))
    """

    async def scene() -> None:
        port = free_port()
        with guarded() as (issuer, server):
            words = [sys.executable, "-c", textwrap.dedent(code), server.url, str(tmp_path), str(port)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            first = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment)  # noqa: ASYNC220
            assert first.stdout is not None
            assert await asyncio.to_thread(first.stdout.readline) == b"waits\n"
            async with account(server.url, tmp_path, redirect_port=port) as two:
                waiting = asyncio.get_running_loop().create_task(two.meets(), name="request")
                await two.someone.until(lambda: bool(two.someone.waited))
                assert two.someone.lines == []
                first.send_signal(signal.SIGKILL)
                await asyncio.to_thread(first.wait)
                first.stdout.close()
                assert await waiting
            assert issuer.sign_ins == 1
            assert len(issuer.place.of("/register")) == 1  # the one that was killed had kept it

    played(scene)


def test_nobody_gives_up_what_he_did_not_present(tmp_path: Path) -> None:
    async def scene() -> None:
        port = free_port()
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path, redirect_port=port) as one:
                first = await signed_in(one)
                async with account(server.url, tmp_path, redirect_port=port) as two:
                    assert await two.account.bearer() == first
                    issuer.revoke()
                    assert await one.meets(used=first)
                    second = await one.account.bearer()
                    visit = Visit(first)
                    assert await two.meets(visit=visit)  # its own refresh token is used up, and is not shown
                    assert await two.account.bearer() == second
                    assert (issuer.reuses, issuer.renewals) == (0, 1)

    played(scene)


def test_a_renewal_comes_to_its_end_though_nobody_waits_for_it_any_more(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path) as one:
                first = await signed_in(one)
                issuer.revoke()
                hold = issuer.does.holds_tokens = threading.Event()
                waiting = asyncio.get_running_loop().create_task(one.meets(used=first), name="request")
                await asyncio.to_thread(eventually, "the request", lambda: issuer.renewals == 1)
                waiting.cancel()
                await asyncio.wait((waiting,))
                hold.set()
                assert await one.meets(used=first)
                assert issuer.admits(f"Bearer {await one.account.bearer()}")
                assert (issuer.sign_ins, issuer.renewals, issuer.reuses) == (1, 1, 0)

    played(scene)


def test_what_was_given_up_elsewhere_is_not_kept_again(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path) as one:
                first = await signed_in(one)
                assert await one.shelf.delete(one.key)
                issuer.revoke()
                assert await one.meets(used=first)
                assert (issuer.sign_ins, issuer.renewals) == (2, 0)
                assert len(issuer.place.of("/register")) == 2

    played(scene)


def test_a_file_with_another_key_is_no_sign_in_and_no_failure(tmp_path: Path) -> None:
    async def scene() -> None:
        port = free_port()
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path, redirect_port=port) as one:
                await signed_in(one)
            async with account(server.url, tmp_path, redirect_port=port, store_key=bytes(32)) as two:
                assert await two.account.bearer() is None
                assert any("cannot be read" in note for note in two.someone.notes)
                assert await two.meets()
            assert issuer.sign_ins == 2
            assert bytes(32) != KEY

    played(scene)
