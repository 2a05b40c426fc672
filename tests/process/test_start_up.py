"""What a start costs: the modules that are loaded, and the time to the first answer beside what it needs at least."""

import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from support.processes import DRAGOMAN, WAIT, Bridge, Scripted, initialize, text_of

pytestmark = pytest.mark.process

Make = Callable[..., Scripted]
HEAVY = {"mcp", "pydantic", "aiohttp", "httpx2", "jsonschema_rs", "cryptography", "rich", "starlette", "anyio"}
NEEDED = "import asyncio, click, msgspec"
RATIO = 5  # the first answer against an interpreter that loads what is needed; about 2 when nothing else runs


def test_a_whole_conversation_loads_none_of_the_heavy_modules(scripted: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    with Bridge(scripted().command) as bridge:
        bridge.open()
        bridge.request(1, "tools/list")
        bridge.answer(1)
        assert text_of(bridge.tool("echo", text="fine")) == "fine"
        assert bridge.end() == 0
        names = re.findall(rb"^import time: [ \d]+\|[ \d]+\| +(\S+)$", bridge.stderr, re.MULTILINE)
    loaded = {name.decode().partition(".")[0] for name in names}
    assert {"dragoman", "msgspec"} <= loaded
    assert not loaded & HEAVY


def test_the_first_answer_comes_soon(scripted: Make) -> None:
    least: list[float] = []
    ours: list[float] = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", NEEDED], check=True, timeout=WAIT)
        least.append(time.perf_counter() - started)
        started = time.perf_counter()
        with Bridge(scripted().command) as bridge:
            bridge.send(initialize())
            bridge.answer("hello")
            ours.append(time.perf_counter() - started)
    assert statistics.median(ours) < RATIO * statistics.median(least), (ours, least)


def test_help_needs_no_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    done = subprocess.run([*DRAGOMAN, "--help"], capture_output=True, timeout=WAIT, check=True)
    names = set(re.findall(rb"\| +(\S+)$", done.stderr, re.MULTILINE))
    assert b"click" in names
    assert not names & {b"asyncio", b"uvloop", b"msgspec", b"mcp"}


def test_the_validator_is_not_imported_before_something_is_asked() -> None:
    code = "import sys; import dragoman.core.questions; sys.exit('jsonschema_rs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
