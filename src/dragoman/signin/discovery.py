"""Finding the authorization server of a server, in the order of revisions 7: what `metadata` says, asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.auth.discovery import Unfit, places
from dragoman.faults import Cause
from dragoman.signin import metadata
from dragoman.signin.challenge import FORBIDDEN, UNAUTHORIZED, Challenge
from dragoman.signin.failure import Failed, failed
from dragoman.signin.metadata import OF_ISSUER, OF_RESOURCE, Issuer, Resource
from dragoman.signin.web import Web
from dragoman.transports.http.address import Address
from dragoman.transports.http.loss import is_passing


class NoSignIn(Exception):
    """Nothing says that this server is signed in to (B47)."""


@dataclass(frozen=True, slots=True)
class Found:
    """`resource` is `None` for a server without metadata. With `is_guessed` nothing describes `issuer` either."""

    issuer: Issuer
    resource: Resource | None
    is_guessed: bool = False


async def found(
    web: Web, server: Address, challenge: Challenge, given: str | None, before: str | None, note: Callable[[str], None]
) -> Found:
    """`given` is the issuer that the user names, `before` the one of the last sign-in; either is preferred.

    Raises:
        Failed: something that is there cannot be used.
        NoSignIn: there is nothing.
    """
    try:
        resource = await _resource(web, server, challenge, note)
    except Failed:
        if challenge.status == FORBIDDEN and not challenge.is_bearer:
            raise NoSignIn from None  # it may forbid whatever it likes, without any sign-in
        raise
    if resource is not None:
        if not resource.authorization_servers:
            raise failed(f"{OF_RESOURCE} names no authorization server")
        name = _chosen(resource.authorization_servers, given, before)
        issuer = await _issuer(web, server, name, given, note)
        if issuer is None:
            raise failed(f"{OF_ISSUER}: there is none")
        return Found(issuer, resource)
    name = metadata.origin_of(server)
    if given is not None and not metadata.is_same(given, name):
        raise Failed(Cause.ISSUER_NOT_REGISTERED)
    issuer = await _issuer(web, server, name, given, note)
    if issuer is not None:
        return Found(issuer, None)
    if challenge.status != UNAUTHORIZED:
        raise NoSignIn
    return Found(metadata.without_metadata(server), None, is_guessed=True)


async def _resource(web: Web, server: Address, challenge: Challenge, note: Callable[[str], None]) -> Resource | None:
    unfit: Unfit | None = None
    named = (challenge.metadata_url,) if challenge.metadata_url is not None else ()
    for url in dict.fromkeys((*named, *metadata.resource_places(server))):
        try:
            status, body = await web.document(OF_RESOURCE, url)
            if is_passing(status):
                raise failed(OF_RESOURCE, status, is_passing=True)
            if 200 <= status <= 299 and body.lstrip()[:1] == b"{":
                return metadata.resource(body, server, note)
        except Unfit as error:
            unfit = error
            if url in named:
                break
    if unfit is not None:
        raise failed(f"{OF_RESOURCE}: {unfit}")
    return None


async def _issuer(
    web: Web, server: Address, name: str, given: str | None, note: Callable[[str], None]
) -> Issuer | None:
    unfit: Unfit | None = None
    try:
        for url in places(metadata.place(name, server)):
            status, body = await web.document(OF_ISSUER, url)
            if is_passing(status):
                raise failed(OF_ISSUER, status, is_passing=True)
            if 200 <= status <= 299 and body.lstrip()[:1] == b"{":
                try:
                    return metadata.issuer(body, name, given, server, note)
                except Unfit as error:
                    unfit = error
    except Unfit as error:
        unfit = error
    if unfit is None:
        return None
    note(f"{OF_ISSUER} was refused: {unfit}")
    raise failed(f"{OF_ISSUER} is of another issuer, or names a place that cannot be used")


def _chosen(servers: Sequence[str], given: str | None, before: str | None) -> str:
    if given is not None:
        for name in servers:
            if metadata.is_same(name, given):
                return name
        if len(servers) > 1:
            raise Failed(Cause.ISSUER_NOT_REGISTERED)
        return servers[0]  # its metadata may still be that of the issuer that the user names (B145)
    if before is not None:
        for name in servers:
            if metadata.is_same(name, before):
                return name
    return servers[0]
