"""A tiny server of revision 2026-07-28 that does what a test asks of it; the standard library only, for a fast start.

Options say how it lives (see `OPTIONS`), the name of a called tool says what it does (see `TOOLS`). Nothing here is
careful: it writes the bytes that it is told to write, and blocks when nobody reads them.
"""

from __future__ import annotations

import heapq
import json
import os
import random
import select
import signal
import subprocess
import sys
import time

TYPE_CHECKING = False  # `typing` takes longer to load than all the rest
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

REVISION = "2026-07-28"
META = "io.modelcontextprotocol/"
OPTIONS = {"--record", "--life", "--stderr", "--banner", "--capabilities", "--after-end"}
FLAGS = {"--crlf", "--mute", "--ignore-end", "--ignore-term", "--grandchild"}
BLOCK = 1 << 16


class Server:
    def __init__(self, options: dict[str, str]) -> None:
        self.options = options
        self.line_end = b"\r\n" if "--crlf" in options else b"\n"
        self.held: list[tuple[int, str]] = []
        self.listening: list[int] = []
        self.later: list[tuple[float, int, dict[str, Any]]] = []
        self.gathered: list[tuple[int, str]] = []
        self.record = os.open(options["--record"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    # ------------------------------------------------------------------ writing

    def put(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]

    def say(self, *frames: dict[str, Any]) -> None:
        self.put(b"".join(encoded(frame) + self.line_end for frame in frames))

    def result(self, id: int, **members: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", **members}}

    def text(self, id: int, text: str) -> dict[str, Any]:
        return self.result(id, content=[{"type": "text", "text": text}])

    def lived(self, what: str) -> None:
        """Leave a trace of our own life: `WHAT PID TIME`."""
        with open(self.options["--life"], "a") as file:
            file.write(f"{what} {os.getpid()} {time.monotonic()}\n")

    # ------------------------------------------------------------------ life

    def run(self) -> None:
        if "--ignore-term" in self.options:
            signal.signal(signal.SIGTERM, self.terminated)
        if "--grandchild" in self.options:
            own = ["--record", self.options["--record"], "--life", self.options["--life"]]
            words = [sys.executable, "-S", "-E", __file__, "--ignore-end", "--ignore-term", *own]
            subprocess.Popen(words, stdin=subprocess.DEVNULL)
        self.lived("started")
        if "--stderr" in self.options:
            flood(int(self.options["--stderr"]))
        if "--banner" in self.options:
            self.put(self.options["--banner"].encode("latin-1"))
        rest = b""
        while data := self.read():
            *lines, rest = (rest + data).split(b"\n") if b"\n" in data else ([rest + data])
            for line in lines:
                os.write(self.record, line + b"\n")
                if "--mute" not in self.options:
                    self.receive(json.loads(line))
        self.lived("end")
        time.sleep(float(self.options.get("--after-end", 0)))
        self.lived("finished")
        while "--ignore-end" in self.options:
            signal.pause()

    def terminated(self, number: int, frame: object) -> None:
        self.lived("term")

    def read(self) -> bytes:
        while True:
            wait = max(0, self.later[0][0] - time.monotonic()) if self.later else None
            if wait is None or select.select([0], [], [], wait)[0]:
                return os.read(0, 1 << 20)
            self.say(heapq.heappop(self.later)[2])

    # ------------------------------------------------------------------ the protocol

    def receive(self, frame: dict[str, Any]) -> None:
        method = frame.get("method")
        id: Any = frame.get("id")
        params: dict[str, Any] = frame.get("params", {})
        if method == "server/discover":
            given = json.loads(self.options.get("--capabilities", '{"tools": {}}'))
            self.say(self.result(id, supportedVersions=[REVISION], capabilities=given, ttlMs=0, cacheScope="public"))
        elif method == "subscriptions/listen":
            self.listening.append(id)
            meta = {META + "subscriptionId": id}
            self.notice("subscriptions/acknowledged", _meta=meta, notifications=params["notifications"])
        elif method == "tools/list":
            tools = [
                {"name": "echo", "title": "Echo", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}
            ]
            self.say(self.result(id, tools=tools, ttlMs=0, cacheScope="public"))
        elif method == "tools/call":
            TOOLS[params["name"]](self, id, params, **params.get("arguments", {}))
        elif id is not None:
            self.say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})

    def notice(self, method: str, **params: Any) -> None:
        self.say({"jsonrpc": "2.0", "method": "notifications/" + method, "params": params})


def encoded(frame: dict[str, Any]) -> bytes:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def flood(size: int) -> None:
    line = b"the server has much to say on its standard error\n"
    os.write(2, (line * (size // len(line) + 1))[:size])


# ---------------------------------------------------------------------- the tools


def echo(server: Server, id: int, params: dict[str, Any], text: str = "", **_: Any) -> None:
    server.say(server.text(id, text))


def big(server: Server, id: int, params: dict[str, Any], size: int) -> None:
    server.say(server.text(id, "x" * size))


def raw(server: Server, id: int, params: dict[str, Any], data: str, piece: int = 0, exit: int | None = None) -> None:
    """Write these bytes, with the id in place of `$ID` and those of held calls in place of `$HELD0`, `$HELD1` …"""
    out = data.encode("latin-1").replace(b"$ID", b"%d" % id)
    for place, (held, _) in enumerate(server.held):
        out = out.replace(b"$HELD%d" % place, b"%d" % held)
    if piece:
        for start in range(0, len(out), piece):
            server.put(out[start : start + piece])
    else:
        server.put(out)
    if exit is not None:
        os._exit(exit)


def hold(server: Server, id: int, params: dict[str, Any], text: str = "", **_: Any) -> None:
    server.held.append((id, text))


def release(server: Server, id: int, params: dict[str, Any], **_: Any) -> None:
    server.say(*(server.text(held, text) for held, text in server.held), server.text(id, "released"))
    server.held = []


def gather(server: Server, id: int, params: dict[str, Any], count: int, text: str) -> None:
    """Answer nothing until `count` of these calls are here, then all of them in random order."""
    server.gathered.append((id, text))
    if len(server.gathered) == count:
        random.Random(7).shuffle(server.gathered)
        server.say(*(server.text(held, text) for held, text in server.gathered))


def delayed(server: Server, id: int, params: dict[str, Any], seconds: float) -> None:
    heapq.heappush(server.later, (time.monotonic() + seconds, id, server.text(id, "late")))


def complain(server: Server, id: int, params: dict[str, Any], size: int = 0, data: str = "") -> None:
    """Write to standard error before the answer: so many bytes, or these."""
    if size:
        flood(size)
    os.write(2, data.encode("latin-1"))
    server.say(server.text(id, "complained"))


def die(server: Server, id: int, params: dict[str, Any], code: int) -> None:
    os._exit(code)


def progress(server: Server, id: int, params: dict[str, Any], count: int, size: int) -> None:
    """So many notifications of about that size, then the answer."""
    token = params["_meta"]["progressToken"]
    for number in range(1, count + 1):
        server.notice("progress", progressToken=token, progress=number, message="p" * size)
    server.say(server.text(id, "progressed"))


def change(server: Server, id: int, params: dict[str, Any]) -> None:
    """A change of the list of tools, and in the same write the answer."""
    event = {"_meta": {META + "subscriptionId": server.listening[-1]}}
    notice = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": event}
    server.say(notice, server.text(id, "changed"))


def long_line(server: Server, id: int, params: dict[str, Any], size: int, head: str = "", tail: str = "") -> None:
    """A line with so many bytes between head and tail, written as it is made; then an answer, unless that was it."""
    server.put(head.replace("$ID", str(id)).encode())
    for start in range(0, size, BLOCK):
        server.put(b"a" * min(BLOCK, size - start))
    server.put(tail.replace("$ID", str(id)).encode() + b"\n")
    if "$ID" not in head + tail:
        server.say(server.text(id, "still here"))


def ask(server: Server, id: int, params: dict[str, Any]) -> None:
    """Ask the user for a name first, and answer with what came."""
    if "inputResponses" in params:
        server.say(server.text(id, json.dumps(params["inputResponses"])))
        return
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    question = {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "Who?", "requestedSchema": schema},
    }
    answer = {"resultType": "input_required", "inputRequests": {"who": question}, "requestState": "s"}
    server.say({"jsonrpc": "2.0", "id": id, "result": answer})


def argv(server: Server, id: int, params: dict[str, Any]) -> None:
    """The words behind our own options, as hexadecimal digits of their bytes."""
    server.say(server.text(id, " ".join(os.fsencode(word).hex() or "-" for word in sys.argv[1:])))


def structure(server: Server, id: int, params: dict[str, Any]) -> None:
    server.say(server.result(id, content=[{"type": "text", "text": "{}"}], structuredContent={"n": 1}))


TOOLS: dict[str, Callable[..., None]] = {
    work.__name__: work
    for work in (
        echo, big, raw, hold, release, gather, delayed, complain, die, progress, change, long_line, ask, argv, structure
    )
}  # fmt: skip


def main() -> None:
    options: dict[str, str] = {}
    words = sys.argv[1:]
    while words:
        word = words.pop(0)
        if word in OPTIONS:
            options[word] = words.pop(0)
        elif word in FLAGS:
            options[word] = ""
        else:
            break  # the rest is only there to be told by `argv`
    Server(options).run()


main()
