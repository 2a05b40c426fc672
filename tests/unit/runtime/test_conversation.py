"""The runner's own promises, without a process: faults of ours, and the watchdog."""

import os
from typing import Any

import pytest

from dragoman.backs.modern import Modern
from dragoman.core.mediator import Mediator
from dragoman.exchange.notes import Level
from dragoman.exchange.outlet import Pipe
from dragoman.fronts.handshake import Identity
from dragoman.fronts.legacy import Legacy
from dragoman.fronts.opening import Opening
from dragoman.limits import Limits
from dragoman.profile import named
from dragoman.runtime.conversation import EXIT_LOST, Conversation
from dragoman.runtime.log import Log
from dragoman.transports.pipes import Overflow
from dragoman.transports.upstream import Command
from support.proofs import proves


def conversation() -> tuple[Conversation, list[bytes]]:
    profile = named("neutral")
    assert profile is not None
    limits, lines = Limits(), list[bytes]()
    log = Log("dragoman", Level.INFO, lines.append)
    mediator = Mediator(profile, limits, log)
    mediator.front = front = Legacy(mediator, profile, limits, log, Identity("x"), out := Pipe())
    mediator.back = back = Modern(mediator, limits, log)
    return Conversation(
        Opening(front, lambda: NotImplemented, lambda: None),
        out,
        mediator,
        back,
        Command(("none",)),
        limits,
        log,
        Overflow(2, 1000),
    ), lines


@proves("EXIT-06")
def test_the_watchdog_kills_the_tree_and_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    talk, _ = conversation()
    did: list[Any] = []

    class Child:
        def kill(self) -> None:
            did.append("killed")

    monkeypatch.setattr(os, "_exit", did.append)
    monkeypatch.setattr(talk, "_channel", Child())
    talk._bite()  # pyright: ignore[reportPrivateUsage]
    assert did == ["killed", 0]


@proves("EXIT-02")
def test_a_fault_of_ours_is_told_without_its_text_and_ends_with_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    talk, lines = conversation()
    ends: list[int] = []

    class Loop:
        def time(self) -> float:
            return 0.0

        def call_soon(self, call: Any, code: int) -> None:
            ends.append(code)

    monkeypatch.setattr(talk, "_loop", Loop(), raising=False)
    talk._fault(RuntimeError("the secret of a message"))  # pyright: ignore[reportPrivateUsage]
    assert ends == [EXIT_LOST]
    assert lines == [b"dragoman: bridge: error: internal error: RuntimeError; please report it\n"]
