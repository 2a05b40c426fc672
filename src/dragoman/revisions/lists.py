"""Items of lists: changes to the tools, prompts and resources that a list result names.

A list is often large and seldom needs a change. So each act first looks for the bytes that could concern it, and where
those are frequent, it asks the decoder whether the whole list already has the older type.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from dragoman.revisions.blocks import each_item, mentions
from dragoman.revisions.step import Policy, Refusal, Report, Rule
from dragoman.wire.members import EMPTY, Members, closed, first_byte, object_in, text_of

NEVER = Raw(b'{"not":{}}')
SCHEMAS = ("inputSchema", "outputSchema")

Change = Callable[[Rule, Members, str, Report], bool]


class _Anything(msgspec.Struct):
    """Some object."""


class _NamedProperties(msgspec.Struct):
    properties: dict[str, _Anything] = {}


class _OlderTool(msgspec.Struct):
    inputSchema: _NamedProperties | None = None
    outputSchema: _NamedProperties | None = None


_older_tools = msgspec.json.Decoder(list[_OlderTool]).decode


@dataclass(frozen=True, slots=True)
class EachItem:
    """Change every item that mentions one of `words`; `change` works in place and tells whether it did anything.

    `fits` raises for a list that may need a change.
    """

    words: tuple[bytes, ...]
    change: Change
    strict: bool = False
    fits: Callable[[Raw], object] | None = None

    def __call__(self, rule: Rule, members: Members, policy: Policy, report: Report) -> Refusal | None:
        before = members[rule.member]
        if (self.strict and not policy.strict) or not mentions(before, *self.words):
            return None
        if self.fits is not None and _decodes(self.fits, before):
            return None

        def visit(item: Raw, place: str) -> Raw | Refusal:
            opened = object_in(item) if mentions(item, *self.words) else None
            return closed(opened) if opened is not None and self.change(rule, opened, place, report) else item

        after = each_item(before, rule.member, visit)
        if isinstance(after, Refusal):
            return after
        if after is not before:
            members[rule.member] = after
        return None


def _decodes(decode: Callable[[Raw], object], value: Raw) -> bool:
    try:
        decode(value)
    except msgspec.ValidationError:
        return False
    return True


def _name_booleans(rule: Rule, tool: Members, place: str, report: Report) -> bool:
    """S4-17: older schemas want an object for each property; `{}` takes everything and `{"not": {}}` nothing."""
    changed = False
    for name in SCHEMAS:
        schema = object_in(tool.get(name))
        properties = object_in(schema.get("properties")) if schema is not None else None
        if schema is None or properties is None:
            continue
        booleans = {key: first_byte(value) for key, value in properties.items() if first_byte(value) in b"tf"}
        for key, first in booleans.items():
            properties[key] = EMPTY if first == 0x74 else NEVER
            rule.note(report, "L", f"{place}.{name}.properties.{key}", "wrote a boolean schema as an object")
        if booleans:
            schema["properties"] = closed(properties)
            tool[name] = closed(schema)
            changed = True
    return changed


def _drop_open_output(rule: Rule, tool: Members, place: str, report: Report) -> bool:
    """S4-18: two revisions take only object schemas here, and their readers refuse the whole list for one other."""
    output = tool.get("outputSchema")
    if output is None:
        return False
    schema = object_in(output)
    if schema is not None and text_of(schema.get("type")) == "object":
        return False
    del tool["outputSchema"]
    rule.note(report, "F", f"{place}.outputSchema", "removed, because its root is no object schema")
    return True


name_booleans = EachItem((b"true", b"false"), _name_booleans, fits=_older_tools)
drop_open_output = EachItem((b'"outputSchema"',), _drop_open_output)


def strip(newer: Mapping[str, str], inner: str | None = None) -> EachItem:
    """Strict results: take away members that the target does not know.

    `newer` maps each such member to the row that brought it; `inner` names an array of the item whose own items are
    meant instead of the item itself.
    """

    def plain(rule: Rule, item: Members, place: str, report: Report) -> bool:
        names = [name for name in item if name in newer]
        for name in names:
            del item[name]
            rule.bound_to(newer[name]).note(report, "F", f"{place}.{name}", "removed, because results are strict")
        return bool(names)

    def nested(rule: Rule, item: Members, place: str, report: Report) -> bool:
        before = item.get(inner or "")
        if before is None:
            return False

        def visit(value: Raw, at: str) -> Raw:
            opened = object_in(value)
            return closed(opened) if opened is not None and plain(rule, opened, at, report) else value

        after = each_item(before, f"{place}.{inner}", visit)
        if isinstance(after, Refusal) or after is before:
            return False
        item[inner or ""] = after
        return True

    words = tuple(f'"{name}"'.encode() for name in newer)
    return EachItem(words, nested if inner else plain, strict=True)
