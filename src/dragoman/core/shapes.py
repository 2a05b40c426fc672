"""Whether a value has the shape of an official type, and whether a form takes an answer.

The types are those of the newest revision, the one whose servers ask by results. Its published schema is made from
TypeScript and says integer where the protocol says number, and has no null in a JSON value; `LOOSER` undoes that.
Formats are annotations and are not checked. A schema that refers to something outside of itself does not compile:
nothing is ever fetched.

The validator is imported when something is first asked, since most conversations have no input request.
"""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from msgspec import DecodeError, Raw

from dragoman import schemas
from dragoman.revisions import LATEST
from dragoman.wire.members import value_of

if TYPE_CHECKING:
    from jsonschema_rs import Validator

FORM = "ElicitRequestFormParams"
PAGE = "ElicitRequestURLParams"
SAMPLING = "CreateMessageRequestParams"
ROOTS = "ListRootsRequest/properties/params"
ELICIT_RESULT = "ElicitResult"
SAMPLING_RESULT = "CreateMessageResult"
ROOTS_RESULT = "ListRootsResult"

LOOSER: tuple[tuple[tuple[str | int, ...], Any], ...] = (
    (("JSONValue", "anyOf", 2, "type"), ["string", "number", "boolean", "null"]),
    (
        ("ElicitResult", "properties", "content", "additionalProperties", "anyOf", 1, "type"),
        ["string", "number", "boolean"],
    ),
    (("CreateMessageRequestParams", "properties", "maxTokens", "type"), "number"),
    (("Resource", "properties", "size", "type"), "number"),
    (("ResourceLink", "properties", "size", "type"), "number"),
)
"""Where the schema is stricter than the protocol, and what stands there instead."""

SHOWN = 120  # characters of a pointer in a detail
UNREADABLE = (DecodeError, RecursionError, ValueError)


def flaw(type_name: str, value: Raw) -> str | None:
    """The keyword that `value` fails and its place in `value`; `None` when it has the shape."""
    try:
        error = next(iter(_validator(type_name).iter_errors(value_of(value))), None)
    except UNREADABLE:
        return "it cannot be read"
    if error is None:
        return None
    keyword = next((step for step in reversed(error.schema_path) if isinstance(step, str)), "its schema")
    return f"{keyword} fails at {_pointer(error.instance_path)!r}"


class Form:
    """A form's schema, ready to judge answers.

    An answer has to have its shape: the right members, of the right types and sizes. Which choice it makes is a matter
    of the server, also when the form does not offer it: some clients let their user write one (ANS-02).
    """

    __slots__ = ("_schema", "_validator")

    def __init__(self, schema: Raw) -> None:
        """
        Raises:
            ValueError: the schema does not compile.
        """
        try:
            self._schema = value_of(schema)
            self._validator = _compiled(self._schema)
        except UNREADABLE as error:
            raise ValueError("the schema of the form does not compile") from error

    def accepts(self, content: Raw) -> bool:
        try:
            given = value_of(content)
            return self._validator.is_valid(given) or _compiled(_without_choices(self._schema)).is_valid(given)
        except UNREADABLE:
            return False


CHOICES = frozenset({"enum", "const", "oneOf", "anyOf"})


def _without_choices(schema: Any) -> Any:
    """A form's schema in which each field takes every value of its type."""
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Any]", schema)
    fields = members.get("properties")
    if not isinstance(fields, dict):
        return members
    return {**members, "properties": {name: _open(field) for name, field in cast("dict[str, Any]", fields).items()}}


def _open(field: Any) -> Any:
    if not isinstance(field, dict):
        return field
    kept = {name: value for name, value in cast("dict[str, Any]", field).items() if name not in CHOICES}
    if "items" in kept:
        kept["items"] = _open(kept["items"])
    return kept


def _compiled(schema: Any) -> "Validator":
    from jsonschema_rs import validator_for

    return validator_for(schema, retriever=_fetch_nothing, validate_formats=False)


def _fetch_nothing(uri: str) -> Any:
    raise ValueError("a schema may not refer to something outside of itself")


@cache
def _validator(type_name: str) -> "Validator":
    document = _document()
    return _compiled({**document, "$ref": f"#/$defs/{type_name}"})


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = value_of(schemas.text(LATEST.name))
    for path, looser in LOOSER:
        place: Any = document["$defs"]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = looser
    return document


def _pointer(path: Iterable[str | int]) -> str:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{step}" for step in steps)[:SHOWN]
