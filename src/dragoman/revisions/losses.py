"""The acts of rules: how a member is dropped, made up, rewritten, or refused.

Acts that open nested values live in `blocks.py` (content), `lists.py` (items of lists) and `forms.py` (elicitation).
"""

from dataclasses import dataclass

from msgspec import Raw, ValidationError

from dragoman.revisions.blocks import has_text
from dragoman.revisions.step import Act, Policy, Refusal, Report, Rule, Why
from dragoman.wire.members import (
    Members,
    closed,
    encoded,
    first_byte,
    is_null,
    is_object,
    items_of,
    object_in,
    opened,
    raw,
)

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
COMPLETIONS = 100
TRUE = Raw(b"true")
EMPTY_ARRAY = Raw(b"[]")


def drop(rule: Rule, members: Members, policy: Policy, report: Report) -> None:
    """Take away a member that belongs to the hop; nobody loses anything, so nothing is reported."""
    del members[rule.member]


@dataclass(frozen=True, slots=True)
class Drop:
    """Take away a member, and say so."""

    kind: str
    detail: str

    def __call__(self, rule: Rule, members: Members, policy: Policy, report: Report) -> None:
        del members[rule.member]
        rule.note(report, self.kind, rule.member, self.detail)


@dataclass(frozen=True, slots=True)
class Stamp:
    """Put a member of ours, in place of any of that name."""

    name: str
    value: Raw

    def __call__(self, rule: Rule, members: Members, policy: Policy, report: Report) -> None:
        members[self.name] = self.value


@dataclass(frozen=True, slots=True)
class Lacks:
    """Refuse a payload that has this member."""

    detail: str

    def __call__(self, rule: Rule, members: Members, policy: Policy, report: Report) -> Refusal:
        return rule.refusal(Why.LACKS_FEATURE, rule.member, self.detail)


def absent(detail: str) -> Act:
    """Refuse a method that the target does not have, whatever its payload."""

    def act(rule: Rule, members: Members, policy: Policy, report: Report) -> Refusal:
        return rule.refusal(Why.LACKS_FEATURE, "", detail)

    return act


def keep_string(rule: Rule, members: Members, policy: Policy, report: Report) -> None:
    """H-08, RES-06: a cursor that is no string is none."""
    if first_byte(members[rule.member]) != 0x22:
        del members[rule.member]


def keep_object(rule: Rule, members: Members, policy: Policy, report: Report) -> None:
    """An optional member that is no object counts as absent, where only the reader's revision says that it is one."""
    if first_byte(members[rule.member]) != 0x7B:
        del members[rule.member]


def ensure_content(rule: Rule, members: Members, policy: Policy, report: Report) -> None:
    """RES-08: every revision requires the array."""
    content = members.get("content")
    if content is None or (memoryview(content)[0] != 0x5B and first_byte(content) != 0x5B):
        members["content"] = EMPTY_ARRAY


@dataclass(frozen=True, slots=True)
class ForgetMeta:
    """Take keys out of `_meta`, and `_meta` itself when nothing is left of it."""

    keys: tuple[str, ...]

    def __call__(self, rule: Rule, members: Members, policy: Policy, report: Report) -> None:
        try:
            meta = opened(members["_meta"])
        except ValidationError:  # no object, so there is no key to forget
            return
        count = len(meta)
        for key in self.keys:
            meta.pop(key, None)
        if not meta and (count or not self.keys):
            del members["_meta"]
        elif len(meta) != count:
            members["_meta"] = closed(meta)


def mirror(rule: Rule, members: Members, policy: Policy, report: Report) -> None:
    """RES-09, RES-10: a reader that does not know `structuredContent` finds it as text, as the server spelled it."""
    structure = members["structuredContent"]
    if is_null(structure):
        return
    content = members.get("content")
    if has_text(content):
        return
    items = items_of(content) or []
    items.append(raw({"type": "text", "text": bytes(structure).decode()}))
    members["content"] = Raw(encoded(items))
    rule.note(report, "L", "content", "added structuredContent as a text block")


def strip_structure(rule: Rule, members: Members, policy: Policy, report: Report) -> None:
    """S2-02 in strict mode; the mirror runs before."""
    if policy.strict:
        del members["structuredContent"]
        rule.note(report, "F", "structuredContent", "removed; its text is in content")


def require_structure_object(rule: Rule, members: Members, policy: Policy, report: Report) -> Refusal | None:
    """S4-19: two revisions want an object where the newest takes any value; the mirror runs before.

    Strict results go before `keep_structure`: a profile that keeps such values can still be told to be strict (RES-12).
    """
    if is_object(members["structuredContent"]) or (policy.keep_structure and not policy.strict):
        return None
    if policy.allow_downgrade or policy.strict:
        del members["structuredContent"]
        rule.note(report, "F", "structuredContent", "removed, because it is no object")
        return None
    return rule.refusal(Why.POLICY, "structuredContent", "structuredContent must be an object")


def cut_completion(rule: Rule, members: Members, policy: Policy, report: Report) -> None:
    """S4-34: every revision says at most 100 values; the newest also checks it."""
    completion = object_in(members["completion"])
    values = items_of(completion.get("values")) if completion is not None else None
    if completion is None or values is None or len(values) <= COMPLETIONS:
        return
    completion["values"] = Raw(encoded(values[:COMPLETIONS]))
    completion["hasMore"] = TRUE
    members["completion"] = closed(completion)
    rule.note(report, "F", "completion.values", f"cut from {len(values)} to {COMPLETIONS} values")
