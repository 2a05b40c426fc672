"""Scripted servers for the tests of this folder, and a look that none of them outlives its test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.processes import SCRIPTED, Scripted


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Callable[..., Scripted]]:
    """Make the command of a scripted server; whatever of it still runs after the test is ended, and a failure."""
    made: list[Scripted] = []

    def make(*options: str, script: Path = SCRIPTED) -> Scripted:
        folder = tmp_path / f"server-{len(made)}"
        folder.mkdir()
        server = Scripted(folder, *options, script=script)
        made.append(server)
        return server

    yield make
    for server in made:
        server.received()  # whatever else a test looks at, all that went upstream is valid there
    left = [pid for server in made for pid in server.sweep()]
    assert not left, "processes of a server outlived the bridge"
