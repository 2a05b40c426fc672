"""What every conversation of one listener has in common, and how each comes to its server."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from dragoman.backs.legacy import Legacy
from dragoman.backs.modern import Modern
from dragoman.core.mediator import Mediator
from dragoman.fronts.handshake import Identity
from dragoman.fronts.sealing import Seal
from dragoman.limits import Limits
from dragoman.profile import Profile
from dragoman.runtime.link import AnyBack, Link, Party
from dragoman.runtime.log import Log
from dragoman.runtime.sole import Sole
from dragoman.runtime.tap import Tap
from dragoman.runtime.trunk import Trunk
from dragoman.transports.upstream import Upstream


@dataclass(frozen=True, slots=True)
class Shared:
    """`trunk` leads to a server without state. Without it, `server` gives each client a server with a handshake."""

    trunk: Trunk | None
    server: Callable[[], Upstream]
    profile: Profile
    limits: Limits
    log: Log
    identity: Identity
    stderr: Callable[[bytes], None]
    seal: Seal
    tap: Tap | None = None
    endings: "set[asyncio.Task[None]]" = field(default_factory=set["asyncio.Task[None]"])

    def connect(self, party: Party, mediator: Mediator) -> tuple[AnyBack, Link]:
        """The back of a new conversation, which the mediator gets, and its way to the server."""
        if self.trunk is not None:
            number = self.trunk.number()
            mediator.back = back = Modern(mediator, self.limits, self.log, owner=number)
            return back, self.trunk.join(number, party, back)
        mediator.back = legacy = Legacy(mediator, self.limits, self.log)
        sole = Sole(self.server(), self.limits, self.log, self.stderr, self.tap, party, legacy, self._keep)
        return legacy, sole

    def _keep(self, ending: "asyncio.Task[None]") -> None:
        self.endings.add(ending)
        ending.add_done_callback(self.endings.discard)

    async def aclose(self) -> None:
        """Wait for every server to end."""
        if self.endings:
            await asyncio.wait(self.endings)
        if self.trunk is not None:
            await self.trunk.aclose()

    def kill(self) -> None:
        """End what can be ended at once and without waiting; callable from any thread."""
        if self.trunk is not None:
            self.trunk.kill()
