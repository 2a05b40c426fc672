"""Published servers: is every answer through the bridge the one that they give directly?

Each server is asked three times: directly, through the bridge by a client of its own revision, and through the bridge
by a client of 2026-07-28. They need neither network nor keys for what is asked of them.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from environments import NODE
from pipe_client import NAMESPACE, NEWEST, Failed, PipeClient

Json = dict[str, Any]
Call = tuple[str, Json]

LISTS = {
    "tools": (("tools/list", "tools"),),
    "prompts": (("prompts/list", "prompts"),),
    "resources": (("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")),
}
OWN = "2025-11-25"
OF_ONE_ERA = {"resultType", "ttlMs", "cacheScope"}
PAGES = 20
LATE = """
import os, sys, time
time.sleep(float(sys.argv[1]))
os.execvp(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True)
class Group:
    """Packages of one index that share an environment."""

    name: str
    packages: tuple[str, ...]
    is_npm: bool = False


@dataclass(frozen=True)
class Published:
    """A server: its program with its words, and the calls that are made.

    `program` is a name in the environment's folder of programs for Python, a file below `node_modules` for npm.
    `seconds` is how long it is made to start, on top of its own time. In words, variables and calls `{folder}` is a
    folder of its own, with one file.
    """

    name: str
    group: Group
    program: str
    words: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    seconds: float = 0.0


REFERENCE = Group(
    "reference",
    tuple(
        f"@modelcontextprotocol/server-{name}@2026.8.31"
        for name in ("everything", "filesystem", "memory", "sequential-thinking")
    ),
    is_npm=True,
)
WEB = Group(
    "web",
    (
        NODE,
        "@playwright/mcp@0.0.83",
        "chrome-devtools-mcp@1.11.0",
        "@upstash/context7-mcp@4.1.1",
        "@antv/mcp-server-chart@0.9.10",
    ),
    is_npm=True,
)
PYTHON = Group("python", ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24"))
OFFICE = Group("office", ("excel-mcp-server==2.2.2",))
NUMBERS = Group("numbers", ("mcp-server-calculator==0.2.1",))
DATA = Group("data", ("mcp-server-motherduck==1.1.0",))

FILES = "@modelcontextprotocol/server-filesystem/dist/index.js"
SERVERS = (
    Published(
        "everything",
        REFERENCE,
        "@modelcontextprotocol/server-everything/dist/index.js",
        ("stdio",),
        (
            ("echo", {"message": "é"}),
            ("get-sum", {"a": 1.5, "b": 2}),
            ("get-roots-list", {}),
            ("trigger-sampling-request", {"prompt": "p", "maxTokens": 5}),
        ),
    ),
    Published(
        "filesystem",
        REFERENCE,
        FILES,
        ("{folder}",),
        (
            ("list_directory", {"path": "{folder}"}),
            ("read_text_file", {"path": "{folder}/a.txt"}),
            ("read_text_file", {"path": "/nowhere"}),
        ),
    ),
    Published("filesystem-late", REFERENCE, FILES, ("{folder}",), seconds=7.0),
    Published(
        "memory",
        REFERENCE,
        "@modelcontextprotocol/server-memory/dist/index.js",
        calls=(("read_graph", {}), ("create_entities", {"entities": 5})),
        env={"MEMORY_FILE_PATH": "{folder}/memory.json"},
    ),
    Published(
        "sequential-thinking",
        REFERENCE,
        "@modelcontextprotocol/server-sequential-thinking/dist/index.js",
        calls=(
            (
                "sequentialthinking",
                {"thought": "t", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
            ),
        ),
    ),
    Published("playwright", WEB, "@playwright/mcp/cli.js"),
    Published("chrome", WEB, "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js", ("--no-usage-statistics",)),
    Published("context7", WEB, "@upstash/context7-mcp/dist/index.js"),
    Published("chart", WEB, "@antv/mcp-server-chart/build/index.js"),
    Published(
        "time",
        PYTHON,
        "mcp-server-time",
        ("--local-timezone", "UTC"),
        (
            ("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
            ("convert_time", {"time": "x"}),
        ),
    ),
    Published("git", PYTHON, "mcp-server-git", calls=(("git_log", {"repo_path": "/nowhere"}),)),
    Published("fetch", PYTHON, "mcp-server-fetch", calls=(("fetch", {"url": "not a url"}),)),
    Published(
        "excel",
        OFFICE,
        "excel-mcp-server",
        ("stdio",),
        (
            ("create_workbook", {"filepath": "{folder}/x.xlsx"}),
            ("read_data_from_excel", {"filepath": "{folder}/x.xlsx", "sheet_name": "Sheet1"}),
        ),
    ),
    Published("calculator", NUMBERS, "mcp-server-calculator", calls=(("calculate", {"expression": "2**70"}),)),
    Published(
        "motherduck",
        DATA,
        "mcp-server-motherduck",
        ("--db-path", ":memory:", "--read-write"),
        (("execute_query", {"sql": "select 1 as a, null as b"}),),
    ),
)


def compared(server: Published, program: Sequence[str], bridge: Sequence[str]) -> list[tuple[str, str]]:
    """The checks of one server, which `program` starts, each with what is wrong, or nothing."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "a.txt").write_text("hello é\n", "utf-8")
        words = [word.replace("{folder}", place) for word in server.words]
        command = [*program, *words]
        if server.seconds:
            command = [sys.executable, "-c", LATE, str(server.seconds), *command]
        env = {**os.environ, **{name: value.replace("{folder}", place) for name, value in server.env.items()}}
        calls = json.loads(json.dumps(server.calls).replace("{folder}", place))
        try:
            direct = _answers(command, OWN, env, calls)
        except Failed as failed:
            return [("directly", str(failed))]
        checks: list[tuple[str, Callable[[Any], Any], str]] = [
            ("as a client of its own revision", lambda value: value, OWN),
            ("as a client of 2026-07-28", _without_era, NEWEST),
        ]
        found: list[tuple[str, str]] = []
        for name, seen, revision in checks:
            try:
                through = _answers([*bridge, *command], revision, env, calls)
            except Failed as failed:
                found.append((name, str(failed)))
            else:
                found.append((name, _difference(seen(direct), seen(through))))
        return found


def _answers(words: Sequence[str], revision: str, env: Mapping[str, str], calls: Sequence[Call]) -> Json:
    """What a server says to everything that it is asked, by what was asked."""
    with PipeClient(words, revision, env) as client:
        opened = client.open()
        capabilities = opened.get("capabilities", {})
        found: Json = {"instructions": opened.get("instructions"), "features": sorted(set(capabilities) & set(LISTS))}
        for feature in found["features"]:
            for method, member in LISTS[feature]:
                found[method] = _whole_list(client, method, member)
        for number, (name, arguments) in enumerate(calls):
            answer = client.ask("tools/call", {"name": name, "arguments": arguments})
            found[f"call {number} of {name}"] = answer.get("result", answer.get("error"))
        return found


def _whole_list(client: PipeClient, method: str, member: str) -> Any:
    items: list[Any] = []
    cursor: Json = {}
    for _ in range(PAGES):
        answer = client.ask(method, cursor)
        if "result" not in answer:
            return answer["error"]
        items += answer["result"].get(member, [])
        if "nextCursor" not in answer["result"]:
            return items
        cursor = {"cursor": answer["result"]["nextCursor"]}
    raise Failed(f"{method}: more than {PAGES} pages")


def _without_era(value: Any) -> Any:
    """A value without what results of the newest revision have by themselves."""
    if isinstance(value, list):
        return [_without_era(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    kept = {name: _without_era(one) for name, one in cast("Json", value).items() if name not in OF_ONE_ERA}
    meta = kept.get("_meta")
    if isinstance(meta, dict):
        kept["_meta"] = {name: one for name, one in cast("Json", meta).items() if name != NAMESPACE + "serverInfo"}
        if not kept["_meta"]:
            del kept["_meta"]
    return kept


def _difference(one: Json, other: Json) -> str:
    """The first thing that differs, or nothing."""
    for name in (*one, *(name for name in other if name not in one)):
        if one.get(name) != other.get(name):
            pair = [json.dumps(each.get(name), ensure_ascii=False) for each in (one, other)]
            at = next((at for at, both in enumerate(zip(*pair, strict=False)) if both[0] != both[1]), 0)
            shown = [text[max(0, at - 40) : at + 60] for text in pair]
            return f"{name}: {shown[0]} directly, {shown[1]} through the bridge"
    return ""
