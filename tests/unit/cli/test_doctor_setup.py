"""What `doctor` proposes for a configuration: words that work, and none that is a secret."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.doctor import setup_of
from dragoman.cli.servers import read_server
from dragoman.diagnostics.facts import Facts, Wire
from dragoman.exchange.events import Ready
from dragoman.revisions import LATEST
from dragoman.wire.members import raw

URL = "http://127.0.0.1:1/mcp"
FOUND = Facts(Wire.STDIO, Ready(LATEST, {}, raw({"name": "my server!", "version": "1"})))
NOTHING = Facts(Wire.STDIO)


def proposed(target: str, facts: Facts = NOTHING, **options: Any) -> tuple[str, tuple[str, ...]]:
    given: dict[str, Any] = {"header": (), "header_env": (), "ca_file": None, "target": None, **options}
    setup = setup_of(read_server(None, {**given, "upstream": target}, frozenset()), facts, given)
    return setup.name, setup.words


@pytest.mark.parametrize(
    ("target", "facts", "name", "words"),
    [
        ("/bin/srv.py --x 'a b'", NOTHING, "srv", ("/bin/srv.py", "--x", "a b")),
        ("srv", FOUND, "my-server", ("srv",)),
        ("./bin/srv x", NOTHING, "srv", (str(Path("bin/srv").absolute()), "x")),
        ("npx srv -- --x", NOTHING, "npx", ("--", "npx", "srv", "--", "--x")),
        ("'!'", NOTHING, "server", ("!",)),
        (URL, NOTHING, "127.0.0.1", (URL,)),
        (URL, FOUND, "my-server", (URL,)),
        (f"{URL}?key=secret", NOTHING, "127.0.0.1", (f"{URL}?...",)),
        (f"sse:{URL}", NOTHING, "127.0.0.1", ("--upstream", f"sse:{URL}")),
        (f"http-stateless:{URL}?k=secret", NOTHING, "127.0.0.1", ("--upstream", f"http-stateless:{URL}?...")),
    ],
)
def test_a_server_by_its_target(target: str, facts: Facts, name: str, words: tuple[str, ...]) -> None:
    assert proposed(target, facts) == (name, words)


def test_headers_are_named_with_a_variable_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    _, words = proposed(URL, header=("X-Api-Key: secret",), header_env=("Authorization=TOKEN",))
    assert words == ("--header-env=X-Api-Key=X_API_KEY", "--header-env=Authorization=TOKEN", URL)
