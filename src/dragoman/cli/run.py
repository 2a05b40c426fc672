"""From settings to a running conversation."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from dragoman.backs.modern import Modern
from dragoman.backs.probe import Probe
from dragoman.cli.entry import Early
from dragoman.cli.listeners import Listener
from dragoman.cli.servers import Server
from dragoman.core.mediator import Mediator
from dragoman.exchange.notes import Level
from dragoman.exchange.outlet import Pipe
from dragoman.fronts.handshake import Identity
from dragoman.fronts.legacy import Legacy
from dragoman.fronts.opening import Opening
from dragoman.limits import Limits, Timeouts
from dragoman.profile import Profile
from dragoman.revisions import LATEST, Era
from dragoman.runtime.conversation import Conversation
from dragoman.runtime.link import AnyBack
from dragoman.runtime.log import CHOICES, Log
from dragoman.runtime.seals import seal
from dragoman.runtime.tap import Tap
from dragoman.runtime.targets import to_command, to_url
from dragoman.transports.pipes import Overflow
from dragoman.transports.upstream import Command, Upstream

if TYPE_CHECKING:
    from dragoman.fronts.modern import Modern as ModernFront


@dataclass(frozen=True, slots=True)
class Settings:
    """What a command line asks for. Times are seconds, sizes bytes."""

    server: Server
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
    stderr = Overflow(2, limits.stderr)
    log = Log(settings.profile.name, CHOICES[settings.log_level], stderr.line)
    with ExitStack() as open_files:
        tap = _tap(settings.frame_log, stderr, open_files)
        for warning in (*settings.server.warnings, *(settings.listener.warnings if settings.listener else ())):
            log.note(Level.WARN, "options", warning)
        ways = _ways(settings)
        identity = Identity(settings.name or _server_name(settings) or settings.profile.name)
        if settings.listener is not None:
            return _serve(settings, settings.listener, ways, identity, limits, log, stderr, tap)
        words = settings.server.command
        server = Command(words, early.spawned, early.error) if words else ways()
        mediator = Mediator(settings.profile, limits, log, server.is_remote)
        mediator.front = front = Legacy(mediator, settings.profile, limits, log, identity, out := Pipe())
        mediator.back = back = _back(settings, mediator, limits, log)

        def begin_modern() -> "ModernFront":
            if settings.server.era is not Era.MODERN:
                from dragoman.fronts.stateful import Stateful

                sealing = seal(settings.state_key, limits.state_life)
                kept = Stateful(mediator, limits, log, out, limits.in_flight, sealing, identity)
                mediator.front = mediator.timed = kept
                return kept
            from dragoman.fronts.modern import Modern as ModernFront

            mediator.front = modern = ModernFront(mediator, limits, log, out, limits.in_flight)
            mediator.join(LATEST, back.revision)
            return modern

        opening = Opening(front, begin_modern)
        conversation = Conversation(opening, out, mediator, back, server, limits, log, stderr, tap)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(conversation.run(early.data))


def _serve(
    settings: Settings,
    listener: Listener,
    ways: Callable[[], Upstream],
    identity: Identity,
    limits: Limits,
    log: Log,
    stderr: Overflow,
    tap: Tap | None,
) -> int:
    """Serve everyone who comes, until a signal; gives the exit code."""
    from dragoman.runtime.server import Server
    from dragoman.runtime.shared import Shared

    sealing = seal(settings.state_key, limits.state_life)
    shared = Shared(ways, settings.server.era, settings.profile, limits, log, identity, stderr.write, sealing, tap)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(Server(listener.place, shared, listener.admission, listener.gate, stderr).run())


def _ways(settings: Settings) -> Callable[[], Upstream]:
    """Each call gives a way to the server; what was started early is for a single conversation."""
    server = settings.server
    if server.target is None:
        return to_command(server.command)
    return to_url(server.target, server.transport, settings.response_limit)


def _back(settings: Settings, mediator: Mediator, limits: Limits, log: Log) -> AnyBack:
    if settings.server.era is None:
        return Probe(mediator, limits, log)
    if settings.server.era is Era.MODERN:
        return Modern(mediator, limits, log)
    from dragoman.backs.legacy import Legacy as LegacyBack

    return LegacyBack(mediator, limits, log)


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
    return FrameLog(open_files.enter_context(open(target, "ab", buffering=0)).write)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
