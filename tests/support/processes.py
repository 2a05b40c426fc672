"""The real command in a process of its own, with a test as its client and a scripted server behind it.

`Bridge` starts it and speaks to it; whatever leaves it for the client is checked against the schema of the client's
revision as it is taken, and nothing may be answered twice. `Scripted` is the command line of the server in
`tests/process/servers/scripted.py`, and knows what that server received and how it lived. Every wait has an end: each
has its own limit, and a bridge that outlives its test's patience is killed, which ends all waits for it.
"""

import json
import os
import queue
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

from support import official

MODERN = "2026-07-28"
WAIT = 20.0  # seconds for one thing to happen, on a machine that does much else
PATIENCE = 60.0  # seconds that a bridge may live
LOG_NAME = "dragoman"
DRAGOMAN = (sys.executable, "-m", "dragoman")
SERVERS = Path(__file__).parents[1] / "process" / "servers"
SCRIPTED = SERVERS / "scripted.py"
OLDER = SERVERS / "older.py"
PROC = Path("/proc")

_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def as_at_a_terminal() -> None:
    """For a child that is to be interrupted: what runs in the background ignores SIGINT, and so do its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Closed(Exception):
    """The bridge's standard output has ended."""


def refuse_constant(text: str) -> Any:
    raise AssertionError(f"{text} is no JSON")


def parsed(line: bytes) -> Any:
    """The JSON value of a line, read strictly."""
    return json.loads(line.decode("utf-8"), parse_constant=refuse_constant)


def key_of(id: Any) -> str:
    """An id as a key that keeps 1, "1" and true apart."""
    return json.dumps(id)


def eventually(what: str, look: Callable[[], Any], within: float = WAIT) -> Any:
    """Wait until `look` gives something true, for the few things that nobody announces."""
    end = time.monotonic() + within
    while not (found := look()):
        assert time.monotonic() < end, f"not within {within} s: {what}"
        time.sleep(0.01)
    return found


def is_gone(pid: int, within: float = WAIT) -> bool:
    """Whether a process (of anybody) has ended, or does so in that time."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], within)[0])
    finally:
        os.close(watched)


def run(
    *words: str | bytes, stdin: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command with that command line until it ends by itself."""
    return subprocess.run([*DRAGOMAN, *words], input=stdin, capture_output=True, timeout=WAIT, check=False, env=env)


def initialize(
    revision: str = "2025-11-25", capabilities: dict[str, Any] | None = None, id: Any = "hello"
) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": id,
        "method": "initialize",
        "params": {
            "protocolVersion": revision,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "probe", "version": "1"},
        },
    }


def text_of(answer: Any) -> str:
    """The text of a tool's result."""
    assert "result" in answer, answer
    return str(answer["result"]["content"][0]["text"])


def cause_of(answer: Any) -> tuple[int, str]:
    """Code and cause of an error of the bridge."""
    assert "error" in answer, answer
    return answer["error"]["code"], answer["error"]["data"]["cause"]


def channel(sockets: bool) -> tuple[int, int]:
    """Two descriptors: what is written to the second is read from the first."""
    if not sockets:
        return os.pipe()
    reads, writes = socket.socketpair()
    reads.shutdown(socket.SHUT_WR)
    return reads.detach(), writes.detach()


class Bridge:
    """One run of the command. The members `frames` and `raw` hold all that came for the client, in order."""

    def __init__(
        self,
        command: Sequence[str | bytes],
        *options: str,
        words: Sequence[str | bytes] | None = None,
        env: dict[str, str] | None = None,
        reads: bool = True,
        reads_stderr: bool = True,
        first: bytes = b"",
        sockets: bool = False,
    ) -> None:
        """`words` replaces the whole command line; `first` is there to be read before the command starts.

        With `sockets` the standard streams are what a host written in Node gives, in place of pipes.
        """
        given: Sequence[str | bytes] = [*options, "--", *command] if words is None else words
        self.frames: list[Any] = []
        self.raw: list[bytes] = []
        self.revision = "2025-11-25"
        self._asked: dict[str, str] = {}
        self._answered: set[str] = set()
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._stderr = bytearray()
        self._stderr_ended = threading.Event()
        source, sink = channel(sockets)
        output, written = channel(sockets)
        if first:
            self.expect(first)
            os.write(sink, first)
        self.process = subprocess.Popen(
            [*DRAGOMAN, *given],
            stdin=source,
            stdout=written,
            stderr=subprocess.PIPE,
            env=env,
            start_new_session=True,
        )
        os.close(source)
        os.close(written)
        self.stdout: IO[bytes] = os.fdopen(output, "rb")
        self._stdin: IO[bytes] = os.fdopen(sink, "wb", buffering=0)
        self._ids = 1000
        self._watchdog = threading.Timer(PATIENCE, self.process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()
        if reads:
            self.read()
        if reads_stderr:
            self.read_stderr()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._stdin.close()
            if kind is None:
                self.process.wait(WAIT)
                self._check_rest()
        finally:
            self.kill()
            self._watchdog.cancel()
            for stream in (self.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()

    @property
    def pid(self) -> int:
        return self.process.pid

    # ------------------------------------------------------------------ speaking

    def send(self, *frames: Any) -> None:
        """Write these in one go: objects as lines, bytes as they are."""
        data = b"".join(
            frame if isinstance(frame, bytes) else json.dumps(frame, ensure_ascii=False).encode() + b"\n"
            for frame in frames
        )
        self.expect(data)
        view = memoryview(data)
        while view:
            view = view[self._stdin.write(view) :]

    def request(self, id: Any, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    def notice(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": "notifications/" + method, "params": params})

    def call(self, id: Any, tool: str, **arguments: Any) -> None:
        self.send(call(id, tool, **arguments))

    def open(self, revision: str = "2025-11-25", capabilities: dict[str, Any] | None = None) -> Any:
        """The handshake; gives the result of initialize."""
        self.send(initialize(revision, capabilities))
        result = self.answer("hello")["result"]
        self.notice("initialized")
        return result

    def tool(self, name: str, **arguments: Any) -> Any:
        """Call a tool and wait for its answer."""
        self._ids += 1
        self.call(self._ids, name, **arguments)
        return self.answer(self._ids)

    def expect(self, data: bytes) -> None:
        """Remember which methods were asked, so that their results can be checked."""
        for line in data.split(b"\n"):
            with suppress(ValueError, RecursionError):
                frame = cast("dict[str, Any]", json.loads(line))
                if line.startswith(b"{") and "method" in frame and "id" in frame:
                    self._asked[key_of(frame["id"])] = str(frame["method"])
                    self._answered.discard(key_of(frame["id"]))

    # ------------------------------------------------------------------ hearing

    def receive(self, timeout: float = WAIT) -> Any:
        """The next frame for the client.

        Raises:
            Closed: there is none, and there will be none.
            AssertionError: it is not what its receiver may get, or did not come in time.
        """
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"nothing came for the client in {timeout} s; log: {self.stderr[-2000:]!r}") from None
        if not line:
            self._lines.put(b"")
            raise Closed(f"the standard output has ended; log: {self.stderr[-2000:]!r}")
        assert line.endswith(b"\n"), f"not a whole line: {line[-200:]!r}"
        assert not line.endswith(b"\r\n")
        frame = parsed(line)
        self.raw.append(line)
        self.frames.append(frame)
        self._check(frame, line)
        return frame

    def answer(self, id: Any, timeout: float = WAIT) -> Any:
        """The answer to that request; what comes before it is kept in `frames`."""
        key, end = key_of(id), time.monotonic() + timeout
        for frame in self.frames:
            if "method" not in frame and key_of(frame["id"]) == key:
                return frame
        while True:
            frame = self.receive(max(0.0, end - time.monotonic()))
            if "method" not in frame and key_of(frame["id"]) == key:
                return frame

    def question(self) -> Any:
        """The next request of the bridge to the client."""
        while True:
            frame = self.receive()
            if "method" in frame and "id" in frame:
                return frame

    def read(self) -> None:
        """Begin to read standard output."""
        threading.Thread(target=self._pump, args=(self.stdout,), daemon=True).start()

    def read_one(self) -> Any:
        """Read a single line of standard output, of a bridge that was started with `reads=False`."""
        self._lines.put(self.stdout.readline())
        return self.receive()

    def read_stderr(self) -> None:
        assert self.process.stderr is not None
        threading.Thread(target=self._pump_stderr, args=(self.process.stderr,), daemon=True).start()

    @property
    def stderr(self) -> bytes:
        return bytes(self._stderr)

    def says(self, text: bytes) -> None:
        """Wait until standard error has that text."""
        eventually(f"{text!r} on standard error", lambda: text in self._stderr)

    def log_lines(self) -> list[str]:
        """The lines on standard error that are the bridge's own."""
        lines = self.stderr.decode("utf-8", "replace").splitlines()
        return [line for line in lines if line.startswith(LOG_NAME + ": ")]

    # ------------------------------------------------------------------ ending

    def hang_up(self) -> None:
        """End the bridge's input."""
        self._stdin.close()

    def wait(self, timeout: float = WAIT) -> int:
        """The exit code, when it ends by itself."""
        code = self.process.wait(timeout)
        self._stderr_ended.wait(WAIT)
        return code

    def end(self, timeout: float = WAIT) -> int:
        self.hang_up()
        return self.wait(timeout)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def rest(self) -> list[Any]:
        """Everything that still comes until the end of the output."""
        found: list[Any] = []
        with suppress(Closed):
            while True:
                found.append(self.receive())
        return found

    # ------------------------------------------------------------------ measuring (Linux)

    def memory(self, what: str = "VmHWM") -> int:
        """Bytes that the process has in memory now (`VmRSS`), or had at its largest (`VmHWM`)."""
        status = (PROC / str(self.pid) / "status").read_text()
        found = re.search(rf"{what}:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) << 10

    def bytes_read(self) -> int:
        found = re.search(r"rchar: (\d+)", (PROC / str(self.pid) / "io").read_text())
        assert found is not None
        return int(found[1])

    # ------------------------------------------------------------------ plumbing

    def _check(self, frame: Any, line: bytes) -> None:
        if "method" not in frame and frame["id"] is not None:
            key = key_of(frame["id"])
            assert key not in self._answered, f"a second answer: {line[:500]!r}"
            self._answered.add(key)
        if "protocolVersion" in frame.get("result", {}):
            self.revision = frame["result"]["protocolVersion"]
        method = self._asked.get(key_of(frame.get("id")))
        official.check_frame(self.revision, json.loads(_HALF_PAIR.sub(rb"\\ufffd", line)), method)

    def _check_rest(self) -> None:
        if self._lines.qsize():
            self.rest()

    def _pump(self, stream: IO[bytes]) -> None:
        with suppress(ValueError, OSError):
            for line in stream:
                self._lines.put(line)
        self._lines.put(b"")

    def _pump_stderr(self, stream: IO[bytes]) -> None:
        with suppress(ValueError, OSError):
            while data := os.read(stream.fileno(), 1 << 16):
                self._stderr += data
        self._stderr_ended.set()


def call(id: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@dataclass(frozen=True)
class Trace:
    """One line that a scripted server left about its life."""

    what: str
    pid: int
    time: float


class Scripted:
    """The command of a scripted server, whose traces are files in `folder`. `script` is which one it is."""

    def __init__(self, folder: Path, *options: str, script: Path = SCRIPTED) -> None:
        self.record = folder / "received.jsonl"
        self.life = folder / "life.txt"
        files = ("--record", str(self.record), "--life", str(self.life))
        self.command = (sys.executable, "-S", "-E", str(script), *files, *options)

    def lines(self) -> list[bytes]:
        """The lines that the server received, as bytes."""
        return self.record.read_bytes().split(b"\n")[:-1] if self.record.exists() else []

    def received(self, method: str | None = None) -> list[Any]:
        """The frames that the server received, each valid in its revision."""
        frames = [parsed(line) for line in self.lines()]
        revision = MODERN
        for frame in frames:
            if frame.get("method") == "initialize":
                revision = frame["params"]["protocolVersion"]
            elif frame.get("method") == "server/discover":
                revision = MODERN
            official.check_frame(revision, frame, None if "method" in frame else "elicitation/create")
        return [frame for frame in frames if method is None or frame.get("method") == method]

    def traces(self, what: str) -> list[Trace]:
        return [trace for trace in self._traces() if trace.what == what]

    def pids(self) -> list[int]:
        return [trace.pid for trace in self.traces("started")]

    def sweep(self) -> list[int]:
        """End what is left of this server; gives what was left."""
        left = [pid for pid in self.pids() if not is_gone(pid, 1)]
        for pid in left:
            with suppress(OSError):
                if os.fsencode(self.life) in (PROC / str(pid) / "cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
        return left

    def _traces(self) -> Iterator[Trace]:
        if self.life.exists():
            for line in self.life.read_text().splitlines():
                what, pid, moment = line.split()
                yield Trace(what, int(pid), float(moment))
