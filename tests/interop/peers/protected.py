"""A server that asks for a sign-in, with the authorization server of a framework: `protected.py mcp1|mcp2|fastmcp`.

Runs in an environment of its own, which has that framework and nothing of ours, and says its port on standard output
when it listens. `/control/…` is for the test: it counts, and takes tokens away.
"""

import asyncio
import secrets
import socket
import sys
import time
import warnings
from importlib import import_module
from typing import Any

warnings.simplefilter("ignore")

LIFE = 4  # seconds of an access token
KINDS = ("mcp1", "mcp2", "fastmcp")

uvicorn: Any = import_module("uvicorn")  # by name: what checks our types has other versions of them, or none
responses: Any = import_module("starlette.responses")

counts: dict[str, int] = {"sign_ins": 0, "renewals": 0, "revocations": 0}


def counting(provider: Any) -> Any:
    """Have a provider count what it gives."""
    for name, counted in (
        ("exchange_authorization_code", "sign_ins"),
        ("exchange_refresh_token", "renewals"),
        ("revoke_token", "revocations"),
    ):
        inner = getattr(provider, name)

        async def outer(*given: Any, inner: Any = inner, counted: str = counted) -> Any:
            counts[counted] += 1
            return await inner(*given)

        setattr(provider, name, outer)
    return provider


class Memory:
    """The least that the Python SDK needs behind its own endpoints."""

    def __init__(self) -> None:
        self.models: Any = import_module("mcp.server.auth.provider")
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, Any] = {}
        self.access_tokens: dict[str, Any] = {}
        self.refresh_tokens: dict[str, Any] = {}

    async def get_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: Any) -> str:
        code = self.models.AuthorizationCode(
            code=secrets.token_hex(20),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return str(self.models.construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state))

    async def load_authorization_code(self, client: Any, authorization_code: str) -> Any:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: Any) -> Any:
        del self.codes[authorization_code.code]
        return self._given(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> Any:
        return self.refresh_tokens.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: Any, scopes: list[str]) -> Any:
        del self.refresh_tokens[refresh_token.token]
        return self._given(client, scopes, None)

    async def load_access_token(self, token: str) -> Any:
        found = self.access_tokens.get(token)
        return found if found is not None and found.expires_at > time.time() else None

    async def revoke_token(self, token: Any) -> None:
        self.access_tokens.pop(token.token, None)
        self.refresh_tokens.pop(token.token, None)

    def _given(self, client: Any, scopes: list[str], resource: str | None) -> Any:
        access, refresh = secrets.token_hex(20), secrets.token_hex(20)
        known = {"client_id": client.client_id, "scopes": scopes}
        ends = int(time.time() + LIFE)
        self.access_tokens[access] = self.models.AccessToken(token=access, expires_at=ends, resource=resource, **known)
        self.refresh_tokens[refresh] = self.models.RefreshToken(token=refresh, **known)
        return self.models.OAuthToken(
            access_token=access, token_type="Bearer", expires_in=LIFE, refresh_token=refresh, scope=" ".join(scopes)
        )


def of_sdk(kind: str, origin: str) -> tuple[Any, Any, Any]:
    """The server, its application and its provider, on one of the lines of the official SDK."""
    settings: Any = import_module("mcp.server.auth.settings")
    provider = counting(Memory())
    auth = settings.AuthSettings(
        issuer_url=origin,
        resource_server_url=f"{origin}/mcp",
        client_registration_options=settings.ClientRegistrationOptions(enabled=True),
        revocation_options=settings.RevocationOptions(enabled=True),
        validate_token_resource=False,
    )
    name = "mcp.server.fastmcp" if kind == "mcp1" else "mcp.server.mcpserver"
    made: Any = import_module(name)
    make = made.FastMCP if kind == "mcp1" else made.MCPServer
    server = make(kind, auth_server_provider=provider, auth=auth)
    return server, server.streamable_http_app, provider


def of_fastmcp(origin: str) -> tuple[Any, Any, Any]:
    memory: Any = import_module("fastmcp.server.auth.providers.in_memory")
    memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = LIFE
    auth: Any = import_module("fastmcp.server.auth.auth")
    provider = memory.InMemoryOAuthProvider(
        base_url=origin,
        client_registration_options=auth.ClientRegistrationOptions(enabled=True),
        revocation_options=auth.RevocationOptions(enabled=True),
    )
    server = import_module("fastmcp").FastMCP("fastmcp", auth=counting(provider))
    return server, server.http_app, provider


def control(provider: Any, inner: Any) -> Any:
    """The application `inner`, with what the test asks of its provider."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith("/control/"):
            await inner(scope, receive, send)
            return
        if path == "/control/revoke":
            provider.access_tokens.clear()
        if path == "/control/revoke-all":
            provider.access_tokens.clear()
            provider.refresh_tokens.clear()
        left = {"access": len(provider.access_tokens), "refresh": len(provider.refresh_tokens)}
        await responses.JSONResponse({**counts, **left})(scope, receive, send)

    return app


def main(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as own:
        origin = f"http://127.0.0.1:{own.getsockname()[1]}"
        server, make, provider = of_fastmcp(origin) if kind == "fastmcp" else of_sdk(kind, origin)

        @server.tool()
        def greet(who: str) -> str:  # pyright: ignore[reportUnusedFunction] - the server calls it
            """Say hello."""
            return f"hello {who}"

        configuration = uvicorn.Config(control(provider, make()), log_level="error")
        print(own.getsockname()[1], flush=True)
        asyncio.run(uvicorn.Server(configuration).serve([own]))


if __name__ == "__main__":
    main(sys.argv[1])
