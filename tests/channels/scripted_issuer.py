"""An issuer of tokens for tests: a server whose documents can be wrong in just one way, and which counts who asks."""

import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from channels.scripted_http import Request, Server, served
from support.tokens import jwk, key_set, token

OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
JWKS = "/keys"


class ScriptedIssuer:
    """`name` is how it calls itself: the URL of its `root`, and a path.

    `documents` are a status and a body for each path, `keys` is the key set.
    """

    def __init__(self, server: Server, root: str, path: str) -> None:
        self._server = server
        self._root = root
        self.name = f"{root}{path}"
        self.keys = key_set(jwk())
        self.documents: dict[str, tuple[int, bytes]] = {f"{OAUTH}{path}": (200, self.metadata())}
        self.before: Callable[[Request], Awaitable[None]] | None = None

    def metadata(self, **members: Any) -> bytes:
        own = {"issuer": self.name, "jwks_uri": f"{self._root}{JWKS}", **members}
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
async def issuing(path: str = "", tls: ssl.SSLContext | None = None) -> AsyncGenerator[ScriptedIssuer, None]:
    issuers: list[ScriptedIssuer] = []

    async def script(request: Request) -> None:
        await issuers[0].answer(request)

    async with served(script, tls=tls) as server:
        root = f"{'https' if tls is not None else 'http'}://127.0.0.1:{server.port}"
        issuers.append(ScriptedIssuer(server, root, path))
        yield issuers[0]
