"""A client of revision 2025-11-25, as simple as one can be: it starts its server as a child and speaks lines to it.

It knows nothing of the bridge, and nothing of any newer revision.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from subprocess import PIPE, Popen, TimeoutExpired
from threading import Thread
from typing import IO, Any

from msgspec import DecodeError

from dragoman.wire.members import encoded, value_of

Json = dict[str, Any]

PATIENCE = 20.0  # seconds for any one message; everything is on this machine


class Unexpected(Exception):
    """Something did not happen as it should; the text is a sentence."""


class Client:
    """`answer` is asked for the result of each question of the server, by its method and params."""

    def __init__(self, command: list[str], answer: Callable[[str, Json], Json], stderr: IO[bytes]) -> None:
        self._answer = answer
        self._heard: deque[Json] = deque()
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._count = 0
        self._child = Popen(command, stdin=PIPE, stdout=PIPE, stderr=stderr)
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def request(self, method: str, params: Json) -> Json:
        """Send a request, answer what is asked meanwhile, and give the result."""
        self._count += 1
        id = self._count
        self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        while True:
            message = self._next(f"an answer to {method}")
            if "method" not in message and message.get("id") == id:
                if "result" in message:
                    return message["result"]
                raise Unexpected(f"{method} failed: {message['error']['message']}")

    def notify(self, method: str) -> None:
        self._send({"jsonrpc": "2.0", "method": method})

    def hear(self, method: str) -> Json:
        """The params of the next notification of that method, perhaps one that came already."""
        while True:
            for message in self._heard:
                if message["method"] == method:
                    self._heard.remove(message)
                    return message.get("params", {})
            self._next(method)

    def leave(self) -> int:
        """Close the conversation as clients do, by ending the input; gives the exit code of what was started."""
        self._end_input()
        try:
            return self._child.wait(PATIENCE)
        except TimeoutExpired:
            raise Unexpected("What the client started did not end with its input.") from None

    def close(self) -> None:
        """End what still runs, however it is."""
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()
        self._end_input()
        self._reader.join()

    def _end_input(self) -> None:
        assert self._child.stdin is not None
        with suppress(OSError):  # the other end may be gone already
            self._child.stdin.close()

    def _next(self, wanted: str) -> Json:
        try:
            line = self._lines.get(timeout=PATIENCE)
        except Empty:
            raise Unexpected(f"The client waited {PATIENCE:g} s for {wanted}, and nothing came.") from None
        if line is None:
            raise Unexpected(f"The other side ended while the client waited for {wanted}.")
        try:
            message: Json = value_of(line)
        except DecodeError:
            raise Unexpected("The client was sent a line that is no JSON.") from None
        if "method" in message and "id" in message:
            result = self._answer(message["method"], message.get("params", {}))
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        elif "method" in message:
            self._heard.append(message)
        return message

    def _send(self, message: Json) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(encoded(message) + b"\n")
            self._child.stdin.flush()
        except OSError:
            raise Unexpected("The other side has ended.") from None

    def _read(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as output:
            for line in output:
                self._lines.put(line)
        self._lines.put(None)
