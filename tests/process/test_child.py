"""The end of a server, step by step, with a grace that a test can wait for."""

import asyncio
import os
import sys
import time
from dataclasses import replace

import pytest

from dragoman.limits import Limits
from dragoman.transports.child import Child, PipeLines
from dragoman.transports.spawn import MARK, spawn
from dragoman.transports.tree import Group
from support.proofs import proves

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX"),
]
GRACE = 0.25
READY = 'import os,signal,sys,time\nprint("ready",flush=True)\n'


STRAY = """
begun, told = os.pipe()
if os.fork() == 0:
    os.setsid()
    def end(*_):
        os.write(2, b"term ")
        os._exit(0)
    signal.signal(15, end)
    os.write(told, b".")
    while True: time.sleep(1)
os.read(begun, 1)
"""


def ended_after(script: str) -> tuple[float, list[str]]:
    """How long the end of a child takes that runs `script`, and what the child wrote on standard error meanwhile."""
    said: list[bytes] = []
    ready = False

    async def work() -> float:
        nonlocal ready
        loop = asyncio.get_running_loop()
        came = asyncio.Event()

        def lines(_: PipeLines) -> None:
            came.set()

        spawned = spawn((sys.executable, "-S", "-E", "-c", READY + script))
        tree = Group(spawned.pid, spawned.mark)
        child = Child(spawned, tree, loop, replace(Limits(), grace=GRACE), lines, _ignore, said.append)
        async with asyncio.timeout(20):
            await came.wait()
            begin = time.monotonic()
            await child.aclose()
        took = time.monotonic() - begin
        assert not tree.has_leftovers()
        return took

    return asyncio.run(work()), b"".join(said).decode().split()


def _drop(_: object) -> None:
    pass


def _ignore(how: str, ended: bool) -> None:
    pass


@proves("EXIT-08")
def test_a_server_that_ends_with_its_input_is_not_signalled() -> None:
    took, said = ended_after(
        'signal.signal(15, lambda *_: print("term", file=sys.stderr, flush=True))\nsys.stdin.read()\n'
    )
    assert took < GRACE
    assert said == []


@proves("EXIT-07", "EXIT-08", "ORDER-06")
def test_a_server_has_the_grace_before_it_is_asked_and_again_before_it_is_killed() -> None:
    took, said = ended_after(
        "signal.signal(15, lambda *_: os.write(2, b'term '))\nsys.stdin.read()\nos.write(2, b'eof ')\n"
        "while True: time.sleep(1)\n"
    )
    assert said == ["eof", "term"]
    assert 2 * GRACE <= took < 2 * GRACE + 5


def test_what_a_server_leaves_behind_ends_too() -> None:
    took, said = ended_after(
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    signal.signal(15, lambda *_: os.write(2, b'term '))\n"
        "    while True: time.sleep(1)\n"
        "sys.stdin.read()\n"
    )
    assert said == ["term"]
    assert took < 3 * GRACE + 5


@pytest.mark.skipif(sys.platform != "linux", reason="environments of processes are in /proc")
@pytest.mark.parametrize("stubborn", [True, False])
def test_what_left_the_group_ends_too_and_is_asked_once(stubborn: bool) -> None:
    """N17: a browser is often started in a session of its own."""
    _, said = ended_after(
        ("signal.signal(15, signal.SIG_IGN)\n" if stubborn else "") + STRAY + (
            "time.sleep(60)\n" if stubborn else "sys.stdin.read()\n"
        )
    )  # fmt: skip
    assert said == ["term"] or (said == [] and not stubborn)  # its last word may come too late to be read


def test_what_is_around_a_tree_stays_in_its_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bridge before a bridge: each finds what came of it."""
    monkeypatch.setenv(MARK, "outer")
    script = f"import os;os.write(1, os.environ[{MARK!r}].encode())"
    spawned = spawn((sys.executable, "-S", "-E", "-c", script))
    with open(spawned.stdout, "rb") as output:
        assert output.read().decode() == f"outer:{spawned.mark}"
    for end in (spawned.stdin, spawned.stderr):
        os.close(end)
    os.waitpid(spawned.pid, 0)


@proves("ERR-17", "B62")
@pytest.mark.parametrize(
    ("script", "how", "ended"),
    [
        ("sys.exit(3)", "exited with code 3", True),
        ("os.kill(os.getpid(), 9)", "was ended by signal 9", True),
        ("os.close(1)\ntime.sleep(30)", "closed its standard output", False),
    ],
)
def test_a_loss_is_told_once_with_how_it_came(script: str, how: str, ended: bool) -> None:
    async def work() -> list[tuple[str, bool]]:
        told: list[tuple[str, bool]] = []
        came = asyncio.Event()

        def gone(words: str, is_ended: bool) -> None:
            told.append((words, is_ended))
            came.set()

        spawned = spawn((sys.executable, "-S", "-E", "-c", READY + script))
        child = Child(
            spawned,
            Group(spawned.pid),
            asyncio.get_running_loop(),
            replace(Limits(), grace=GRACE),
            _drop,
            gone,
            _drop,
        )
        async with asyncio.timeout(20):
            await came.wait()
            await child.aclose()
        return told

    assert asyncio.run(work()) == [(how, ended)]
