"""A client without any SDK on a pipe, of either era, which answers whatever a server asks."""

import json
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]

NAMESPACE = "io.modelcontextprotocol/"
NEWEST = "2026-07-28"
CAPABILITIES: Json = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}
CLIENT = {"name": "pipe-client", "version": "1"}
ANSWERS: dict[str, Json] = {
    "roots/list": {"roots": []},
    "sampling/createMessage": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "fine"}},
    "elicitation/create": {"action": "decline"},
    "ping": {},
}


class Failed(Exception):
    """The server did not do its part, in words."""


class PipeClient:
    """One conversation with the server that `words` start; `revision` is the client's own.

    Use it as a context manager: it ends the process. `patience` is the seconds for one answer.
    """

    def __init__(
        self, words: Sequence[str], revision: str, env: Mapping[str, str] | None = None, patience: float = 60.0
    ) -> None:
        self._words = list(words)
        self._revision = revision
        self._env = env
        self._patience = patience
        self._number = 0
        self._heard: queue.Queue[Json | None] = queue.Queue()

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self._env
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def is_modern(self) -> bool:
        return self._revision == NEWEST

    def open(self) -> Json:
        """What the server says of itself: the result of `initialize`, or of `server/discover`.

        Raises:
            Failed: it says nothing, or an error.
        """
        if self.is_modern:
            answer = self.ask("server/discover")
        else:
            params = {"protocolVersion": self._revision, "capabilities": CAPABILITIES, "clientInfo": CLIENT}
            answer = self.ask("initialize", params)
            self._send({"method": "notifications/initialized"})
        if "result" not in answer:
            raise Failed(f"it could not be opened: {json.dumps(answer)[:200]}")
        return answer["result"]

    def ask(self, method: str, params: Json | None = None) -> Json:
        """The answer to one request, with the rounds of input that it takes.

        Raises:
            Failed: there is none in time.
        """
        more: Json = {}
        while True:
            answer = self._asked(method, {**(params or {}), **more})
            result: Json = answer.get("result") or {}
            if result.get("resultType") != "input_required":
                return answer
            wanted: Json = result.get("inputRequests") or {}
            more = {"inputResponses": {key: ANSWERS[one["method"]] for key, one in wanted.items()}}
            if "requestState" in result:
                more["requestState"] = result["requestState"]

    def _asked(self, method: str, params: Json) -> Json:
        self._number += 1
        number = self._number
        if self.is_modern:
            own = {"protocolVersion": NEWEST, "clientInfo": CLIENT, "clientCapabilities": CAPABILITIES}
            params = {"_meta": {NAMESPACE + name: value for name, value in own.items()}, **params}
        self._send({"id": number, "method": method, "params": params})
        while True:
            try:
                frame = self._heard.get(timeout=self._patience)
            except queue.Empty:
                raise Failed(f"{method}: no answer in {self._patience:g} s") from None
            if frame is None:
                raise Failed(f"{method}: the pipe was closed")
            if frame.get("id") == number and "method" not in frame:
                return frame
            if "id" in frame and "method" in frame:
                self._send({"id": frame["id"], "result": ANSWERS[frame["method"]]})

    def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise Failed("the pipe was closed") from None

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(ValueError):  # a banner; the bridge skips it too
                self._heard.put(json.loads(line))
        self._heard.put(None)
