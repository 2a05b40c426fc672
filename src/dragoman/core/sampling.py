"""The order of tools in sampling: every use of a tool is answered at once, and completely (CHK-09)."""

from msgspec import Raw

from dragoman.wire.members import Members, first_byte, items_of, opened, text_of

TOOL_BLOCKS = ("tool_use", "tool_result")


def wants_tools(params: Members) -> bool:
    """Whether the model that is asked must know of tools (CHK-08)."""
    if "tools" in params or "toolChoice" in params:
        return True
    return any(text_of(block.get("type")) in TOOL_BLOCKS for message in _messages(params) for block in _blocks(message))


def disorder(params: Members) -> str | None:
    """What the messages of a valid request do wrong; `None` when nothing.

    An assistant's message that uses tools is followed by a user's message with a result for each of these uses and
    with nothing else.
    """
    wanted: set[str] = set()
    for number, message in enumerate(_messages(params), 1):
        role = text_of(message.get("role"))
        blocks = _blocks(message)
        results = _ids(blocks, "tool_result", "toolUseId")
        if results and (role != "user" or any(text_of(block.get("type")) != "tool_result" for block in blocks)):
            return f"message {number} mixes tool results with something else"
        if results - wanted:
            return f"message {number} has a tool result without its tool use in the message before"
        if wanted - results:
            return f"message {number} does not bring the result of a tool use in the message before"
        wanted = _ids(blocks, "tool_use", "id")
        if wanted and role != "assistant":
            return f"message {number} uses a tool, which only the assistant can do"
    return "the last message uses a tool, and no result follows" if wanted else None


def _messages(params: Members) -> list[Members]:
    return [opened(message) for message in items_of(params.get("messages")) or ()]


def _blocks(message: Members) -> list[Members]:
    content: Raw = message["content"]
    blocks = items_of(content) if first_byte(content) == 0x5B else [content]
    return [opened(block) for block in blocks or ()]


def _ids(blocks: list[Members], type_: str, member: str) -> set[str]:
    return {text_of(block[member]) or "" for block in blocks if text_of(block.get("type")) == type_}
