"""Which server a command line names: a command or a URL, and the options that belong to one of the two only."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.signin import NAMES as SIGN_IN
from dragoman.cli.signin import read_sign_in
from dragoman.cli.words import with_options
from dragoman.revisions import Era
from dragoman.runtime.targets import Transport, is_url, read_target
from dragoman.signin.options import Options

if TYPE_CHECKING:
    from dragoman.transports.http.target import Target

OF_A_URL = ("header", "header_env", "ca_file", "allow_http", "allow_intranet", "max_response_bytes", *SIGN_IN)
PLAIN = "the server is reached by plain http, so what passes can be read and changed on its way"
PLAIN_WITH_SECRETS = f"{PLAIN}; that goes for the headers of the options, too"
VISIBLE = "the value of the header {} stands on the command line, where other programs can see it; use --header-env"

_TRUST = (
    click.option(
        "--allow-intranet",
        is_flag=True,
        help="Follow what the server names into private networks, such as its authorization server.",
    ),
    click.option("--ca-file", metavar="FILE", help="Trust the certificates of this PEM file, too."),
)
trust_options = with_options(_TRUST)
"""A command that asks others than the server, whom the user did not name."""

_OPTIONS = (
    click.option(
        "--header",
        metavar="NAME:VALUE",
        multiple=True,
        help="Send this header to the server at a URL. May be repeated.",
    ),
    click.option(
        "--header-env",
        metavar="NAME=VARIABLE",
        multiple=True,
        help="Send a header with the value of an environment variable. May be repeated.",
    ),
    click.option(
        "--allow-http", is_flag=True, help="Reach a server beyond this machine by plain http, readable on its way."
    ),
    *_TRUST,
)
url_options = with_options(_OPTIONS)
"""A command that can be told how a server at a URL is reached; `read_server` reads what was said."""


@dataclass(frozen=True, slots=True)
class Server:
    """A command, or a target with its transport, if the user says it. `warnings` are sentences for the log.

    `sign_in` says how to sign in to a server at a URL, unless a header of the user's does that.
    """

    command: tuple[str, ...] = ()
    target: "Target | None" = None
    transport: Transport | None = None
    warnings: tuple[str, ...] = ()
    sign_in: Options | None = None

    @property
    def era(self) -> Era | None:
        """Of which era the server is, when the user says it."""
        return self.transport.era if self.transport is not None else None


def read_server(behind: list[str] | None, options: Mapping[str, Any], given: frozenset[str]) -> Server:
    """The server, from the words `behind` a `--`, the last word before it, or `--upstream`.

    `given` are the names of the options that stand on the command line.

    Raises:
        click.UsageError: there is none, or more than one, or an option of the other form; no value is repeated.
    """
    upstream, last = options["upstream"], options["target"]
    if last is not None and not is_url(last):
        raise click.UsageError("a word before -- is neither an option nor a URL; put -- before the command")
    named = [place for place in (behind, upstream, last) if place is not None]
    if len(named) > 1:
        raise click.UsageError("give the server once: a URL, a command behind --, or --upstream")
    if behind is not None:
        if not behind or not behind[0]:
            raise click.UsageError("the command behind -- is missing")
        return _command(tuple(behind), given)
    if not named:
        raise click.UsageError("the server is missing: put its command behind --, or give its URL")
    try:
        found = read_target(str(named[0]))
    except ValueError as error:
        raise click.UsageError(f"the value of --upstream {error}") from None
    if found.url is None:
        return _command(found.command, given)
    return read_url(found.url, found.transport, options, given)


def _command(words: tuple[str, ...], given: frozenset[str]) -> Server:
    for name in OF_A_URL:
        if name in given and (name != "ca_file" or "auth_issuer" not in given):  # an issuer is at a URL, too
            raise click.UsageError(f"the option --{name.replace('_', '-')} is for a server at a URL only")
    return Server(command=words)


def check_trust(options: Mapping[str, Any]) -> None:
    """
    Raises:
        click.UsageError: the file of `--ca-file` cannot be used.
    """
    if options["ca_file"] is None:
        return
    from dragoman.transports.http import address, target

    try:
        target.check_ca_file(options["ca_file"])
    except address.Refused as refused:
        raise click.UsageError(str(refused)) from None


def read_url(text: str, transport: Transport | None, options: Mapping[str, Any], given: frozenset[str]) -> Server:
    """The server at the URL `text`.

    Raises:
        click.UsageError: it cannot be used, or what belongs to it cannot.
    """
    from dragoman.transports.http import address, target

    try:
        visible = [target.header(one) for one in options["header"]]
        headers = target.together([*visible, *(target.header_from(one, os.environ) for one in options["header_env"])])
        place = address.address(text, allow_http=bool(options.get("allow_http")))
    except address.Plain as plain:
        raise click.UsageError(f"{plain}; --allow-http permits it all the same") from None
    except address.Refused as refused:
        raise click.UsageError(str(refused)) from None
    check_trust(options)
    shown = {header.name.lower() for header in visible} & target.SECRETS
    warnings = [VISIBLE.format(name) for name in sorted(shown)]
    if place.is_plain:
        warnings.append(PLAIN_WITH_SECRETS if headers else PLAIN)
    sign_in = read_sign_in(options, given, os.environ, headers) if "sign_in" in options else None
    named = [sign_in.client_issuer] if sign_in is not None and sign_in.client_issuer is not None else []
    found = target.Target(
        place,
        headers,
        options["ca_file"],
        dict(os.environ),
        named_hosts=frozenset(address.address(url).host for url in named),
        allow_intranet=bool(options.get("allow_intranet")),
    )
    return Server(target=found, transport=transport, warnings=tuple(warnings), sign_in=sign_in)
