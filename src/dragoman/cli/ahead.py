"""The work of `login` and `logout`; nothing else loads it."""

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dragoman.diagnostics.symptoms import HEADER
from dragoman.faults import Fault
from dragoman.limits import Limits
from dragoman.redact import masked
from dragoman.signin import discovery
from dragoman.signin.authorize import check_proof_keys
from dragoman.signin.challenge import UNAUTHORIZED, Challenge
from dragoman.signin.credentials import SignIn
from dragoman.signin.discovery import NoSignIn
from dragoman.signin.failure import Failed
from dragoman.signin.issuers import settings_of
from dragoman.signin.key import Key
from dragoman.signin.options import REDIRECT_PORT, Options
from dragoman.signin.record import Record
from dragoman.signin.revocation import revoked
from dragoman.signin.shelf import Shelf
from dragoman.signin.stores import Store, StoreFailed
from dragoman.signin.stores.files import Files
from dragoman.signin.stores.opening import opened
from dragoman.signin.web import Web
from dragoman.transports.http.address import Refused, address
from dragoman.transports.http.binding import ACCEPT, JSON
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.connection import Connections
from dragoman.transports.http.endpoint import REFUSALS, Endpoint
from dragoman.transports.http.loss import Lost
from dragoman.transports.http.proxy import UnusableProxy
from dragoman.transports.http.reading import Reading
from dragoman.transports.http.target import Target, UnusableTrust
from dragoman.wire.members import opened as members
from dragoman.wire.members import text_of

PATIENCE = 10.0  # seconds for one answer of an authorization server, where somebody waits at the terminal
INDEX, SUFFIX = "index", ".signin"
OURS = (SUFFIX, ".mark", ".failed", ".lock")
NO_KEYCHAIN = ": there is no keychain that can be used; give --token-key-file"
PROBE = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


class AtTheTerminal:
    """The `Person` who typed the command."""

    def is_at_hand(self) -> bool:
        return True

    def can_be_asked(self) -> bool:
        return False

    async def asked(self, url: str, message: str) -> Any:
        raise AssertionError("who is at hand is not asked")

    def waits(self, seconds: float) -> None:
        pass

    def waits_no_more(self, signed_in: bool) -> None:
        pass

    def goes_on(self) -> None:
        pass


async def sign_in(target: Target, options: Options) -> int:
    """Sign in to the server at `target`, and say how that went; gives the exit code."""
    try:
        if not opened(options.store, options.folder, options.store_key).is_shared:
            return _failed(f"a sign-in cannot be kept{'' if options.store == 'memory' else NO_KEYCHAIN}")
    except StoreFailed as error:
        return _failed(str(error))
    credentials = SignIn(target, options, lambda line: click.echo(f"dragoman: {line}", err=True), _tell)
    credentials.person = AtTheTerminal()
    try:
        status = await _status(replace(target, credentials=credentials))
    except (UnusableProxy, UnusableTrust) as error:
        return _failed(str(error))
    except Lost as lost:
        fault = Fault(lost.loss.kind, lost.loss.detail, facts=lost.loss.facts)
        return _failed(f"{text_of(members(fault.error())['message'])} ({fault.detail or fault.cause})")
    if status in REFUSALS:
        return 1  # and a line has said why
    if credentials.are_idle:
        click.echo("nothing to sign in to: the server lets everyone in")
        return 0
    if not credentials.are_kept:
        return _failed("the sign-in succeeded, but could not be kept, so it is of no use to other programs")
    click.echo("signed in")
    return 0


async def way_in(target: Target, options: Options, words: str) -> str:
    """How to sign in to a server that refuses strangers: a sentence. Nothing is asked of it but its metadata."""

    try:
        web = Web(target, PATIENCE)
    except Failed as failure:
        return f"Its sign-in cannot be looked at: {failure}."
    try:
        whole = await discovery.found(
            web, target.address, Challenge(UNAUTHORIZED, True), options.client_issuer, None, _tell
        )
    except NoSignIn:
        return HEADER
    except Failed as failure:
        return f"Its sign-in cannot be used: {failure}."
    finally:
        await web.close()
    if whole.is_guessed:
        return f"{HEADER} It names no authorization server."
    issuer, lacking = whole.issuer, ""
    name = issuer.issuer[:200].partition("?")[0]
    if options.client_id is None and issuer.registration_endpoint is None:
        lacking = f" It registers no programs that ask for it, so give --client-id and --client-issuer {name}, too."
    try:
        check_proof_keys(issuer, True, settings_of(issuer.issuer, options.issuers).assumes_pkce)
    except Failed as failure:
        lacking += f" And {failure}."
    return f"Sign in at {name} with: dragoman login {words}{'.' if lacking else ''}{lacking}"


async def _status(target: Target) -> int:
    """What the server says to a request; all that has to be done before it is done by its credentials.

    Raises:
        Lost, UnusableProxy, UnusableTrust: there is no response, or no access.
    """
    bounds = Bounds()
    connections = Connections(target, asyncio.get_running_loop(), bounds)
    try:
        endpoint = Endpoint(connections, Reading(Limits(), bounds), bounds)
        async with endpoint.sent("POST", {"Content-Type": JSON, "Accept": ACCEPT}, PROBE) as response:
            return response.status
    finally:
        await connections.close()


def _failed(why: str) -> int:
    _tell(why)
    return 1


def _tell(text: str) -> None:
    click.echo(f"dragoman: {masked(text)}", err=True)


async def give_up(url: str | None, options: Mapping[str, Any], folder: Path, store_key: bytes | None) -> int:
    """Delete what is kept for `url`, or everything; gives how many sign-ins that were.

    Raises:
        StoreFailed, OSError: something is still there.
    """
    names: set[str] = set()
    for store in _stores(str(options["token_store"]), folder, store_key):
        shelf = Shelf("memory", folder, None, _tell, store)
        keys = await shelf.keys()
        for key in keys if url is None else _of(url, options, keys):
            record = await _record(shelf, key)
            if await shelf.delete(key):
                names.add(key.name)
                await _give_back(key, record, options)
    names |= _swept(folder) if url is None else _swept(folder, _of(url, options, []))
    return len(names)


async def _record(shelf: Shelf, key: Key) -> Record | None:
    with suppress(StoreFailed):
        return await shelf.read(key)
    return None


async def _give_back(key: Key, record: Record | None, options: Mapping[str, Any]) -> None:
    """Revoke a token that is kept here no more, as far as that can be done, and say so."""
    if record is None or record.tokens is None:
        return

    try:
        server = Target(
            address(key.server, allow_http=True),
            ca_file=options["ca_file"],
            environment=dict(os.environ),
            named_hosts=frozenset({address(record.issuer).host}),
            allow_intranet=bool(options["allow_intranet"]),
        )
        web = Web(server, PATIENCE)
    except (Failed, Refused) as error:
        _tell(f"{key.server.partition('?')[0]}: the token was not revoked: {error}")
        return
    try:
        wall = time.time()  # noqa: TID251 - a proof is dated by the wall clock
        _tell(f"{key.server.partition('?')[0]}: {await revoked(web, record, wall)}")
    finally:
        await web.close()


def _swept(folder: Path, keys: list[Key] | None = None) -> set[str]:
    """Delete the files of these sign-ins, or all: without its key a file is in no store. Gives what there was.

    Raises:
        OSError: something is still there.
    """
    found: set[str] = set()
    wanted = {key.name for key in keys} if keys is not None else None
    for file in list(folder.iterdir()) if folder.is_dir() else ():
        if file.suffix in OURS and (wanted is None or file.stem in wanted):
            file.unlink(missing_ok=True)
            if file.suffix == SUFFIX and file.stem != INDEX:
                found.add(file.stem)
    if keys is None:
        with suppress(OSError):  # it may hold files that are not ours
            folder.rmdir()
    return found


def _stores(choice: str, folder: Path, key: bytes | None) -> list[Store]:
    """Every store that opens."""
    found: list[Store] = []
    if choice in ("auto", "keychain"):
        from dragoman.signin.stores.keychain import Keychain  # the library behind it takes its time

        with suppress(StoreFailed):  # one that was named has opened before
            found.append(Keychain())
    if key is not None and folder.is_dir():
        found.append(Files(folder, key))
    return found


def _of(url: str, options: Mapping[str, Any], keys: list[Key]) -> list[Key]:
    """The keys of one server, account and redirect: those of the index, and the one that needs no index (OUT-04)."""
    try:
        server = address(url).url
    except Refused as refused:
        raise click.UsageError(str(refused)) from None
    account = str(options["account"])
    uri = Options(Path(), redirect_port=options["redirect_port"] or REDIRECT_PORT).redirect_uri
    found = [key for key in keys if (key.server, key.account, key.redirect_uri) == (server, account, uri)]
    return list(dict.fromkeys([*found, Key(server, account, uri)]))
