"""The real command as a listener, and a client that speaks HTTP to it."""

import http.client
import json
import re
import signal
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self
from urllib.parse import urlsplit

from support import official
from support.listener import BOTH, MODERN, VERSION, mirrored
from support.processes import WAIT, Bridge, eventually

PLACE = "http://127.0.0.1:0/mcp"


class Listening(Bridge):
    """One run of the command with `--listen`."""

    def __init__(
        self, command: Sequence[str | bytes], *options: str, target: str = PLACE, env: dict[str, str] | None = None
    ) -> None:
        """Without a command, the options name the server."""
        super().__init__((), words=("--listen", target, *options, *(("--", *command) if command else ())), env=env)
        self._url = ""

    @property
    def url(self) -> str:
        """Where it listens, which its log says."""
        if not self._url:
            found = eventually("it listens", lambda: re.search(rb"listens on (\S+)\n", self.stderr))
            self._url = found[1].decode()
        return self._url

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; gives the exit code."""
        assert self.url
        self.signal(number)
        return self.wait()

    def client(self) -> "Client":
        return Client(self.url)

    def connection(self) -> socket.socket:
        """A connection for bytes that a client would not write."""
        parts = urlsplit(self.url)
        return socket.create_connection((parts.hostname, parts.port or 0), timeout=WAIT)


class Client:
    """A client with one connection. What it gets is checked against the schema of its revision."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._path = parts.path
        self._http = http.client.HTTPConnection(parts.hostname, parts.port, timeout=WAIT)
        self.session: dict[str, str] = {}
        self.revision = MODERN
        self.status = 0
        self.headers: dict[str, str] = {}
        self.before: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def post(self, message: Any, **headers: str) -> Any:
        """The answer to a message; what comes before it on a stream is kept in `before`."""
        given = {"Content-Type": "application/json", "Accept": BOTH, **self.session}
        modern = VERSION in message.get("params", {}).get("_meta", {})
        if modern:
            given |= mirrored(message)
        self._http.request("POST", self._path, json.dumps(message), {**given, **headers})
        response = self._http.getresponse()
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        session = response.getheader("mcp-session-id")
        if session is not None:
            self.session = {"mcp-session-id": session}
        body = response.read()
        if response.getheader("content-type") == "text/event-stream":
            found = [line.removeprefix(b"data: ") for line in body.split(b"\n") if line.startswith(b"data: ")]
            frames = [json.loads(data) for data in found if data]
        else:
            frames = [json.loads(body)] if body else []
        for frame in frames:
            if "serverInfo" in frame.get("result", {}):
                self.revision = frame["result"]["protocolVersion"]
            official.check_frame(MODERN if modern else self.revision, frame, message.get("method"))
        self.before = frames[:-1]
        return frames[-1] if frames else None

    def later(self, message: Any) -> "Later":
        """The same in a thread of its own, so that the test can go on."""
        return Later(self, message)


class Later:
    """An answer that is still to come."""

    def __init__(self, client: Client, message: Any) -> None:
        self._found: list[Any] = []
        self._thread = threading.Thread(target=self._run, args=(client, message), daemon=True)
        self._thread.start()

    def _run(self, client: Client, message: Any) -> None:
        with suppress(OSError, http.client.HTTPException):  # it is missed below
            self._found.append(client.post(message))

    def answer(self) -> Any:
        self._thread.join(WAIT)
        assert self._found, "the connection ended without an answer"
        return self._found[0]
