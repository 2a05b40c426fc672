"""Content blocks: finding them at every place where they can stand, and replacing or refusing one kind.

Blocks stand in an array (`content` of a tool result), alone (`content` of a message of a prompt), or either way
(`content` in sampling from 2025-11-25). A walk opens no more than it must: the bytes of the whole value are searched
for the name of the kind first, and only a hit, or an escape that could hide one, leads to a closer look.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.revisions.step import Policy, Refusal, Report, Rule, Why
from dragoman.wire.members import Members, closed, encoded, is_object, items_of, object_in, opened, raw, text_of

TEXT_FIRST = b'[{"type":"text"'

Visit = Callable[[Raw, str], Raw | Refusal]


class _Typed(msgspec.Struct):
    type: Any = None


_types = msgspec.json.Decoder(list[_Typed]).decode


def mentions(value: Raw, *words: bytes) -> bool:
    """Whether one of `words` may stand in `value`: as it is, or spelled with escapes."""
    data = bytes(value)
    for word in words:
        if word in data:
            return True
    return b"\\u" in data


def has_text(content: Raw | None) -> bool:
    """Whether an array of blocks has one of type `text`."""
    if content is None:
        return False
    if bytes(memoryview(content)[: len(TEXT_FIRST)]) == TEXT_FIRST:  # how most servers write it
        return True
    try:
        return any(block.type == "text" for block in _types(content))
    except msgspec.ValidationError:
        return any(_type_of(block) == "text" for block in items_of(content) or ())


def _type_of(block: Raw) -> str | None:
    members = object_in(block)
    return text_of(members.get("type")) if members is not None else None


def each_item(value: Raw, place: str, visit: Visit) -> Raw | Refusal:
    """`value` with every item of its array visited; the very same `value` when no visit changed one."""
    items = items_of(value)
    if items is None:
        return value
    changed = False
    for index, item in enumerate(items):
        seen = visit(item, f"{place}[{index}]")
        if isinstance(seen, Refusal):
            return seen
        if seen is not item:
            items[index], changed = seen, True
    return Raw(encoded(items)) if changed else value


def each_block(value: Raw, place: str, visit: Visit) -> Raw | Refusal:
    """Visit a block that stands alone, or every block of an array."""
    return visit(value, place) if is_object(value) else each_item(value, place, visit)


def each_content(value: Raw, place: str, visit: Visit) -> Raw | Refusal:
    """Visit the `content` of every message, whole."""

    def message(item: Raw, at: str) -> Raw | Refusal:
        members = object_in(item)
        content = members.get("content") if members is not None else None
        if members is None or content is None:
            return item
        seen = visit(content, f"{at}.content")
        if isinstance(seen, Refusal) or seen is content:
            return seen if isinstance(seen, Refusal) else item
        members["content"] = seen
        return closed(members)

    return each_item(value, place, message)


def _blocks(rule: Rule, members: Members, visit: Visit) -> Refusal | None:
    """Visit every block of the payload; `messages` hold theirs one level deeper."""
    before = members[rule.member]
    if rule.member == "messages":
        after = each_content(before, rule.member, lambda content, at: each_block(content, at, visit))
    else:
        after = each_block(before, rule.member, visit)
    if isinstance(after, Refusal):
        return after
    if after is not before:
        members[rule.member] = after
    return None


class LacksBlock:
    """Refuse a kind of block, or replace it by `other` when the user allows another shape (T12).

    `other` gives the block's new members, or `None` for a block without the data that it needs.
    """

    __slots__ = ("other", "type", "word")

    def __init__(self, type: str, other: Callable[[Members, str], Members | None] | None = None) -> None:
        self.type = type
        self.word = f'"{type}"'.encode()
        self.other = other

    def __call__(self, rule: Rule, members: Members, policy: Policy, report: Report) -> Refusal | None:
        if not mentions(members[rule.member], self.word):
            return None

        def visit(block: Raw, place: str) -> Raw | Refusal:
            if _type_of(block) != self.type:
                return block
            if self.other is None or not policy.allow_reencode:
                return rule.refusal(Why.LACKS_FEATURE, place, f"blocks of type {self.type} do not exist there")
            other = self.other(opened(block), place)
            if other is None:
                return rule.refusal(Why.WRONG_TYPE, place, f"the {self.type} block has no data to carry over")
            rule.note(report, "F", place, f"wrote the {self.type} block as {text_of(other['type'])}")
            return closed(other)

        return _blocks(rule, members, visit)


_NAME = {ord("["): ".", ord("]"): None}


def audio_as_resource(block: Members, place: str) -> Members | None:
    """S1-02: the same bytes and media type, as an embedded resource with a name of ours."""
    data, media = block.get("data"), block.get("mimeType")
    if text_of(data) is None or text_of(media) is None:
        return None
    resource = {"uri": f"urn:dragoman:audio:{place.translate(_NAME)}", "mimeType": media, "blob": data}
    return {"type": raw("resource"), "resource": raw(resource)} | _kept(block)


def link_as_text(block: Members, place: str) -> Members | None:
    """S2-04: title or name, description and URI, a line each."""
    uri = text_of(block.get("uri"))
    if uri is None:
        return None
    title = text_of(block.get("title")) or text_of(block.get("name"))
    lines = (title, text_of(block.get("description")), uri)
    return {"type": raw("text"), "text": raw("\n".join(line for line in lines if line))} | _kept(block)


def _kept(block: Members) -> Members:
    return {name: block[name] for name in ("annotations", "_meta") if name in block}


def bare_content(rule: Rule, members: Members, policy: Policy, report: Report) -> Refusal | None:
    """S3-11: older sampling has one block where newer sampling has one or several."""

    def bare(content: Raw, place: str) -> Raw | Refusal:
        items = items_of(content)
        if items is None:
            return content
        if len(items) != 1:
            return rule.refusal(Why.LACKS_FEATURE, place, "the content must be exactly one block")
        rule.note(report, "L", place, "took the one block out of its array")
        return items[0]

    before = members[rule.member]
    after = each_content(before, rule.member, bare) if rule.member == "messages" else bare(before, rule.member)
    if isinstance(after, Refusal):
        return after
    if after is not before:
        members[rule.member] = after
    return None


def require_structure_objects(rule: Rule, members: Members, policy: Policy, report: Report) -> Refusal | None:
    """S4-20: what a tool gave, told in a sampling message, must be an object too."""
    if policy.keep_structure or not mentions(members[rule.member], b'"structuredContent"'):
        return None

    def visit(block: Raw, place: str) -> Raw | Refusal:
        if _type_of(block) == "tool_result":
            structure = opened(block).get("structuredContent")
            if structure is not None and not is_object(structure):
                return rule.refusal(Why.WRONG_TYPE, f"{place}.structuredContent", "structuredContent must be an object")
        return block

    return _blocks(rule, members, visit)
