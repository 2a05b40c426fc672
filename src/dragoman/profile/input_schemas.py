"""Input schemas of tools that some clients refuse, and with them the whole list of tools.

Every revision says that an input schema is an object schema: an object with `type: "object"`, whose `properties` are
objects and whose `required` is a list of names. Clients on the TypeScript SDK insist on all of it, those on the Python
SDK on the object alone. The arguments of a call are an object whatever the schema says, so adding that changes nothing.
"""

from dataclasses import dataclass

from msgspec import Raw

from dragoman.wire.members import (
    EMPTY,
    Members,
    closed,
    first_byte,
    is_null,
    is_object,
    items_of,
    object_in,
    raw,
    text_of,
)

OBJECT = raw("object")
STRICT, ALL = "clients on the TypeScript SDK", "clients on the TypeScript and the Python SDK"


@dataclass(frozen=True, slots=True)
class Flaw:
    """`place` is a JSON pointer in the schema, `refused_by` says which clients refuse the list for it."""

    place: str
    what: str
    refused_by: str = STRICT

    def __str__(self) -> str:
        return f"{self.place or 'the schema'} {self.what}"


def flaws(schema: Raw | None) -> list[Flaw]:
    """What is wrong with an input schema; mostly nothing."""
    if schema is None:
        return [Flaw("", "is missing", ALL)]
    members = object_in(schema)
    if members is None:
        return [Flaw("", "is no object", ALL)]
    found: list[Flaw] = []
    kind = members.get("type")
    if kind is None:
        found.append(Flaw("/type", "is missing"))
    elif text_of(kind) != "object":
        found.append(Flaw("/type", 'is not "object"'))
    properties = members.get("properties")
    if properties is not None:
        named = object_in(properties)
        if named is None:
            found.append(Flaw("/properties", "is no object"))
        else:
            found += (Flaw(f"/properties/{_escaped(n)}", "is no object") for n, v in named.items() if not is_object(v))
    required = members.get("required")
    if required is not None and not _is_list_of_names(required):
        found.append(Flaw("/required", "is no list of names"))
    return found


def flaws_of(schema: Raw | None) -> list[str]:
    """The same in words."""
    return [str(flaw) for flaw in flaws(schema)]


def repaired(schema: Raw | None) -> Raw | None:
    """An object schema that means the same for arguments, which are an object; `None` when it is one already."""
    if not flaws(schema):
        return None
    members: Members = {} if schema is None else object_in(schema) or {}
    if text_of(members.get("type")) != "object":
        members = {"type": OBJECT, **{name: value for name, value in members.items() if name != "type"}}
    properties = members.get("properties")
    if properties is not None:
        named = object_in(properties) or {}
        members["properties"] = closed({name: _as_schema(value) for name, value in named.items()})
    required = members.get("required")
    if required is not None and not _is_list_of_names(required):
        del members["required"]
    return closed(members)


def _as_schema(value: Raw) -> Raw:
    """A property's schema as an object: `false` takes nothing, and what is no schema at all takes everything."""
    if is_object(value):
        return value
    return raw({"not": {}}) if first_byte(value) == 0x66 else EMPTY


def _is_list_of_names(value: Raw) -> bool:
    items = None if is_null(value) else items_of(value)
    return items is not None and all(first_byte(item) == 0x22 for item in items)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
