"""Icons of a remote server."""

import json
from typing import Any

import pytest

from dragoman.core.icons import clean_info, without_remote
from dragoman.wire.members import closed, opened, raw
from support.proofs import proves

DATA = {"src": "DATA:image/png;base64,AA"}
WEB = {"src": "https://a.example/i.png"}


def cleaned(method: str, result: Any) -> Any:
    members = opened(json.dumps(result).encode())
    without_remote(method, members)
    return json.loads(bytes(closed(members)))


@proves("ICON-01", "ICON-03", "ICON-05")
@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ],
)
def test_items_of_lists_keep_only_icons_that_carry_their_data(method: str, name: str) -> None:
    items: list[Any] = [
        {"name": "a", "icons": [WEB, DATA, {"src": 5}]},
        {"name": "b", "icons": [WEB]},
        {"name": "c", "icons": []},
    ]
    assert cleaned(method, {name: items}) == {name: [{"name": "a", "icons": [DATA]}, {"name": "b"}, {"name": "c"}]}


@proves("ICON-01", "ICON-04")
def test_links_in_results_and_prompts_too_and_nothing_else() -> None:
    link, other = {"type": "resource_link", "uri": "a:b", "name": "n", "icons": [WEB]}, {"type": "text", "icons": [WEB]}
    bare = {"type": "resource_link", "uri": "a:b", "name": "n"}
    assert cleaned("tools/call", {"content": [link, other]}) == {"content": [bare, other]}
    messages = [{"role": "user", "content": link}, {"role": "user", "content": other}]
    assert cleaned("prompts/get", {"messages": messages}) == {
        "messages": [{"role": "user", "content": bare}, {"role": "user", "content": other}]
    }
    assert cleaned("resources/read", {"contents": [{"uri": "a:b", "text": "icons"}]}) == {
        "contents": [{"uri": "a:b", "text": "icons"}]
    }


@proves("ICON-01", "ICON-02")
def test_the_server_s_own_icons_too() -> None:
    assert json.loads(bytes(clean_info(raw({"name": "s", "icons": [WEB, DATA]})))) == {"name": "s", "icons": [DATA]}
    assert json.loads(bytes(clean_info(raw({"name": "s", "icons": [WEB]})))) == {"name": "s"}


def test_the_server_s_own_icons_in_every_result_of_a_modern_server() -> None:
    """Such a server has no initialize result; it says who it is in the `_meta` of what it answers (ICON-02, C18)."""
    name = "io.modelcontextprotocol/serverInfo"
    for method in ("server/discover", "tools/call", "resources/read", "subscriptions/listen"):
        said = cleaned(method, {"_meta": {name: {"name": "s", "icons": [WEB, DATA]}, "x": 1}})
        assert said == {"_meta": {name: {"name": "s", "icons": [DATA]}, "x": 1}}


def test_the_result_of_a_task_is_that_of_a_call() -> None:
    """ICON-04, C18"""
    link = {"type": "resource_link", "uri": "a:b", "name": "n", "icons": [WEB]}
    bare = {"type": "resource_link", "uri": "a:b", "name": "n"}
    assert cleaned("tasks/result", {"content": [link]}) == {"content": [bare]}


@pytest.mark.parametrize("name", [b"icons", rb"\u0069cons", rb"ic\u006Fns"])
def test_a_name_with_escapes_is_the_same_name(name: bytes) -> None:
    """JSON may spell any letter so (C18)."""
    members = opened(b'{"tools":[{"name":"a","%s":[{"src":"https://a.example/i.png"}]}]}' % name)
    without_remote("tools/list", members)
    assert json.loads(bytes(closed(members))) == {"tools": [{"name": "a"}]}


def test_what_needs_no_change_keeps_its_bytes() -> None:
    text = b'{"tools":[ {"name":"a" , "icons":[{"src":"data:,"}]} ]}'
    members = opened(text)
    before = members["tools"]
    without_remote("tools/list", members)
    assert members["tools"] is before
