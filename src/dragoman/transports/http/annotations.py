"""Arguments that travel in headers too: the keyword `x-mcp-header` in the input schema of a tool (HTTP-03).

A *mark* is the keyword's value, the name that follows `Mcp-Param-`. It is valid when all of this is true:

* it is a token of HTTP, and no other mark of the schema equals it without regard to case;
* it stands on a property whose `type` is just `string`, `integer` or `boolean`;
* only `properties` lead from the root of the schema to it: nothing in an array, a choice, a definition or a condition.

A tool with an invalid mark is left out of the list of tools. The value of a valid one is read at its exact path in the
arguments; what is absent, `null`, an object or an array has no header. An integer beyond 2^53 - 1 cannot be sent, as
readers would differ about it. A keyword inside of data (`default`, `const`, `enum`, `examples`) is no mark.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from msgspec import Raw

from dragoman.transports.http.binding import TOKEN, Unmirrorable, sealed, text_in
from dragoman.wire.members import Members, closed, first_byte, is_null, items_of, object_in, own, raw, text_of, value_of

KEYWORD = "x-mcp-header"
PREFIX = "Mcp-Param-"
TYPES = frozenset({"string", "integer", "boolean"})
LARGEST = (1 << 53) - 1
MOST_TOOLS = 10_000

_ONE = frozenset(
    {
        *("items", "additionalItems", "contains", "unevaluatedItems", "propertyNames", "contentSchema"),
        *("additionalProperties", "unevaluatedProperties", "not", "if", "then", "else"),
    }
)
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_MAPS = frozenset({"patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"})


class InvalidMark(ValueError):
    """Why a tool must not be offered, in words for the log."""


@dataclass(frozen=True, slots=True)
class Mark:
    header: str
    path: tuple[str, ...]


class Annotations:
    """The marks of the tools that the server has told of so far. `edition` grows whenever they change."""

    def __init__(self) -> None:
        self.edition = 0
        self._marks: dict[str, tuple[Mark, ...]] = {}

    def learn(self, result: Members) -> tuple[Raw | None, list[str]]:
        """Take a result of tools/list: it without the tools that are invalid (`None`: as it is), and why they are."""
        tools = items_of(result.get("tools")) or []
        if not self._marks and not any(_may_be_marked(tool) for tool in tools):
            return None, []
        kept: list[Raw] = []
        reasons: list[str] = []
        for tool in tools:
            try:
                self._learn(tool)
            except InvalidMark as reason:
                reasons.append(f"{_shown(tool)}: {reason}")
            else:
                kept.append(tool)
        return (closed({**result, "tools": raw(kept)}) if reasons else None), reasons

    def forget(self) -> None:
        """Everything is about to be learned anew."""
        self.edition += 1
        self._marks.clear()

    def known(self, tool: Raw | None) -> set[str]:
        """The headers that a tool's arguments may have."""
        return {mark.header for mark in self._marks.get(text_of(tool) or "", ())}

    def headers(self, tool: Raw | None, arguments: Raw | None) -> dict[str, str]:
        """The headers of one tools/call.

        Raises:
            Unmirrorable: the value of a marked argument cannot be sent.
        """
        marks = self._marks.get(text_in(tool) or "") if self._marks else None
        if not marks:
            return {}
        values = ((mark.header, _spelled(_at(mark.path, arguments))) for mark in marks)
        return {header: sealed(value) for header, value in values if value is not None}

    def _learn(self, tool: Raw) -> None:
        members = object_in(tool) or {}
        try:
            name = text_of(members.get("name"))
        except msgspec.DecodeError:
            return  # half a surrogate pair: no call can name it
        if name is None:
            return
        schema = members.get("inputSchema")
        try:
            marks = marks_of(schema) if schema is not None and _may_be_marked(schema) else ()
        except InvalidMark:
            self._marks.pop(name, None)
            raise
        if marks == self._marks.get(name, ()):
            return
        self.edition += 1
        self._marks.pop(name, None)
        if marks:
            if len(self._marks) >= MOST_TOOLS:
                del self._marks[next(iter(self._marks))]
            self._marks[name] = marks


def marks_of(schema: Raw) -> tuple[Mark, ...]:
    """The marks of an input schema.

    Raises:
        InvalidMark: one of them is not valid, or the schema is too deep to be sure.
    """
    try:
        root = value_of(own(schema))
    except (msgspec.DecodeError, RecursionError):
        raise InvalidMark("its input schema cannot be read") from None
    marks: list[Mark] = []
    names: set[str] = set()
    for path, part in _schemas(root):
        if KEYWORD not in part:
            continue
        name = part[KEYWORD]
        if not path:
            raise InvalidMark(f"{KEYWORD} stands where no chain of properties leads to")
        if not isinstance(name, str) or not TOKEN.fullmatch(name):
            raise InvalidMark(f"{KEYWORD} is no token of HTTP")
        kind = part.get("type")
        if not isinstance(kind, str) or kind not in TYPES:
            raise InvalidMark(f"{KEYWORD} stands on a property that is no string, integer or boolean")
        if name.lower() in names:
            raise InvalidMark(f"{KEYWORD} gives one name to two properties")
        names.add(name.lower())
        marks.append(Mark(PREFIX + name, path))
    return tuple(marks)


def _schemas(root: object) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Every schema inside `root`, with the chain of properties that leads to it; `None` where there is no such chain.

    Without recursion, as the server decides how deep it goes.
    """
    waiting: list[tuple[tuple[str, ...] | None, object]] = [((), root)]
    while waiting:
        path, part = waiting.pop()
        if not isinstance(part, dict):
            continue
        schema = cast("dict[str, Any]", part)
        yield path, schema
        for keyword, value in schema.items():
            if keyword == "properties" and isinstance(value, dict):
                for name, inner in cast("dict[str, object]", value).items():
                    waiting.append(((*path, name) if path is not None else None, inner))
            elif keyword in _LISTS and isinstance(value, list):
                waiting += ((None, inner) for inner in cast("list[object]", value))
            elif keyword in _MAPS and isinstance(value, dict):
                waiting += ((None, inner) for inner in cast("dict[str, object]", value).values())
            elif keyword in _ONE:
                waiting.append((None, value))


def _shown(tool: Raw) -> str:
    name = text_of((object_in(tool) or {}).get("name")) or ""
    return ascii(name[:80])


def _may_be_marked(value: Raw) -> bool:
    data = bytes(value)
    return KEYWORD.encode() in data or b"\\u" in data


def _at(path: tuple[str, ...], value: Raw | None) -> Raw | None:
    for name in path:
        try:
            members = object_in(value)
        except msgspec.DecodeError as error:  # half a surrogate pair somewhere inside
            raise Unmirrorable from error
        value = members.get(name) if members is not None else None
        if value is None:
            return None
    return value


def _spelled(value: Raw | None) -> str | None:
    """A value as it stands in a header, before `sealed`."""
    if value is None or is_null(value) or first_byte(value) in b"{[":
        return None
    if first_byte(value) == 0x22:
        return text_in(value)
    data = bytes(value).strip().decode("ascii")
    if data in ("true", "false"):
        return data
    try:
        number = value_of(data.encode())
    except msgspec.DecodeError:
        raise Unmirrorable("a number beyond every double") from None
    if isinstance(number, float):
        if not number.is_integer():
            return data
        number = int(number)
    if abs(number) > LARGEST:
        raise Unmirrorable("an integer beyond 2^53 - 1")
    return str(number)
