"""A real server of revision 2026-07-28 on stdio, small enough to read.

There is no handshake and no session: each request says which revision it speaks and what its client can do, so each is
checked and answered on its own. What a caller must be asked goes back as a result, with everything to go on later
sealed into `requestState`. Whoever wants to hear of changes keeps a `subscriptions/listen` request open.

What the server offers is in `restaurant`; this module knows the protocol. Reads block, and a tool runs in a thread of
its own, so that it can be cancelled.
"""

import base64
import hmac
import secrets
import sys
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any, cast

from msgspec import UNSET, DecodeError, Raw

from dragoman import __version__
from dragoman.demo.restaurant import Json, Refused, Restaurant
from dragoman.wire import frame as wire
from dragoman.wire.frame import Flaw, Frame
from dragoman.wire.members import encoded, raw, value_of

REVISION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
INFO = {"name": "the-golden-dragoman", "title": "The Golden Dragoman", "version": __version__}
CACHED = frozenset({
    "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"
})  # fmt: skip
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
CHANGES = ("tools", "prompts", "resources")


def object_in(params: Json, name: str) -> Json:
    """The object that `name` is; an absent one is empty.

    Raises:
        Refused: it is something else.
    """
    value: Any = params.get(name, {})
    if not isinstance(value, dict):
        raise Refused(-32602, f"{name} must be an object.")
    return cast("Json", value)


class Request:
    """One request, as a tool sees it."""

    def __init__(self, server: "Server", id: bytes, params: Json) -> None:
        self.id = id
        self.params = params
        self.meta = object_in(params, "_meta")
        self.answers = object_in(params, "inputResponses")
        self.cancelled = Event()
        self._server = server

    def state(self) -> Json:
        """What was sealed when the caller was asked; empty in the first round."""
        sealed = self.params.get("requestState")
        return {} if sealed is None else self._server.unseal(sealed)

    def ask(self, questions: Json, state: Json) -> Json:
        """The result that asks the caller for input."""
        return {"resultType": "input_required", "inputRequests": questions, "requestState": self._server.seal(state)}

    def require(self, capability: str, mode: str | None = None) -> None:
        """
        Raises:
            Refused: the client did not say that it can be asked this.
        """
        declared = self.meta[PREFIX + "clientCapabilities"].get(capability)
        only_pages = mode == "form" and declared is not None and "form" not in declared and "url" in declared
        if declared is None or only_pages or (mode == "url" and "url" not in declared):
            needed: Json = {capability: {} if mode is None else {mode: {}}}
            raise Refused(-32021, f"This needs a client with {capability}.", {"requiredCapabilities": needed})

    def progress(self, done: int, total: int, message: str) -> None:
        token = self.meta.get("progressToken")
        if token is not None and not self.cancelled.is_set():
            params = {"progressToken": token, "progress": done, "total": total, "message": message}
            self._server.send(wire.notice("notifications/progress", encoded(params)))

    def log(self, level: str, text: str) -> None:
        wanted = self.meta.get(PREFIX + "logLevel")
        if wanted in LEVELS and LEVELS.index(level) >= LEVELS.index(wanted):
            params = {"level": level, "logger": "restaurant", "data": text}
            self._server.send(wire.notice("notifications/message", encoded(params)))


def in_thread(work: Callable[[], None]) -> None:
    Thread(target=work, daemon=True).start()


class Server:
    """`write` takes one message at a time; `start` runs what may take long."""

    def __init__(
        self, write: Callable[[bytes], object], start: Callable[[Callable[[], None]], None] = in_thread
    ) -> None:
        self._write = write
        self._start = start
        self._lock = Lock()
        self._secret = secrets.token_bytes(32)
        self._running: dict[bytes, Request] = {}
        self._listening: dict[bytes, Json] = {}
        self.restaurant = Restaurant(self.changed, self.updated)

    def send(self, message: bytes) -> None:
        with self._lock:
            self._write(message)

    def receive(self, line: bytes) -> None:
        """Take one line of the client."""
        frame = wire.parse(line)
        if not isinstance(frame, Frame):
            code = -32700 if getattr(frame, "flaw", None) in (Flaw.NOT_JSON, Flaw.NOT_UTF8) else -32600
            self.send(wire.failure(None, raw({"code": code, "message": "This is no message of the protocol."})))
        elif frame.method is UNSET:
            pass  # no request of ours is ever open, so nothing can be an answer
        elif frame.id is UNSET:
            if frame.method == "notifications/cancelled":
                self._cancel(frame)
        else:
            self._request(bytes(frame.id), frame.method, _params(frame))

    def close(self) -> None:
        """The client is gone: stop what still runs."""
        for request in list(self._running.values()):
            request.cancelled.set()

    # ------------------------------------------------------------------ requests

    def _request(self, id: bytes, method: str, params: Json) -> None:
        try:
            self._check(method, params)
            request = Request(self, id, params)
            if method == "subscriptions/listen":
                self._listen(request)
            elif method == "tools/call":
                self._running[id] = request
                self._start(lambda: self._answer(request, method))
            else:
                self._answer(request, method)
        except Refused as refused:
            self.send(wire.failure(id, raw(refused.error())))

    def _check(self, method: str, params: Json) -> None:
        """Refuse what is not of this revision, and tell which one is."""
        supported = [REVISION]
        if method == "initialize":
            raise Refused(-32601, f"There is no handshake in revision {REVISION}.", {"supported": supported})
        meta = object_in(params, "_meta")
        asked = meta.get(PREFIX + "protocolVersion")
        if not isinstance(asked, str):
            raise Refused(-32602, f"_meta has no {PREFIX}protocolVersion.")
        if asked != REVISION:
            raise Refused(-32022, "This revision is not spoken here.", {"supported": supported, "requested": asked})
        if not isinstance(meta.get(PREFIX + "clientCapabilities"), dict):
            raise Refused(-32602, f"_meta has no {PREFIX}clientCapabilities.")

    def _answer(self, request: Request, method: str) -> None:
        try:
            result = self._result(request, method)
        except Refused as refused:
            message = wire.failure(request.id, raw(refused.error()))
        except Exception:  # whatever a caller sends, it gets an answer
            message = wire.failure(request.id, raw(Refused(-32603, "The server failed.").error()))
        else:
            message = wire.reply(request.id, raw(result))
        self._running.pop(request.id, None)
        if not request.cancelled.is_set():
            self.send(message)

    def _result(self, request: Request, method: str) -> Json:
        house, params = self.restaurant, request.params
        match method:
            case "server/discover":
                result: Json = {"supportedVersions": [REVISION], "capabilities": house.CAPABILITIES}
                result["instructions"] = house.INSTRUCTIONS
            case "tools/list":
                result = {"tools": house.tools()}
            case "tools/call":
                result = house.call(str(params.get("name")), object_in(params, "arguments"), request)
            case "prompts/list":
                result = {"prompts": house.PROMPTS}
            case "prompts/get":
                result = house.prompt(str(params.get("name")), object_in(params, "arguments"))
            case "resources/list":
                result = {"resources": house.RESOURCES}
            case "resources/templates/list":
                result = {"resourceTemplates": house.TEMPLATES}
            case "resources/read":
                result = house.read(str(params.get("uri")))
            case "completion/complete":
                result = house.complete(object_in(params, "ref"), object_in(params, "argument"))
            case _:
                raise Refused(-32601, "This server does not have this method.")
        caching = {"ttlMs": 0, "cacheScope": "private"} if method in CACHED else {}
        return {"resultType": "complete", **result, **caching, "_meta": {PREFIX + "serverInfo": INFO}}

    def _cancel(self, frame: Frame) -> None:
        id = encoded(_params(frame).get("requestId"))
        self._listening.pop(id, None)
        if request := self._running.get(id):
            request.cancelled.set()

    # ------------------------------------------------------------------ changes

    def _listen(self, request: Request) -> None:
        if "notifications" not in request.params:
            raise Refused(-32602, "notifications is missing: it says which changes are wanted.")
        wanted = object_in(request.params, "notifications")
        names = [f"{what}ListChanged" for what in CHANGES]
        granted: Json = {name: True for name in names if wanted.get(name) is True}
        if uris := wanted.get("resourceSubscriptions"):
            granted["resourceSubscriptions"] = uris
        self._listening[request.id] = granted
        self._tell(request.id, "notifications/subscriptions/acknowledged", {"notifications": granted})

    def changed(self, what: str) -> None:
        for id, granted in list(self._listening.items()):
            if granted.get(f"{what}ListChanged"):
                self._tell(id, f"notifications/{what}/list_changed", {})

    def updated(self, uri: str) -> None:
        for id, granted in list(self._listening.items()):
            if uri in granted.get("resourceSubscriptions", ()):
                self._tell(id, "notifications/resources/updated", {"uri": uri})

    def _tell(self, id: bytes, method: str, params: Json) -> None:
        self.send(wire.notice(method, encoded({"_meta": {PREFIX + "subscriptionId": Raw(id)}, **params})))

    # ------------------------------------------------------------------ state that travels with the client

    def seal(self, state: Json) -> str:
        """`state` as text that only this process can have written."""
        body = encoded(state)
        return base64.urlsafe_b64encode(self._mark(body) + body).decode()

    def unseal(self, sealed: object) -> Json:
        """
        Raises:
            Refused: another process wrote it, or somebody changed it.
        """
        try:
            data = base64.urlsafe_b64decode(str(sealed))
        except ValueError:
            data = b""
        mark, body = data[:32], data[32:]
        if not hmac.compare_digest(mark, self._mark(body)):
            raise Refused(-32602, "This requestState was not written by this server.")
        return value_of(body)

    def _mark(self, body: bytes) -> bytes:
        return hmac.digest(self._secret, body, "sha256")


def _params(frame: Frame) -> Json:
    try:
        value: Any = value_of(frame.params) if frame.params is not UNSET else {}
    except (DecodeError, RecursionError):
        return {}
    return cast("Json", value) if isinstance(value, dict) else {}


def main() -> None:
    """Serve standard input and output until the input ends."""
    out = sys.stdout.buffer

    def write(message: bytes) -> None:
        out.write(message + b"\n")
        out.flush()

    server = Server(write)
    try:
        for line in sys.stdin.buffer:
            if not line.isspace():
                server.receive(line)
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # whoever started us has left
    server.close()


if __name__ == "__main__":
    main()
