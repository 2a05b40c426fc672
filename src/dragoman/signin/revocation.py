"""Giving a token back to the authorization server that gave it (RFC 7009), as a user does who logs out."""

from dragoman.signin.clients import SIGNED, proved
from dragoman.signin.failure import Failed
from dragoman.signin.record import Record
from dragoman.signin.web import Web

STEP = "the revocation"
REFRESH, ACCESS = "refresh_token", "access_token"


async def revoked(web: Web, record: Record, now: float) -> str:
    """Give back what `record` holds, the refresh token first; a sentence that says how that went, for the user.

    Not every server ends the access tokens with the refresh token that they came of, so both are given back (RFC 7009
    section 2.1).
    """
    tokens, endpoint = record.tokens, record.revocation_endpoint
    if tokens is None:
        return "there was no token to give back"
    if endpoint is None:
        return "the authorization server offers no revocation, so the token there lives until it ends"
    if record.client.method == SIGNED:
        return "the token was not revoked, as its client signs with a key that is not kept here; it lives until it ends"
    held = [(REFRESH, tokens.refresh), (ACCESS, tokens.access)]
    left = {kind: await _refusal(web, record, endpoint, kind, token, now) for kind, token in held if token is not None}
    kept = [kind for kind, why in left.items() if why is not None]
    if not kept:
        return "its token was revoked at the authorization server"
    why = left[kept[0]]
    if len(kept) < len(left):
        name = kept[0].replace("_", " ")
        return (
            f"its token was revoked at the authorization server, but not its {name} ({why}), which lives until it ends"
        )
    return f"the token could not be revoked ({why}), so it lives until it ends"


async def _refusal(web: Web, record: Record, endpoint: str, kind: str, token: str, now: float) -> str | None:
    """Why a token was not taken back, if it was not."""
    form, headers = proved({"token": token, "token_type_hint": kind}, record.client, record.issuer, None, now)
    try:
        status, _ = await web.form(STEP, endpoint, form, headers)
        if status in (400, 401) and "client_secret" not in form:  # some look for it in the form alone, even for none
            form["client_secret"] = record.client.secret or ""
            status, _ = await web.form(STEP, endpoint, form, headers)
    except Failed as failure:
        return str(failure)
    return None if 200 <= status <= 299 else f"the authorization server answered with HTTP status {status}"
