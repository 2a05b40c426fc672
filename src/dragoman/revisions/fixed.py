"""Members of a request whose JSON type every revision fixes, so that another one can be said in none (REV-10).

A `null` is let through: clients write it for what they leave out, and the server may well take it so. An empty array is
an empty object to languages with one type for both, and becomes one.
"""

from dragoman.wire.members import EMPTY, Members, first_byte, is_null

TEXT, OBJECT = (0x22, "a string"), (0x7B, "an object")
"""The first byte of such a value, and what it is called."""

_LIST = (("cursor", *TEXT),)
_NAMED = (("name", *TEXT), ("arguments", *OBJECT))
FIXED: dict[str, tuple[tuple[str, int, str], ...]] = {
    "tools/call": _NAMED,
    "prompts/get": _NAMED,
    "resources/read": (("uri", *TEXT),),
    "completion/complete": (("ref", *OBJECT), ("argument", *OBJECT)),
    "tools/list": _LIST,
    "prompts/list": _LIST,
    "resources/list": _LIST,
    "resources/templates/list": _LIST,
}


def misfit(method: str, params: Members) -> tuple[str, str] | None:
    """The first member of another type than all revisions want, and what they want; `params` are mended in place."""
    for name, begins, kind in FIXED.get(method, ()):
        value = params.get(name)
        if value is None or memoryview(value)[0] == begins:
            continue
        if begins == OBJECT[0] and bytes(value).translate(None, b" \t\r\n") == b"[]":
            params[name] = EMPTY
        elif first_byte(value) != begins and not is_null(value):
            return name, kind
    return None
