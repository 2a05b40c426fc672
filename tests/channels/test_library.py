"""The library face: a bridge in a program, for every kind of server and of transport, from its start to its end."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import pytest

import dragoman
from channels.scripted_http import Request, Script, played, served
from channels.scripted_kinds import DISCOVERED, TOOLS, Older, Oldest, modern
from dragoman.channel import Channel
from dragoman.faults import Cause
from dragoman.limits import Limits
from dragoman.transports.child import PipeLines
from dragoman.transports.http.server.authentication import Open
from dragoman.transports.upstream import Receiver
from support.asgi import called
from support.listener import BOTH, call, initialize, notice, request
from support.listening import Client
from support.processes import as_at_a_terminal
from support.proofs import proves

OWN_SERVER = f"{sys.executable} -m dragoman demo-server"
Transport = Literal["http-stateless", "http-session", "sse"]


async def used(url: str) -> list[str]:
    """The names of the tools that a client with a handshake is listed, page by page."""

    def conversation() -> list[str]:
        with Client(url) as client:
            assert client.post(initialize())["result"]["serverInfo"]["name"]
            client.post(notice("initialized"))
            names: list[str] = []
            cursor: dict[str, Any] = {}
            for id in range(1, 4):
                result = client.post(request(id, "tools/list", **cursor))["result"]
                names += [tool["name"] for tool in result["tools"]]
                if "nextCursor" not in result:
                    break
                cursor = {"cursor": result["nextCursor"]}
            return names

    return await asyncio.to_thread(conversation)


# ---------------------------------------------------------------------- every transport


@pytest.mark.parametrize(
    ("transport", "script"),
    [
        (None, modern),
        (None, Older()),
        (None, Oldest()),
        ("http-stateless", modern),
        ("http-session", Older()),
        ("sse", Oldest()),
    ],
    ids=["modern", "older", "oldest", "modern, said", "older, said", "oldest, said"],
)
def test_every_transport_to_a_url_can_be_the_servers_side(transport: Transport | None, script: Script) -> None:
    """BCLI-03 for the first three: the URL alone, and what is there is found out."""

    async def scene() -> None:
        async with (
            served(script) as server,
            dragoman.bridge(dragoman.Url(server.url, transport), listen=dragoman.Http()) as bridge,
        ):
            assert await used(bridge.url) == ["a", "b", "c"]

    played(scene)


@pytest.mark.parametrize("prefix", ["", "http-stateless:"])
def test_a_url_may_be_a_text_as_well(prefix: str) -> None:
    async def scene() -> None:
        async with (
            served(modern) as server,
            dragoman.bridge(prefix + server.url, listen="http://localhost:0/elsewhere") as bridge,
        ):
            assert bridge.url.endswith("/elsewhere")
            assert await used(bridge.url) == ["a", "b", "c"]

    played(scene)


@proves("REV-12")
@pytest.mark.process
@pytest.mark.parametrize("upstream", [OWN_SERVER, dragoman.Command(tuple(OWN_SERVER.split()))], ids=["text", "value"])
def test_a_command_is_started_and_ended(upstream: str | dragoman.Command) -> None:
    async def scene() -> None:
        async with dragoman.bridge(upstream, listen=dragoman.Http()) as bridge:
            assert "book_table" in await used(bridge.url)

    played(scene)


class Memory:
    """A server in this process, and the way to it: an `Upstream` and its `Channel` in one, without any wire."""

    fails_with = Cause.CONNECT_FAILED
    failure = "the server in this process cannot be used"
    is_remote = False
    backlog = 0

    def __init__(self, era: str) -> None:
        self.era = era
        self.heard: list[str] = []
        self.is_closed = False

    def open(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel:
        self.receiver, self.loop = receiver, loop
        return self

    def open_unused(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel | None:
        return None

    def send(self, frames: list[bytes], /) -> None:
        for frame in frames:
            message = json.loads(frame)
            self.heard.append(message["method"])
            if "id" in message:
                answer = {"jsonrpc": "2.0", "id": message["id"], **self.answer(message["method"])}
                lines: PipeLines = [json.dumps(answer).encode()]
                self.loop.call_soon(self.receiver.lines, lines)

    def answer(self, method: str) -> dict[str, Any]:
        known: dict[str, Any] = {
            "tools/list": {"tools": TOOLS, **({"resultType": "complete"} if self.era == "modern" else {})},
            "server/discover": {"resultType": "complete", **DISCOVERED},
            "initialize": {
                "protocolVersion": "2025-03-26",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "memory", "version": "1"},
            },
        }
        if method not in known or method == ("initialize" if self.era == "modern" else "server/discover"):
            return {"error": {"code": -32601, "message": "no such method"}}
        return {"result": known[method]}

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def kill(self) -> None: ...

    async def aclose(self) -> None:
        self.is_closed = True


@proves("BCLI-05")
@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("is_said", [True, False])
def test_a_transport_of_the_programs_own_can_be_the_servers_side(
    era: Literal["modern", "legacy"], is_said: bool
) -> None:
    made: list[Memory] = []

    def make() -> Memory:
        made.append(Memory(era))
        return made[-1]

    async def scene() -> None:
        way = dragoman.Way(make, era if is_said else None, "in-memory")
        async with dragoman.bridge(way, listen=dragoman.Http()) as bridge:
            assert await used(bridge.url) == ["a", "b", "c"]
        assert all(server.is_closed for server in made if server.heard)

    played(scene)
    heard = [method for server in made for method in server.heard]
    assert "tools/list" in heard
    assert ("initialize" in heard) is (era == "legacy")


def test_the_application_takes_the_same_values() -> None:
    async def scene() -> None:
        app = dragoman.asgi(dragoman.Way(lambda: Memory("modern"), "modern"), path="/here")
        headers = {"content-type": "application/json", "accept": BOTH, "host": "localhost"}
        answer = await called(app, "POST", "/here", headers, json.dumps(initialize()).encode())
        await app.aclose()
        assert answer.status == 200
        assert json.loads(answer.body)["result"]["serverInfo"]["name"] == "server"

    played(scene)


def test_the_application_lets_in_who_has_the_token_and_records_frames() -> None:
    lines: list[bytes] = []

    async def scene() -> None:
        app = dragoman.asgi(
            dragoman.Way(lambda: Memory("modern"), "modern"), token="t0ken", record=lines.append, allow_downgrade=True
        )
        headers = {"content-type": "application/json", "accept": BOTH, "host": "localhost"}
        body = json.dumps(initialize()).encode()
        assert (await called(app, "POST", "/mcp", headers, body)).status == 401
        assert not lines
        assert (await called(app, "POST", "/mcp", {**headers, "authorization": "Bearer t0ken"}, body)).status == 200
        await app.aclose()

    played(scene)
    assert {json.loads(line)["face"] for line in lines} == {"client", "server"}


# ---------------------------------------------------------------------- life


def test_it_tells_where_it_listens_while_it_does() -> None:
    async def scene() -> None:
        bridge = dragoman.bridge("srv", listen="http://127.0.0.1:0/mcp")
        with pytest.raises(dragoman.WrongState, match="while it serves"):
            _ = bridge.url
        async with bridge as same:
            assert same is bridge
            port = int(bridge.url.rpartition(":")[2].partition("/")[0])
            assert port > 0
            socket.create_connection(("127.0.0.1", port)).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        with pytest.raises(RuntimeError, match="while it serves"):
            _ = bridge.url

    played(scene)


def test_it_serves_once() -> None:
    async def scene() -> None:
        bridge = dragoman.bridge("srv", listen=dragoman.Http())
        async with bridge:
            with pytest.raises(dragoman.WrongState, match="serves once"):
                await bridge.__aenter__()
        assert await bridge == 0
        with pytest.raises(RuntimeError, match="serves once"):
            await bridge.__aenter__()

    played(scene)


def test_a_waiting_program_goes_on_when_another_ends_the_bridge() -> None:
    async def scene() -> None:
        async with dragoman.bridge("srv", listen=dragoman.Http()) as bridge:
            asyncio.get_running_loop().call_later(0.05, lambda: ended.append(asyncio.ensure_future(bridge.aclose())))
            ended: list[asyncio.Future[None]] = []
            assert await bridge == 0
            await ended[0]

    played(scene)


def test_cancelling_is_a_graceful_end() -> None:
    """A call in flight still gets its answer, and then the server's channel is closed."""
    made: list[Memory] = []

    class Slow(Memory):
        def answer(self, method: str) -> dict[str, Any]:
            if method == "tools/call":
                slow.cancel()
                return {"result": {"resultType": "complete", "content": []}}
            return super().answer(method)

    def make() -> Memory:
        made.append(Slow("modern"))
        return made[-1]

    async def scene() -> None:
        nonlocal slow
        bridge = dragoman.bridge(dragoman.Way(make, "modern"), listen=dragoman.Http())
        slow = asyncio.ensure_future(bridge)
        while True:
            await asyncio.sleep(0.01)
            try:
                url = bridge.url
                break
            except RuntimeError:
                pass

        def conversation() -> Any:
            with Client(url) as client:
                client.post(initialize())
                client.post(notice("initialized"))
                return client.post(call(1, "t"))

        answer = await asyncio.to_thread(conversation)
        assert answer["result"]["content"] == []
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert made[-1].is_closed
        with pytest.raises(RuntimeError):
            _ = bridge.url

    slow: asyncio.Future[int]
    played(scene)


def test_every_error_has_one_base_and_one_of_python_s() -> None:
    for error, other in (
        (dragoman.InvalidValue, ValueError),
        (dragoman.CannotListen, OSError),
        (dragoman.WrongState, RuntimeError),
    ):
        assert issubclass(error, dragoman.DragomanError)
        assert issubclass(error, other)


def test_a_place_that_is_taken_is_an_error_of_the_system() -> None:
    async def scene() -> None:
        async with dragoman.bridge("srv", listen=dragoman.Http()) as first:
            second = dragoman.bridge("srv", listen=first.url)
            with pytest.raises(dragoman.CannotListen, match="cannot listen on http:"):
                await second

    played(scene)


def test_the_programs_signals_and_streams_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"sys.stdin.{name} was touched")

    monkeypatch.setattr(sys, "stdin", Untouchable())
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    seen: list[object] = []

    async def scene() -> None:
        async with served(modern) as server, dragoman.bridge(server.url, listen=dragoman.Http()) as bridge:
            await used(bridge.url)
            seen.extend(signal.getsignal(number) for number in (signal.SIGTERM,))

    played(scene)
    assert seen == before[1:]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_who_may_come_in_is_a_matter_of_the_place() -> None:
    async def scene() -> None:
        place = dragoman.Http(token="let-me-in")
        async with served(modern) as server, dragoman.bridge(server.url, listen=place) as bridge:

            def knocking(**headers: str) -> int:
                with Client(bridge.url) as client:
                    client.post(initialize(), **headers)
                    return client.status

            assert await asyncio.to_thread(knocking, Authorization="Bearer let-me-in") == 200
            assert await asyncio.to_thread(knocking) == 401

    played(scene)


def test_headers_reach_the_server_and_frames_the_record() -> None:
    lines: list[bytes] = []
    seen: list[str | None] = []

    async def keyed(request: Request) -> None:
        seen.append(request["X-Key"])
        await modern(request)

    async def scene() -> None:
        async with served(keyed) as server:
            url = dragoman.Url(server.url, headers={"X-Key": "k"})
            async with dragoman.bridge(url, listen=dragoman.Http(), record=lines.append) as bridge:
                await used(bridge.url)

    played(scene)
    assert set(seen) == {"k"}
    assert {json.loads(line)["face"] for line in lines} >= {"server"}


# ---------------------------------------------------------------------- values


SECRET = "s3cr3t"
WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: dragoman.bridge(""), "upstream has no command"),
    (lambda: dragoman.bridge(f"'{SECRET}"), "upstream has an open quote"),
    (lambda: dragoman.bridge(f"unix:{SECRET}"), "upstream is not known"),
    (lambda: dragoman.bridge(dragoman.Command(())), "upstream has no command"),
    (lambda: dragoman.bridge(dragoman.Url(f"http://{SECRET}.example/")), "must use https"),
    (lambda: dragoman.bridge(dragoman.Url("https://a.example/", headers={"Host": SECRET})), "header host"),
    (lambda: dragoman.bridge(dragoman.Url("https://a.example/", ca_file=f"/no/{SECRET}")), "cannot be read"),
    (lambda: dragoman.bridge("srv", listen=SECRET), "listen is not known"),
    (lambda: dragoman.bridge("srv", listen=f"ws://{SECRET}:1/"), "a place to listen on"),
    (lambda: dragoman.bridge("srv", listen="https://localhost:0/mcp"), "https needs"),
    (lambda: dragoman.bridge("srv", listen=dragoman.Http(tls_cert=SECRET)), "are for a place with https"),
    (lambda: dragoman.bridge("srv", listen="http://0.0.0.0:0/mcp"), "strangers share one server"),
    (lambda: dragoman.bridge("srv", profile=SECRET), "profile is none"),
    (lambda: dragoman.bridge("srv", log_level=SECRET), "log_level is none"),
    (lambda: dragoman.bridge("srv", state_key=SECRET.encode()), "state_key"),
    (lambda: dragoman.bridge("srv", listen=dragoman.Http(token=f"{SECRET} x")), "token has spaces"),
    (lambda: dragoman.asgi("srv", path=SECRET), "path does not begin"),
    (lambda: dragoman.asgi("srv", token=f"{SECRET}\n"), "token has spaces"),
    (lambda: dragoman.asgi("srv", token=SECRET, gate=Open()), "exclude each other"),
    (lambda: dragoman.asgi("srv", state_key=SECRET.encode()), "state_key"),
    (lambda: dragoman.asgi("srv", profile=SECRET), "profile is none"),
]


@pytest.mark.parametrize(("make", "text"), WRONG, ids=[text for _, text in WRONG])
def test_a_value_that_cannot_be_used_is_refused_before_anything_starts(make: Callable[[], object], text: str) -> None:
    with pytest.raises(dragoman.InvalidValue, match=text) as caught:
        make()
    assert SECRET not in str(caught.value)
    assert isinstance(caught.value, ValueError | dragoman.DragomanError)


@pytest.mark.parametrize(
    "value", [dragoman.Command(("a",)), dragoman.Url("https://a.example/"), dragoman.Http(), dragoman.Limits()]
)
def test_values_are_frozen(value: Any) -> None:
    (name, *_) = (part.name for part in fields(value))
    with pytest.raises(AttributeError):
        setattr(value, name, None)


def test_secrets_of_values_are_not_shown() -> None:
    shown = repr((dragoman.Url("https://a.example/", headers={"Authorization": SECRET}), dragoman.Http(token=SECRET)))
    assert SECRET not in shown


def test_what_may_be_lost_is_said_as_on_the_command_line() -> None:
    plain = dragoman.Profile("p")
    assert plain.allowing() is plain
    allowed = plain.allowing(downgrade=True, restore_codes=True)
    assert (allowed.allow_downgrade, allowed.allow_reencode) == (True, False)
    assert allowed.quirks.restore_resource_not_found


# ---------------------------------------------------------------------- as a program


def program(text: str, stdin: bytes = b"", wait: float = 20) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([sys.executable, "-c", text], input=stdin, capture_output=True, timeout=wait, check=False)


def test_importing_it_loads_nothing_heavy() -> None:
    for used, heavy in (("", "asyncio msgspec click uvicorn aiohttp"), ("dragoman.bridge", "click uvicorn aiohttp")):
        text = f"import sys, dragoman\n{used}\nprint(sorted(set({heavy.split()}) & set(sys.modules)))"
        assert program(text).stdout.strip() == b"[]"


def test_it_says_what_it_does_not_have() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(dragoman, "nothing")  # noqa: B009 - a type checker knows it too
    assert all(getattr(dragoman, name) for name in dragoman.__all__)


STDIO = f"""
import asyncio, dragoman
async def main():
    code = await dragoman.bridge({OWN_SERVER!r}, log_level="err")
    print("ended", code, flush=True)
asyncio.run(main())
"""


@proves("REV-12")
@pytest.mark.process
def test_on_our_own_streams_it_ends_with_its_client() -> None:
    done = program(STDIO, json.dumps(initialize()).encode() + b"\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == b"ended 0"


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind are POSIX's")
def test_an_interrupt_of_the_program_is_the_programs_own(tmp_path: Path) -> None:
    """It comes as a cancellation, the bridge ends gracefully, and the program hears of it."""
    text = STDIO.replace("    code = await", "    print('ready', flush=True)\n    code = await")
    reads, writes = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", text],
        stdin=reads,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=as_at_a_terminal,
    ) as p:
        assert p.stdout is not None
        assert p.stdout.readline() == b"ready\n"
        os.write(writes, json.dumps(initialize()).encode() + b"\n")
        assert b"serverInfo" in p.stdout.readline()
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=20)
        assert b"ended" not in out
        assert err.rstrip().endswith(b"KeyboardInterrupt")
        assert b"Task was destroyed" not in err
    os.close(reads)
    os.close(writes)
