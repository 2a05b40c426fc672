"""The device grant (RFC 8628): the user enters a code on any device, and the bridge asks until that has happened."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from dragoman.auth.discovery import Unfit
from dragoman.faults import Cause
from dragoman.signin.clients import DEVICE, Client
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


class _Answer(msgspec.Struct):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str | None = None
    interval: float = INTERVAL


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
        answer = msgspec.json.decode(body, type=_Answer)
        url = answer.verification_uri_complete or answer.verification_uri
        place(url, server)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise failed(STEP, status) from None
    except Unfit:
        raise Failed(Cause.SIGN_IN_INVALID_URL) from None
    if not (answer.user_code.isascii() and answer.user_code.isprintable() and len(answer.user_code) <= 64):
        raise failed(STEP, status)
    return Code(url, answer.user_code, answer.device_code, max(answer.interval, 0.0))


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
