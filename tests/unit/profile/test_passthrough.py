"""Which keys of `_meta` travel on."""

import pytest

from dragoman.profile import named
from dragoman.profile.passthrough import MetaPassthrough, is_free
from support.proofs import proves

WELL_WRITTEN = {
    "traceparent": True,
    "a": True,
    "0": True,
    "a_b-c.d": True,
    "com.example/name": True,
    "com.example/": True,
    "com.ex-ample.x9/n.1": True,
    "x/y": True,
    "-a": False,
    "a-": False,
    "a.": False,
    ".a": False,
    "a b": False,
    "ключ": False,
    "com.example/-a": False,
    "9com.example/a": False,
    "com-.example/a": False,
    "com..example/a": False,
    "/a": False,
    "a/b/c": False,
    "com.example/a\n": False,
    "a\n": False,
    "é": False,
    "a\ud800": False,
}

OWNED = {
    "progressToken": False,
    "io.modelcontextprotocol/protocolVersion": False,
    "io.modelcontextprotocol/related-task": False,
    "dev.mcp/x": False,
    "vscode.mcp/x": False,
    "org.modelcontextprotocol.api/x": False,
    "com.mcp.tools/x": False,
    "tools.mcp.com/x": False,
    "com.example.mcp/x": True,
    "mcp/x": True,
    "mcp.dev/x": True,
    "io.mcp": True,  # a name with a dot, and no prefix
    "protocolVersion": True,
}


@proves("META-01", "META-03", "META-05")
@pytest.mark.parametrize(("key", "passes"), [*WELL_WRITTEN.items(), *OWNED.items()])
def test_allowing_everything_still_keeps_to_the_grammar_and_the_reserved_keys(key: str, passes: bool) -> None:
    assert MetaPassthrough(everything=True).passes(key) is passes
    assert is_free(key) is passes


@proves("META-01", "META-02", "PROF-07")
@pytest.mark.parametrize(
    ("key", "passes"),
    [
        ("traceparent", True),
        ("tracestate", True),
        ("traceparent2", False),
        ("baggage", False),
        ("vscode.requestId", True),
        ("vscode.chat/turn", True),
        ("vscode.mcp/turn", False),
        ("vscode.", False),
        ("vscode", False),
        ("VSCODE.x", False),
        ("com.example/vscode.x", False),
        ("progressToken", False),
    ],
)
def test_the_editor_s_profile_allows_trace_keys_and_its_own(key: str, passes: bool) -> None:
    profile = named("vscode")
    assert profile is not None
    assert profile.passthrough.passes(key) is passes


@proves("META-02", "META-09")
def test_a_profile_can_allow_baggage_by_name() -> None:
    assert MetaPassthrough(keys=frozenset({"baggage"})).passes("baggage")
    assert not MetaPassthrough(keys=frozenset({"baggage"})).passes("traceparent")


@proves("META-04")
def test_a_profile_cannot_allow_a_key_of_the_protocol_by_name() -> None:
    assert not MetaPassthrough(keys=frozenset({"progressToken"})).passes("progressToken")


@proves("META-02", "META-07")
def test_nothing_allowed_lets_nothing_pass() -> None:
    assert not MetaPassthrough().passes("a")


@pytest.mark.parametrize("key", ["a" * 100_000, "a" + "-" * 100_000, ("a" * 40 + ".") * 5_000 + "/", "." * 100_000])
def test_a_long_key_is_decided_and_not_remembered(key: str) -> None:
    everything = MetaPassthrough(everything=True)
    assert everything.passes(key) is everything.passes(key) is (key[-1] == "a")
