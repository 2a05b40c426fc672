"""Agent frameworks and clients in their default mode, through the bridge, before servers of both eras.

Those that try `server/discover` first (`is_hasty`) also meet servers that take 12 s to start, and a command that does
not exist: they have to get the tools in the first case, and the real reason in the second.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from environments import NODE, npm, python
from published_servers import LATE

PEERS = Path(__file__).resolve().parent / "peers"
BRIDGE = (sys.executable, "-m", "dragoman")
LIMIT = 180.0  # seconds for one visit
SLOW = 12.0  # seconds for a server to start
QUIET = {"MCP_USE_ANONYMIZED_TELEMETRY": "false", "AGNO_TELEMETRY": "false", "HAYSTACK_TELEMETRY_ENABLED": "False"}


@dataclass(frozen=True)
class Framework:
    """`packages` are pinned; `name` is what its driver calls it."""

    name: str
    packages: tuple[str, ...]
    is_npm: bool = False
    is_hasty: bool = False


FRAMEWORKS = (
    Framework("python-sdk", ("mcp==2.3.0",), is_hasty=True),
    Framework("fastmcp", ("fastmcp==4.2.3",), is_hasty=True),
    Framework("ai-sdk", ("@ai-sdk/mcp@2.0.99",), is_npm=True, is_hasty=True),
    Framework("pydantic-ai", ("pydantic-ai-slim[mcp]==2.68.0",)),
    Framework("langchain", ("langchain-mcp-adapters==0.3.2",)),
    Framework("openai-agents", ("openai-agents==0.24.0",)),
    Framework("mcp-use", ("mcp-use==1.7.1",)),
    Framework("llama-index", ("llama-index-tools-mcp==0.6.0",)),
    Framework("smolagents", ("mcpadapt[smolagents]==0.1.19", "mcp==1.30.0")),
    Framework("strands", ("strands-agents==1.62.0",)),
    Framework("agno", ("agno==3.1.10", "fastmcp==4.2.3")),
    Framework("haystack", ("mcp-haystack==2.1.1",)),
    Framework("langchain-js", ("@langchain/mcp-adapters@1.1.4", "@langchain/core@1.4.0"), is_npm=True),
    Framework("openai-agents-js", ("@openai/agents@0.20.0",), is_npm=True),
    Framework("mastra", ("@mastra/mcp@2.0.0", "@mastra/core@1.71.0", NODE), is_npm=True),
    Framework("mcporter", ("mcporter@0.12.3", NODE), is_npm=True),
)


def visits(framework: Framework) -> list[tuple[str, str]]:
    """The checks of one framework, each with what is wrong, or nothing.

    Raises:
        Skipped: it cannot run here.
    """
    if framework.is_npm:
        node, folder = npm(*framework.packages)
        driver = [node, str(PEERS / "frameworks.mjs"), framework.name]
    else:
        folder = PEERS
        program = python(*framework.packages)
        driver = [program, str(PEERS / "frameworks.py"), framework.name]
    older = [python("mcp==1.30.0"), str(PEERS / "greeter.py")]
    modern = [*BRIDGE, "demo-server"]
    found = [
        ("a server of 2026-07-28", _seen(driver, folder, modern)),
        ("an older server", _seen(driver, folder, older)),
    ]
    if framework.is_hasty:
        late = [sys.executable, "-c", LATE, str(SLOW)]
        found.append((f"a server of 2026-07-28 after {SLOW:g} s", _seen(driver, folder, [*late, *modern])))
        found.append((f"an older server after {SLOW:g} s", _seen(driver, folder, [*late, *older])))
        found.append(("a command that does not exist", _refused(driver, folder)))
    return found


def _run(driver: Sequence[str], folder: Path, server: Sequence[str]) -> subprocess.CompletedProcess[str]:
    words = [*driver, *BRIDGE, "--", *server]
    env = {**os.environ, **QUIET}
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT, check=False)


def _seen(driver: Sequence[str], folder: Path, server: Sequence[str]) -> str:
    try:
        done = _run(driver, folder, server)
    except subprocess.TimeoutExpired:
        return f"not in {LIMIT:g} s"
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"tools"')]
    if not lines:
        return f"exit code {done.returncode}: {(done.stderr.strip().splitlines() or ['nothing was said'])[-1][:300]}"
    seen = json.loads(lines[-1])
    if not any(name.endswith("greet") for name in seen["tools"]):
        return f"its tools are {seen['tools']}"
    return "" if "Welcome, Ada!" in seen["said"] else f"the tool said {seen['said'][:200]}"


def _refused(driver: Sequence[str], folder: Path) -> str:
    try:
        done = _run(driver, folder, ["no-such-command-of-anybody"])
    except subprocess.TimeoutExpired:
        return f"not in {LIMIT:g} s"
    if done.returncode == 0:
        return "it succeeded"
    said = done.stdout + done.stderr
    return "" if "cannot be started" in said else f"the reason is not told: {said[-300:]}"
