"""What a protected resource tells of itself, and where."""

import json

import pytest

from dragoman.auth.metadata import metadata, metadata_paths, metadata_url
from dragoman.transports.http.address import address

WELL_KNOWN = "/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("resource", "url", "paths"),
    [
        ("https://m.example", f"https://m.example{WELL_KNOWN}", {WELL_KNOWN}),
        ("https://m.example/", f"https://m.example{WELL_KNOWN}", {WELL_KNOWN}),
        ("https://m.example/mcp", f"https://m.example{WELL_KNOWN}/mcp", {WELL_KNOWN, f"{WELL_KNOWN}/mcp"}),
        ("https://m.example:8443/a/b/", f"https://m.example:8443{WELL_KNOWN}/a/b/", {WELL_KNOWN, f"{WELL_KNOWN}/a/b"}),
        ("http://[::1]:80/%C3%A4", f"http://[::1]:80{WELL_KNOWN}/%C3%A4", {WELL_KNOWN, f"{WELL_KNOWN}/ä"}),
    ],
)
def test_the_metadata_is_below_the_root_with_the_path_of_the_resource_and_without(
    resource: str, url: str, paths: set[str]
) -> None:
    assert metadata_url(address(resource)) == url
    assert metadata_paths(address(resource)) == paths


@pytest.mark.parametrize("resource", ["https://m.example", "https://m.example/", "https://m.example/mcp"])
def test_the_resource_is_the_text_that_was_given(resource: str) -> None:
    assert json.loads(metadata(address(resource), "https://as.example", ())) == {
        "resource": resource,
        "authorization_servers": ["https://as.example"],
        "bearer_methods_supported": ["header"],
    }


def test_scopes_are_told_when_there_are_any() -> None:
    document = json.loads(metadata(address("https://m.example"), "https://as.example", ("a", "b")))
    assert document["scopes_supported"] == ["a", "b"]
