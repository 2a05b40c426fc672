"""The options for sign-in, and what they mean together. No sentence repeats a value (CLI-14)."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.words import OneOf, Whole, with_options
from dragoman.signin.options import ACCOUNT, NO_RESOURCE, REDIRECT_PORT, TIMEOUT, Method, Options

if TYPE_CHECKING:
    from dragoman.signin.issuers import IssuerSettings
    from dragoman.transports.http.target import Header

_ACCOUNT = re.compile(r"[A-Za-z0-9._@+-]{1,64}")
SANDBOX = "SANDBOX_RUNTIME"

_OF_STORE = (
    click.option("--account", metavar="LABEL", default=ACCOUNT, show_default=True, help="Which of your accounts."),
    click.option(
        "--redirect-port",
        metavar="PORT",
        type=Whole(1, 65535),
        help=f"The port of this machine to which the browser comes back. "
        f"[default: {REDIRECT_PORT}, or a free one if the client was not registered for it]",
    ),
    click.option(
        "--token-store",
        type=OneOf("auto", "keychain", "file", "memory"),
        default="auto",
        show_default=True,
        help="Where sign-ins are kept.",
    ),
    click.option(
        "--token-key-env", metavar="VARIABLE", help="The key of the file store (64 hex digits) is in this variable."
    ),
    click.option("--token-key-file", metavar="FILE", help="The key of the file store is in this private file."),
    click.option("--token-dir", metavar="FOLDER", help="The folder of the file store."),
)

_OF_SIGN_IN = (
    click.option(
        "--sign-in",
        type=OneOf("browser", "device", "client"),
        default="browser",
        show_default=True,
        help="How to sign in: in a browser, with a code on another device, or as the client alone.",
    ),
    click.option("--client-id", metavar="ID", help="The client id that was registered for you."),
    click.option("--client-issuer", metavar="URL", help="The authorization server that knows this client id."),
    click.option("--client-secret-env", metavar="VARIABLE", help="The secret of that client is in this variable."),
    click.option("--client-key-file", metavar="FILE", help="The private key (PEM) of that client is in this file."),
    click.option(
        "--resource",
        metavar="URI|none",
        is_flag=False,
        flag_value=NO_RESOURCE,
        help='What to send --client-issuer as the "resource" instead of the server\'s own name; "none" sends nothing.',
    ),
    click.option(
        "--assume-pkce",
        is_flag=True,
        help="Sign in at --client-issuer with PKCE though it does not say that it knows it.",
    ),
    click.option("--issuers", metavar="FILE", help="Such settings for several authorization servers (TOML)."),
    click.option("--client-metadata-url", metavar="URL", help="The document that describes the client."),
    *_OF_STORE,
    click.option("--no-browser", is_flag=True, help="Open no browser; the URL is in the log."),
    click.option(
        "--sign-in-timeout",
        metavar="SECONDS",
        type=Whole(1, 86400),
        default=TIMEOUT,
        show_default=True,
        help="Time to sign in.",
    ),
)

store_options = with_options(_OF_STORE)
"""A command that can be told where a sign-in is kept; `read_store` reads what was said."""

sign_in_options = with_options(_OF_SIGN_IN)
"""A command that can be told how to sign in, too; `read_sign_in` reads what was said."""

NAMES = (
    *("sign_in", "client_id", "client_issuer", "client_secret_env", "client_key_file", "client_metadata_url"),
    *("resource", "assume_pkce", "issuers"),
    *("account", "redirect_port", "token_store", "token_key_env", "token_key_file", "token_dir"),
    *("no_browser", "sign_in_timeout"),
)


def hide_variables(options: Mapping[str, Any]) -> None:
    """Take the variables that options name out of what the programs that we start inherit; all have been read (C6)."""
    for name in _variables(options):
        os.environ.pop(name, None)


def _variables(options: Mapping[str, Any]) -> list[str]:
    """The variables of the environment that options name; each may hold a secret."""
    named = [str(options[name]) for name in VARIABLES if options.get(name)]
    return [*named, *(str(each).partition("=")[2] for each in options.get("header_env") or ())]


VARIABLES = ("client_secret_env", "token_key_env", "state_key_env", "auth_token_env")


def read_sign_in(
    options: Mapping[str, Any], given: frozenset[str], environment: Mapping[str, str], headers: "tuple[Header, ...]"
) -> Options | None:
    """How to sign in to a server; `None` when its `headers` say who we are (CLI-31).

    Raises:
        click.UsageError: options exclude each other, need another one, or have a value that cannot be used.
    """
    if any(header.name.lower() == "authorization" for header in headers):
        for name in NAMES:
            if name in given:
                raise click.UsageError(f"the option {_option(name)} and an Authorization header exclude each other")
        return None
    folder, key = read_store(options, environment)
    client_id, document = options["client_id"], options["client_metadata_url"]
    if client_id is not None and document is not None:
        raise click.UsageError("give --client-id or --client-metadata-url, not both")
    issuer = _issuer(options["client_issuer"])
    secret, signing_key = _proofs(options, environment)
    method = Method(options["sign_in"])
    for name in ("client_issuer", "client_secret_env", "client_key_file"):
        if options[name] is not None and client_id is None:
            raise click.UsageError(f"the option {_option(name)} needs --client-id")
    if (secret is not None or signing_key is not None) and issuer is None:
        raise click.UsageError("a client that proves itself needs --client-issuer: nobody else may see the proof")
    if method is Method.CLIENT and secret is None and signing_key is None:
        raise click.UsageError("--sign-in client needs --client-secret-env or --client-key-file")
    for name in ("resource", "assume_pkce"):
        if options[name] and issuer is None:
            raise click.UsageError(f"the option {_option(name)} needs --client-issuer: it is for one server only")
    return Options(
        folder=folder,
        method=method,
        client_id=client_id,
        client_issuer=issuer,
        client_secret=secret,
        signing_key=signing_key,
        client_metadata_url=_document(document),
        redirect_port=options["redirect_port"] or REDIRECT_PORT,
        is_port_fixed=options["redirect_port"] is not None or client_id is not None,
        issuers=_issuers(options, issuer),
        opens_browser=not options["no_browser"],
        timeout=float(options["sign_in_timeout"]),
        account=_account(options["account"]),
        store=options["token_store"],
        store_key=key,
        secrets=frozenset(_variables(options)),
        is_sandboxed=environment.get(SANDBOX) == "1",
    )


def read_store(options: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[Path, bytes | None]:
    """The folder of the file store, and its key. A store that is named has to open (STORE-02).

    Raises:
        click.UsageError: that does not fit together, or the store does not open.
    """
    choice, variable, file = options["token_store"], options["token_key_env"], options["token_key_file"]
    _account(options["account"])
    if variable is not None and file is not None:
        raise click.UsageError("give --token-key-env or --token-key-file, not both")
    for name in ("token_key_env", "token_key_file"):
        if options[name] is not None and choice in ("keychain", "memory"):
            raise click.UsageError(f"the option {_option(name)} is for the file store only")
    from dragoman.signin.stores.opening import own_folder

    folder = Path(options["token_dir"]) if options["token_dir"] is not None else own_folder(environment)
    key = None
    if variable is not None or file is not None:
        from dragoman.signin.stores.files import key_in, read_key

        option = "variable of --token-key-env" if variable is not None else "file of --token-key-file"
        try:
            key = read_key(environment.get(variable, "")) if variable is not None else key_in(Path(str(file)), folder)
        except ValueError as error:
            raise click.UsageError(f"the {option} {error}") from None
    if choice == "file" and key is None:
        raise click.UsageError("--token-store file needs --token-key-env or --token-key-file")
    if choice in ("keychain", "file"):
        from dragoman.signin.stores import StoreFailed
        from dragoman.signin.stores.opening import opened

        try:
            opened(choice, folder, key)
        except StoreFailed as error:
            raise click.UsageError(f"the store of --token-store does not open: {error}") from None
    return folder, key


def _proofs(options: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[str | None, bytes | None]:
    """The secret and the key by which a client proves who it is."""
    variable, file = options["client_secret_env"], options["client_key_file"]
    if variable is not None and file is not None:
        raise click.UsageError("give --client-secret-env or --client-key-file, not both")
    if variable is not None and not environment.get(variable):
        raise click.UsageError("the variable of --client-secret-env is not set, or empty")
    if file is None:
        return environment.get(variable) if variable is not None else None, None
    from dragoman.signin.assertion import SigningKey

    try:
        pem = Path(file).read_bytes()
        SigningKey(pem)
    except OSError as error:
        raise click.UsageError(f"the file of --client-key-file cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise click.UsageError(f"the file of --client-key-file {error}") from None
    return None, pem


def _issuer(text: str | None) -> str | None:
    """CLI-23; the name is kept as it is written, as issuers are compared as texts."""
    if text is not None and ("?" in text or not _is_url(text)):
        raise click.UsageError("the value of --client-issuer must be an https URL without a query")
    return text


def _issuers(options: Mapping[str, Any], issuer: str | None) -> "tuple[IssuerSettings, ...]":
    """What the user says about single authorization servers."""
    if issuer is None and options["issuers"] is None:
        return ()
    from dragoman.signin.issuers import IssuerSettings, Unusable, is_resource, settings_in

    resource, file = options["resource"], options["issuers"]
    if resource is not None and not is_resource(resource):
        raise click.UsageError("the value of --resource must be an absolute URI, or none")
    own: tuple[IssuerSettings, ...] = ()
    if issuer is not None and (resource is not None or options["assume_pkce"]):
        own = (IssuerSettings("of the command line", (issuer,), resource, options["assume_pkce"]),)
    if file is None:
        return own
    try:
        return (*own, *settings_in(Path(file).read_text("utf-8")))
    except OSError as error:
        raise click.UsageError(f"the file of --issuers cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise click.UsageError("the file of --issuers is no UTF-8") from None
    except Unusable as error:
        raise click.UsageError(f"the file of --issuers {error}") from None


def _document(text: str | None) -> str | None:
    if text is None:
        return None
    if not text.lower().startswith("https://") or not _is_url(text) or not text[8:].partition("/")[2]:
        raise click.UsageError("the value of --client-metadata-url must be an https URL with a path")
    return text


def _is_url(text: str) -> bool:
    from dragoman.transports.http.address import Refused, address

    try:
        address(text)
    except Refused:
        return False
    return True


def _account(text: str) -> str:
    if not _ACCOUNT.fullmatch(text):
        raise click.UsageError("the value of --account must be 1 to 64 letters, digits and characters of ._@+-")
    return text


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
