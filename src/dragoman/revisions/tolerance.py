"""A tolerant reading of what a peer declares of itself (decisions T21).

An optional member of a wrong type counts as absent. What is nearly right is read as what it plainly means: languages
with one type for lists and maps write an empty object as an array, and some write `true` for a capability without
members. Each such member is named in `flaws`, for one warning; a `null` is how many languages leave a member out.
"""

from dataclasses import dataclass

from msgspec import Raw

from dragoman.wire.members import (
    EMPTY,
    Members,
    first_byte,
    is_null,
    is_object,
    is_true,
    items_of,
    object_in,
    own,
    raw,
    text_of,
)

PARTS = {
    "elicitation": ("form", "url"),
    "sampling": ("context", "tools"),
    "tasks": ("cancel", "list", "requests"),
}
"""The capabilities whose own members are objects, with these members."""

NAMES = {0x22: "a text", 0x5B: "an array", 0x7B: "an object", 0x6E: "null", 0x74: "true", 0x66: "false"}
TEXTS = ("title", "version", "description", "websiteUrl")


@dataclass(frozen=True, slots=True)
class Declared:
    """Capabilities, each an object, and where they were written otherwise."""

    members: Members
    flaws: tuple[str, ...] = ()


def described(side: str, flaws: tuple[str, ...]) -> str:
    """The warning about what the client or the server declared otherwise than as objects."""
    return f"capabilities of the {side} that are no objects were read as well as they can be: {', '.join(flaws)}"


def declared(given: Raw | None) -> Declared:
    """The capabilities that a peer declares."""
    if given is None or is_null(given):
        return Declared({})
    members = object_in(given)
    if members is None:
        return Declared({}, (f"capabilities is {kind(given)}",))
    kept: Members = {}
    flaws: list[str] = []
    for name, value in members.items():
        capability = _object(value, name, flaws)
        if capability is not None:
            kept[name] = own(_with_parts(name, capability, flaws))
    return Declared(kept, tuple(flaws))


def implementation(given: Raw | None) -> Raw | None:
    """A peer's description of itself without what is of no use; `None` when it has no name (IRES-06).

    A version that is a number is read as its digits; without one, it is unknown.
    """
    members = object_in(given)
    if given is None or members is None or not text_of(members.get("name")):
        return None
    kept = {name: value for name, value in members.items() if _is_usable(name, value)}
    if "version" not in kept:
        version = members.get("version")
        digits = bytes(version).strip().decode("ascii") if version is not None and _is_number(version) else "unknown"
        kept["version"] = raw(digits)
    return given if kept.keys() == members.keys() and kept["version"] is members.get("version") else raw(kept)


def kind(value: Raw) -> str:
    """What a JSON value is, in words."""
    return NAMES.get(first_byte(value), "a number")


def _object(value: Raw, place: str, flaws: list[str]) -> Raw | None:
    if is_object(value):
        return value
    if not is_null(value):
        flaws.append(f"{place} is {kind(value)}")
    return EMPTY if first_byte(value) == 0x5B or is_true(value) else None


def _with_parts(name: str, capability: Raw, flaws: list[str]) -> Raw:
    parts = object_in(capability) or {}
    wrong = [part for part in PARTS.get(name, ()) if part in parts and not is_object(parts[part])]
    if not wrong:
        return capability
    for part in wrong:
        value = _object(parts.pop(part), f"{name}.{part}", flaws)
        if value is not None:
            parts[part] = value
    return raw(parts)


def _is_usable(name: str, value: Raw) -> bool:
    if is_null(value):
        return False
    if name in TEXTS:
        return text_of(value) is not None
    if name == "icons":
        icons = items_of(value)
        return icons is not None and all(text_of((object_in(icon) or {}).get("src")) is not None for icon in icons)
    return True


def _is_number(value: Raw) -> bool:
    return first_byte(value) in b"-0123456789"
