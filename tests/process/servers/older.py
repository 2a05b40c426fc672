"""A tiny server of revision 2025-11-25 on stdio, and what such servers do with a request that they do not know.

`--at-discover` says what that is: `error`, `exit`, `error-exit` or `ignore`. With `--lock FILE` the server owns that
file, and ends at once when another process does. `--slow SECONDS` is what it needs to start. With `--complains MANNER`
it says on standard error that it starts, and what it thinks of such a request. The standard library only.

Every tool says the number of the process, except for these: `ask` asks for a form and says what became of it, `client`
says what the client declared, and `die` ends the process.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REVISION = "2025-11-25"
FORM = {"message": "?", "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}}}

COMPLAINTS = {
    "shortly": b"WARNING unknown method 'server/discover'\n",
    "at-length": b"WARNING Failed to validate request: 94 validation errors for ClientRequest\n"
    + b"PingRequest.method\n  Input should be 'ping' [type=literal_error, input_value='server/discover']\n" * 94,
}


def say(**members: Any) -> None:
    os.write(1, json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")


def tell(id: object, text: str) -> None:
    say(id=id, result={"content": [{"type": "text", "text": text}]})


def main() -> None:
    options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))

    def lived(what: str) -> None:
        with open(options["--life"], "a") as file:
            file.write(f"{what} {os.getpid()} {time.monotonic()}\n")

    lived("started")
    if "--lock" in options:
        lock = os.open(options["--lock"], os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lived("locked-out")
            sys.exit(9)
    time.sleep(float(options.get("--slow", 0)))
    if "--complains" in options:
        os.write(2, b"older starts\n")
    record = os.open(options["--record"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    at_discover = options.get("--at-discover", "error")
    declared: object = None
    waiting: dict[str, object] = {}
    for line in iter(sys.stdin.buffer.readline, b""):
        os.write(record, line)
        frame = json.loads(line)
        method, id = frame.get("method"), frame.get("id")
        if method == "initialize":
            info, declared = {"name": "older", "version": "1"}, frame["params"]["capabilities"]
            say(id=id, result={"protocolVersion": REVISION, "capabilities": {"tools": {}}, "serverInfo": info})
        elif method == "tools/call" and frame["params"]["name"] == "ask":
            waiting[f"question of {id}"] = id
            say(id=f"question of {id}", method="elicitation/create", params=FORM)
        elif method == "tools/call" and frame["params"]["name"] == "die":
            sys.exit(3)
        elif method == "tools/call":
            tell(id, json.dumps(declared) if frame["params"]["name"] == "client" else str(os.getpid()))
        elif method is None and id in waiting:
            tell(waiting.pop(id), frame.get("result", {}).get("action", "error"))
        elif id is not None:
            if "--complains" in options:
                os.write(2, COMPLAINTS[options["--complains"]])
            if at_discover.startswith("error"):
                say(id=id, error={"code": -32601, "message": "Method not found"})
            if at_discover.endswith("exit"):
                lived("ended-by-discover")
                sys.exit(1)
    lived("end")


main()
