"""An issuer of tokens for tests: a server whose documents can be wrong in just one way, and which counts who asks."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from channels.scripted_http import Request, Server, served
from support.tokens import jwk, key_set, token

OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
JWKS = "/keys"


class ScriptedIssuer:
    """`name` is how it calls itself; `documents` are a status and a body for each path, `keys` is the key set."""

    def __init__(self, server: Server, path: str) -> None:
        self._server = server
        self.name = f"http://127.0.0.1:{server.port}{path}"
        self.keys = key_set(jwk())
        self.documents: dict[str, tuple[int, bytes]] = {f"{OAUTH}{path}": (200, self.metadata())}
        self.before: Callable[[Request], Awaitable[None]] | None = None

    def metadata(self, **members: Any) -> bytes:
        own = {"issuer": self.name, "jwks_uri": f"http://127.0.0.1:{self._server.port}{JWKS}", **members}
        return json.dumps(own).encode()

    def token(self, **given: Any) -> str:
        claims: dict[str, Any] = {"iss": self.name, **given}
        return token(**claims)

    @property
    def asked(self) -> list[str]:
        """The paths of all requests so far."""
        return [request.target for request in self._server.requests]

    async def answer(self, request: Request) -> None:
        if self.before is not None:
            await self.before(request)
        if request.target == JWKS and JWKS not in self.documents:
            await request.answer(self.keys)
        else:
            status, body = self.documents.get(request.target, (404, b"no"))
            await request.answer(body, status)


@asynccontextmanager
async def issuing(path: str = "") -> AsyncGenerator[ScriptedIssuer, None]:
    issuers: list[ScriptedIssuer] = []

    async def script(request: Request) -> None:
        await issuers[0].answer(request)

    async with served(script) as server:
        issuers.append(ScriptedIssuer(server, path))
        yield issuers[0]
