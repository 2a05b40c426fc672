"""Documents of authorization servers that are nearly right."""

import json
from typing import Any

import pytest

from dragoman.signin.document import Document

ABSENT = "absent"


def read(value: Any, kind: str) -> tuple[Any, list[str]]:
    notes: list[str] = []
    members = {} if value == ABSENT else {"m": value}
    document = Document(json.dumps(members).encode(), "the document", notes.append)
    return getattr(document, kind)("m"), notes


@pytest.mark.parametrize(
    ("kind", "value", "expected", "is_noted"),
    [
        ("text", "a", "a", False),
        ("text", 7, "7", False),
        ("text", "", None, False),
        ("text", None, None, False),
        ("text", ABSENT, None, False),
        ("text", ["a"], None, True),
        ("text", True, None, True),
        ("texts", ["a", "b"], ("a", "b"), False),
        ("texts", "a  b", ("a", "b"), False),
        ("texts", [1, "a", None], ("a",), False),
        ("texts", [], (), False),
        ("texts", {}, None, True),
        ("texts", None, None, False),
        ("flag", True, True, False),
        ("flag", "TRUE", True, False),
        ("flag", "false", False, False),
        ("flag", ABSENT, False, False),
        ("flag", 1, False, True),
        ("number", 1.5, 1.5, False),
        ("number", "3600", 3600.0, False),
        ("number", 0, 0.0, False),
        ("number", "soon", None, True),
        ("number", "NaN", None, True),
        ("number", 10**400, None, True),
        ("number", True, None, True),
        ("number", None, None, False),
    ],
)
def test_a_member_is_read_as_what_it_plainly_says(kind: str, value: Any, expected: Any, is_noted: bool) -> None:
    """E: with one line for what cannot be used, which names the member and repeats no value."""
    found, notes = read(value, kind)
    assert (found, type(found)) == (expected, type(expected))
    assert [note.startswith("the document: m is not used") for note in notes] == [True] * is_noted
    assert not any("soon" in note for note in notes)


@pytest.mark.parametrize("text", [b"", b"[]", b"1", b"{", b"\xff", b"[" * 9999])
def test_what_is_no_object_is_no_document(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"^the document is no JSON object$"):
        Document(text, "the document")
