"""Sign-in to servers of frameworks that are their own authorization servers, through the real command.

The framework runs in an environment of its own (`peers/protected.py`); the browser is the one of our own tests.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.authorization import fetched, visit  # noqa: E402 - it is beside this folder
from support.browsing import Browser, browser  # noqa: E402
from support.processes import Bridge, run, text_of  # noqa: E402

SERVER = HERE / "peers" / "protected.py"
LIFE = 4.0  # seconds of an access token there
PAGES: dict[str, Any] = {"elicitation": {"url": {}}}


@dataclass(frozen=True)
class Protected:
    """A server that runs, and what it counts."""

    origin: str

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def control(self, what: str = "counts") -> dict[str, int]:
        return json.loads(fetched(f"{self.origin}/control/{what}")[2])


@contextmanager
def running(python: str, kind: str) -> Generator[Protected]:
    with subprocess.Popen([python, str(SERVER), kind], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().strip()
            assert line.isdigit(), f"{kind} did not start"
            yield Protected(f"http://127.0.0.1:{int(line)}")
        finally:
            process.kill()


def store(user: Browser) -> list[str]:
    return ["--token-store", "file", "--token-key-env", "TOKEN_KEY", "--token-dir", str(user.folder / "store")]


def bridge(user: Browser, server: Protected) -> Bridge:
    return Bridge((), words=[*store(user), server.url], env=user.environment)


def signs_in_and_renews(server: Protected, user: Browser) -> None:
    with bridge(user, server) as one:
        one.open()
        assert text_of(one.tool("greet", who="Ann")) == "hello Ann"
        assert (server.control()["sign_ins"], len(user.opened)) == (1, 1)
        time.sleep(LIFE)
        assert text_of(one.tool("greet", who="Bob")) == "hello Bob"
        told = server.control()
        assert (told["sign_ins"], told["renewals"] >= 1) == (1, True), told
        assert one.end() == 0


def renews_what_was_revoked(server: Protected, user: Browser) -> None:
    with bridge(user, server) as one:
        one.open()
        before = server.control("revoke")
        assert text_of(one.tool("greet", who="Cid")) == "hello Cid"
        after = server.control()
        assert (after["sign_ins"], after["renewals"]) == (before["sign_ins"], before["renewals"] + 1), after
        assert one.end() == 0


def signs_in_within_a_session(server: Protected, user: Browser) -> None:
    with bridge(user, server) as one:
        one.open(capabilities=PAGES)
        before = server.control("revoke-all")
        one.call(1, "greet", who="Dan")
        question = one.question()
        assert question["method"] == "elicitation/create", question
        one.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
        visit(question["params"]["url"])
        assert text_of(one.answer(1)) == "hello Dan"
        assert server.control()["sign_ins"] == before["sign_ins"] + 1
        assert one.end() == 0


def signs_out(server: Protected, user: Browser) -> None:
    done = run("login", *store(user), server.url, env=user.environment)
    assert done.returncode == 0, done.stderr
    done = run("logout", *store(user), server.url, env=user.environment)
    assert b"its token was revoked" in done.stderr, done
    told = server.control()
    assert (told["refresh"], told["revocations"] >= 1) == (0, True), told


SCENES: dict[str, Callable[[Protected, Browser], None]] = {
    "sign-in, and renewal before the end": signs_in_and_renews,
    "a revoked token is renewed": renews_what_was_revoked,
    "sign-in in the middle of a session": signs_in_within_a_session,
    "logout revokes": signs_out,
}


def scenes(python: str, kind: str) -> Generator[tuple[str, str]]:
    """Each check with what went wrong; an empty text is fine. One user signs in to one server all along."""
    with tempfile.TemporaryDirectory() as folder, running(python, kind) as server:
        user = browser(Path(folder))
        for name, scene in SCENES.items():
            yield name, _outcome(lambda scene=scene: scene(server, user))


def both(one: tuple[str, str], other: tuple[str, str]) -> str:
    """Two servers in one client, which starts both bridges at the same moment (D2)."""

    def scene() -> None:
        with ExitStack() as open_all:
            folders = [Path(open_all.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
            servers = [open_all.enter_context(running(*each)) for each in (one, other)]
            users = [browser(folder) for folder in folders]
            bridges = [open_all.enter_context(bridge(*each)) for each in zip(users, servers, strict=True)]
            for each in bridges:
                each.send(OPENING)
            for each in bridges:
                assert "result" in each.answer("hello")
                each.notice("initialized")
            for each in bridges:
                assert text_of(each.tool("greet", who="Eve")) == "hello Eve"
                assert each.end() == 0

    return _outcome(scene)


OPENING = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
}


def _outcome(scene: Callable[[], None]) -> str:
    try:
        scene()
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:600]
    return ""
