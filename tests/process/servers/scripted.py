"""A tiny server of revision 2026-07-28 that does what a test asks of it; the standard library only, for a fast start.

Options say how it lives (see `OPTIONS`), the name of a called tool says what it does (see `TOOLS`). Nothing here is
careful: it writes the bytes that it is told to write, and blocks when nobody reads them.
"""

import heapq
import json
import os
import random
import select
import signal
import subprocess
import sys
import time

REVISION = "2026-07-28"
META = "io.modelcontextprotocol/"
OPTIONS = {"--record", "--life", "--stderr", "--banner", "--capabilities", "--after-end"}
FLAGS = {"--crlf", "--mute", "--ignore-end", "--ignore-term", "--grandchild"}
BLOCK = 1 << 16


class Server:
    def __init__(self, options):
        self.options = options
        self.line_end = b"\r\n" if "--crlf" in options else b"\n"
        self.held = []
        self.listening = []
        self.later = []
        self.gathered = []
        self.record = (
            os.open(options["--record"], os.O_WRONLY | os.O_APPEND | os.O_CREAT) if "--record" in options else None
        )

    # ------------------------------------------------------------------ writing

    def put(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]

    def say(self, *frames):
        self.put(b"".join(encoded(frame) + self.line_end for frame in frames))

    def result(self, id, **members):
        return {"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", **members}}

    def text(self, id, text):
        return self.result(id, content=[{"type": "text", "text": text}])

    def lived(self, what):
        """Leave a trace of our own life: `WHAT PID TIME`."""
        if "--life" in self.options:
            with open(self.options["--life"], "a") as file:
                file.write(f"{what} {os.getpid()} {time.monotonic()}\n")

    # ------------------------------------------------------------------ life

    def run(self):
        if "--ignore-term" in self.options:
            signal.signal(signal.SIGTERM, lambda *_: self.lived("term"))
        if "--grandchild" in self.options:
            words = [
                sys.executable,
                "-S",
                "-E",
                __file__,
                "--ignore-end",
                "--ignore-term",
                "--life",
                self.options["--life"],
            ]
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
                if self.record is not None:
                    os.write(self.record, line + b"\n")
                if "--mute" not in self.options:
                    self.receive(json.loads(line))
        self.lived("end")
        time.sleep(float(self.options.get("--after-end", 0)))
        self.lived("finished")
        while "--ignore-end" in self.options:
            signal.pause()

    def read(self):
        while True:
            wait = max(0, self.later[0][0] - time.monotonic()) if self.later else None
            if wait is None or select.select([0], [], [], wait)[0]:
                return os.read(0, 1 << 20)
            self.say(heapq.heappop(self.later)[2])

    # ------------------------------------------------------------------ the protocol

    def receive(self, frame):
        method, id, params = frame.get("method"), frame.get("id"), frame.get("params", {})
        if method == "server/discover":
            given = json.loads(self.options.get("--capabilities", '{"tools": {"listChanged": true}}'))
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

    def notice(self, method, **params):
        self.say({"jsonrpc": "2.0", "method": "notifications/" + method, "params": params})


def encoded(frame):
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def flood(size):
    line = b"the server has much to say on its standard error\n"
    os.write(2, (line * (size // len(line) + 1))[:size])


# ---------------------------------------------------------------------- the tools


def echo(server, id, params, text="", **_):
    server.say(server.text(id, text))


def big(server, id, params, size):
    server.say(server.text(id, "x" * size))


def raw(server, id, params, data, piece=0, exit=None):
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


def hold(server, id, params, text="", **_):
    server.held.append((id, text))


def release(server, id, params, **_):
    server.say(*(server.text(held, text) for held, text in server.held), server.text(id, "released"))
    server.held = []


def gather(server, id, params, count, text):
    """Answer nothing until `count` of these calls are here, then all of them in random order."""
    server.gathered.append((id, text))
    if len(server.gathered) == count:
        random.Random(7).shuffle(server.gathered)
        server.say(*(server.text(held, text) for held, text in server.gathered))


def delayed(server, id, params, seconds):
    heapq.heappush(server.later, (time.monotonic() + seconds, id, server.text(id, "late")))


def complain(server, id, params, size=0, data=""):
    """Write to standard error before the answer: so many bytes, or these."""
    if size:
        flood(size)
    os.write(2, data.encode("latin-1"))
    server.say(server.text(id, "complained"))


def die(server, id, params, code):
    os._exit(code)


def progress(server, id, params, count, size):
    """So many notifications of about that size, then the answer."""
    token = params["_meta"]["progressToken"]
    for number in range(1, count + 1):
        server.notice("progress", progressToken=token, progress=number, message="p" * size)
    server.say(server.text(id, "progressed"))


def change(server, id, params):
    """A change of the list of tools, and in the same write the answer."""
    event = {"_meta": {META + "subscriptionId": server.listening[-1]}}
    notice = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": event}
    server.say(notice, server.text(id, "changed"))


def long_line(server, id, params, size, head="", tail=""):
    """A line of about that size, written as it is made, then the answer unless the line was one."""
    server.put(head.replace("$ID", str(id)).encode())
    for _ in range(size // BLOCK):
        server.put(b"a" * BLOCK)
    server.put(tail.replace("$ID", str(id)).encode() + b"\n")
    if "$ID" not in head + tail:
        server.say(server.text(id, "still here"))


def ask(server, id, params):
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


def argv(server, id, params):
    """The words behind our own options, as hexadecimal digits of their bytes."""
    server.say(server.text(id, " ".join(os.fsencode(word).hex() or "-" for word in sys.argv[1:])))


def structure(server, id, params):
    server.say(server.result(id, content=[{"type": "text", "text": "{}"}], structuredContent={"n": 1}))


TOOLS = {
    work.__name__: work
    for work in (
        echo, big, raw, hold, release, gather, delayed, complain, die, progress, change, long_line, ask, argv, structure
    )
}  # fmt: skip


def main():
    options, words = {}, sys.argv[1:]
    while words:
        word = words.pop(0)
        if word in OPTIONS:
            options[word] = words.pop(0)
        elif word in FLAGS:
            options[word] = True
        else:
            break  # the rest is only there to be told by `argv`
    Server(options).run()


main()
