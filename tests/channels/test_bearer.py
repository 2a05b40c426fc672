"""The listener as a protected resource: tokens of an issuer, challenges, metadata."""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from channels.scripted_http import Request, played
from channels.scripted_issuer import JWKS, OAUTH, OPENID, ScriptedIssuer, issuing
from dragoman.auth.gate import ProtectedResource
from dragoman.auth.issuer import Issuer, KeyBounds
from dragoman.limits import Reception
from dragoman.transports.http.address import address
from dragoman.transports.http.server.admission import admission
from dragoman.transports.http.server.app import App
from dragoman.transports.http.server.budget import Budget
from dragoman.transports.http.server.exchange import Exchange
from dragoman.transports.http.server.head import Head, Reply
from dragoman.transports.http.server.stream import Stream
from dragoman.transports.http.target import Target
from support import tokens
from support.asgi import Answer, called
from support.tokens import AUDIENCE, NOW, jwk, key_set

WELL_KNOWN = "/.well-known/oauth-protected-resource"
WHERE = f'resource_metadata="https://mcp.example{WELL_KNOWN}/mcp"'


class Echo:
    """A service that tells who asked."""

    is_ready = True
    is_open = True
    budget = Budget(1 << 20)

    async def ready(self) -> None: ...

    def post(self, head: Head, body: bytes) -> Exchange | Reply:
        return Reply(200, json.dumps(head.principal).encode())

    def listen(self, head: Head) -> Stream | Reply:
        return Reply(200, b"1")

    def leave(self, head: Head) -> Reply:
        return Reply(204)

    def open_sse(self, head: Head) -> Reply:
        return Reply(503)

    def close_sse(self, id: str) -> None: ...

    def hung_up(self, exchange: Exchange) -> None: ...

    def finished(self, exchange: Exchange) -> None: ...


class Guarded:
    """An endpoint behind the gate, and a client of it. `now` is the time of its caches, in seconds."""

    def __init__(
        self, issuer: ScriptedIssuer, scopes: tuple[str, ...] = (), ca_file: str | None = None, **bounds: Any
    ) -> None:
        self.now = 0.0
        self.notes: list[str] = []
        target = Target(address(issuer.name), (), ca_file)
        keys = Issuer(issuer.name, target, KeyBounds(**bounds), lambda: self.now)
        gate = ProtectedResource(address(AUDIENCE), keys, frozenset({AUDIENCE}), scopes, lambda: NOW)
        self.app = App(Echo, "/mcp", admission("127.0.0.1", ["mcp.example"]), gate, Reception(), self.notes.append)

    async def ask(self, token: str | None = None, method: str = "POST", path: str = "/mcp", **more: str) -> Answer:
        headers = {"host": "mcp.example", "content-type": "application/json", **more}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        answer = await called(self.app, method, path, headers, b"{}")
        assert token is None or token not in repr(answer)
        return answer

    async def status(self, token: str) -> int:
        return (await self.ask(token)).status


@asynccontextmanager
async def guarded(*scopes: str, path: str = "", **bounds: Any) -> AsyncGenerator[tuple[ScriptedIssuer, Guarded], None]:
    async with issuing(path) as issuer:
        yield issuer, Guarded(issuer, scopes, **bounds)


# ---------------------------------------------------------------------- tokens


def test_a_right_token_lets_in_and_says_who_it_is() -> None:
    async def scene() -> None:
        async with guarded() as (issuer, endpoint):
            answer = await endpoint.ask(issuer.token())
            assert answer.status == 200
            assert json.loads(json.loads(answer.body)) == [issuer.name, "ann", "editor"]
            assert issuer.asked == [OAUTH, JWKS]
            for method in ("GET", "DELETE"):
                more = {"mcp-session-id": "x"}
                assert (await endpoint.ask(issuer.token(), method, **more)).status in (200, 204)
                assert (await endpoint.ask(None, method, **more)).status == 401
            assert issuer.asked == [OAUTH, JWKS]

    played(scene)


def test_callers_that_differ_in_anything_have_different_principals() -> None:
    async def scene() -> None:
        async with guarded() as (issuer, endpoint):
            callers: list[dict[str, Any]] = [
                {},
                {"sub": "bob"},
                {"client_id": "other"},
                {"client_id": None},
                {"client_id": "null"},
                {"sub": 'ann","editor', "client_id": None},
                {"sub": "ann editor", "client_id": ""},
            ]
            principals = [(await endpoint.ask(issuer.token(**caller))).body for caller in callers]
            assert len(set(principals)) == len(callers)
            assert (await endpoint.ask(issuer.token(exp=NOW + 1, jti="another", scope="x"))).body == principals[0]

    played(scene)


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer  ", "Basic YTpi", "token"])
def test_without_a_token_the_challenge_has_no_error(authorization: str | None) -> None:
    async def scene() -> None:
        async with guarded("use", "more") as (issuer, endpoint):
            more = {"authorization": authorization} if authorization is not None else {}
            answer = await endpoint.ask(**more)
            assert answer.status == 401
            assert answer.headers["www-authenticate"] == f'Bearer {WHERE}, scope="use more"'
            assert issuer.asked == []

    played(scene)


BAD: list[tuple[dict[str, Any] | str, str]] = [
    ({"exp": NOW - 31}, "the token has expired"),
    ({"nbf": NOW + 31}, "the token is not valid yet"),
    ({"aud": "https://other.example/mcp"}, "the token is for another audience"),
    ({"iss": "https://as.example"}, "the token is of another issuer"),
    ({"number": 1}, "the signature of the token does not hold"),
    ({"kid": "unknown"}, "the key of the token is not known"),
    ("opaque", "the token is no signed JWT"),
    (f"{tokens.token()}, Bearer {tokens.token()}", "the token is no signed JWT"),
    (tokens.unsigned(), "the token is no signed JWT"),
    (tokens.unsigned() + "AAAA", "the algorithm of the token is not allowed"),
    (tokens.signed_with_public_key(), "the algorithm of the token is not allowed"),
]


@pytest.mark.parametrize(("given", "why"), BAD, ids=[str(place) for place in range(len(BAD))])
def test_a_bad_token_is_told_what_is_wrong_and_nothing_of_itself(given: dict[str, Any] | str, why: str) -> None:
    async def scene() -> None:
        async with guarded() as (issuer, endpoint):
            issuer.keys = key_set(jwk(), jwk("RSA", kid="rsa"))
            answer = await endpoint.ask(given if isinstance(given, str) else issuer.token(**given))
            assert answer.status == 401
            said = f'Bearer error="invalid_token", error_description="{why}", {WHERE}'
            assert answer.headers["www-authenticate"] == said
            assert endpoint.notes == ["a request with a token that is not accepted was refused with 401"]

    played(scene)


def test_a_missing_scope_is_a_challenge_for_all_that_are_needed() -> None:
    async def scene() -> None:
        async with guarded("use", "more") as (issuer, endpoint):
            for scope in (None, "", "use", "more others", "usemore"):
                answer = await endpoint.ask(issuer.token(scope=scope))
                assert answer.status == 403
                challenge = answer.headers["www-authenticate"]
                assert challenge.startswith('Bearer error="insufficient_scope", ')
                assert challenge.endswith(f'{WHERE}, scope="use more"')
            assert await endpoint.status(issuer.token(scope="more x use")) == 200

    played(scene)


def test_a_page_of_an_allowed_origin_can_read_the_challenge() -> None:
    async def scene() -> None:
        async with guarded() as (_, endpoint):
            answer = await endpoint.ask(origin="http://localhost:3000")
            assert answer.status == 401
            assert "www-authenticate" in answer.headers["access-control-expose-headers"]
            assert (await endpoint.ask(origin="https://evil.example")).status == 403

    played(scene)


# ---------------------------------------------------------------------- keys


def test_an_unknown_key_is_asked_for_and_not_more_often_than_it_may() -> None:
    async def scene() -> None:
        async with guarded(pause=10.0) as (issuer, endpoint):
            assert await endpoint.status(issuer.token()) == 200
            issuer.keys = key_set(jwk(number=1, kid="k2"))
            new = issuer.token(number=1, kid="k2")
            for _ in range(3):
                assert await endpoint.status(new) == 401
            assert issuer.asked.count(JWKS) == 1
            endpoint.now = 10.0
            assert await endpoint.status(new) == 200
            assert await endpoint.status(issuer.token()) == 401
            assert issuer.asked.count(JWKS) == 2

    played(scene)


def test_all_who_come_at_once_wait_for_one_answer() -> None:
    async def scene() -> None:
        async with guarded() as (issuer, endpoint):
            asked = [endpoint.status(issuer.token(kid=kid)) for kid in ("k1", "k1", "x1", "k1", "x2")]
            assert await asyncio.gather(*asked) == [200, 200, 401, 200, 401]
            assert issuer.asked == [OAUTH, JWKS]

    played(scene)


def test_keys_are_asked_for_again_while_others_go_on_with_the_old_ones() -> None:
    async def scene() -> None:
        async with guarded(renew=600.0) as (issuer, endpoint):
            assert await endpoint.status(issuer.token()) == 200
            began, go = asyncio.Event(), asyncio.Event()

            async def held(request: Request) -> None:
                began.set()
                await go.wait()

            issuer.before = held
            endpoint.now = 601.0
            first = asyncio.ensure_future(endpoint.status(issuer.token()))
            await began.wait()
            assert await endpoint.status(issuer.token()) == 200
            assert not first.done()
            go.set()
            assert await first == 200
            assert issuer.asked.count(JWKS) == 2

    played(scene)


def test_known_keys_serve_while_the_issuer_is_down_until_they_are_too_old() -> None:
    async def scene() -> None:
        async with guarded(renew=600.0, keep=3600.0) as (issuer, endpoint):
            assert await endpoint.status(issuer.token()) == 200
            issuer.documents[OAUTH] = 500, b""
            endpoint.now = 601.0
            assert await endpoint.status(issuer.token()) == 200
            assert await endpoint.status(issuer.token(kid="k2")) == 503
            endpoint.now = 3601.0
            assert await endpoint.status(issuer.token()) == 503
            assert endpoint.notes == ["the issuer of tokens cannot be asked: HTTP status 500"]

    played(scene)


# ---------------------------------------------------------------------- issuers


def test_metadata_is_looked_for_in_every_place() -> None:
    async def scene() -> None:
        async with guarded(path="/tenant") as (issuer, endpoint):
            metadata = issuer.metadata()
            inserted, openid, appended = f"{OAUTH}/tenant", f"{OPENID}/tenant", f"/tenant{OPENID}"
            issuer.documents = {inserted: (401, b""), openid: (200, b"<html>"), appended: (200, metadata)}
            assert await endpoint.status(issuer.token()) == 200
            assert issuer.asked == [inserted, openid, appended, JWKS]

    played(scene)


def test_an_issuer_that_is_not_there_is_no_fault_of_the_token() -> None:
    async def scene() -> None:
        async with guarded(pause=10.0) as (issuer, endpoint):
            token = issuer.token()
            issuer.documents = {}
            answer = await endpoint.ask(token)
            assert (answer.status, answer.headers["retry-after"]) == (503, "10")
            assert "www-authenticate" not in answer.headers
            assert await endpoint.status(token) == 503
            assert endpoint.notes == ["the issuer of tokens cannot be asked: it has no metadata"]
            issuer.documents = {OPENID: (200, issuer.metadata())}
            assert await endpoint.status(token) == 503
            endpoint.now = 10.0
            assert await endpoint.status(token) == 200

    played(scene)


def test_an_issuer_without_a_socket_is_told_so() -> None:
    async def scene() -> None:
        async with issuing() as issuer:
            token = issuer.token()
            endpoint = Guarded(issuer)
        assert await endpoint.status(token) == 503
        assert endpoint.notes == ["the issuer of tokens cannot be asked: no connection: connection refused"]

    played(scene)


def test_who_waits_for_an_issuer_that_is_slow_and_fails_does_not_ask_it_again() -> None:
    async def scene() -> None:
        async with guarded(pause=10.0) as (issuer, endpoint):

            async def slow(request: Request) -> None:
                endpoint.now += 10.0
                await request.answer(b"", 500)

            issuer.before = slow
            asked = [endpoint.status(issuer.token()) for _ in range(3)]
            assert await asyncio.gather(*asked) == [503, 503, 503]
            assert issuer.asked == [OAUTH]
            assert len(endpoint.notes) == 1

    played(scene)


def test_an_issuer_is_trusted_by_its_certificate(tmp_path: Path) -> None:
    authority, file = trustme.CA(), tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)  # pyright: ignore[reportUnknownMemberType]

    async def scene() -> None:
        async with issuing(tls=tls) as issuer:
            assert await Guarded(issuer, ca_file=str(file)).status(issuer.token()) == 200
            stranger = Guarded(issuer)
            assert await stranger.status(issuer.token()) == 503
            assert "the TLS certificate was not accepted" in stranger.notes[0]
            lost = Guarded(issuer, ca_file=str(tmp_path / "gone"))
            assert await lost.status(issuer.token()) == 503
            assert lost.notes == ["the issuer of tokens cannot be asked: the CA certificates cannot be read"]

    played(scene)


def test_an_issuer_that_never_answers_is_not_waited_for() -> None:
    async def scene() -> None:
        async with guarded(patience=0.05) as (issuer, endpoint):

            async def held(request: Request) -> None:
                await request.gone()

            issuer.before = held
            assert await endpoint.status(issuer.token()) == 503
            assert endpoint.notes == ["the issuer of tokens cannot be asked: it did not answer in time"]

    played(scene)


@pytest.mark.parametrize(
    ("place", "status", "body", "why"),
    [
        (OAUTH, 200, b'{"issuer":"https://as.example","jwks_uri":"https://as.example/k"}', "that of another issuer"),
        (OAUTH, 200, b'{"issuer":"ISSUER"}', "no issuer or no jwks_uri"),
        (OAUTH, 200, b'{"issuer":"ISSUER","jwks_uri":"http://keys.example/"}', "must use https"),
        (OAUTH, 302, b"", "no metadata"),
        (OAUTH, 503, b"", "HTTP status 503"),
        (OAUTH, 200, b" " * (257 << 10), "longer than the limit"),
        (JWKS, 404, b"", "not where it says"),
        (JWKS, 500, b"", "HTTP status 500"),
        (JWKS, 200, b"<html>", "no JSON Web Key Set"),
        (JWKS, 200, key_set(*[jwk("RSA")] * 1000), "longer than the limit"),
    ],
)
def test_an_issuer_whose_documents_cannot_be_used_is_told_so(place: str, status: int, body: bytes, why: str) -> None:
    async def scene() -> None:
        async with guarded() as (issuer, endpoint):
            issuer.documents[place] = status, body.replace(b"ISSUER", issuer.name.encode())
            assert await endpoint.status(issuer.token()) == 503
            (note,) = endpoint.notes
            assert why in note
            assert "example" not in note

    played(scene)


# ---------------------------------------------------------------------- metadata


@pytest.mark.parametrize("path", [WELL_KNOWN, f"{WELL_KNOWN}/mcp", f"{WELL_KNOWN}/mcp/"])
def test_everyone_may_read_the_metadata(path: str) -> None:
    async def scene() -> None:
        async with guarded("use") as (issuer, endpoint):
            answer = await endpoint.ask(None, "GET", path, origin="https://page.example")
            assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
            assert answer.headers["access-control-allow-origin"] == "*"
            assert json.loads(answer.body) == {
                "resource": AUDIENCE,
                "authorization_servers": [issuer.name],
                "scopes_supported": ["use"],
                "bearer_methods_supported": ["header"],
            }
            asked = {"access-control-request-method": "GET", "origin": "https://page.example"}
            preflight = await endpoint.ask(None, "OPTIONS", path, **asked)
            assert (preflight.status, preflight.headers["access-control-allow-methods"]) == (204, "GET")
            assert "mcp-protocol-version" in preflight.headers["access-control-allow-headers"]
            refused = await endpoint.ask(None, "POST", path)
            assert (refused.status, refused.headers["allow"]) == (405, "GET, OPTIONS")
            assert issuer.asked == []

    played(scene)


def test_elsewhere_and_under_another_host_there_is_none() -> None:
    async def scene() -> None:
        async with guarded() as (_, endpoint):
            assert (await endpoint.ask(None, "GET", f"{WELL_KNOWN}/other")).status == 404
            assert (await endpoint.ask(None, "GET", WELL_KNOWN, host="evil.example")).status == 403

    played(scene)
