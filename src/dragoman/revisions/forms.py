"""Elicitation: what a form asks, and what the user answered."""

from msgspec import Raw

from dragoman.revisions.blocks import mentions
from dragoman.revisions.step import Policy, Refusal, Report, Rule, Why
from dragoman.wire.members import Members, closed, encoded, first_byte, items_of, object_in, text_of


def require_form(rule: Rule, members: Members, policy: Policy, report: Report) -> Refusal | None:
    """S3-02: without modes there are only forms."""
    mode = text_of(members["mode"])
    if mode == "form":
        return None
    if mode == "url":
        return rule.refusal(Why.LACKS_FEATURE, "mode", "elicitation by URL does not exist there")
    return rule.refusal(Why.WRONG_TYPE, "mode", "the mode of an elicitation is form or url")


def refuse_lists(rule: Rule, members: Members, policy: Policy, report: Report) -> Refusal | None:
    """S3-07: older forms have no field with several values."""
    if not mentions(members[rule.member], b'"array"'):
        return None
    _, properties = _properties(members[rule.member])
    for name, value in properties.items():
        field = object_in(value)
        if field is not None and text_of(field.get("type")) == "array":
            return rule.refusal(
                Why.LACKS_FEATURE,
                f"requestedSchema.properties.{name}",
                "a choice of several values does not exist there",
            )
    return None


def name_choices(rule: Rule, members: Members, policy: Policy, report: Report) -> None:
    """S3-06: titled choices were first spelled as two parallel arrays."""
    if not mentions(members[rule.member], b'"oneOf"'):
        return
    schema, properties = _properties(members[rule.member])
    changed = False
    for name, value in properties.items():
        field = object_in(value)
        rewritten = _parallel(field) if field is not None and "oneOf" in field else None
        if rewritten is not None:
            properties[name], changed = closed(rewritten), True
            rule.note(report, "L", f"requestedSchema.properties.{name}", "wrote oneOf as enum and enumNames")
    if changed:
        schema["properties"] = closed(properties)
        members[rule.member] = closed(schema)


def _properties(requested: Raw) -> tuple[Members, Members]:
    schema = object_in(requested) or {}
    return schema, object_in(schema.get("properties")) or {}


def _parallel(field: Members) -> Members | None:
    """The field with `enum` and `enumNames` where `oneOf` stood; `None` unless every choice is a constant."""
    choices = [object_in(choice) for choice in items_of(field["oneOf"]) or ()]
    values: list[Raw] = []
    titles: list[Raw] = []
    for choice in choices:
        if choice is None or "const" not in choice:
            return None
        values.append(choice["const"])
        titles.append(choice.get("title", choice["const"]))
    if not values:
        return None
    rewritten: Members = {}
    for name, value in field.items():
        if name == "oneOf":
            rewritten["enum"], rewritten["enumNames"] = Raw(encoded(values)), Raw(encoded(titles))
        elif name not in ("enum", "enumNames"):
            rewritten[name] = value
    return rewritten


def refuse_list_answers(rule: Rule, members: Members, policy: Policy, report: Report) -> Refusal | None:
    """S3-09: an older form asked for single values, so a list answers nothing that was asked."""
    for name, value in (object_in(members["content"]) or {}).items():
        if first_byte(value) == 0x5B:
            return rule.refusal(Why.WRONG_TYPE, f"content.{name}", "the answer of a form field is one value")
    return None
