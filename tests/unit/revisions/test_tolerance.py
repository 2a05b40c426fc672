"""Declarations of peers that are nearly right."""

from typing import Any

import pytest

from dragoman.revisions.tolerance import declared, implementation
from dragoman.wire.members import raw, value_of


@pytest.mark.parametrize(
    ("given", "members", "flaws"),
    [
        ({"tools": {}}, {"tools": {}}, ()),
        ({"tools": []}, {"tools": {}}, ("tools is an array",)),
        ({"tools": True}, {"tools": {}}, ("tools is true",)),
        ({"tools": False, "logging": 1}, {}, ("tools is false", "logging is a number")),
        ({"tools": None}, {}, ()),
        ([], {}, ("capabilities is an array",)),
        (None, {}, ()),
        ("x", {}, ("capabilities is a text",)),
        ({"sampling": {"tools": [], "x": 1}}, {"sampling": {"x": 1, "tools": {}}}, ("sampling.tools is an array",)),
        ({"elicitation": {"url": 5}}, {"elicitation": {}}, ("elicitation.url is a number",)),
        ({"elicitation": {"url": None}}, {"elicitation": {}}, ()),
    ],
)
def test_a_capability_is_read_as_what_it_plainly_means(given: Any, members: Any, flaws: tuple[str, ...]) -> None:
    """CAP-08 as T21 amends it (E1)."""
    found = declared(raw(given))
    assert {name: value_of(value) for name, value in found.members.items()} == members
    assert found.flaws == flaws


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"name": "s", "version": "1", "more": [1]}, {"name": "s", "version": "1", "more": [1]}),
        ({"name": "s", "version": "1", "title": None}, {"name": "s", "version": "1"}),
        ({"name": "s", "version": 1.5}, {"name": "s", "version": "1.5"}),
        ({"name": "s"}, {"name": "s", "version": "unknown"}),
        ({"name": "s", "version": None, "icons": [1]}, {"name": "s", "version": "unknown"}),
        ({"name": "", "version": "1"}, None),
        ({"version": "1"}, None),
        ([], None),
    ],
)
def test_a_name_is_kept_whatever_is_wrong_beside_it(given: Any, told: Any) -> None:
    """IRES-06 (E3)."""
    found = implementation(raw(given))
    assert (value_of(found) if found is not None else None) == told
