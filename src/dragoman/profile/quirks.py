"""The repairs that a profile can ask for, on results that have been translated already.

A quirk changes only what it must: tools that it does not touch keep their exact bytes, and inside a tool that it
touches so does every value beside the changed one. Each change is told to `note` with the tool's name, which log lines
hold anyway, and the place.
"""

from collections.abc import Callable

from msgspec import Raw, ValidationError

from dragoman.profile import Profile
from dragoman.profile.arrays import may_hold, with_items
from dragoman.profile.input_schemas import flaws_of, repaired
from dragoman.revisions.errors import RESOURCE_MISSING
from dragoman.wire.members import Members, closed, encoded, items_of, object_in, opened, raw, text_of

SHOWN = 80  # characters of a tool's name in a note


def apply_quirks(profile: Profile, method: str, result: Members, note: Callable[[str], None]) -> None:
    """Repair `result` in place, as far as the profile says so."""
    if method != "tools/list":
        return
    quirks = profile.quirks
    arrays, inputs = quirks.normalize_array_items, quirks.repair_input_schemas
    outputs = quirks.drop_non_object_output_schema or quirks.strict_legacy_results  # RES-13
    tools = result.get("tools")
    if tools is None or not (inputs or _may_fire(tools, arrays, outputs)):
        return
    items = items_of(tools)
    if items is None:
        return
    fires = False
    for index, item in enumerate(items):
        if not (inputs or _may_fire(item, arrays, outputs)):
            continue
        tool = object_in(item)
        if tool is None:
            continue
        changed = inputs and repair_input_schema(tool, note)
        changed |= arrays and normalize_array_items(tool, note)
        changed |= outputs and drop_non_object_output_schema(tool, note)
        if changed:
            items[index] = closed(tool)
            fires = True
    if fires:
        result["tools"] = Raw(encoded(items))


def restored(profile: Profile, method: str, error: Members, params: Members) -> Members:
    """An error for a missing resource under the code that clients with a handshake know (S4-16).

    Servers without one use -32602 for it too, so only an error that names the very resource asked for is meant.
    """
    if not profile.quirks.restore_resource_not_found or method != "resources/read":
        return error
    told = text_of((object_in(error.get("data")) or {}).get("uri"))
    if bytes(error["code"]) != b"-32602" or told is None or told != text_of(params.get("uri")):
        return error
    return error | {"code": raw(RESOURCE_MISSING)}


def normalize_array_items(tool: Members, note: Callable[[str], None]) -> bool:
    """Give every array schema of the tool's input an `items` (ITEMS); tells whether something changed."""
    schema = tool.get("inputSchema")
    if schema is None:
        return False
    name = _name(tool)
    after = with_items(schema, lambda pointer, done: note(f"tool {name}, inputSchema at {pointer!r}: {done}"))
    if after is not None:
        tool["inputSchema"] = after
    return after is not None


def drop_non_object_output_schema(tool: Members, note: Callable[[str], None]) -> bool:
    """Take away an output schema whose root is not `type: "object"` (RES-07); tells whether there was one."""
    schema = tool.get("outputSchema")
    if schema is None or _is_object_schema(schema):
        return False
    del tool["outputSchema"]
    note(f"tool {_name(tool)}: removed its outputSchema, whose root is no object schema")
    return True


def repair_input_schema(tool: Members, note: Callable[[str], None]) -> bool:
    """Make the tool's input schema an object schema that every client reads; tells whether it was none."""
    after = repaired(tool.get("inputSchema"))
    if after is None:
        return False
    note(f"tool {_name(tool)}: its inputSchema was repaired: {'; '.join(flaws_of(tool.get('inputSchema')))}")
    tool["inputSchema"] = after
    return True


def _may_fire(json: Raw, arrays: bool, outputs: bool) -> bool:
    return (arrays and may_hold(json, b"array")) or (outputs and may_hold(json, b"outputSchema"))


def _is_object_schema(schema: Raw) -> bool:
    try:
        return text_of(opened(schema).get("type")) == "object"
    except ValidationError:
        return False


def _name(tool: Members) -> str:
    name = text_of(tool.get("name"))
    return "without a name" if name is None else repr(name[:SHOWN])
