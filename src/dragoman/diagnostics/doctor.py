"""A visit that finds out all that can be read of a server without changing anything there.

It is opened by a client that can do everything, as some servers offer less to others, and its lists are read, page by
page. Nothing is called, and nothing is subscribed to. There is nobody to be asked: it gets no roots, and forms and
pages are cancelled. Then it is ended as at the end of every conversation.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from msgspec import UNSET, Raw

from dragoman.backs.handshake import NAMELESS
from dragoman.backs.legacy import Legacy
from dragoman.backs.modern import Modern
from dragoman.backs.probe import Probe
from dragoman.backs.reading import error_of
from dragoman.diagnostics.facts import LISTS, Facts, Listed, Wire
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Answer, Answered, Call, Inquiry, Ready, ServerError
from dragoman.exchange.nobody import Nobody
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.revisions import LATEST_LEGACY, Era
from dragoman.runtime.link import AnyBack
from dragoman.runtime.log import Log
from dragoman.runtime.tap import Tap
from dragoman.runtime.targets import Transport
from dragoman.runtime.visit import Visit
from dragoman.transports.child import PipeLines
from dragoman.transports.upstream import Upstream
from dragoman.wire import frame as wire
from dragoman.wire.frame import Opened
from dragoman.wire.members import Members, encoded, is_null, items_of, object_in, opened, own, raw, text_of

PAGES = 20
"""Pages of one list that are read; a list without an end shall not hold the visit."""

ALL = opened(encoded({"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}))
"""What the visitor declares."""

WIRES = {Transport.STATELESS: Wire.STREAMABLE, Transport.SESSION: Wire.SESSION, Transport.SSE: Wire.SSE}


async def examine(
    server: Upstream,
    transport: Transport | None,
    seconds: float,
    log: Log,
    stderr: Callable[[bytes], None],
    tap: Tap | None = None,
    begins: Callable[[Visit], None] = lambda _: None,
) -> Facts:
    """What a server is, in `seconds` at the most, and what it takes to end it; `transport` is how the user names it.

    `begins` is called with the visit before anything is said.
    """
    timeouts = Limits().timeouts
    patience = replace(timeouts, discover=seconds, probe=min(timeouts.probe, seconds / 2))
    examination = Examination(server, transport, replace(Limits(), timeouts=patience), log, stderr, tap)
    begins(examination)
    try:
        async with asyncio.timeout(seconds):
            await examination.look()
    except TimeoutError:
        examination.is_late(seconds)
    return examination.facts()


@dataclass(slots=True)
class _Reading:
    """The lists as far as they were read."""

    waiting: list[str] = field(default_factory=list[str])
    items: dict[str, list[Raw]] = field(default_factory=dict[str, list[Raw]])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    pages: int = 0


class _Ear(Nobody):
    """What the back tells goes to the examination."""

    def __init__(self, examination: "Examination") -> None:
        self._to = examination

    def ready(self, ready: Ready, now: float) -> None:
        self._to.opened(ready, now)

    def not_ready(self, why: Fault | ServerError, now: float) -> None:
        self._to.failed_to_open(why)

    def done(self, call: Call, result: Members, now: float) -> None:
        self._to.read(call, result, now)

    def failed(self, call: Call, why: Fault | ServerError, now: float) -> None:
        self._to.not_read(call, why, now)

    def inquired(self, inquiry: Inquiry, now: float) -> None:
        self._to.back.satisfied(inquiry, _reply(inquiry))

    def gone(self, why: Fault, now: float) -> None:
        self._to.is_over = True


class Examination(Visit):
    def __init__(
        self,
        server: Upstream,
        transport: Transport | None,
        limits: Limits,
        log: Log,
        stderr: Callable[[bytes], None],
        tap: Tap | None,
    ) -> None:
        super().__init__(server, limits, log, stderr, tap)
        self.back = _back(transport, _Ear(self), limits, log)
        self._caller = Caller(LATEST_LEGACY, ALL, info=raw(NAMELESS))
        self._wire = WIRES.get(transport, Wire.UNKNOWN) if transport is not None else _wire(server)
        self._began = 0.0
        self._ready: Ready | None = None
        self._fault: Fault | None = None
        self._versions: tuple[str, ...] = ()
        self._first: float | None = None
        self._noise = 0
        self._end_told: str | None = None
        self._opening: str | None = None
        self._discover: bytes | None = None  # the id of that request
        self._discovered: float | None = None
        self._discover_error: int | None = None
        self._reading = _Reading()

    async def look(self) -> None:
        self._began = asyncio.get_running_loop().time()
        self.back.open(self._caller, self._began)
        for data in self.back.out:
            frame = wire.parse_opened(data)
            if isinstance(frame, Opened) and frame.method == "server/discover" and frame.id is not UNSET:
                self._discover = bytes(frame.id)
        await self.last()

    def is_late(self, seconds: float) -> None:
        """There was no more time."""
        if self._ready is None and self._fault is None:
            self._fault = Fault(Cause.DISCOVER_FAILED, f"no response in {seconds:g} s")
        for method in self._reading.waiting:
            self._reading.failures.setdefault(method, f"no response in {seconds:g} s")

    def facts(self) -> Facts:
        reading = self._reading
        for method in reading.waiting:
            reading.failures.setdefault(method, "the server was lost")
        methods = dict.fromkeys((*reading.items, *reading.failures))
        lists = {name: Listed(tuple(reading.items.get(name, ())), reading.failures.get(name)) for name in methods}
        return Facts(
            self._wire,
            self._ready,
            self._versions,
            lists,
            self._first,
            self._noise,
            self.starts,
            self._fault,
            self._end_told,
            self._opening,
            discovered=self._discovered,
            discover_error=self._discover_error,
        )

    # ------------------------------------------------------------------ what the back tells

    def opened(self, ready: Ready, now: float) -> None:
        self._ready = ready
        self.back.settled(now)
        self._reading.waiting = [method for method, (promise, _) in LISTS.items() if promise in ready.capabilities]
        self._read_next(now)

    def failed_to_open(self, why: Fault | ServerError) -> None:
        if isinstance(why, ServerError):
            why = Fault(Cause.DISCOVER_FAILED, text_of((object_in(why.error) or {}).get("message")), why.code)
        self._fault = why
        self.is_over = True

    def read(self, call: Call, result: Members, now: float) -> None:
        reading, method = self._reading, call.method
        found = reading.items.setdefault(method, [])
        items = items_of(result.get(LISTS[method][1]))
        cursor = result.get("nextCursor")
        reading.pages += 1
        if items is None:
            reading.failures[method] = "the result has no such list"
        else:
            found += [own(item) for item in items]
            if cursor is not None and not is_null(cursor) and reading.pages < PAGES:
                self._ask(method, {"cursor": own(cursor)}, now)
                return
            if cursor is not None and not is_null(cursor):
                reading.failures[method] = f"there are more than {PAGES} pages"
        self._read_next(now, done=True)

    def not_read(self, call: Call, why: Fault | ServerError, now: float) -> None:
        text = f"error {why.code}" if isinstance(why, ServerError) else why.detail or why.cause.value
        self._reading.failures[call.method] = text
        self._read_next(now, done=True)

    def _read_next(self, now: float, done: bool = False) -> None:
        reading = self._reading
        reading.pages = 0
        if done:
            reading.waiting.pop(0)
        if reading.waiting:
            self._ask(reading.waiting[0], {}, now)
        else:
            self.is_over = True

    def _ask(self, method: str, params: Members, now: float) -> None:
        self.back.call(Call(1, method, params, self._caller, None, False), now)

    # ------------------------------------------------------------------ what the channel tells

    def not_opened(self, error: OSError) -> None:
        self._opening = error.strerror or "unknown error"

    def lines(self, lines: PipeLines, of: bytes | None = None) -> None:
        for line in lines:
            frame = wire.parse_opened(line)
            if not isinstance(frame, Opened):
                self._noise += 1
            elif frame.method is UNSET:
                self._answered(frame, of)
        super().lines(lines, of)

    def _answered(self, frame: Opened, of: bytes | None) -> None:
        after = asyncio.get_running_loop().time() - self._began
        if self._first is None:
            self._first = after
        if self._discovered is None and frame.id is not UNSET and bytes(frame.id) == self._discover:
            self._discovered = after
            error = error_of(frame) if frame.result is UNSET or frame.result is None else None
            self._discover_error = error.code if isinstance(error, ServerError) else None
        result = frame.result if frame.result is not UNSET and frame.result is not None else {}
        if "supportedVersions" in result and self._ready is None:
            named = [text_of(item) for item in items_of(result["supportedVersions"]) or ()]
            self._versions = tuple(name for name in named if name is not None)
        if self._wire is Wire.UNKNOWN and ("supportedVersions" in result or "protocolVersion" in result):
            # Only a stream beside the posts does not tell to which request a message belongs.
            modern = "supportedVersions" in result
            self._wire = Wire.STREAMABLE if modern else Wire.SESSION if of is not None else Wire.SSE

    def gone(self, how: str, cause: Cause) -> None:
        self._end_told = how
        super().gone(how, cause)


def _wire(server: Upstream) -> Wire:
    return Wire.UNKNOWN if server.is_remote else Wire.STDIO


def _reply(inquiry: Inquiry) -> Answer | Fault:
    """What somebody says who has no roots, and leaves every form as it is."""
    method = text_of((object_in(inquiry.request) or {}).get("method"))
    if method == "roots/list":
        return Answered(raw({"roots": list[str]()}))
    if method == "elicitation/create":
        return Answered(raw({"action": "cancel"}))
    return Fault(Cause.METHOD_NOT_FOUND)


def _back(transport: Transport | None, ear: _Ear, limits: Limits, log: Log) -> AnyBack:
    if transport is None:
        return Probe(ear, limits, log)
    return Modern(ear, limits, log) if transport.era is Era.MODERN else Legacy(ear, limits, log)
