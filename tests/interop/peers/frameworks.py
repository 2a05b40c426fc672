"""Agent frameworks in Python as clients: `frameworks.py NAME COMMAND [ARG…]`.

Each opens the command in the way that its documents show, lists the tools, and calls `greet`. What it got is printed as
one line of JSON: `{"tools": […], "said": "…"}`.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# Each function needs a package of its own environment, and their types are not all there.

import asyncio
import json
import shlex
import sys
from collections.abc import Awaitable, Callable
from typing import Any

Seen = tuple[list[str], Any]

GUEST = {"guest": "Ada"}


async def pydantic_ai(command: str, words: list[str]) -> Seen:
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    async with MCPToolset(StdioTransport(command, words)) as server:
        tools = await server.list_tools()
        return [tool.name for tool in tools], await server.direct_call_tool("greet", GUEST)


async def langchain(command: str, words: list[str]) -> Seen:
    from langchain_mcp_adapters.client import MultiServerMCPClient

    client = MultiServerMCPClient({"x": {"command": command, "args": words, "transport": "stdio"}})
    tools = await client.get_tools()
    (greet,) = [tool for tool in tools if tool.name == "greet"]
    return [tool.name for tool in tools], await greet.ainvoke(GUEST)


async def openai_agents(command: str, words: list[str]) -> Seen:
    from agents.mcp import MCPServerStdio

    async with MCPServerStdio(params={"command": command, "args": words}, client_session_timeout_seconds=60) as server:
        tools = await server.list_tools()
        return [tool.name for tool in tools], await server.call_tool("greet", GUEST)


async def mcp_use(command: str, words: list[str]) -> Seen:
    from mcp_use import MCPClient

    client = MCPClient.from_dict({"mcpServers": {"x": {"command": command, "args": words}}})
    await client.create_all_sessions()
    try:
        session = client.get_session("x")
        tools = await session.list_tools()
        return [tool.name for tool in tools], await session.call_tool("greet", GUEST)
    finally:
        await client.close_all_sessions()


async def llama_index(command: str, words: list[str]) -> Seen:
    from llama_index.tools.mcp import BasicMCPClient

    client = BasicMCPClient(command, args=words, timeout=60)
    listed = await client.list_tools()
    return [tool.name for tool in listed.tools], await client.call_tool("greet", GUEST)


async def smolagents(command: str, words: list[str]) -> Seen:
    from mcp import StdioServerParameters
    from mcpadapt.core import MCPAdapt
    from mcpadapt.smolagents_adapter import SmolAgentsAdapter

    def work() -> Seen:
        with MCPAdapt(StdioServerParameters(command=command, args=words), SmolAgentsAdapter()) as tools:
            (greet,) = [tool for tool in tools if tool.name == "greet"]
            return [tool.name for tool in tools], greet(**GUEST)

    return await asyncio.to_thread(work)


async def strands(command: str, words: list[str]) -> Seen:
    from mcp import StdioServerParameters, stdio_client
    from strands.tools.mcp import MCPClient

    def work() -> Seen:
        with MCPClient(lambda: stdio_client(StdioServerParameters(command=command, args=words))) as client:
            tools = client.list_tools_sync()
            return [tool.tool_name for tool in tools], client.call_tool_sync("1", "greet", GUEST)

    return await asyncio.to_thread(work)


async def agno(command: str, words: list[str]) -> Seen:
    from agno.tools.mcp import MCPTools

    async with MCPTools(command=shlex.join([command, *words]), timeout_seconds=60) as tools:
        said = await tools.functions["greet"].entrypoint(**GUEST)
        return list(tools.functions), said


async def haystack(command: str, words: list[str]) -> Seen:
    from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo

    def work() -> Seen:
        tools = MCPToolset(StdioServerInfo(command=command, args=words), connection_timeout=60)
        tools.warm_up()
        (greet,) = [tool for tool in tools if tool.name == "greet"]
        seen = [tool.name for tool in tools], greet.invoke(**GUEST)
        tools.close()
        return seen

    return await asyncio.to_thread(work)


async def fastmcp(command: str, words: list[str]) -> Seen:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async with Client(StdioTransport(command, words)) as client:
        tools = await client.list_tools()
        return [tool.name for tool in tools], await client.call_tool("greet", GUEST)


async def python_sdk(command: str, words: list[str]) -> Seen:
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async with Client(stdio_client(StdioServerParameters(command=command, args=words))) as client:
        listed = await client.list_tools()
        return [tool.name for tool in listed.tools], await client.call_tool("greet", GUEST)


FRAMEWORKS: dict[str, Callable[[str, list[str]], Awaitable[Seen]]] = {
    "pydantic-ai": pydantic_ai,
    "langchain": langchain,
    "openai-agents": openai_agents,
    "mcp-use": mcp_use,
    "llama-index": llama_index,
    "smolagents": smolagents,
    "strands": strands,
    "agno": agno,
    "haystack": haystack,
    "fastmcp": fastmcp,
    "python-sdk": python_sdk,
}


async def main(name: str, command: str, *words: str) -> None:
    tools, said = await FRAMEWORKS[name](command, list(words))
    print(json.dumps({"tools": tools, "said": str(said)}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
