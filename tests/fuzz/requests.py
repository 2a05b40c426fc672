"""HTTP requests with mutations, of clients of both eras, to a listener in this process.

Each gets one response with a status that has a meaning, never that of a fault; a body is strict JSON, or events of it,
in which no id is answered twice; what was not mutated is served.
"""

import asyncio
import json
import random
from typing import Any

from dragoman.channel import Channel
from dragoman.limits import Limits
from dragoman.transports.upstream import Receiver
from fuzz.mutation import RUBBISH, mutated
from fuzz.played import check_envelope, strict
from support.asgi import Answer, called
from support.listener import BOTH, Clock, Listener, Server, call, initialize, mirrored, modern, notice, request

Json = dict[str, Any]

MEANT = frozenset({200, 202, 204, 400, 401, 403, 404, 405, 406, 409, 411, 413, 415, 503})
RATE = 0.8
VALUES = ("", " ", "*/*", "text/html", "é", "\x7f", "a" * 5000, "2025-11-25", "1999-01-01", "=?base64?!?=", "0", "null")
NAMES = ("accept", "content-type", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id")
METHODS = (
    "tools/list",
    "tools/call",
    "resources/read",
    "prompts/get",
    "completion/complete",
    "ping",
    "server/discover",
)


class Indulgent(Server):
    """Answers every request with something, whatever it is; what it is sent need not be of a schema."""

    def open(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel:
        self.running = False  # another one may take its place
        return super().open(receiver, loop, limits)

    def send(self, frames: list[bytes], /) -> None:
        for data in frames:
            frame = strict(data)
            check_envelope(frame)
            self.frames.append(frame)
            asyncio.get_running_loop().call_soon(self._take, frame)


def obliging(server: Server, frame: Json) -> None:
    if "id" not in frame or "method" not in frame:
        return
    found: Json = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": server.offers},
        "initialize": {
            "protocolVersion": server.revision,
            "capabilities": server.offers,
            "serverInfo": {"name": "upstream", "version": "1"},
        },
    }
    server.answer(frame, **found.get(frame["method"], {"content": [], "tools": [], "contents": [], "messages": []}))


class Site:
    """One listener with a session of an older client."""

    def __init__(self, handshake: str | None) -> None:
        offers: Json = {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}
        self.listener = Listener(Indulgent(obliging, **offers), handshake=handshake)
        self.listener.kind, self.listener.script, self.listener.offers = Indulgent, obliging, offers
        self.session = ""

    async def send(self, method: str, headers: dict[str, str], body: bytes) -> Answer:
        given = {"host": "127.0.0.1:8000", **headers}
        async with asyncio.timeout(60):
            return await called(self.listener.app, method, "/mcp", given, body, until=b"\n\n")

    async def open(self, revision: str) -> None:
        headers = {"accept": BOTH, "content-type": "application/json"}
        answer = await self.send("POST", headers, json.dumps(initialize(revision)).encode())
        assert answer.status == 200, answer
        self.session = answer.headers["mcp-session-id"]


def _message(rng: random.Random) -> tuple[Json, bool]:
    """A message and whether it is one of the newest revision."""
    method = rng.choice(METHODS)
    given: Json = {
        "tools/call": {"name": "echo", "arguments": {"text": "x"}},
        "resources/read": {"uri": "a:b"},
        "prompts/get": {"name": "p"},
        "completion/complete": {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "v"}},
    }
    is_modern = rng.random() < 0.5
    id = rng.choice((1, "a", 10**20))
    if method == "tools/call":
        message = call(id, text="x")
    elif rng.random() < 0.1:
        message = notice("cancelled", requestId=5) if not is_modern else request(id, method, **given.get(method, {}))
    else:
        message = request(id, method, **given.get(method, {}))
    return (modern(message), True) if is_modern and "id" in message else (message, False)


async def _play(rng: random.Random, site: Site, said: list[str]) -> None:
    message, is_modern = _message(rng)
    headers = {"accept": BOTH, "content-type": "application/json"}
    headers |= mirrored(message) if is_modern else {"mcp-session-id": site.session}
    body, verb = json.dumps(message).encode(), "POST"
    is_changed = rng.random() < RATE
    if is_changed:
        for _ in range(rng.choice((0, 0, 1, 2))):
            headers[rng.choice(NAMES)] = rng.choice(VALUES)
        if rng.random() < 0.8:
            body = mutated(rng, message) if rng.random() < 0.9 else rng.choice(RUBBISH)
        if rng.random() < 0.05:
            verb = rng.choice(("PUT", "OPTIONS", "HEAD", "BREW", "DELETE"))
    said.append(f"{verb} {headers} {body[:2000]!r}")
    answer = await site.send(verb, headers, body)
    said.append(f"{answer.status} {answer.headers} {answer.body[:2000]!r}")
    _check(answer, message, is_changed)
    if verb == "DELETE" and answer.status < 300:
        await site.open("2025-11-25")


def _check(answer: Answer, message: Json, is_changed: bool) -> None:
    assert answer.status in MEANT, f"HTTP status {answer.status}"
    kind = answer.headers.get("content-type", "")
    texts: list[bytes] = []
    if kind == "application/json":
        texts = [answer.body]
    elif kind == "text/event-stream":
        texts = [line[6:] for line in answer.body.split(b"\n") if line.startswith(b"data: ") and line[6:]]
    frames: list[Json] = []
    for text in texts:
        value = strict(text)
        frames += value if isinstance(value, list) else [value]
    for frame in frames:
        check_envelope(frame)
    answered = [json.dumps(frame["id"]) for frame in frames if "method" not in frame and frame["id"] is not None]
    assert len(answered) == len(set(answered)) or is_changed, "an id is answered twice"
    if not is_changed and "id" in message and message["method"] != "ping":
        assert [frame["id"] for frame in frames] == [message["id"]]
        assert answer.status == 200


async def _played(seed: str, first: int, count: int, raised: list[Any]) -> None:
    site: Site | None = None
    for number in range(first, first + count):
        rng = random.Random(f"{seed}:http:{number}")
        if site is None or number % 100 == 0:
            if site is not None:
                await site.listener.close(grace=0.01)
            site = Site(rng.choice((None, None, "2025-06-18")))
            await site.open(rng.choice(("2025-03-26", "2025-06-18", "2025-11-25")))
        said: list[str] = []
        try:
            await _play(rng, site, said)
            assert not raised, raised
            texts = "\n".join(site.listener.texts)
            assert "Error" not in texts, texts[-600:]  # the kind of an exception, in the line for a fault of ours
        except Exception as error:
            raise Broken(number, said) from error
    if site is not None:
        await site.listener.close(grace=0.01)


class Broken(Exception):
    def __init__(self, number: int, said: list[str]) -> None:
        super().__init__("\n".join((f"request {number}", *said)))


def play(seed: str, first: int, count: int) -> None:
    """Send requests with mutations, those of the numbers from `first` on.

    Raises:
        Broken: a response is not as it must be.
    """
    raised: list[Any] = []
    with asyncio.Runner(loop_factory=Clock) as runner:
        runner.get_loop().set_exception_handler(lambda _, context: raised.append(context))
        runner.run(_played(seed, first, count, raised))
