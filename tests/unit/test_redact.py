"""Credentials in logged texts: each spelling is masked, nothing else is, and a text costs its length."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.redact import MASK, masked

SECRET = "hunter2-abcdef"


@pytest.mark.parametrize(
    "name",
    [
        *("token", "secret", "private_key", "privateKey", "PRIVATE-KEY", "access_token", "accessToken", "id.token"),
        *("password", "db_password", "Passphrase", "x-api-key", "API Key", "aws_secret_access_key", "github_token"),
        *("client_secret", "Authorization", "proxy-authorization", "Cookie", "set-cookie", "credentials", "jwt"),
    ],
)
@pytest.mark.parametrize("value", [SECRET, 815815, 8.15, True, [SECRET, {"a": 815815}], {"b": [SECRET], "c": "]}"}])
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_member_with_such_a_name_is_masked_whatever_its_value_and_its_depth(
    name: str, value: Any, depth: int
) -> None:
    """C7: case and separators do not matter, nor does JSON in strings of JSON."""
    text = json.dumps({"a": 1, name: value, "z": "kept"})
    for _ in range(depth):
        text = json.dumps({"text": text})
    found = masked(text)
    for _ in range(depth):
        found = json.loads(found)["text"]
    assert json.loads(found) == {"a": 1, name: MASK, "z": "kept"}


@pytest.mark.parametrize("name", [r"p\u0061ssword", r"\u0074oken", r"access\u005ftoken", r"x\u002Dapi\u002dkey"])
def test_an_escaped_name_is_the_same_name(name: str) -> None:
    """C7"""
    text = f'{{"{name}":"{SECRET}","n":1}}'
    assert json.loads(masked(text)) == {json.loads(f'"{name}"'): MASK, "n": 1}
    inner = json.loads(masked(json.dumps({"text": text})))["text"]
    assert SECRET not in inner
    assert json.loads(inner)["n"] == 1


def by_number(text: str) -> str:
    """JSON as encoders for HTML write it, with quotes and signs as escapes by number."""
    inner = json.dumps(text)[1:-1].replace('\\"', "\\u0022").replace("&", "\\u0026").replace("=", "\\u003D")
    return f'"{inner}"'


@pytest.mark.parametrize(
    "spellings", [(by_number,), (by_number, by_number), (json.dumps, by_number), (by_number, json.dumps)]
)
@pytest.mark.parametrize("value", [f'{SECRET} with "quotes" and }}', "ends with \\", 31337, [SECRET]])
def test_quotes_that_are_escapes_by_number_are_quotes(spellings: tuple[Callable[[str], str], ...], value: Any) -> None:
    """C7: what a log shows is the same JSON, without the credential."""
    text = json.dumps({"a": "x=1&y", "password": value, "z": "kept"})
    for spelled in spellings:
        text = spelled(text)
    text = masked(text)
    for _ in spellings:
        text = json.loads(text)
    assert json.loads(text) == {"a": "x=1&y", "password": MASK, "z": "kept"}


@given(st.text(alphabet='\\"u0025cabe6=&{:}'), st.integers(1, 3))
def test_a_text_without_a_credential_keeps_its_spelling(text: str, depth: int) -> None:
    """LOGL-04, CHECK-06"""
    for _ in range(depth):
        text = by_number(text)
    assert masked(text) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("GET /x?access_token=abc123&n=1", "GET /x?access_token=***&n=1"),
        ("/x?a=1&access%5Ftoken=abc#here", "/x?a=1&access%5Ftoken=***#here"),
        ("/cb?code=abc&state=s", "/cb?code=***&state=s"),
        ("export API_KEY=abc123 && run", "export API_KEY=*** && run"),
        ("password = 'hunter 2', n = 1", "password = '***', n = 1"),
        ('{"text":"token=\\"a b\\" x"}', '{"text":"token=\\"***\\" x"}'),
        ("{'password': 'hunter2', 'n': 1}", "{'password': '***', 'n': 1}"),
        ("Cookie: a=b; c=d\r\nHost: h", "Cookie: ***\r\nHost: h"),
        ("curl -H 'X-Api-Key: abc' h", "curl -H 'X-Api-Key: ***' h"),
        ("authorization: bearer abcdef", "authorization: ***"),
        ("a bearer abcdefghijklmnopqrstuv", "a bearer ***"),
        ("a bearer abc!def|g is", "a bearer *** is"),
        (r"https://h/?b=1\u0026access_token\u003dabc", "https://h/?b=1&access_token=***"),
        (r"https:\/\/user:p@ss@host\/x", r"https:\/\/***@host\/x"),
        ("it is eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_ here", "it is *** here"),
        ("https://user:p@ss@host/x@y", "https://***@host/x@y"),
        ('{"token":"cut off', '{"token":"***"'),
        ('{"secret":[1,"cut', '{"secret":"***"'),
        ('{"token":\n "a"}', '{"token":\n "***"}'),
        (r'{"t":"{\"token\":\n \"a\"}"}', r'{"t":"{\"token\":\n \"***\"}"}'),
    ],
)
def test_other_places_of_credentials(text: str, kept: str) -> None:
    """C7"""
    assert masked(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        '{"progressToken":1,"nextPageToken":"a","token_count":5,"maxTokens":9}',
        '{"code":-32602,"key":"a","description":"the token is a secret: of the house"}',
        "the author said a basic thing; monkey=1; tokenizer: fast",
        "a bearer certificate, and basic knowledge.",
        "http://localhost:1/mcp is up, mail a@b.example",
        '{"uri":"file:///a/password.txt","name":"password"}',
        "\\" * 50 + '"auth',
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert masked(text) == text.replace("secret: of", "secret: ***")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(before=st.text(max_size=8), value=VALUES, depth=st.integers(0, 3), spaced=st.booleans())
def test_what_is_json_stays_json(before: str, value: Any, depth: int, spaced: bool) -> None:
    """LOGL-04, CHECK-06"""
    separators = None if spaced else (",", ":")
    text = json.dumps([before, {"token": value, "end": 1}], separators=separators, ensure_ascii=not spaced)
    for _ in range(depth):
        text = json.dumps([text], separators=separators)
    found = masked(text)
    for _ in range(depth):
        found = json.loads(found)[0]
    assert json.loads(found)[1] == {"token": MASK, "end": 1}


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "\\",
            "a.",
            '"',
            '\\"',
            '":',
            '"token":',
            '"token":{',
            '"token":["',
            "token='",
            "x=",
            "cookie:",
            "://",
            "://@",
        ),
        *(
            "Bearer ",
            " ",
            "eyJ",
            "eyJaaaaaaaaaaa.",
            "\\n",
            "%61",
            "[",
            "\\u0061",
            "\\\\u0022",
            "\\u005c",
            "bearer a",
            "a.a.://",
            'token="\\',
        ),
    ],
)
def test_twice_the_text_costs_about_twice_the_time(piece: str) -> None:
    """C5, E10: a ratio far from the square, of the best of several runs."""

    def cost(length: int) -> float:
        text = '"token":' + piece * (length // len(piece)) + "token"
        best = 10.0
        for _ in range(3):
            begin = time.perf_counter()
            masked(text)
            best = min(best, time.perf_counter() - begin)
        return best

    assert cost(160_000) < 12 * cost(40_000) + 0.01
