"""Log lines: their form, their level, and what never stands in them."""

import pytest

from dragoman.exchange.notes import Level
from dragoman.redact import masked
from dragoman.runtime.log import Log
from support.proofs import proves


def written(level: Level, *notes: tuple[Level, str]) -> bytes:
    lines: list[bytes] = []
    log = Log("my-bridge", level, lines.append)
    for of, text in notes:
        log.note(of, "scope", text)
    return b"".join(lines)


@proves("LOGL-01", "PROF-04")
def test_a_line_begins_with_the_profile_the_scope_and_the_level() -> None:
    assert written(Level.INFO, (Level.WARN, "text")) == b"my-bridge: scope: warning: text\n"


@proves("CLI-08")
def test_only_the_level_and_what_is_graver_is_written() -> None:
    notes = [(level, level.name) for level in Level]
    assert written(Level.ERR, *notes).count(b"\n") == 1
    assert written(Level.WARN, *notes).count(b"\n") == 2
    assert written(Level.INFO, *notes).count(b"\n") == 3
    assert written(Level.DEBUG, *notes).count(b"\n") == 4


@proves("LOGL-01")
def test_a_text_of_several_lines_is_one_line() -> None:
    assert written(Level.INFO, (Level.INFO, "a\nb")) == b"my-bridge: scope: info: a b\n"


@proves("LOGL-04")
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"Authorization":"Bearer abcdefgh12345"}', '{"Authorization":"***"}'),
        ('{"access_token" : "a\\"b","x":1}', '{"access_token" : "***","x":1}'),
        (r'{"text":"{\"password\":\"hunter2\"}"}', r'{"text":"{\"password\":\"***\"}"}'),
        ("header Bearer abc.def-ghi_12345", "header Bearer ***"),
        ("https://user:secret@host/x", "https://***@host/x"),
        ('{"api_key":"k","API-KEY":"l"}', '{"api_key":"***","API-KEY":"***"}'),
        ('{"token_count":"5","note":"a bearer of news"}', '{"token_count":"5","note":"a bearer of news"}'),
    ],
)
def test_credentials_are_masked_wherever_they_stand(text: str, kept: str) -> None:
    assert masked(text) == kept
    assert written(Level.INFO, (Level.INFO, text)) == f"my-bridge: scope: info: {kept}\n".encode()
