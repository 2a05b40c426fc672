"""The device grant (RFC 8628): the user enters a code on any device, and the bridge asks until that has happened."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from dragoman.auth.discovery import Unfit
from dragoman.faults import Cause
from dragoman.signin.clients import DEVICE, Client
from dragoman.signin.document import Document
from dragoman.signin.failure import Failed, failed
from dragoman.signin.grants import TOKEN_REQUEST, Grants
from dragoman.signin.metadata import Issuer, place
from dragoman.signin.scopes import Scopes, text_of
from dragoman.signin.tokens import Refusal, Tokens, error_code
from dragoman.signin.web import Web
from dragoman.transports.http.address import Address

STEP = "the request for a device code"
INTERVAL, SLOWER = 5.0, 5.0

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Code:
    """What the user is told: where to go, and what to enter there."""

    url: str
    user_code: str
    device_code: str = field(repr=False)
    interval: float = INTERVAL


async def code(
    web: Web,
    grants: Grants,
    issuer: Issuer,
    client: Client,
    scopes: Scopes | None,
    resource: str | None,
    server: Address,
) -> Code:
    """
    Raises:
        Failed: the authorization server gives none.
    """
    if issuer.device_authorization_endpoint is None:
        raise failed("the authorization server has no device grant")
    form = {"scope": text_of(scopes) or ""} if scopes else {}
    if resource is not None:
        form["resource"] = resource
    fields, headers = grants.proof(form, client, issuer.issuer)
    status, body = await web.form(STEP, issuer.device_authorization_endpoint, fields, headers)
    if not 200 <= status <= 299:
        raise failed(STEP, status, error_code(body))
    try:
        answer = Document(body, "the answer to the request for a device code", web.note)
    except ValueError:
        raise failed(STEP, status) from None
    device, user, page = (answer.text(name) for name in ("device_code", "user_code", "verification_uri"))
    if device is None or user is None or page is None:
        raise failed(STEP, status)
    try:
        url = answer.text("verification_uri_complete") or page
        place(url, server)
    except Unfit:
        raise Failed(Cause.SIGN_IN_INVALID_URL) from None
    if not (user.isascii() and user.isprintable() and len(user) <= 64):
        raise failed(STEP, status)
    interval = answer.number("interval")
    return Code(url, user, device, INTERVAL if interval is None else max(interval, 0.0))


async def tokens(
    grants: Grants,
    issuer: Issuer,
    client: Client,
    code: Code,
    scopes: Scopes | None,
    resource: str | None,
    sleep: Sleep = asyncio.sleep,
) -> Tokens | Refusal:
    """The tokens, once the user has entered the code; or why there will be none.

    Raises:
        Failed: the user or the authorization server refused.
    """
    form = {"grant_type": DEVICE, "device_code": code.device_code}
    interval = code.interval
    while True:
        await sleep(interval)
        try:
            answer = await grants.asked(
                TOKEN_REQUEST, issuer.token_endpoint, issuer.issuer, client, form, scopes, resource
            )
        except Failed as failure:
            if not failure.is_passing:
                raise
            interval *= 2  # RFC 8628 section 3.5
            continue
        if isinstance(answer, Tokens):
            return answer
        if answer.code == "access_denied":
            raise Failed(Cause.SIGN_IN_DENIED)
        if answer.code == "expired_token":
            raise Failed(Cause.SIGN_IN_TIMEOUT)
        if answer.code == "slow_down":
            interval += SLOWER
        elif answer.code != "authorization_pending":
            return answer
