"""Two columns on a terminal: on the left what the client says and hears, on the right what the server does.

Frames come from the bridge's own frame log, so both columns are what was really on the wire, in its order; only long
values are cut. An arrow to the right leads to the server, one to the left to the client.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from dragoman.wire.members import encoded, value_of

Json = dict[str, Any]

COLUMN, GAP, INDENT, LINES = 47, 5, 4, 2
NARROWEST, WIDEST = 28, 80
META = "io.modelcontextprotocol/"

PLAIN, BOLD, DIM, HEADING, GOOD, BAD = "", "1", "2", "1;36", "1;32", "1;31"


@dataclass(frozen=True, slots=True)
class Style:
    """`colors` are for a terminal; without `symbols` only ASCII is written. `column` is the width of one, in signs."""

    colors: bool = False
    symbols: bool = True
    column: int = COLUMN

    def paint(self, color: str, text: str) -> str:
        return f"\x1b[{color}m{text}\x1b[0m" if self.colors and color and text else text

    def arrow(self, to_server: bool) -> str:
        return ("→ " if to_server else "← ") if self.symbols else ("> " if to_server else "< ")


def column_of(terminal: int) -> int:
    """The width of each column on a terminal that has so many."""
    return max(NARROWEST, min(WIDEST, (terminal - GAP - 1) // 2))


class Page:
    def __init__(self, write: Callable[[str], None], style: Style) -> None:
        self._write = write
        self._style = style
        self._asked: dict[tuple[str, bool, str], str] = {}
        self._scenes = 0
        self.counts = {"client": 0, "server": 0}

    def head(self, left: str, right: str) -> None:
        rule = ("─" if self._style.symbols else "-") * self._style.column
        self._row(left, right, BOLD)
        self._row(rule, rule, DIM)

    def scene(self, title: str) -> None:
        self._scenes += 1
        self.say("")
        self.say(f"{self._scenes}. {title}", HEADING)
        self.say("")

    def say(self, text: str, color: str = PLAIN) -> None:
        self._write(self._style.paint(color, text))

    def frame(self, entry: Json) -> None:
        """Write one entry of the frame log, below the last one."""
        face, leaves = entry["face"], entry["direction"] == ">"
        title, body = self._read(face, leaves, value_of(entry["frame"].encode()))
        self._entry(face, self._style.arrow(leaves == (face == "server")) + title, BOLD)
        end = " …" if self._style.symbols else " ..."
        width = self._style.column - INDENT
        for text in described(body):
            for line in wrap(text, width, max_lines=LINES, placeholder=end, break_on_hyphens=False):
                self._entry(face, " " * INDENT + line, DIM)
        self.counts[face] += 1

    def _read(self, face: str, leaves: bool, frame: Json) -> tuple[str, Json]:
        """The title of a frame, and the members that are shown below it."""
        method, id = frame.get("method"), encoded(frame.get("id")).decode()
        if method is None:
            asked = self._asked.pop((face, not leaves, id), "nothing")
            return (
                (f"error for {asked}", frame["error"]) if "error" in frame else (f"result of {asked}", frame["result"])
            )
        if "id" in frame:
            self._asked[face, leaves, id] = method
        return method, frame.get("params", {})

    def _entry(self, face: str, text: str, color: str) -> None:
        if face == "client":
            self._row(text, "", color)
        else:
            self._row("", text, color)

    def _row(self, left: str, right: str, color: str) -> None:
        space = " " * max(self._style.column + GAP - len(left), 1) if right else ""
        self._write(self._style.paint(color, left) + space + self._style.paint(color, right))


def described(members: Json) -> Iterator[str]:
    """Members in a few words: plain values together, then each large one with what matters of it."""
    plain = {name: value for name, value in members.items() if not isinstance(value, dict | list)}
    if "requestState" in plain:
        plain["requestState"] = f"{len(str(plain['requestState']))} sealed characters"
    if plain:
        yield ", ".join(f"{name}: {value}" for name, value in plain.items())
    for name, value in members.items():
        if name not in plain:
            yield from LARGE[name](value) if name in LARGE else [f"{name}: {_json(value)}"]


def _meta(meta: Json) -> Iterator[str]:
    names = (key.removeprefix(META) + ("" if isinstance(value, dict) else f" {value}") for key, value in meta.items())
    yield f"_meta: {', '.join(names)}"


def _tools(tools: list[Json]) -> Iterator[str]:
    yield f"tools: {', '.join(tool['name'] for tool in tools)}"


def _content(content: list[Json] | Json) -> Iterator[str]:
    blocks = [_json(block.get("text")) for block in content] if isinstance(content, list) else [_json(content)]
    yield f"content: {', '.join(blocks)}"


def _form(schema: Json) -> Iterator[str]:
    yield f"requestedSchema: {', '.join(schema['properties'])}"


def _questions(requests: Json) -> Iterator[str]:
    for key, request in requests.items():
        yield f"inputRequests.{key}: {request['method']}"


def _answers(responses: Json) -> Iterator[str]:
    for key, response in responses.items():
        yield f"inputResponses.{key}: {_json(response)}"


def _capabilities(capabilities: Json) -> Iterator[str]:
    yield f"capabilities: {', '.join(capabilities)}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


LARGE: dict[str, Callable[[Any], Iterator[str]]] = {
    "_meta": _meta,
    "capabilities": _capabilities,
    "tools": _tools,
    "content": _content,
    "requestedSchema": _form,
    "inputRequests": _questions,
    "inputResponses": _answers,
}
