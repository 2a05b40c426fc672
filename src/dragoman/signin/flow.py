"""One sign-in, from the challenge to the record that is kept: who the issuer is, who we are there, and the grant.

* What was registered is kept before anybody is asked to sign in, so that nothing is lost when this process ends (B150).
* A registration that the issuer no longer knows is made once more, and the sign-in begins once more (B137). A client
  that the user gave is never given up.
* The browser is opened, or the user is asked through the client, as the `Person` allows (OAUTH-12, OAUTH-13).
"""

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import closing
from dataclasses import dataclass
from socket import socket
from typing import Any, TypeVar
from urllib.parse import urlsplit

from msgspec import structs

from dragoman.faults import Cause
from dragoman.signin import clients, device
from dragoman.signin.assertion import SigningKey
from dragoman.signin.authorize import Redirect, authorization_url, check_proof_keys, code_of, proof
from dragoman.signin.browser import NotOpened, open_url
from dragoman.signin.challenge import Challenge
from dragoman.signin.clients import Client, Kind
from dragoman.signin.discovery import Found, NoSignIn, found
from dragoman.signin.failure import Failed, failed
from dragoman.signin.grants import TOKEN_REQUEST, Grants
from dragoman.signin.issuers import settings_of
from dragoman.signin.metadata import is_same
from dragoman.signin.options import Method, Options
from dragoman.signin.options import redirect_uri as uri_of
from dragoman.signin.person import Consent, Person
from dragoman.signin.receiver import Receiver, listening
from dragoman.signin.record import Record
from dragoman.signin.scopes import Scopes, chosen
from dragoman.signin.tokens import Refusal, Tokens
from dragoman.signin.web import Web
from dragoman.transports.http.target import Target

FORGOTTEN = frozenset({"invalid_client", "unauthorized_client"})
MESSAGE = "{} needs you to sign in. Open this page in your web browser."

Keep = Callable[[Record], Awaitable[None]]
T = TypeVar("T")


class _Forgotten(Exception):
    """The issuer does not know a client that was registered earlier."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a sign-in needs of the world. `say` writes a line for the user, `note` a sentence for the log."""

    person: Person
    say: Callable[[str], None]
    note: Callable[[str], None]
    clock: Callable[[], float]
    random: Callable[[int], bytes] = secrets.token_bytes


class Flow:
    """`keep` takes each state of the record that must not be lost."""

    def __init__(self, target: Target, options: Options, around: Surroundings, keep: Keep) -> None:
        self._target = target
        self._options = options
        self._around = around
        self._keep = keep
        self._key = SigningKey(options.signing_key) if options.signing_key is not None else None

    async def run(self, challenge: Challenge, before: Record | None) -> Record:
        """Sign in, as the challenge asks; `before` is the record so far.

        Raises:
            Failed: it did not come to an end.
            NoSignIn: there is nothing to sign in at.
        """
        web = Web(self._target, note=self._around.note)
        try:
            grants = Grants(web, self._key, self._around.clock)
            whole = await self._found(web, challenge, before)
            try:
                return await self._signed_in(web, grants, whole, challenge, before)
            except _Forgotten:
                self._around.note("the authorization server has forgotten this bridge: it is registered once more")
                return await self._signed_in(web, grants, whole, challenge, None)
        finally:
            await web.close()

    async def _found(self, web: Web, challenge: Challenge, before: Record | None) -> Found:
        issuer = before.issuer if before is not None else None
        given = self._options.client_issuer
        return await found(web, self._target.address, challenge, given, issuer, self._around.note)

    async def _signed_in(
        self, web: Web, grants: Grants, whole: Found, challenge: Challenge, before: Record | None
    ) -> Record:
        issuer = whole.issuer
        if not whole.is_guessed:
            self._check_person()
        if before is not None and not is_same(before.issuer, issuer.issuer):
            before = None  # what belongs to one issuer is never shown to another (OAUTH-03)
        asked_before = None
        if challenge.wants_more and before is not None:
            asked_before = (before.tokens.scopes if before.tokens is not None else None) or before.scopes or ()
        supported = whole.resource.scopes_supported if whole.resource is not None else None
        scopes = chosen(challenge.scopes, supported, issuer.scopes_supported, asked_before)
        settings = settings_of(issuer.issuer, self._options.issuers)
        if settings.name:
            told = " no resource is named to it, which some refuse as invalid_target" if settings.is_silent else ""
            self._around.note(
                f"the settings {settings.name} are used for this authorization server{told and ':'}{told}"
            )
        resource = settings.resource_for(whole.resource.resource if whole.resource is not None else None)
        if self._options.method is not Method.BROWSER:
            return await self._granted(web, grants, whole, before, scopes, resource, None)
        check_proof_keys(issuer, whole.resource is not None, settings.assumes_pkce)
        with closing(listening(*self._ports(before))) as own:
            return await self._granted(web, grants, whole, before, scopes, resource, own)

    def _ports(self, before: Record | None) -> tuple[int, ...]:
        """Where the browser may come back to: at the port that a registration named, at the usual one, or at any."""
        port = self._options.redirect_port
        if self._options.is_port_fixed:
            return (port,)
        old = urlsplit(before.client.redirect_uri or "").port if before is not None else None
        return (old or port, port, 0)

    async def _granted(
        self,
        web: Web,
        grants: Grants,
        whole: Found,
        before: Record | None,
        scopes: Scopes | None,
        resource: str | None,
        own: socket | None,
    ) -> Record:
        """The record of a sign-in; the browser comes back to `own`."""
        issuer = whole.issuer
        redirect_uri = uri_of(own.getsockname()[1]) if own is not None else self._options.redirect_uri
        client, is_old = await self._client(grants, whole, before, scopes, redirect_uri)
        record = Record(
            issuer.issuer, client, issuer.token_endpoint, None, resource, scopes, issuer.revocation_endpoint
        )
        if client.kind is Kind.REGISTERED and not is_old:
            await self._keep(record)
        try:
            tokens = await self._tokens(web, grants, whole, record, own)
        except Failed as failure:
            if is_old and failure.cause is Cause.SIGN_IN_ERROR and failure.detail in FORGOTTEN:
                raise _Forgotten from None
            raise
        if not isinstance(tokens, Tokens):
            if tokens.is_of_client:
                self._unknown(client, is_old)
            raise failed(TOKEN_REQUEST, tokens.status, tokens.code or tokens.why, is_passing=tokens.is_passing)
        signed_in = structs.replace(record, tokens=tokens)
        await self._keep(signed_in)
        return signed_in

    def _check_person(self) -> None:
        """Make sure that somebody can sign in, if somebody has to.

        Raises:
            Failed: nobody can.
        """
        person = self._around.person
        if self._options.method is not Method.CLIENT and not person.is_at_hand() and not person.can_be_asked():
            raise Failed(Cause.REAUTHORIZATION_REQUIRED, Consent.NOBODY.value)

    # ------------------------------------------------------------------ who we are

    async def _client(
        self, grants: Grants, whole: Found, before: Record | None, scopes: Scopes | None, redirect_uri: str
    ) -> tuple[Client, bool]:
        """The client to sign in as, and whether it was registered earlier."""
        options, issuer = self._options, whole.issuer
        if options.client_id is not None:
            if options.client_issuer is not None and not is_same(options.client_issuer, issuer.issuer):
                raise Failed(Cause.ISSUER_NOT_REGISTERED)
            return clients.given(options.client_id, options.client_secret, self._key, issuer), False
        if options.client_metadata_url is not None and issuer.client_id_metadata_document_supported:
            return clients.documented(options.client_metadata_url), False
        old = before.client if before is not None else None
        if old is not None and old.kind is Kind.REGISTERED and not old.is_over(self._around.clock()):
            is_old = (old.redirect_uri or self._options.redirect_uri) == redirect_uri
            if is_old:  # a registration is for one place; with another one it is made anew
                return old, True
        if issuer.registration_endpoint is None:
            raise Failed(Cause.REGISTRATION_UNAVAILABLE)
        try:
            return await grants.register(issuer, redirect_uri, scopes), False
        except Failed as failure:
            if whole.is_guessed and not failure.is_passing:
                raise NoSignIn from None  # what was only guessed is not there
            raise

    def _unknown(self, client: Client, is_old: bool) -> None:
        """The token endpoint does not know `client`.

        Raises:
            _Forgotten: it did, and the client can be registered again.
            Failed: it is the user's client.
        """
        if is_old:
            raise _Forgotten
        if client.kind is Kind.DOCUMENT:
            raise Failed(Cause.INVALID_CLIENT_METADATA_URL)
        if client.kind is Kind.GIVEN:
            raise failed(f"{TOKEN_REQUEST}: the client of --client-id, or its secret, is not accepted")

    # ------------------------------------------------------------------ grants

    async def _tokens(
        self, web: Web, grants: Grants, whole: Found, record: Record, own: socket | None
    ) -> Tokens | Refusal:
        if self._options.method is Method.CLIENT:
            return await grants.by_client(whole.issuer, record.client, record.scopes, record.resource)
        self._check_person()
        if own is None:
            return await self._by_device(web, grants, whole, record)
        return await self._by_code(web, grants, whole, record, own)

    async def _by_device(self, web: Web, grants: Grants, whole: Found, record: Record) -> Tokens | Refusal:
        parts = (whole.issuer, record.client)
        asked = (record.scopes, record.resource)
        code = await device.code(web, grants, *parts, *asked, self._target.address)
        await web.check_page(code.url)
        self._around.say(f"sign in at {code.url} with the code {code.user_code}")
        waiting = device.tokens(grants, *parts, code, *asked)
        if self._around.person.is_at_hand():
            return await waiting
        return await self._while_asked(waiting, code.url, f"{self._message} The code is {code.user_code}.")

    async def _by_code(self, web: Web, grants: Grants, whole: Found, record: Record, own: socket) -> Tokens | Refusal:
        issuer, person, random = whole.issuer, self._around.person, self._around.random
        key = proof(random)
        redirect_uri = uri_of(own.getsockname()[1])
        url = authorization_url(issuer, record.client.id, redirect_uri, key, record.scopes, record.resource)
        await web.check_page(url)
        is_at_hand = person.is_at_hand()
        token = random(32).hex() if is_at_hand and self._options.opens_browser else None
        receiver = Receiver(own, self._target.address.host, key.state, url, token, self._around.note)
        await receiver.open()
        try:
            self._around.say(f"sign in at {url}")
            if receiver.start_url is not None:
                await self._open(receiver.start_url)
            waiting = receiver.redirect()
            redirect: Redirect = await (waiting if is_at_hand else self._while_asked(waiting, url, self._message))
            code = code_of(redirect, issuer)
            return await grants.by_code(
                issuer, record.client, code, key.verifier, redirect_uri, record.scopes, record.resource
            )
        finally:
            await receiver.close()

    @property
    def _message(self) -> str:
        return MESSAGE.format(self._target.address.host)

    async def _open(self, url: str) -> None:
        try:
            await open_url(url, os.environ, self._options.secrets)
        except NotOpened as why:
            self._around.note(f"no browser was opened: {why}; open the URL of the sign-in line yourself")
            if self._options.needs_browser:
                raise Failed(Cause.BROWSER_LAUNCH_FAILED) from None

    async def _while_asked(self, waiting: Coroutine[Any, Any, T], url: str, message: str) -> T:
        """What the sign-in brings, which the client asks its user for; a refusal of the client ends it.

        Raises:
            Failed: the user declined, or nobody can be asked.
        """
        loop = asyncio.get_running_loop()
        outcome = loop.create_task(waiting, name="the end of a sign-in")
        question = loop.create_task(self._around.person.asked(url, message), name="the question of a sign-in")
        try:
            await asyncio.wait((outcome, question), return_when=asyncio.FIRST_COMPLETED)
            if not outcome.done() and question.result() is not Consent.OPENED:
                raise Failed(Cause.REAUTHORIZATION_REQUIRED, question.result().value)
            return await outcome
        finally:
            outcome.cancel()
            question.cancel()
            await asyncio.gather(outcome, question, return_exceptions=True)
