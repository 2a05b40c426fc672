"""The items rule: no array schema of a tool's input has an `items` that JavaScript reads as false (ITEMS).

Some clients take an array schema without `items` for an error, although it accepts every array. The rule writes what
such a schema means in a form that they take, and a changed schema accepts just the arrays that it accepted before:

* `items` absent, or of no meaning (null, zero, an empty text): `items: {}`;
* `items: false`: `items: {}`, and `maxItems` so that nothing can follow the `prefixItems`;
* `unevaluatedItems` beside no `items` and nothing else that looks at items says the same as `items`, and would say
  nothing beside `items: {}`; so it is read as `items`.

The walk opens only the schemas on its way to a change. Numbers, texts and order of everything else stay as they were.
"""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec import Raw

from dragoman.wire.members import EMPTY, Members, closed, encoded, is_null, is_object, items_of, object_in, raw, text_of

DEEPEST = 64

MAPS = ("properties", "patternProperties", "dependencies", "dependentSchemas", "$defs", "definitions")
SINGLE = ("additionalProperties", "not", "if", "then", "else", "contains")
LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
LOOK_AT_ITEMS = ("$ref", "$dynamicRef", "anyOf", "allOf", "oneOf", "not", "if", "contains", "dependentSchemas")

Note = Callable[[str, str], None]
"""Takes the RFC 6901 pointer of a schema inside the input schema, and what was done there."""


def may_hold(json: Raw | bytes, word: bytes) -> bool:
    """Whether the string `word` can stand in `json`; one that is spelled with escapes is not ruled out."""
    text = bytes(json)
    return b'"%b"' % word in text or b"\\u" in text


def with_items(schema: Raw, note: Note) -> Raw | None:
    """The input schema after the rule; `None` when it stays as it is."""
    return _Walk(note).changed(schema, 0, "")


@dataclass(frozen=True, slots=True)
class _Walk:
    note: Note

    def changed(self, schema: Raw, depth: int, pointer: str) -> Raw | None:
        if not may_hold(schema, b"array"):
            return None
        members = object_in(schema)
        if members is None:
            return None
        if depth > DEEPEST:
            self.note(pointer, f"not looked at, because it is nested more than {DEEPEST} levels deep")
            return None
        fires = text_of(members.get("type")) == "array" and self._give_items(members, pointer)
        for name in MAPS:
            fires |= self._in_map(members, name, depth + 1, pointer)
        for name in (*SINGLE, "items"):
            fires |= self._in_one(members, name, depth + 1, pointer)
        for name in (*LISTS, "items"):
            fires |= self._in_list(members, name, depth + 1, pointer)
        return closed(members) if fires else None

    def _give_items(self, schema: Members, pointer: str) -> bool:
        given = schema.get("items")
        if given is not None and not _is_false_in_javascript(given):
            return False
        rest = given if given is not None and bytes(given) == b"false" else _unevaluated(schema)
        if rest is not None and bytes(rest) == b"false":
            before = items_of(schema.get("prefixItems")) or ()
            schema["items"] = EMPTY
            self.note(pointer, "wrote items: {}, and maxItems for the end of the array")
            _limit(schema, len(before))
        elif rest is not None and is_object(rest):
            schema["items"] = rest
            self.note(pointer, "wrote unevaluatedItems as items")
        else:
            schema["items"] = EMPTY
            self.note(pointer, "wrote items: {}")
        return True

    def _in_one(self, members: Members, name: str, depth: int, pointer: str) -> bool:
        value = members.get(name)
        if value is None or not is_object(value):
            return False
        after = self.changed(value, depth, f"{pointer}/{name}")
        if after is not None:
            members[name] = after
        return after is not None

    def _in_map(self, members: Members, name: str, depth: int, pointer: str) -> bool:
        value = members.get(name)
        schemas = object_in(value) if value is not None and may_hold(value, b"array") else None
        fires = False
        for key, schema in (schemas or {}).items():
            after = self.changed(schema, depth, f"{pointer}/{name}/{_escaped(key)}")
            if after is not None:
                assert schemas is not None
                schemas[key] = after
                fires = True
        if fires and schemas is not None:
            members[name] = closed(schemas)
        return fires

    def _in_list(self, members: Members, name: str, depth: int, pointer: str) -> bool:
        value = members.get(name)
        schemas = items_of(value) if value is not None and may_hold(value, b"array") else None
        fires = False
        for index, schema in enumerate(schemas or ()):
            after = self.changed(schema, depth, f"{pointer}/{name}/{index}")
            if after is not None:
                assert schemas is not None
                schemas[index] = after
                fires = True
        if fires:
            members[name] = Raw(encoded(schemas))
        return fires


def _is_false_in_javascript(value: Raw) -> bool:
    text = bytes(value)
    if text in (b"false", b'""') or is_null(value):
        return True
    return text[:1] in b"-0123456789" and float(text) == 0.0


def _unevaluated(schema: Members) -> Raw | None:
    """What `unevaluatedItems` says of the rest of the array, if it alone says it."""
    return None if any(name in schema for name in LOOK_AT_ITEMS) else schema.get("unevaluatedItems")


def _limit(schema: Members, count: int) -> None:
    """At most `count` items, or fewer where `maxItems` says so already."""
    given = schema.get("maxItems")
    if given is None or (_is_number(given) and float(bytes(given)) > count):
        schema["maxItems"] = raw(count)


def _is_number(value: Raw) -> bool:
    return bytes(value)[:1] in b"-0123456789"


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
