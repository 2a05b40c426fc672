"""Which tokens a command line asks of clients on HTTP: none, its own, or those of an issuer.

A refusal names the option and repeats no value (CLI-14).
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dragoman.transports.http.address import Address
    from dragoman.transports.http.server.authentication import Gate
    from dragoman.transports.http.server.listening import Place

OF_TOKENS = ("auth_issuer", "auth_audience", "auth_scope")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")  # a scope-token of RFC 6749 section 3.3


def read_public(text: str | None) -> "Address | None":
    """The URL by which clients reach the listener, if it is given.

    Raises:
        click.UsageError: it is none that a client may use.
    """
    return None if text is None else _address("--public-url", text)


def read_gate(
    options: Mapping[str, Any], where: "Place", public: "Address | None", environment: Mapping[str, str]
) -> "Gate":
    """The gate of a listener at `where`.

    Raises:
        click.UsageError: options exclude each other, need another one, or have a value that cannot be used.
    """
    from dragoman.transports.http.server.authentication import Open, Token, TokenFile

    variable, file, issuer = options["auth_token_env"], options["auth_token_file"], options["auth_issuer"]
    if [variable, file, issuer].count(None) < 2:
        raise click.UsageError("give only one of --auth-token-env, --auth-token-file and --auth-issuer")
    if issuer is not None:
        return _protected(issuer, options, where, public, environment)
    for name in ("auth_audience", "auth_scope"):
        if options[name]:
            raise click.UsageError(f"the option --{name.replace('_', '-')} needs --auth-issuer")
    try:
        if file is not None:
            return TokenFile(file)
        if variable is None:
            return Open()
        if not environment.get(variable):
            raise click.UsageError("the variable of --auth-token-env is not set, or empty")
        return Token(environment[variable])
    except OSError as error:
        raise click.UsageError(f"the file of --auth-token-file cannot be read: {error.strerror}") from None
    except ValueError as error:
        what = "variable of --auth-token-env" if file is None else "file of --auth-token-file"
        raise click.UsageError(f"the {what} {error}") from None


def _protected(
    name: str, options: Mapping[str, Any], where: "Place", public: "Address | None", environment: Mapping[str, str]
) -> "Gate":
    from dragoman.transports.http.address import Refused
    from dragoman.transports.http.target import Target, check_ca_file

    issuer = _address("--auth-issuer", name)
    if options["auth_audience"] == "":
        raise click.UsageError("the value of --auth-audience is empty")
    scopes = tuple(dict.fromkeys(options["auth_scope"]))
    if not all(_SCOPE.fullmatch(scope) for scope in scopes):
        raise click.UsageError("the value of --auth-scope is no scope; give the option once for each")
    resource = public if public is not None else _own(where)
    if options["ca_file"] is not None:
        try:
            check_ca_file(options["ca_file"])
        except Refused as refused:
            raise click.UsageError(str(refused)) from None
    from dragoman.auth.gate import ProtectedResource
    from dragoman.auth.issuer import Issuer

    target = Target(issuer, (), options["ca_file"], dict(environment))
    given = options["auth_audience"]
    audiences = frozenset({given}) if given is not None else _spellings(resource.url)
    return ProtectedResource(resource, Issuer(name, target), audiences, scopes)


def _own(where: "Place") -> "Address":
    """The URL of a listener by the place that it listens on.

    Raises:
        click.UsageError: clients cannot use it, or it is not known yet.
    """
    from dragoman.transports.http.address import PORTS, Refused, address
    from dragoman.transports.http.server.admission import is_any

    url = where.url
    if where.port == PORTS[where.scheme]:
        url = url.replace(f":{where.port}/", "/", 1)
    if is_any(where.host) or where.port == 0:
        raise click.UsageError("--auth-issuer needs --public-url, as the place to listen on is no URL for clients")
    try:
        return address(url)
    except Refused as refused:
        raise click.UsageError(f"--auth-issuer needs --public-url for this place: {refused}") from None


def _spellings(url: str) -> frozenset[str]:
    """A URL without a path is the same with a slash, and clients have tokens made for both (B143)."""
    bare = url.removesuffix("/")
    return frozenset({bare, f"{bare}/"}) if bare.count("/") == 2 else frozenset({url})


def _address(option: str, text: str) -> "Address":
    from dragoman.transports.http.address import Refused, address

    try:
        found = address(text)
    except Refused as refused:
        raise click.UsageError(f"the value of {option} cannot be used: {refused}") from None
    if "?" in found.url:
        raise click.UsageError(f"the value of {option} cannot be used: the URL must not have a query")
    return found
