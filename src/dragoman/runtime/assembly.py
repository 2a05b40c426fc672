"""Putting a bridge together from its parts: one conversation on our own streams, or what a listener shares.

The command line and the library face build the same bridge here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.backs.modern import Modern
from dragoman.backs.probe import Probe
from dragoman.core.mediator import Mediator
from dragoman.exchange.outlet import Pipe
from dragoman.fronts.handshake import Identity
from dragoman.fronts.legacy import Legacy
from dragoman.fronts.opening import Opening
from dragoman.limits import Limits
from dragoman.profile import Profile
from dragoman.revisions import LATEST, Era
from dragoman.runtime.conversation import Conversation
from dragoman.runtime.link import AnyBack
from dragoman.runtime.log import Log
from dragoman.runtime.tap import Tap
from dragoman.transports.pipes import Overflow
from dragoman.transports.upstream import Upstream

if TYPE_CHECKING:
    from dragoman.fronts.modern import Modern as ModernFront
    from dragoman.runtime.shared import Shared


@dataclass(frozen=True, slots=True)
class Parts:
    """`ways` gives a way to the server each time, `era` is its era when the user says it."""

    ways: Callable[[], Upstream]
    era: Era | None
    profile: Profile
    limits: Limits
    log: Log
    identity: Identity
    state_key: bytes | None = None
    tap: Tap | None = None

    def conversation(self, server: Upstream, stderr: Overflow, owns_process: bool = True) -> Conversation:
        """One client on our standard streams in front of `server`; see `Conversation` for `owns_process`."""
        profile, limits, log = self.profile, self.limits, self.log
        mediator = Mediator(profile, limits, log, server.is_remote)
        mediator.front = front = Legacy(mediator, profile, limits, log, self.identity, out := Pipe())
        mediator.back = back = self._back(mediator)

        def begin_modern() -> "ModernFront":
            if self.era is not Era.MODERN:
                from dragoman.fronts.stateful import Stateful
                from dragoman.runtime.seals import seal

                sealing = seal(self.state_key, limits.state_life)
                most, rate, begins_again = limits.in_flight, profile.progress_rate, server.is_remote
                kept = Stateful(mediator, limits, log, out, most, sealing, self.identity, rate, begins_again)
                mediator.front = mediator.timed = kept
                return kept
            from dragoman.fronts.modern import Modern as ModernFront

            mediator.front = modern = ModernFront(mediator, limits, log, out, limits.in_flight, profile.progress_rate)
            mediator.join(LATEST, back.revision)
            return modern

        def begin_handshake() -> None:
            mediator.front, mediator.timed = front, None

        opening = Opening(front, begin_modern, begin_handshake)
        return Conversation(opening, out, mediator, back, server, limits, log, stderr, self.tap, owns_process)

    def shared(self, stderr: Callable[[bytes], None]) -> "Shared":
        """What all conversations of a listener have in common."""
        from dragoman.runtime.seals import seal
        from dragoman.runtime.shared import Shared

        sealing = seal(self.state_key, self.limits.state_life)
        ways, limits, identity = self.ways, self.limits, self.identity
        return Shared(ways, self.era, self.profile, limits, self.log, identity, stderr, sealing, self.tap)

    def _back(self, mediator: Mediator) -> AnyBack:
        if self.era is None:
            return Probe(mediator, self.limits, self.log)
        if self.era is Era.MODERN:
            return Modern(mediator, self.limits, self.log)
        from dragoman.backs.legacy import Legacy as LegacyBack

        return LegacyBack(mediator, self.limits, self.log)
