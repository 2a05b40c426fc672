"""The client that the official suite tests in its `auth` scenarios: the SDK's on stdio, the bridge, and then the suite.

The suite starts it with the URL of its server as the last word. It signs in as a user would who has a browser that asks
nothing; what a scenario gives a client in advance becomes options of the bridge.
"""

import asyncio
import json
import os
import socket
import sys
import tempfile
import urllib.request
from pathlib import Path

import mcp_types as types
from mcp.client.client import Client
from mcp.client.context import ClientRequestContext
from mcp.client.stdio import StdioServerParameters

DOCUMENT = "https://conformance-test.local/client-metadata.json"
BROWSER = """#!{python}
import subprocess, sys, urllib.request
if len(sys.argv) == 2:  # the browser goes on by itself, as the opener is waited for
    subprocess.Popen([sys.executable, __file__, sys.argv[1], "now"], stdout=-3, stderr=-3)
else:
    urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(sys.argv[1], timeout=20).read()
"""


def free_port() -> int:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return own.getsockname()[1]


def issuer_of(url: str) -> str:
    """The authorization server of the suite, which a user would have been told."""
    origin, _, path = url.partition("://")[2].partition("/")
    place = f"http://{origin}/.well-known/oauth-protected-resource/{path}"
    with urllib.request.urlopen(place, timeout=20) as response:
        return json.load(response)["authorization_servers"][0]


def options(url: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    words = ["--redirect-port", str(free_port()), "--token-store", "memory", "--sign-in-timeout", "20"]
    environment: dict[str, str] = {}
    if "client_id" in given:
        words += ["--client-id", given["client_id"], "--client-issuer", issuer_of(url)]
        if "private_key_pem" in given:
            key = folder / "key.pem"
            key.write_text(given["private_key_pem"])
            words += ["--client-key-file", str(key)]
        elif "client_secret" in given:
            environment["CLIENT_SECRET"] = given["client_secret"]
            words += ["--client-secret-env", "CLIENT_SECRET"]
        if "client-credentials" in scenario:
            words += ["--sign-in", "client"]
    else:
        words += ["--client-metadata-url", DOCUMENT]
    return words, environment


async def accept(
    context: ClientRequestContext, params: types.ElicitRequestParams
) -> types.ElicitResult | types.ErrorData:
    """A user who opens every page that the client shows."""
    if isinstance(params, types.ElicitRequestURLParams):
        url = params.url
        asyncio.get_running_loop().run_in_executor(None, lambda: urllib.request.urlopen(url, timeout=20).read())
    return types.ElicitResult(action="accept")


async def run(url: str, folder: Path) -> None:
    browser = folder / "browser"
    browser.write_text(BROWSER.format(python=sys.executable))
    browser.chmod(0o700)
    words, secrets = options(url, folder)
    environment = {**os.environ, **secrets, "BROWSER": str(browser)}
    command = StdioServerParameters(command=sys.executable, args=["-m", "dragoman", *words, url], env=environment)
    async with Client(command, mode="legacy", elicitation_callback=accept) as client:
        tools = (await client.list_tools()).tools
        if tools:
            try:
                await client.call_tool(tools[0].name, {})
            except Exception as error:
                print(f"the call failed: {error}", file=sys.stderr)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(sys.argv[-1], Path(folder)))


if __name__ == "__main__":
    main()
