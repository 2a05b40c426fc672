"""The demo's server as a program."""

import json
import subprocess
import sys

import pytest

from support.listener import MODERN, modern, request

pytestmark = pytest.mark.process


def test_the_program_serves_its_input_and_ends_with_it() -> None:
    line = json.dumps(modern(request("a", "server/discover")))
    ended = subprocess.run(
        [sys.executable, "-m", "dragoman.demo.server"],
        input=f"{line}\n\n{line}\n".encode(),
        capture_output=True,
        timeout=60,
        check=True,
    )
    answers = [json.loads(written) for written in ended.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == ["a", "a"]
    assert answers[0]["result"]["supportedVersions"] == [MODERN]
    assert ended.stderr == b""
