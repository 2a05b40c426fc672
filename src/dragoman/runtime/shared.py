"""What every conversation of one listener has in common, and how each comes to its server."""

import asyncio
from collections.abc import Callable

from dragoman.backs.legacy import Legacy
from dragoman.backs.modern import Modern
from dragoman.core.mediator import Mediator
from dragoman.exchange.notes import Level, internal_error
from dragoman.faults import Cause, Fault
from dragoman.fronts.handshake import Identity
from dragoman.fronts.sealing import Seal
from dragoman.limits import Limits
from dragoman.profile import Profile
from dragoman.revisions import Era
from dragoman.runtime.link import AnyBack, Link, Party
from dragoman.runtime.log import Log
from dragoman.runtime.sole import Sole
from dragoman.runtime.tap import Tap
from dragoman.runtime.trunk import Trunk
from dragoman.runtime.verdict import Search
from dragoman.transports.http.server.budget import Budget
from dragoman.transports.upstream import Upstream


class Shared:
    """A server without state is shared by all; of one with a handshake, `server` gives each client one of its own.

    `pinned` is the era of the server when the user says it; else it is found out when the first client comes, once for
    all who wait (NEG-06). `era` is what is known, `fault` why it could not be found out.
    """

    def __init__(
        self,
        server: Callable[[], Upstream],
        pinned: Era | None,
        profile: Profile,
        limits: Limits,
        log: Log,
        identity: Identity,
        stderr: Callable[[bytes], None],
        seal: Seal,
        tap: Tap | None = None,
    ) -> None:
        self.seal = seal
        self.profile = profile
        self.limits = limits
        self.log = log
        self.identity = identity
        self.stderr = stderr
        self.tap = tap
        self.era: Era | None = None
        self.fault: Fault | None = None
        self.is_certain = False
        self.budget = Budget(limits.reception.waiting_total)
        self.is_remote = False  # its icons are not those of a local process (ICON-06); known with the first way to it
        self._server = server
        self._is_pinned = pinned is not None
        self._trunk: Trunk | None = None
        self._searching: Search | None = None
        self._search: asyncio.Task[Era | Fault] | None = None
        self._endings: set[asyncio.Task[None]] = set()
        if pinned is not None:
            self._settle(pinned)

    @property
    def search(self) -> Search | None:
        """The visit that finds the era out, while there is one."""
        return self._searching if self._search is not None else None

    async def ready(self) -> None:
        """Find the era out, once for all who wait; what was known before is forgotten, so nobody may live on it."""
        if self._search is None:
            work = self._find()
            self._search = asyncio.get_running_loop().create_task(work, name="the era of the server")
            self._search.add_done_callback(self._found)
        await asyncio.wait({self._search})  # who waits may be cancelled, and the search is for others as well

    async def _find(self) -> Era | Fault:
        trunk, self._trunk, self.era = self._trunk, None, None
        if trunk is not None:
            await trunk.aclose()
        self._searching = Search(self._way(), self.limits, self.log, self.stderr, self.tap)
        return await self._searching.era()

    def _found(self, search: "asyncio.Task[Era | Fault]") -> None:
        self._search = None
        if search.cancelled():
            return
        error = search.exception()
        if error is not None:
            self.log.note(Level.ERR, "bridge", internal_error(error))
        outcome = search.result() if error is None else Fault(Cause.INTERNAL)
        if isinstance(outcome, Fault):
            self.fault = outcome
        else:
            self._settle(outcome)

    def _settle(self, era: Era) -> None:
        self.era, self.fault, self.is_certain = era, None, True
        if era is Era.MODERN:
            self._trunk = Trunk(self._way(), self.limits.shared, self.log, self.stderr, self.tap)

    def doubt(self) -> None:
        """A server was not as its era has it: it is found out anew when nobody lives on it any more (NEG-09)."""
        self.is_certain = self._is_pinned

    def connect(self, party: Party, mediator: Mediator) -> tuple[AnyBack, Link]:
        """The back of a new conversation, which the mediator gets, and its way to the server."""
        if self._trunk is not None:
            number = self._trunk.number()
            mediator.back = back = Modern(mediator, self.limits, self.log, owner=number)
            back.is_pinned = self._is_pinned
            mediator.is_remote = self.is_remote
            return back, self._trunk.join(number, party, back, self.doubt)
        mediator.back = legacy = Legacy(mediator, self.limits, self.log)
        server, keep = self._way(), self._keep
        mediator.is_remote = self.is_remote
        return legacy, Sole(server, self.limits, self.log, self.stderr, self.tap, party, legacy, keep, self.doubt)

    def _way(self) -> Upstream:
        server = self._server()
        self.is_remote = server.is_remote
        return server

    def _keep(self, ending: "asyncio.Task[None]") -> None:
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    async def aclose(self) -> None:
        """Wait for every server to end."""
        if self._search is not None:
            self._search.cancel()
            await asyncio.wait({self._search})
        if self._endings:
            await asyncio.wait(self._endings)
        if self._trunk is not None:
            await self._trunk.aclose()

    def kill(self) -> None:
        """End what can be ended at once and without waiting; callable from any thread."""
        for way in (self._trunk, self._searching):
            if way is not None:
                way.kill()
