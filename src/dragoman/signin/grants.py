"""Requests to one token endpoint, and to the endpoints beside it: each grant that the bridge knows."""

from collections.abc import Callable, Mapping

from dragoman.signin.assertion import SigningKey
from dragoman.signin.clients import CODE, REFRESH, Client, proved, registered, registration
from dragoman.signin.metadata import Issuer
from dragoman.signin.scopes import Scopes, text_of
from dragoman.signin.tokens import Refusal, Tokens, tokens
from dragoman.signin.web import Web

TOKEN_REQUEST = "the token request"
REFRESH_REQUEST = "the renewal of the token"
REGISTRATION = "the registration"


class Grants:
    """`key` signs for a client with `private_key_jwt`; `clock` gives seconds of Unix."""

    def __init__(self, web: Web, key: SigningKey | None, clock: Callable[[], float]) -> None:
        self._web = web
        self._key = key
        self._clock = clock

    async def register(self, issuer: Issuer, redirect_uri: str, scopes: Scopes | None) -> Client:
        """
        Raises:
            Failed: the issuer registers nobody.
        """
        assert issuer.registration_endpoint is not None
        body = registration(issuer, redirect_uri, scopes)
        status, answer = await self._web.post(REGISTRATION, issuer.registration_endpoint, body)
        return registered(status, answer, issuer, redirect_uri, self._web.note)

    async def by_code(
        self,
        issuer: Issuer,
        client: Client,
        code: str,
        verifier: str,
        redirect_uri: str,
        scopes: Scopes | None,
        resource: str | None,
    ) -> Tokens | Refusal:
        form = {"grant_type": CODE, "code": code, "redirect_uri": redirect_uri, "code_verifier": verifier}
        return await self.asked(TOKEN_REQUEST, issuer.token_endpoint, issuer.issuer, client, form, scopes, resource)

    async def by_client(
        self, issuer: Issuer, client: Client, scopes: Scopes | None, resource: str | None
    ) -> Tokens | Refusal:
        form = {"grant_type": "client_credentials"}
        if scopes:
            form["scope"] = text_of(scopes) or ""
        return await self.asked(TOKEN_REQUEST, issuer.token_endpoint, issuer.issuer, client, form, scopes, resource)

    async def by_refresh(
        self, endpoint: str, issuer_name: str, client: Client, before: Tokens, resource: str | None
    ) -> Tokens | Refusal:
        assert before.refresh is not None
        form = {"grant_type": REFRESH, "refresh_token": before.refresh}
        return await self.asked(REFRESH_REQUEST, endpoint, issuer_name, client, form, before.scopes, resource, before)

    def proof(self, form: Mapping[str, str], client: Client, issuer_name: str) -> tuple[dict[str, str], dict[str, str]]:
        """A form and its headers, with the proof of the client."""
        return proved(form, client, issuer_name, self._key, self._clock())

    async def asked(
        self,
        step: str,
        endpoint: str,
        issuer_name: str,
        client: Client,
        form: Mapping[str, str],
        scopes: Scopes | None,
        resource: str | None,
        before: Tokens | None = None,
    ) -> Tokens | Refusal:
        """
        Raises:
            Failed: there was no answer.
        """
        whole = {**form, **({"resource": resource} if resource is not None else {})}
        fields, headers = self.proof(whole, client, issuer_name)
        status, body = await self._web.form(step, endpoint, fields, headers)
        return tokens(status, body, self._clock(), scopes, before, self._web.note)
