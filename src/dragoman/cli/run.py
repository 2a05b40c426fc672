"""From settings to a running conversation."""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from dragoman.cli import servers
from dragoman.cli.entry import Early
from dragoman.cli.listeners import Listener
from dragoman.exchange.notes import Level
from dragoman.fronts.handshake import Identity
from dragoman.limits import Limits, Timeouts
from dragoman.profile import Profile
from dragoman.runtime.assembly import Parts
from dragoman.runtime.log import CHOICES, Log
from dragoman.runtime.tap import Tap
from dragoman.runtime.targets import to_command, to_url
from dragoman.transports.pipes import Overflow
from dragoman.transports.upstream import Command, Upstream

if TYPE_CHECKING:
    from dragoman.runtime.server import Server
    from dragoman.signin.credentials import SignIn


@dataclass(frozen=True, slots=True)
class Settings:
    """What a command line asks for. Times are seconds, sizes bytes."""

    server: servers.Server
    profile: Profile
    name: str | None = None
    discover_timeout: float = 60.0
    line_limit: int = 64 << 20
    response_limit: int = 64 << 20
    log_level: str = "info"
    frame_log: str | None = None
    listener: Listener | None = None
    state_key: bytes | None = None


def run_bridge(settings: Settings, early: Early) -> int:
    """Serve one client on our standard streams; gives the exit code.

    Raises:
        OSError: the file of the frame log cannot be written; nothing has been started.
    """
    limits = replace(
        Limits(), line=settings.line_limit, timeouts=replace(Timeouts(), discover=settings.discover_timeout)
    )
    if settings.listener is not None:
        limits = replace(limits, reception=settings.listener.reception)
    stderr = Overflow(2, limits.stderr)
    log = Log(settings.profile.name, CHOICES[settings.log_level], stderr.line)
    with ExitStack() as open_files:
        tap = _tap(settings.frame_log, stderr, open_files)
        for warning in (*settings.server.warnings, *(settings.listener.warnings if settings.listener else ())):
            log.note(Level.WARN, "options", warning)
        identity = Identity(settings.name or _server_name(settings) or settings.profile.name)
        sign_in = _sign_in(settings, log, stderr)
        ways = _ways(settings, sign_in)
        parts = Parts(ways, settings.server.era, settings.profile, limits, log, identity, settings.state_key, tap)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            if settings.listener is not None:
                code = runner.run(_server(settings.listener, parts, stderr, sign_in).run())
                if sign_in is not None:
                    runner.run(sign_in.close())
                return code
            words = settings.server.command
            server = Command(words, early.spawned, early.error) if words else ways()
            conversation = parts.conversation(server, stderr)
            if sign_in is not None:
                from dragoman.runtime.user import User

                sign_in.person = User(conversation)
            code = runner.run(conversation.run(early.data))
            if sign_in is not None:
                runner.run(sign_in.close())
            return code


def _server(listener: Listener, parts: Parts, stderr: Overflow, sign_in: "SignIn | None") -> "Server":
    """Serves everyone who comes, until a signal."""
    from dragoman.runtime.server import Server

    shared = parts.shared(stderr.write)
    if sign_in is not None:
        from dragoman.runtime.unattended import Unattended

        sign_in.person = Unattended(lambda: shared.search)
    return Server(listener.place, shared, listener.admission, listener.gate, stderr)


def _sign_in(settings: Settings, log: Log, stderr: Overflow) -> "SignIn | None":
    """The credentials of a server at a URL, as long as nobody is at hand."""
    server = settings.server
    if server.target is None or server.sign_in is None:
        return None
    from dragoman.signin.credentials import SignIn

    def say(line: str) -> None:
        stderr.line(f"{settings.profile.name}: {line}\n".encode())

    return SignIn(server.target, server.sign_in, say, lambda text: log.note(Level.INFO, "signin", text))


def _ways(settings: Settings, sign_in: "SignIn | None") -> Callable[[], Upstream]:
    """Each call gives a way to the server; what was started early is for a single conversation."""
    server = settings.server
    if server.target is None:
        return to_command(server.command)
    target = replace(server.target, credentials=sign_in)
    return to_url(target, server.transport, settings.response_limit)


def _server_name(settings: Settings) -> str:
    """What the server is called when neither it nor the user says so (IRES-08)."""
    return (
        settings.server.target.address.host
        if settings.server.target is not None
        else PurePath(settings.server.command[0]).stem
    )


def _tap(target: str | None, stderr: Overflow, open_files: ExitStack) -> Tap | None:
    if target is None:
        return None
    from dragoman.diagnostics.framelog import FrameLog

    if target == "-":
        return FrameLog(stderr.line)
    descriptor = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    return FrameLog(open_files.enter_context(open(descriptor, "ab", buffering=0)).write)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
