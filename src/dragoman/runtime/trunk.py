"""One way to a stateless server that many clients share.

* Each back has a number, which the ids of its requests begin with; what the server says goes to the back whose request
  it belongs to, and to no other. What belongs to nobody is dropped with a note, so no client sees another's data.
* The server is started for the first frame, never while the one before still runs (B45), and again for the first frame
  after its end: a server without state serves the next request as it did the last.
* The server is always read. A client that does not take what it asked for holds up nobody else; whoever owns its
  exchange bounds what waits for it.
"""

import asyncio
from collections.abc import Callable

from dragoman.backs.modern import Modern
from dragoman.backs.watch import CANCELLED, EVENTS
from dragoman.channel import Channel
from dragoman.exchange.meta import SUBSCRIPTION_ID
from dragoman.exchange.notes import Level
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.runtime.guard import BROKEN, Guard
from dragoman.runtime.link import STEP, Party
from dragoman.runtime.log import Log
from dragoman.runtime.outgoing import Outgoing
from dragoman.runtime.tap import Tap
from dragoman.transports.child import PipeLines
from dragoman.transports.upstream import Upstream
from dragoman.wire import frame as wire
from dragoman.wire.frame import UNSET, Batch, Broken, Opened
from dragoman.wire.members import object_in


class Member:
    """One who shares the trunk; the `Link` of its party."""

    def __init__(self, trunk: "Trunk", number: int, party: Party, back: Modern, unusable: Callable[[], None]) -> None:
        self._trunk = trunk
        self._unusable = unusable
        self._number = number
        self.party = party
        self.back = back

    def send(self) -> None:
        self._trunk.send(self)

    def stop(self) -> None:
        """The server is others' too, and goes on."""
        self._unusable()
        self.party.mediator.stopped(asyncio.get_running_loop().time())

    def part(self) -> None:
        self._trunk.part(self._number)

    def settle(self) -> None:
        self.party.settle()


class Trunk:
    """The upstream server's `Receiver`."""

    def __init__(
        self,
        server: Upstream,
        limits: Limits,
        log: Log,
        stderr: Callable[[bytes], None],
        tap: Tap | None = None,
    ) -> None:
        self._server = server
        self._limits = limits
        self._log = log
        self._guard = Guard(log)
        self._stderr = stderr
        self._tap = tap
        self._parties: dict[bytes, Member] = {}
        self._numbers = 0
        self._channel: Channel | None = None
        self._outgoing = Outgoing(lambda: self._channel)
        self._ending: asyncio.Task[None] | None = None
        self._is_over = False

    # ------------------------------------------------------------------ parties

    def number(self) -> int:
        """A number for a new back, which no other has."""
        self._numbers += 1
        return self._numbers

    def join(self, number: int, party: Party, back: Modern, unusable: Callable[[], None] = lambda: None) -> Member:
        """The way of a party to the server; `unusable` is called when the server did not begin as it should."""
        member = self._parties[b"%d" % number] = Member(self, number, party, back, unusable)
        return member

    def part(self, number: int) -> None:
        self._parties.pop(b"%d" % number, None)

    def send(self, party: Member) -> None:
        """Write what a party's back has to say."""
        out = party.back.out
        if self._ending is not None and not self._is_over:
            return  # the server before this one still runs; its end comes back here
        if self._channel is None and not self._open(party):
            return
        assert self._channel is not None
        if self._tap is not None:
            for frame in out:
                self._tap.record("server", ">", frame, [])
        self._outgoing.put(out)

    def _open(self, party: Member) -> bool:
        if self._is_over:
            party.back.out.clear()
            return False
        loop = asyncio.get_running_loop()
        try:
            self._channel = self._server.open(self, loop, self._limits)
        except OSError as error:
            self._log.note(Level.ERR, "upstream", f"{self._server.failure}: {error.strerror or 'unknown error'}")
            party.back.out.clear()
            party.back.cut(Fault(self._server.fails_with), loop.time())
            loop.call_soon(party.settle)
            return False
        return True

    # ------------------------------------------------------------------ what the channel tells (`Receiver`)

    def lines(self, lines: PipeLines, of: bytes | None = None) -> None:
        for at in range(0, len(lines), STEP):
            touched: dict[int, Member] = {}
            now = asyncio.get_running_loop().time()
            for line in lines[at : at + STEP]:
                if self._tap is not None:
                    self._record(line)
                frame = wire.parse_opened(line)
                party = self._party_of(frame, of)
                if party is not None:
                    if not self._guard(party.back.take, frame, now, of):
                        self._give_up(party, frame, of, now)
                    touched[id(party)] = party
            for party in touched.values():
                self._guard(party.settle)

    def _give_up(self, party: Member, frame: Opened | Broken | Batch, of: bytes | None, now: float) -> None:
        """The request that this message belongs to gets no answer of the server any more."""
        id = bytes(frame.id) if isinstance(frame, Opened) and frame.method is UNSET and frame.id is not UNSET else of
        if id is not None:
            self._guard(party.back.lane_lost, id, BROKEN, False, now)

    def lane_lost(self, id: bytes, why: Fault, may_retry: bool) -> None:
        party = self._owner(id)
        if party is not None:
            self._guard(party.back.lane_lost, id, why, may_retry, asyncio.get_running_loop().time())
            self._guard(party.settle)

    def gone(self, how: str, cause: Cause) -> None:
        """The server is lost: every request in flight is, too, and the next one starts it again."""
        self._log.note(Level.ERR, "upstream", f"the server's process {how}; it is started again when it is needed")
        self._outgoing.clear()
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end(), name="end of the server")
        self._cut(Fault(cause))

    def renewed(self) -> None:
        pass  # a server without state has no sessions

    def stderr(self, data: bytes) -> None:
        self._stderr(data)

    def note(self, text: str) -> None:
        self._log.note(Level.WARN, "upstream", text)

    def drained(self) -> None:
        pass  # clients are always read, each in the bounds of its own requests

    # ------------------------------------------------------------------ whose is it

    def _party_of(self, frame: Opened | Broken | Batch, of: bytes | None) -> Member | None:
        if isinstance(frame, Batch):
            return self._dropped("an array, which its revision does not have")
        if isinstance(frame, Broken):
            owner = self._owner(frame.id) if frame.id is not None else None
            return owner if owner is not None else self._dropped(f"a line that is {frame.flaw.value}", frame.ended)
        if frame.method is UNSET:
            return self._owner(bytes(frame.id)) if frame.id is not UNSET else None
        if frame.id is not UNSET:
            return self._dropped(f"a request ({frame.method}), which no server of its revision may send")
        params = frame.params if frame.params is not UNSET else {}
        if frame.method == "notifications/progress":
            id = params.get("progressToken")
        elif frame.method == CANCELLED:
            id = params.get("requestId")
        elif frame.method in EVENTS:
            id = (object_in(params.get("_meta")) or {}).get(SUBSCRIPTION_ID)
        elif of is not None:
            return self._owner(of)
        else:
            return self._only_listener()
        return self._owner(bytes(id)) if id is not None else None

    def _owner(self, id: bytes) -> Member | None:
        return self._parties.get(id[1 : id.find(b".")])

    def _only_listener(self) -> Member | None:
        """A log message on a pipe says nothing of its request; it is passed on when only one client can be meant."""
        wanting = [party for party in self._parties.values() if party.back.wants_logs]
        if len(wanting) == 1:
            return wanting[0]
        if wanting:
            text = "a log message that could belong to several clients was dropped"
            self._log.note(Level.INFO, "upstream", text)
        return None

    def _dropped(self, what: str, ended: bool = True) -> None:
        if ended:
            self._log.note(Level.WARN, "upstream", f"the server wrote {what}; it was skipped")

    def _record(self, line: object) -> None:
        assert self._tap is not None
        if isinstance(line, bytes):
            self._tap.record("server", "<", line, [])

    # ------------------------------------------------------------------ the end

    def _cut(self, why: Fault) -> None:
        now = asyncio.get_running_loop().time()
        for party in list(self._parties.values()):
            self._guard(party.back.cut, why, now)
            self._guard(party.settle)

    async def _end(self) -> None:
        self._outgoing.flush()
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.aclose()
        self._ending = None
        if not self._is_over:
            for party in list(self._parties.values()):
                if party.back.out:
                    self._guard(self.send, party)

    async def aclose(self) -> None:
        """End the server; nothing is sent any more."""
        self._is_over = True
        if self._ending is not None:
            await self._ending
        await self._end()

    def kill(self) -> None:
        """End the server at once and without waiting; callable from any thread."""
        channel = self._channel
        if channel is not None:
            channel.kill()
