"""Giving a token back to the authorization server that gave it (RFC 7009), as a user does who logs out."""

from dragoman.signin.clients import SIGNED, proved
from dragoman.signin.failure import Failed
from dragoman.signin.record import Record
from dragoman.signin.web import Web

STEP = "the revocation"
REFRESH, ACCESS = "refresh_token", "access_token"


async def revoked(web: Web, record: Record, now: float) -> str:
    """Give back what `record` holds; a sentence that says how that went, for the user.

    The refresh token stands for all that came of it (RFC 7009 section 2.1); without one the access token goes.
    """
    tokens, endpoint = record.tokens, record.revocation_endpoint
    if tokens is None:
        return "there was no token to give back"
    if endpoint is None:
        return "the authorization server offers no revocation, so the token there lives until it ends"
    if record.client.method == SIGNED:
        return "the token was not revoked, as its client signs with a key that is not kept here; it lives until it ends"
    token, kind = (tokens.refresh, REFRESH) if tokens.refresh is not None else (tokens.access, ACCESS)
    form, headers = proved({"token": token, "token_type_hint": kind}, record.client, record.issuer, None, now)
    try:
        status, _ = await web.form(STEP, endpoint, form, headers)
        if status in (400, 401) and "client_secret" not in form:  # some look for it in the form alone, even for none
            form["client_secret"] = record.client.secret or ""
            status, _ = await web.form(STEP, endpoint, form, headers)
    except Failed as failure:
        return f"the token could not be revoked ({failure}), so it lives until it ends"
    if 200 <= status <= 299:
        return "its token was revoked at the authorization server"
    return f"the authorization server did not revoke the token (HTTP status {status}), so it lives until it ends"
