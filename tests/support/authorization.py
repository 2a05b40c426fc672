"""A real authorization server and a server that asks for its tokens, each with a switch for every fault.

Both are HTTP servers on this machine, in threads of the test. The one who signs in is `visit`, which does what a
browser does: it follows the redirects of a URL, with no page in between.
"""

import base64
import hashlib
import json
import secrets
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import jwt

OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
RESOURCE = "/.well-known/oauth-protected-resource"
NAMESPACE = "io.modelcontextprotocol/"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"

Reply = tuple[int, dict[str, str], bytes]


def document(value: Any, status: int = 200) -> Reply:
    return status, {"Content-Type": "application/json"}, json.dumps(value).encode()


@dataclass
class Asked:
    """One request, as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))


class Place:
    """An HTTP server whose answers one function gives."""

    def __init__(self, answer: Callable[[Asked], Reply], tls: ssl.SSLContext | None = None) -> None:
        self._scheme = "http" if tls is None else "https"
        self.asked: list[Asked] = []

        place = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                target = urlsplit(self.path)
                headers = {name.lower(): value for name, value in self.headers.items()}
                query = dict(parse_qsl(target.query))
                asked = Asked(self.command, target.path, query, headers, self.rfile.read(length))
                place.asked.append(asked)
                status, fields, data = answer(asked)
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = _serve

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a bridge that was killed

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(0.05), daemon=True)
        self._thread.start()

    @property
    def origin(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    def of(self, path: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.path == path]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@dataclass
class Behaviour:
    """What the authorization server does, and what it does wrong."""

    path: str = ""  # of the issuer
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])  # members that differ; `None` leaves one out
    at: tuple[str, ...] = (OAUTH,)  # kinds of places that have it
    elsewhere: Reply = (404, {}, b"no")  # what other places say
    life: float = 3600.0  # of access tokens
    gives_refresh: bool = True
    rotates: bool = True  # a refresh token is good once; a second use ends all of its sign-in
    names_scope: bool = True
    registers: bool = True
    revokes: bool = True
    reads_form_alone: bool = False  # where it revokes, whatever the header says
    registration_error: Reply | None = None
    redirect_error: str | None = None
    iss: str | None = None  # in redirects: "right", or another text
    never_redirects: bool = False
    token_errors: list[Reply] = field(default_factory=list[Reply])  # for the next token requests
    unknown_client: Reply = field(default_factory=lambda: document({"error": "invalid_client"}, 401))
    secrets: dict[str, str] = field(default_factory=dict[str, str])  # of clients known before
    keys: dict[str, Any] = field(default_factory=dict[str, Any])  # public keys of clients known before
    public: set[str] = field(default_factory=set[str])  # clients known before, without a secret
    holds_tokens: threading.Event | None = None  # is waited for before a token request is answered
    pending: int = 0  # polls of a device code before the user is done
    slow_down: bool = False


@dataclass
class Grant:
    client: str
    scope: str
    resource: str | None
    family: int


class Issuer:
    def __init__(self, behaviour: Behaviour | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.does = behaviour or Behaviour()
        self.clients: dict[str, dict[str, Any]] = {}
        self.tokens: dict[str, tuple[Grant, float]] = {}
        self.refreshes: dict[str, Grant] = {}
        self.used: dict[str, Grant] = {}
        self.ended: set[int] = set()
        self.sign_ins = 0
        self.renewals = 0
        self.reuses = 0
        self._codes: dict[str, tuple[Grant, dict[str, str]]] = {}
        self._devices: dict[str, tuple[Grant, int]] = {}
        self._lock = threading.Lock()
        self.place = Place(self._answer, tls)
        self.name = f"{self.place.origin}{self.does.path}"

    def close(self) -> None:
        self.place.close()

    def described(self) -> dict[str, Any]:
        own = self.place.origin
        whole: dict[str, Any] = {
            "issuer": self.name,
            "authorization_endpoint": f"{own}/authorize",
            "token_endpoint": f"{own}/token",
            "registration_endpoint": f"{own}/register" if self.does.registers else None,
            "code_challenge_methods_supported": ["S256"],
            "response_types_supported": ["code"],
            "revocation_endpoint": f"{own}/revoke" if self.does.revokes else None,
            **self.does.metadata,
        }
        return {name: value for name, value in whole.items() if value is not None}

    def places(self) -> set[str]:
        path = self.does.path
        kinds = {OAUTH: f"{OAUTH}{path}", OPENID: f"{OPENID}{path}", "appended": f"{path}{OPENID}"}
        return {kinds[kind] for kind in self.does.at}

    def revoke(self) -> None:
        """Make every access token invalid, and leave the refresh tokens."""
        self.tokens.clear()

    def forget(self) -> None:
        """Lose every registered client, and all that they had."""
        self.clients.clear()
        self.refreshes.clear()

    def _answer(self, asked: Asked) -> Reply:
        answer = self._decided(asked)
        if asked.path == "/token" and self.does.holds_tokens is not None:
            self.does.holds_tokens.wait(20)
        return answer

    def _decided(self, asked: Asked) -> Reply:
        with self._lock:
            if asked.path in self.places():
                return document(self.described())
            if asked.path == "/authorize":
                return self._authorize(asked)
            if asked.path == "/token":
                return self._token(asked)
            if asked.path == "/register":
                return self._register(asked)
            if asked.path == "/revoke":
                return self._revoke(asked)
            if asked.path == "/device":
                return self._device(asked)
            return self.does.elsewhere

    def _revoke(self, asked: Asked) -> Reply:
        """RFC 7009: what came of a refresh token ends with it."""
        client = self._client(asked, asked.form)
        if client is None or (self.does.reads_form_alone and "client_secret" not in asked.form):
            return self.does.unknown_client
        grant = self.refreshes.pop(asked.form["token"], None) or self.tokens.get(asked.form["token"], (None,))[0]
        if grant is not None and grant.client == client:
            self.ended.add(grant.family)
            self.tokens = {token: kept for token, kept in self.tokens.items() if kept[0].family != grant.family}
        return 200, {}, b""

    def _register(self, asked: Asked) -> Reply:
        if self.does.registration_error is not None:
            return self.does.registration_error
        body = json.loads(asked.body)
        id = f"client-{secrets.token_hex(4)}"
        self.clients[id] = body
        answer = {"client_id": id, **body}
        if body["token_endpoint_auth_method"] != "none":
            self.does.secrets[id] = answer["client_secret"] = secrets.token_hex(8)
        return document(answer, 201)

    def _knows(self, client: str) -> bool:
        does = self.does
        known = client in self.clients or client in does.secrets or client in does.keys or client in does.public
        return known or (client.startswith("https://") and "client_id_metadata_document_supported" in does.metadata)

    def _authorize(self, asked: Asked) -> Reply:
        query, does = asked.query, self.does
        if not self._knows(query["client_id"]) or does.never_redirects:
            return 400, {"Content-Type": "text/html"}, b"<h1>unknown client</h1>"
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        back = {"state": query["state"]}
        if does.iss is not None:
            back["iss"] = self.name if does.iss == "right" else does.iss
        if does.redirect_error is not None:
            back["error"] = does.redirect_error
        else:
            self.sign_ins += 1
            code = back["code"] = secrets.token_hex(8)
            grant = Grant(query["client_id"], query.get("scope", ""), query.get("resource"), self.sign_ins)
            self._codes[code] = grant, query
        return 302, {"Location": f"{query['redirect_uri']}?{urlencode(back)}"}, b""

    def _device(self, asked: Asked) -> Reply:
        form = asked.form
        if not self._knows(form["client_id"]):
            return self.does.unknown_client
        self.sign_ins += 1
        code = secrets.token_hex(8)
        grant = Grant(form["client_id"], form.get("scope", ""), form.get("resource"), self.sign_ins)
        self._devices[code] = grant, self.does.pending
        answer = {"device_code": code, "user_code": "ABCD-1234", "verification_uri": f"{self.place.origin}/enter"}
        return document({**answer, "expires_in": 600, "interval": 0})

    def _token(self, asked: Asked) -> Reply:
        form = asked.form
        if self.does.token_errors:
            return self.does.token_errors.pop(0)
        client = self._client(asked, form)
        if client is None:
            return self.does.unknown_client
        match form["grant_type"]:
            case "authorization_code":
                found = self._codes.pop(form["code"], None)
                if found is None:
                    return document({"error": "invalid_grant"}, 400)
                grant, query = found
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == query["code_challenge"]
                assert form["redirect_uri"] == query["redirect_uri"]
                assert form.get("resource") == grant.resource
                assert client == grant.client
                return self._given(grant)
            case "refresh_token":
                return self._renewed(form["refresh_token"])
            case "client_credentials":
                self.sign_ins += 1
                grant = Grant(client, form.get("scope", ""), form.get("resource"), self.sign_ins)
                return self._given(grant, refreshes=False)
            case kind:
                assert kind == DEVICE
                grant, pending = self._devices[form["device_code"]]
                if self.does.redirect_error is not None:
                    return document({"error": self.does.redirect_error}, 400)
                if pending:
                    self._devices[form["device_code"]] = grant, pending - 1
                    return document({"error": "authorization_pending"}, 400)
                return self._given(grant)

    def _client(self, asked: Asked, form: dict[str, str]) -> str | None:
        """Who asks, if that is proved."""
        basic = asked.headers.get("authorization", "")
        if basic.startswith("Basic "):
            id, _, secret = base64.b64decode(basic.removeprefix("Basic ")).decode().partition(":")
            return id if self.does.secrets.get(id) == secret else None
        id = form.get("client_id", "")
        if id in self.does.keys:
            try:
                jwt.decode(form["client_assertion"], self.does.keys[id], ["ES256", "RS256"], audience=self.name)
            except jwt.PyJWTError:
                return None
            return id
        if id in self.does.secrets:
            return id if self.does.secrets[id] == form.get("client_secret") else None
        return id if self._knows(id) else None

    def _renewed(self, refresh: str) -> Reply:
        if refresh in self.used:
            self.reuses += 1
            self.ended.add(self.used[refresh].family)
        grant = self.refreshes.get(refresh)
        if grant is None or grant.family in self.ended:
            return document({"error": "invalid_grant"}, 400)
        self.renewals += 1
        if not self.does.rotates:
            return self._given(grant, refreshes=False)
        self.used[refresh] = self.refreshes.pop(refresh)
        return self._given(grant)

    def _given(self, grant: Grant, refreshes: bool = True) -> Reply:
        access = f"access-{secrets.token_hex(12)}"
        self.tokens[access] = grant, time.time() + self.does.life
        answer: dict[str, Any] = {"access_token": access, "token_type": "Bearer", "expires_in": self.does.life}
        if self.does.names_scope and grant.scope:
            answer["scope"] = grant.scope
        if self.does.gives_refresh and refreshes:
            answer["refresh_token"] = f"refresh-{secrets.token_hex(12)}"
            self.refreshes[answer["refresh_token"]] = grant
        return document(answer)

    def admits(self, authorization: str | None) -> Grant | None:
        """The grant of a request, if its token is good."""
        access = (authorization or "").removeprefix("Bearer ")
        with self._lock:
            grant, ends = self.tokens.get(access, (None, 0.0))
            return grant if grant is not None and time.time() < ends and grant.family not in self.ended else None


@dataclass
class Demands:
    """What the server asks of its clients, and how it says so."""

    names_metadata: bool = True  # in the challenge
    metadata_at: tuple[str, ...] = ("path", "root")
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    elsewhere: Reply = (404, {}, b"no")
    challenge: str | None = None  # in place of its own
    scope: str | None = None  # in the challenge with 401
    scopes: dict[str, str] = field(default_factory=dict[str, str])  # of tools
    is_legacy: bool = False  # it has a handshake
    is_open: bool = False  # but for its tools


class Protected:
    """An MCP server that lets nobody in without a token. The tool `admin` may need a scope more."""

    def __init__(self, issuer: Issuer, demands: Demands | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.issuer = issuer
        self.asks = demands or Demands()
        self.place = Place(self._answer, tls)
        self.calls: list[str] = []

    @property
    def url(self) -> str:
        return f"{self.place.origin}/mcp"

    def close(self) -> None:
        self.place.close()

    def _answer(self, asked: Asked) -> Reply:
        if asked.path.startswith(RESOURCE):
            kinds = {"path": f"{RESOURCE}/mcp", "root": RESOURCE}
            if asked.path in {kinds[kind] for kind in self.asks.metadata_at}:
                return document(
                    {"resource": self.url, "authorization_servers": [self.issuer.name], **self.asks.metadata}
                )
            return self.asks.elsewhere
        if asked.path != "/mcp" or asked.method == "DELETE":
            return 404, {}, b""
        if asked.method == "GET":
            return 405, {}, b""
        message = json.loads(asked.body)
        return self._refusal(asked, message) or self._served(message)

    def _refusal(self, asked: Asked, message: dict[str, Any]) -> Reply | None:
        if self.asks.is_open and message["method"] != "tools/call":
            return None
        grant = self.issuer.admits(asked.headers.get("authorization"))
        named = f'resource_metadata="{self.place.origin}{RESOURCE}/mcp"' if self.asks.names_metadata else ""
        if grant is None:
            parts = [part for part in (named, f'scope="{self.asks.scope}"' if self.asks.scope else "") if part]
            challenge = self.asks.challenge if self.asks.challenge is not None else f"Bearer {', '.join(parts)}".strip()
            return 401, {"WWW-Authenticate": challenge} if challenge else {}, b""
        wanted = self.asks.scopes.get(message.get("params", {}).get("name", ""), "")
        if set(wanted.split()) <= set(grant.scope.split()):
            return None
        return 403, {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{wanted}", {named}'}, b""

    def _served(self, message: dict[str, Any]) -> Reply:
        method = message["method"]
        if "id" not in message:
            return 202, {}, b""
        legacy = self.asks.is_legacy
        if method == "initialize" and legacy:
            info = {"name": "guarded", "version": "1"}
            version = message["params"]["protocolVersion"]
            return self._result(
                message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            )
        if method == "server/discover" and not legacy:
            meta = {NAMESPACE + "serverInfo": {"name": "guarded", "version": "1"}}
            said: dict[str, Any] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "_meta": meta}
            return self._result(message, {**said, "ttlMs": 0, "cacheScope": "private"})
        if method == "tools/call":
            self.calls.append(message["params"]["name"])
            return self._result(message, {"content": [{"type": "text", "text": message["params"]["name"]}]})
        error = {"code": -32601, "message": "no such method"}
        return document({"jsonrpc": "2.0", "id": message["id"], "error": error}, 200 if legacy else 404)

    def _result(self, message: dict[str, Any], result: dict[str, Any]) -> Reply:
        kind = {} if self.asks.is_legacy else {"resultType": "complete"}
        return document({"jsonrpc": "2.0", "id": message["id"], "result": {**kind, **result}})


@contextmanager
def guarded(
    behaviour: Behaviour | None = None, demands: Demands | None = None, tls: ssl.SSLContext | None = None
) -> Generator[tuple[Issuer, Protected]]:
    issuer = Issuer(behaviour, tls)
    server = Protected(issuer, demands, tls)
    try:
        yield issuer, server
    finally:
        server.close()
        issuer.close()


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None


def fetched(url: str, method: str = "GET", headers: dict[str, str] | None = None) -> tuple[int, dict[str, str], str]:
    """The response at one URL, without following it."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stay())
    request = urllib.request.Request(url, method=method, headers=headers or {})
    try:
        with opener.open(request, timeout=20) as response:
            return response.status, dict(response.headers), response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read().decode()


def visit(url: str) -> tuple[int, str]:
    """Sign in as a browser does; gives the last page."""
    for _ in range(6):
        status, headers, page = fetched(url)
        if status not in (302, 303):
            return status, page
        url = next(value for name, value in headers.items() if name.lower() == "location")
    raise AssertionError("a browser would go on for ever")


def query_of(url: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(url).query)
