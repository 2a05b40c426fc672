"""Both peers of a bridge, played by hand: the real machines, no I/O, and time that is passed in.

Everything that leaves is checked against the official schema of its receiver, whatever the test looks at.
"""

import json
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from dragoman.backs.legacy import Legacy as Handshake
from dragoman.backs.modern import Modern
from dragoman.backs.probe import Probe
from dragoman.core.mediator import Mediator
from dragoman.exchange.events import Inquiry, Reason
from dragoman.exchange.notes import Level
from dragoman.exchange.outlet import Pipe
from dragoman.faults import Cause, Fault
from dragoman.fronts.handshake import Identity
from dragoman.fronts.legacy import Legacy
from dragoman.fronts.lifecycle import State
from dragoman.fronts.modern import Modern as ModernFront
from dragoman.fronts.opening import Opening
from dragoman.fronts.sealing import Seal
from dragoman.fronts.stateful import Stateful
from dragoman.limits import Limits
from dragoman.profile import Profile, named
from dragoman.revisions import LATEST
from dragoman.wire.lines import Overlong
from support import official

MODERN = "2026-07-28"
CANCELLED = "notifications/cancelled"


@dataclass
class Kept:
    """Notes, as they were made."""

    debugs: bool = True
    lines: list[tuple[Level, str, str]] = field(default_factory=list[tuple[Level, str, str]])

    def note(self, level: Level, scope: str, text: str) -> None:
        self.lines.append((level, scope, text))

    def texts(self) -> str:
        return "\n".join(f"{scope}: {level.name.lower()}: {text}" for level, scope, text in self.lines)


class Dialogue:
    """`client` and `server` say something; `to_client` and `to_server` hold what left, as objects.

    The server is stateless, or has a handshake and speaks `server_revision`. With `probes` the bridge has to find out
    which of the two it is. With `declares` the client is the one without a handshake; it declares that with every
    request. With `is_undecided` as well, the client may still begin a handshake after its `server/discover`.
    """

    def __init__(
        self,
        profile: Profile | str = "neutral",
        limits: Limits | None = None,
        name: str = "fallback",
        server_revision: str | None = None,
        probes: bool = False,
        declares: dict[str, Any] | None = None,
        is_undecided: bool = False,
    ) -> None:
        found = named(profile) if isinstance(profile, str) else profile
        assert found is not None
        self.profile = found
        self.limits = limits or Limits()
        self.notes = Kept()
        self.now = 1000.0
        self.out = Pipe()
        self.mediator = Mediator(found, self.limits, self.notes)
        self.server_revision = server_revision
        self.declares = declares
        self._identity = Identity(name)
        self._probes = probes
        kind = Probe if probes else Modern if server_revision is None else Handshake
        self.mediator.back = self._back = kind(self.mediator, self.limits, self.notes)
        self._front = self._make_opening() if is_undecided else self._make_front()
        if not isinstance(self._front, Opening):
            self.mediator.front = self._front
        self.to_client: list[Any] = []
        self.to_server: list[Any] = []
        self.raw_to_client: list[bytes] = []
        self.raw_to_server: list[bytes] = []
        self.starts = 0
        self.stops = 0
        self.spawn_fails = False
        self.page: Inquiry | None = None
        self.told: list[str | None] = []
        self.running = False
        self.keeps_structure = found.keep_structure
        self._client_asked: dict[str, str] = {}
        self._server_asked: dict[str, str] = {}
        self._revision = "2025-11-25" if declares is None else MODERN
        self._agreed = (
            MODERN if server_revision is None or probes else "2025-11-25"
        )  # what frames for the server are held to

    def _make_opening(self) -> Opening:
        legacy = Legacy(self.mediator, self.profile, self.limits, self.notes, self._identity, self.out)
        self.mediator.front = legacy

        def begin_modern() -> ModernFront:
            front = self._make_front()
            assert isinstance(front, ModernFront)
            self.mediator.front = front
            return front

        def begin_handshake() -> None:
            self.mediator.front, self.mediator.timed, self.declares = legacy, None, None

        return Opening(legacy, begin_modern, begin_handshake)

    def _make_front(self) -> Legacy | ModernFront:
        most, identity = self.limits.in_flight, self._identity
        if self.declares is None:
            return Legacy(self.mediator, self.profile, self.limits, self.notes, identity, self.out)
        if self.server_revision is None and not self._probes:
            self.mediator.join(LATEST, LATEST)
            return ModernFront(self.mediator, self.limits, self.notes, self.out, most)
        handles = count(1)
        seal = Seal(bytes(32), self.limits.state_life, lambda n: next(handles).to_bytes(n, "big"), lambda: self.now)
        kept = Stateful(self.mediator, self.limits, self.notes, self.out, most, seal, identity)
        self.mediator.timed = kept
        return kept

    @property
    def front(self) -> Legacy:
        front = self._front.front if isinstance(self._front, Opening) else self._front
        assert isinstance(front, Legacy)
        return front

    @property
    def open_questions(self) -> int:
        return len(self.front.asking) if self.declares is None else 0

    @property
    def back(self) -> Modern:
        assert isinstance(self._back, Modern)
        return self._back

    @property
    def handshake(self) -> Handshake:
        assert isinstance(self._back, Handshake)
        return self._back

    # ------------------------------------------------------------------ speaking

    def client(self, *frames: Any, at: float | None = None) -> "Dialogue":
        """The client writes these frames in one go: objects get `jsonrpc`, bytes go as they are."""
        self._at(at)
        for frame in frames:
            self._remember(frame)
        self._front.receive([self._line(self._declaring(frame)) for frame in frames], self.now)
        return self._settle()

    def server(self, *frames: Any, at: float | None = None, of: Any = None) -> "Dialogue":
        """The server says this; `of` is the id of the request in whose response it does, if the transport tells."""
        self._at(at)
        for frame in frames:
            for each in cast("list[Any]", frame) if isinstance(frame, list) else [frame]:
                if isinstance(each, dict) and "method" in each:
                    self._remember_asked(cast("dict[str, Any]", each))
            self._back.receive(self._line(frame), self.now, None if of is None else json.dumps(of).encode())
        return self._settle()

    def wait(self, seconds: float) -> "Dialogue":
        """Time passes; everything that is due on the way happens at its moment."""
        end = self.now + seconds
        while (wake := self.mediator.wake()) <= end:
            self.now = max(self.now, wake)
            self.mediator.tick(self.now)
            self._settle()
        self.now = end
        return self

    def server_dies(self) -> "Dialogue":
        self.running = False
        self._back.lost(Fault(Cause.UPSTREAM_EXITED), self.now)
        return self._settle()

    def server_forgets(self) -> "Dialogue":
        """The server has a new session for us, and knows nothing more of what it was asked in the old one."""
        self._back.renewed(self.now)
        return self._settle()

    def fails(self, id: Any, status: int) -> "Dialogue":
        """The request with this id is answered with an HTTP status and nothing more."""
        why = Fault(Cause.TRANSPORT_FAILED, f"HTTP status {status}", status=status)
        self._back.lane_lost(json.dumps(id).encode(), why, False, self.now)
        return self._settle()

    def sign_in_begins(self, seconds: float) -> "Dialogue":
        """Somebody signs in to the server, which may take so long."""
        self._back.held(seconds, self.now)
        return self._settle()

    def page_wanted(self) -> "Dialogue":
        """The client is asked to show the page of the sign-in, as the runtime does it."""
        assert self.mediator.shows_pages
        url, told = "https://as.example/authorize?state=s", self.told.append
        self.page = self.mediator.inquiries.show(url, "Sign in.", told, self.now)
        return self._settle()

    def token_came(self) -> None:
        """What was waited for was a token that is kept, or a renewal."""
        self._back.resumed(self.now)

    def sign_in_ends(self, signed_in: bool) -> "Dialogue":
        self._back.released(signed_in, self.now)
        if self.page is not None:
            self.mediator.page_over(self.page, self.told == ["accept"], self.now)
        return self._settle()

    def client_leaves(self) -> "Dialogue":
        if isinstance(self._front, Legacy):
            self._front.end(self.now)
        else:
            self._front.leave(Reason.CLIENT_LEFT, self.now)
        return self._settle()

    # ------------------------------------------------------------------ beginning

    def open(
        self,
        revision: str = "2025-11-25",
        client: dict[str, Any] | None = None,
        server: dict[str, Any] | None = None,
        *,
        initialized: bool = False,
        acknowledge: bool = False,
    ) -> "Dialogue":
        """The whole handshake; what it wrote is forgotten."""
        if self.declares is not None:
            if self.server_revision is not None:
                self.client({"id": 0, "method": "server/discover", "params": {}})
                self.server(self.initialized(server))
                assert "result" in self.answer_to(0), self.to_client
                self.client({"id": 0, "method": "no/such", "params": {}})  # from now on it is a modern client for sure
            self.forget()
            return self
        self.client(self.initialize(revision, client))
        self.server(self.discovered(server) if self.server_revision is None else self.initialized(server))
        assert self.front.state is State.READY, self.to_client
        if initialized:
            self.client({"method": "notifications/initialized"})
            if acknowledge and self.server_revision is None:
                listen = self.to_server[-1]
                self.server(self.acknowledgement(listen))
        self.forget()
        return self

    def initialize(self, revision: str, client: dict[str, Any] | None = None, id: Any = 0) -> dict[str, Any]:
        return {
            "id": id,
            "method": "initialize",
            "params": {
                "protocolVersion": revision,
                "capabilities": client or {},
                "clientInfo": {"name": "probe", "version": "1"},
            },
        }

    def discovered(self, server: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        return {
            "id": self.last("server/discover")["id"],
            "result": {
                "resultType": "complete",
                "supportedVersions": [MODERN],
                "capabilities": {"tools": {}} if server is None else server,
                "ttlMs": 0,
                "cacheScope": "public",
                **more,
            },
        }

    def initialized(self, server: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """The answer of a server with a handshake to the last `initialize`."""
        return {
            "id": self.last("initialize")["id"],
            "result": {
                "protocolVersion": self.server_revision,
                "capabilities": {"tools": {}} if server is None else server,
                "serverInfo": {"name": "upstream", "version": "1"},
                **more,
            },
        }

    def acknowledgement(self, listen: dict[str, Any], granted: dict[str, Any] | None = None) -> dict[str, Any]:
        return {
            "method": "notifications/subscriptions/acknowledged",
            "params": {
                "_meta": {"io.modelcontextprotocol/subscriptionId": listen["id"]},
                "notifications": listen["params"]["notifications"] if granted is None else granted,
            },
        }

    # ------------------------------------------------------------------ looking

    def last(self, method: str) -> Any:
        """The last request or notification of that method that went to the server."""
        return next(frame for frame in reversed(self.to_server) if frame.get("method") == method)

    def answer_to(self, id: Any) -> Any:
        found = [frame for frame in self.to_client if frame.get("id") == id and "method" not in frame]
        assert len(found) == 1, f"{len(found)} answers to {id}: {self.to_client}"
        return found[0]

    def forget(self) -> None:
        self.to_client.clear()
        self.to_server.clear()
        self.raw_to_client.clear()
        self.raw_to_server.clear()

    # ------------------------------------------------------------------ plumbing

    def _at(self, at: float | None) -> None:
        if at is not None:
            assert at >= self.now
            self.now = at

    def _remember(self, frame: Any) -> None:
        """Which method an answer will be for, to know its official type."""
        if isinstance(frame, dict) and "method" in frame and "id" in frame:
            request = cast("dict[str, Any]", frame)
            key = json.dumps(request["id"])
            if self.declares is not None or not self.front.has_in_flight(key.encode()):
                self._client_asked[key] = request["method"]

    def _remember_asked(self, frame: dict[str, Any]) -> None:
        """The same for what the server asks; one that it takes back gets no answer."""
        if "id" in frame:
            self._server_asked.setdefault(json.dumps(frame["id"]), frame["method"])
        elif frame["method"] == "notifications/cancelled" and "params" in frame:
            self._server_asked.pop(json.dumps(frame["params"]["requestId"]), None)

    def _declaring(self, frame: Any) -> Any:
        """A request of a client without a handshake, which says with each of them what the client is."""
        if self.declares is None or not isinstance(frame, dict) or "id" not in frame or "params" not in frame:
            return cast("Any", frame)
        request = cast("dict[str, Any]", frame)
        if request.get("method") == "initialize":
            return request
        given = request["params"].get("_meta", {})
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": self.declares,
        }
        return {**request, "params": {**request["params"], "_meta": {**meta, **given}}}

    @staticmethod
    def _line(frame: Any) -> bytes | Overlong:
        if isinstance(frame, bytes | Overlong):
            return frame
        whole: Any = frame
        if isinstance(frame, dict):
            whole = {"jsonrpc": "2.0", **cast("dict[str, Any]", frame)}
        elif isinstance(frame, list):
            whole = [{"jsonrpc": "2.0", **each} for each in cast("list[dict[str, Any]]", frame)]
        return json.dumps(whole, separators=(",", ":")).encode()

    def _settle(self) -> "Dialogue":
        if self.mediator.stop_wanted:
            self.mediator.stop_wanted = False
            if self.running:
                self.stops += 1
                self.running = False
            self.mediator.stopped(self.now)
        self._start_if_wanted()
        for line in self._back.out:
            self.raw_to_server.append(line)
            frame = json.loads(line)
            self._check_for_server(frame)
            self.to_server.append(frame)
        self._back.out.clear()
        for line in self.out:
            self.raw_to_client.append(line)
            frame = json.loads(line)
            self._check_for_client(frame)
            self.to_client.append(frame)
        self.out.clear()
        if self.mediator.stop_wanted:
            self._settle()
        return self

    def _start_if_wanted(self) -> None:
        if self._back.out and not self.running:
            if self.spawn_fails:
                self._back.lost(Fault(Cause.SPAWN_FAILED), self.now)
            else:
                self.starts += 1
                self.running = True

    def _check_for_server(self, frame: dict[str, Any]) -> None:
        answers = None
        if "method" not in frame and frame.get("error", {}).get("data") != {"cause": "duplicate_id"}:
            answers = self._server_asked.pop(json.dumps(frame["id"]), "ping")
        if frame.get("method") == "initialize":
            self._agreed = frame["params"]["protocolVersion"]
        elif frame.get("method") == "server/discover":
            self._agreed = MODERN
        elif self.server_revision is not None and self._agreed != MODERN and frame.get("method") != CANCELLED:
            self._agreed = self.server_revision
        official.check_frame(self._agreed, frame, answers)

    def _check_for_client(self, frame: dict[str, Any]) -> None:
        answers = None
        refused_as_double = frame.get("error", {}).get("data") == {"cause": "duplicate_id"}
        if "method" not in frame and not refused_as_double:
            answers = self._client_asked.pop(json.dumps(frame["id"]), "ping")
        if "protocolVersion" in frame.get("result", {}):
            self._revision = frame["result"]["protocolVersion"]
            answers = "initialize"
        if self.keeps_structure and "structuredContent" in frame.get("result", {}):
            frame = {**frame, "result": {k: v for k, v in frame["result"].items() if k != "structuredContent"}}
        official.check_frame(self._revision, frame, answers)
