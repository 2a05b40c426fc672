"""Where a command line wants clients to come in, and who of them may: our own streams or a place on HTTP."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.gates import OF_TOKENS, read_gate, read_public
from dragoman.cli.words import F, Whole, with_options
from dragoman.limits import Reception
from dragoman.revisions import Era

if TYPE_CHECKING:
    from dragoman.transports.http.server.admission import Admission
    from dragoman.transports.http.server.authentication import Gate
    from dragoman.transports.http.server.listening import Place

OWN_STREAMS = "stdio:."
LIMITS = {
    "max_body_bytes": "body",
    "max_sessions": "sessions",
    "max_sessions_per_client": "sessions_per_caller",
    "max_servers": "servers",
    "max_servers_per_client": "servers_per_caller",
    "session_idle": "unheld_idle",
}
"""The options that are limits of a listener, each with the limit's name."""
OF_HTTP = (
    *("allow_host", "allow_origin", "public_url", "tls_cert", "tls_key", "tls_client_ca"),
    *("shared_upstream", "auth_token_env", "auth_token_file", *OF_TOKENS),
    *LIMITS,
)

_DEFAULT = Reception()


def _limit(name: str, metavar: str, most: int, help: str) -> Callable[[F], F]:
    """The option `name` with the default of its limit."""
    return click.option(
        f"--{name.replace('_', '-')}",
        metavar=metavar,
        type=Whole(1, most),
        default=int(getattr(_DEFAULT, LIMITS[name])),
        show_default=True,
        help=help,
    )


_MANY = 1_000_000
listener_limits = with_options(
    (
        _limit("max_body_bytes", "BYTES", 1 << 30, "Largest request body of a client of the listener."),
        _limit("max_sessions", "N", _MANY, "Most sessions of the listener."),
        _limit("max_sessions_per_client", "N", _MANY, "Most sessions of one principal."),
        _limit("max_servers", "N", _MANY, "Most processes of a server that keeps state."),
        _limit("max_servers_per_client", "N", _MANY, "Most of those for one principal."),
        _limit(
            "session_idle",
            "SECONDS",
            604_800,
            "Life of a session that its client neither uses nor holds a stream of.",
        ),
    )
)
"""A command that can be told how many clients a listener serves, and how much of each."""

STRANGERS = (
    "clients from beyond this machine would share one conversation with the server, unknown to each other: ask them for"
    " a token (--auth-token-file, --auth-issuer) or a certificate (--tls-client-ca), or allow it with --shared-upstream"
)
EVERYONE = "everyone who reaches this place can use the server; --auth-token-file or --auth-issuer asks for a token"


@dataclass(frozen=True, slots=True)
class Listener:
    """A place on HTTP. `warnings` are sentences for the log, `reception` has the limits of its clients."""

    place: "Place"
    admission: "Admission"
    gate: "Gate"
    warnings: tuple[str, ...] = ()
    reception: Reception = field(default=_DEFAULT)


def read_listener(
    options: Mapping[str, Any], given: frozenset[str], environment: Mapping[str, str], era: Era | None = Era.MODERN
) -> Listener | None:
    """The listener that --listen and its options ask for; `None` for our own streams. `era` is the server's, if the
    user says it.

    Raises:
        click.UsageError: it cannot be, or an option belongs to another kind of listener; no value is repeated.
    """
    target = str(options["listen"])
    if target == OWN_STREAMS:
        for name in OF_HTTP:
            if name in given:
                raise click.UsageError(f"the option --{name.replace('_', '-')} is for --listen http://… only")
        return None
    if not target.lower().startswith(("http://", "https://")):
        raise click.UsageError("the value of --listen is not known: it is stdio:. or a place like http://HOST:PORT/mcp")
    from dragoman.transports.http.address import Refused, is_loopback
    from dragoman.transports.http.server.admission import admission
    from dragoman.transports.http.server.listening import is_for_strangers, place

    try:
        where = place(target, options["tls_cert"], options["tls_key"], options["tls_client_ca"])
    except Refused as refused:
        raise click.UsageError(str(refused)) from None
    public = read_public(options["public_url"])
    gate = read_gate(options, where, public, environment)
    warnings: list[str] = []
    if is_for_strangers(where, gate):
        if era is not Era.MODERN and not options["shared_upstream"]:
            raise click.UsageError(STRANGERS)
        warnings.append(EVERYONE)
    if where.scheme == "http" and not is_loopback(where.host):
        warnings.append("what passes can be read on its way, as the place is not https; put a TLS proxy in front")
    hosts = [*options["allow_host"], *([public.host] if public is not None else [])]
    admitted = admission(where.host, hosts, options["allow_origin"])
    return Listener(where, admitted, gate, tuple(warnings), _reception(options))


def _reception(options: Mapping[str, Any]) -> Reception:
    given = {limit: options[name] for name, limit in LIMITS.items() if name in options}
    return replace(_DEFAULT, **given)
