"""A server of an older revision on the official Python SDK 1.x: `greeter.py`, on stdio, with the tool `greet`.

Runs in an environment of its own, which has that SDK and nothing of ours.
"""

from importlib import import_module
from typing import Any

FastMCP: Any = import_module("mcp.server.fastmcp").FastMCP  # by name: what checks our types has another version of it

server = FastMCP("greeter")


def greet(guest: str) -> str:
    return f"Welcome, {guest}!"


server.tool()(greet)

if __name__ == "__main__":
    server.run()
