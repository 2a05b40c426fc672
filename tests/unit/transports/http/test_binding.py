"""Which headers a message has, and how any text becomes the value of one."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from dragoman.transports.http.binding import Post, Unmirrorable, headers_of, post_of, sealed, unsealed
from support.proofs import proves

META = b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}'


def post(method: str, params: bytes = b"") -> Post:
    rest = b"," + params if params else b""
    return post_of(b'{"jsonrpc":"2.0","id":7,"method":"%s","params":{"_meta":%s%s}}' % (method.encode(), META, rest))


@proves("HTTP-01", "B120")
@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/list", b"", None),
        ("server/discover", b'"name":"not this"', None),
        ("tools/call", b'"name":"weather","uri":"x:y"', "weather"),
        ("prompts/get", b'"name":"greet"', "greet"),
        ("resources/read", b'"uri":"file:///a%20b","name":"x"', "file:///a%20b"),
        ("resources/read", '"uri":"file:///世界"'.encode(), "=?base64?ZmlsZTovLy/kuJbnlYw=?="),
        ("tools/call", b'"name":" "', "=?base64?IA==?="),
        ("tools/call", b'"name":""', ""),
        ("tools/call", b'"name":1', None),
        ("tools/call", b'"name":null', None),
    ],
)
def test_headers_repeat_revision_method_and_name(method: str, params: bytes, name: str | None) -> None:
    expected = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
    }
    if name is not None:
        expected["Mcp-Name"] = name
    assert headers_of(post(method, params)) == expected


def test_a_message_without_meta_names_no_revision() -> None:
    notice = post_of(b'{"jsonrpc":"2.0","method":"notifications/other"}')
    assert notice.id is None
    assert "MCP-Protocol-Version" not in headers_of(notice)


@proves("HTTP-02")
@pytest.mark.parametrize(
    ("value", "header"),
    [
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        ("", ""),
        ("us-west1", "us-west1"),
        ("a b", "a b"),
        ("~!@#$%^&*()", "~!@#$%^&*()"),
        ("a\tb", "=?base64?YQli?="),
        ("\x7f", "=?base64?fw==?="),
        ("a ", "=?base64?YSA=?="),
        ("=?base64?SGk=?=", "=?base64?PT9iYXNlNjQ/U0drPT89?="),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ("=?BASE64?SGk=?=", "=?BASE64?SGk=?="),
        ("=?base64?SGk=", "=?base64?SGk="),
        ("x\r\nInjected: y", "=?base64?eA0KSW5qZWN0ZWQ6IHk=?="),
    ],
)
def test_only_plain_text_goes_as_it_is(value: str, header: str) -> None:
    assert sealed(value) == header
    assert unsealed(header) == value


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("=?base64?not base64!?=", None),
        ("=?base64?SGk?=", None),
        ("=?base64?SGl=?=", None),
        ("=?base64?/w==?=", None),
        ("=?base64?é?=", None),
        ("=?base64??=", ""),
        ("=?base64?=", "=?base64?="),
        ("=?Base64?SGk=?=", "=?Base64?SGk=?="),
    ],
)
def test_a_mark_without_its_base64_is_no_value(header: str, value: str | None) -> None:
    assert unsealed(header) == value


@proves("HTTP-02")
@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_every_text_comes_back_and_is_safe_on_its_way(value: str) -> None:
    header = sealed(value)
    assert unsealed(header) == value
    assert header == header.strip()
    assert all(" " <= character <= "~" for character in header)
    if header != value:
        assert base64.b64decode(header[9:-2]).decode() == value


@pytest.mark.parametrize("name", [rb'"\ud800"', rb'"a\udfffb"'])
def test_half_a_character_is_no_header(name: bytes) -> None:
    with pytest.raises(Unmirrorable):
        headers_of(Post(b"1", "tools/call", {"name": Raw(name)}, b""))
    with pytest.raises(Unmirrorable):
        sealed("\ud800")
