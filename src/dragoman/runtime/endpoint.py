"""What one listener on HTTP serves: sessions of clients with a handshake, and every client without one, side by side.

* How a client opens tells its era (revisions 4.3): a request whose `_meta` names a revision stands alone; `initialize`
  begins a session, whatever its header says (B118); else a header of a stateless revision counts.
* A session belongs to who opened it: to anyone else its id is as unknown as one that never was.
* Time is looked at when something is due: no request has a timer of its own (decisions L9), and an idle listener does
  not wake. A fault in what is due costs the party that it is due for, and nobody else.
"""

import asyncio
import secrets
from collections import deque
from contextlib import suppress

from msgspec import UNSET, DecodeError, Raw

from dragoman.core.inflight import NEVER
from dragoman.exchange.meta import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from dragoman.faults import Cause, Fault
from dragoman.fronts.flaws import fault_of
from dragoman.fronts.opening import DISCOVER, is_modern, parts
from dragoman.revisions import HANDSHAKE, LATEST, LATEST_LEGACY, Era, named
from dragoman.revisions.capabilities import client_capabilities
from dragoman.revisions.tolerance import declared
from dragoman.runtime.guard import Guard
from dragoman.runtime.kept import Kept
from dragoman.runtime.session import Session
from dragoman.runtime.session_directory import SessionDirectory
from dragoman.runtime.shared import Shared
from dragoman.runtime.stateless import Stateless
from dragoman.runtime.timer import Timer
from dragoman.transports.http.annotations import Annotations
from dragoman.transports.http.server.budget import Budget
from dragoman.transports.http.server.exchange import Exchange
from dragoman.transports.http.server.head import Head, Reply, refusal
from dragoman.transports.http.server.mirror import mismatch
from dragoman.transports.http.server.status import status_of
from dragoman.transports.http.server.stream import Stream
from dragoman.wire import frame as wire
from dragoman.wire.canonical import canonical
from dragoman.wire.frame import Batch, Broken, Frame, Parsed, is_id
from dragoman.wire.members import Members, closed, may_name

MARK = PROTOCOL_VERSION.encode()
ACCEPTED = Reply(202)
CLOSING_STEP = 0.05  # seconds between two looks at what is in flight at the end
Party = Session | Stateless | Kept


class Endpoint:
    """The service behind the ASGI application. Everything here is synchronous but for the begin and the end."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._bounds = shared.limits.reception
        self.directory = SessionDirectory(self._bounds, shared.log, self._end)
        self._annotations = Annotations()
        self._stateless: Stateless | None = None
        self._owners: dict[int, Party] = {}
        self._lanes = 0
        self._young: deque[Exchange] = deque()
        self._awake: dict[int, Party] = {}
        self._timer = Timer(self.tick)
        self._guard = Guard(shared.log)
        self._is_over = False

    # ------------------------------------------------------------------ the server's era

    @property
    def is_ready(self) -> bool:
        """Whether it is known of which era the server is; until then nothing can be handled."""
        return self._shared.is_certain or self._is_over

    async def ready(self) -> None:
        """Find out of which era the server is. If that fails, what is handled next is answered with the reason."""
        shared = self._shared
        if shared.era is not None:
            if self.directory.is_used or (self._stateless is not None and len(self._stateless.mediator.inflight)):
                return  # whatever made it doubtful, somebody lives on it
            stateless, self._stateless = self._stateless, None
            if stateless is not None:
                self._awake.pop(id(stateless), None)
        await shared.ready()

    def _party(self) -> Stateless | None:
        """All clients of the modern era, if the server can have any."""
        if self._stateless is None and self._shared.era is Era.MODERN:
            self._stateless = Stateless(self._shared, self._rouse)
            self._stateless.front.listed = self._annotations.learn
        return self._stateless

    # ------------------------------------------------------------------ what comes by HTTP

    def post(self, head: Head, body: bytes) -> Exchange | Reply:
        """A message. What it asks for comes on the exchange; everything else is answered at once."""
        now = asyncio.get_running_loop().time()
        if self._is_over:
            return refusal(503, Fault(Cause.SHUTTING_DOWN))
        if b"\n" in body or b"\r" in body:
            body = body.translate(_SPACES)  # between tokens only, as a string cannot hold them: a line is a line
        if head.post_to is not None:
            return self._post_to(head, head.post_to, body, now)
        frame = wire.parse(body, self._shared.limits.depth)
        if self._shared.fault is not None:
            return _unready(frame, self._shared.fault)
        params, meta = parts(frame) if may_name(body, MARK) and isinstance(frame, Frame) else ({}, {})
        says_so = PROTOCOL_VERSION in meta
        if isinstance(frame, Frame) and frame.method == "initialize" and not says_so:
            return self._initialize(head, body, frame, now)
        if says_so or _is_stateless(head):
            return self._alone(head, body, frame, params, meta, now)
        session = self._session(head)
        if session is not None:
            return self._in_session(session, head, body, frame, now)
        if head.session is not None:
            return _unknown_session(frame)
        return self._homeless(frame)

    def listen(self, head: Head) -> Stream | Reply:
        """A GET: a session's standalone stream, or the stream that is taken up again."""
        session = self._session(head)
        if session is None:
            return Reply(404) if head.session is not None else Reply(405, headers=((b"allow", b"POST"),))
        if not self._knows_version(head):
            return _unknown_version()
        session.seen = asyncio.get_running_loop().time()
        self.directory.seen(session)
        if head.last_event is not None:
            return session.resumed(head.last_event)
        return session.standalone

    @property
    def budget(self) -> Budget:
        return self._shared.budget

    @property
    def is_open(self) -> bool:
        """Whether clients are served: it does not end, and its server could be used when it was last tried."""
        return not self._is_over and self._shared.fault is None

    def open_sse(self, head: Head) -> Session | Reply:
        """The connection of a client of HTTP+SSE, which is a session as long as it lasts."""
        if self._is_over or self._shared.fault is not None:
            return Reply(503)
        return self._new_session(head, asyncio.get_running_loop().time(), is_sse=True)

    def close_sse(self, id: str) -> None:
        session = self.directory.sessions.get(id)
        if session is not None:
            self._end(session)

    def leave(self, head: Head) -> Reply:
        """A DELETE: the client needs its session no longer."""
        session = self._session(head)
        if session is None:
            return Reply(404 if head.session is not None else 405)
        self._end(session)
        return Reply(204)

    def hung_up(self, exchange: Exchange) -> None:
        """The client closed the connection of an exchange before its end."""
        now = asyncio.get_running_loop().time()
        owner = self._owners.pop(exchange.lane, None)
        if isinstance(owner, Stateless | Kept):
            owner.lane_closed(exchange.lane, now)
        elif owner is not None:
            owner.hung_up(exchange.lane, exchange.stream, now)

    def finished(self, exchange: Exchange) -> None:
        """All of an exchange was written."""
        owner = self._owners.pop(exchange.lane, None)
        if owner is not None:
            self._rouse(owner)

    # ------------------------------------------------------------------ eras

    def _alone(
        self, head: Head, body: bytes, frame: Parsed, params: Members, meta: Members, now: float
    ) -> Exchange | Reply:
        if isinstance(frame, Frame) and frame.method is not UNSET and frame.id is not UNSET:
            if frame.method == DISCOVER and self._shared.profile.refuses_discover and is_id(bytes(frame.id)):
                refused = Fault(Cause.METHOD_NOT_FOUND)
                return refusal(status_of(refused, True), refused, bytes(frame.id))
            if not params:
                params, meta = parts(frame)
            why = mismatch(head.headers, frame.method, params, meta, self._annotations)
            if why is not None:
                id = bytes(frame.id)
                return refusal(400, Fault(Cause.HEADER_MISMATCH, why), id if is_id(id) else None)
        party = self._party() or self._kept_for(head, meta, now)
        if isinstance(party, Reply):
            return party
        exchange = self._exchange(party, head, frame, now)
        party.receive(exchange, body, frame, head.principal, now)
        return self._outcome(exchange)

    def _kept_for(self, head: Head, meta: Members, now: float) -> Kept | Reply:
        """The conversation of this caller with a server that keeps state."""
        key = (head.principal, _told(meta.get(CLIENT_CAPABILITIES)))
        kept = self.directory.kept.get(key)
        if kept is None:
            if not self._has_room(head.principal):
                return _too_many()
            kept = Kept(self._shared, head.principal, self._rouse, now)
            self.directory.keep(key, kept, now)
            self._timer.by(self.directory.idle_due)
            kept.front.listed = self._annotations.learn
        return kept

    def _initialize(self, head: Head, body: bytes, frame: Frame, now: float) -> Exchange | Reply:
        session = self._session(head)
        if session is None and head.session is not None:
            return _unknown_session(frame)
        if session is None:
            session = self._new_session(head, now)
            if isinstance(session, Reply):
                return session
        return self._in_session(session, head, body, frame, now)

    def _in_session(self, session: Session, head: Head, body: bytes, frame: Parsed, now: float) -> Exchange | Reply:
        if not (isinstance(frame, Frame) and frame.method == "initialize") and not self._knows_version(head):
            return _unknown_version()
        exchange = self._exchange(session, head, frame, now)
        if not session.is_open:
            exchange.session = session.id
        self.directory.seen(session)
        session.receive(exchange, body, frame, now)
        return self._outcome(exchange)

    def _post_to(self, head: Head, id: str, body: bytes, now: float) -> Reply:
        session = self.directory.sessions.get(id)
        if session is None or not session.is_sse or session.principal != head.principal:
            return Reply(404)
        frame = wire.parse(body, self._shared.limits.depth)
        if isinstance(frame, Broken):
            return refusal(400, fault_of(frame, self._shared.limits))
        self.directory.seen(session)
        session.receive_posted(body, now)
        return ACCEPTED

    def _homeless(self, frame: Parsed) -> Reply:
        if isinstance(frame, Broken):
            return refusal(400, fault_of(frame, self._shared.limits), None if frame.answers else frame.id)
        id = bytes(frame.id) if isinstance(frame, Frame) and frame.id is not UNSET else None
        if isinstance(frame, Batch) or (id is not None and not is_id(id)):
            return refusal(400, Fault(Cause.INVALID_REQUEST_SHAPE))
        return refusal(400, Fault(Cause.NOT_INITIALIZED, "the header Mcp-Session-Id is missing"), id)

    # ------------------------------------------------------------------ exchanges

    def _exchange(self, owner: Party, head: Head, frame: Parsed, now: float) -> Exchange:
        self._lanes += 1
        takes_batches = isinstance(owner, Session) and owner.takes_batches
        wants, is_batch = _wants(frame, takes_batches)
        opens = owner.open_stream if head.accepts_events else None
        exchange = Exchange(self._lanes, wants, now, opens, is_batch)
        if wants:
            self._owners[exchange.lane] = owner
            self._young.append(exchange)
            self._timer.by(now + self._bounds.stream_after)
        return exchange

    def _outcome(self, exchange: Exchange) -> Exchange | Reply:
        if exchange.has_requests:
            return exchange
        self._owners.pop(exchange.lane, None)
        if exchange.answers:
            return Reply(400, exchange.answers[0])
        return ACCEPTED

    # ------------------------------------------------------------------ sessions

    def _session(self, head: Head) -> Session | None:
        if head.session is None:
            return None
        session = self.directory.sessions.get(head.session)
        return session if session is not None and session.principal == head.principal and not session.is_sse else None

    def _new_session(self, head: Head, now: float, is_sse: bool = False) -> Session | Reply:
        if not self._has_room(head.principal):
            return _too_many()
        session = Session(secrets.token_urlsafe(24), head.principal, self._shared, self._rouse, now, is_sse)
        self.directory.add(session, now)
        self._timer.by(self.directory.idle_due)
        return session

    def _has_room(self, principal: str | None) -> bool:
        keeps_processes = self._shared.era is not Era.MODERN and not self._shared.is_remote
        return self.directory.has_room(principal, keeps_processes=keeps_processes)

    def _end(self, owner: Session | Kept) -> None:
        self.directory.drop(owner)
        owner.end(asyncio.get_running_loop().time())
        self._awake.pop(id(owner), None)

    def _knows_version(self, head: Head) -> bool:
        """Whether the header names a revision with a handshake, if any (B119)."""
        if head.version is None:
            return True
        revision = named(head.version.strip())
        return revision is not None and revision.era is Era.LEGACY

    # ------------------------------------------------------------------ time

    def _rouse(self, party: Party) -> None:
        """Something of this party may be due some day."""
        if self._is_over:
            return
        wake = party.wake
        if isinstance(party, Session) and party.is_useless:
            wake = asyncio.get_running_loop().time()
        if wake < NEVER:
            self._awake[id(party)] = party
            self._timer.by(wake)

    def tick(self, now: float) -> float:
        """Do what is due; gives the next moment at which something is."""
        for key, party in list(self._awake.items()):
            wake = party.wake
            if isinstance(party, Session) and party.is_useless:
                self._end(party)
            elif wake <= now:
                self._tick_party(party, now)
            elif wake == NEVER:
                self._awake.pop(key, None)
        young = self._young  # after the parties, which would take a stream that begins now for one that nobody reads
        while young and (young[0].is_over or now - young[0].began >= self._bounds.stream_after):
            exchange = young.popleft()
            if not exchange.is_over:
                exchange.grow_old()
        if self.directory.idle_due <= now:
            self.directory.end_idle(now)
        if self._is_over:
            return NEVER
        dues = [party.wake for party in self._awake.values()]
        return min([*dues, young[0].began + self._bounds.stream_after if young else NEVER, self.directory.idle_due])

    def _tick_party(self, party: Party, now: float) -> None:
        if not self._guard(party.tick, now):
            self._give_up(party, now)

    def _give_up(self, party: Party, now: float) -> None:
        """What a party waits for fails; whoever comes next begins anew."""
        self._awake.pop(id(party), None)
        with suppress(Exception):
            party.mediator.gone(Fault(Cause.INTERNAL), now)
            party.settle()
        if not isinstance(party, Stateless):
            self._end(party)
        elif party is self._stateless:
            self._stateless = None

    # ------------------------------------------------------------------ the end

    async def aclose(self, grace: float) -> None:
        """Take nothing new, give what is in flight `grace` seconds, answer the rest with an error, end the server."""
        self._is_over = True
        parties: list[Party] = [*self.directory.owners]
        for kept in self.directory.kept.values():
            kept.front.end_streams()
        if self._stateless is not None:
            parties.append(self._stateless)
            self._stateless.front.end_streams()
        try:
            async with asyncio.timeout(grace):
                while any(len(party.mediator.inflight) for party in parties):
                    await asyncio.sleep(CLOSING_STEP)
                    self.tick(asyncio.get_running_loop().time())
        except TimeoutError:
            pass
        why, now = Fault(Cause.SHUTTING_DOWN), asyncio.get_running_loop().time()
        for party in parties:
            party.mediator.gone(why, now)
            if isinstance(party, Session):
                party.front.refused(why, now)
            party.settle()
        for owner in self.directory.owners:
            self._end(owner)
        self._timer.cancel()
        await self._shared.aclose()


def _told(declared_: Raw | None) -> bytes:
    """What a server with a handshake is told of a client that declares this, in one spelling."""
    try:
        told = client_capabilities(declared(declared_).members, LATEST, LATEST_LEGACY)
        return canonical(closed(told))
    except DecodeError:
        return b""  # its request is refused for it


_SPACES = bytes.maketrans(b"\n\r", b"  ")


def _is_stateless(head: Head) -> bool:
    """Whether the header names a revision without a handshake."""
    version = named(head.version)
    return version is not None and version.era is Era.MODERN


def _wants(frame: Parsed, takes_batches: bool) -> tuple[int, bool]:
    """How many answers a message gets at the most, and whether they are an array."""
    if isinstance(frame, Batch):
        is_batch = takes_batches and bool(frame.entries)
        return (len(frame.entries) + 1 if is_batch else 1), is_batch  # who takes it, tells how many are to come
    return int(isinstance(frame, Frame) and frame.method is not UNSET and frame.id is not UNSET), False


def _unready(frame: Parsed, why: Fault) -> Reply:
    """What is answered while the server cannot be used."""
    id = bytes(frame.id) if isinstance(frame, Frame) and frame.id is not UNSET else None
    if isinstance(frame, Frame) and frame.method is not UNSET and id is not None and is_id(id):
        return refusal(status_of(why, is_modern(frame)), why, id)
    return refusal(503, why)


def _too_many() -> Reply:
    return refusal(503, Fault(Cause.TOO_MANY_SESSIONS), None, (b"retry-after", b"10"))


def _unknown_session(frame: Parsed) -> Reply:
    id = bytes(frame.id) if isinstance(frame, Frame) and frame.id is not UNSET else None
    why = Fault(Cause.NOT_INITIALIZED, "this session is not known, or has ended")
    return refusal(404, why, id if id is not None and is_id(id) else None)


def _unknown_version() -> Reply:
    supported = ", ".join(revision.name for revision in HANDSHAKE)
    return refusal(400, Fault(Cause.INVALID_REQUEST_SHAPE, f"MCP-Protocol-Version is none of {supported}"))
