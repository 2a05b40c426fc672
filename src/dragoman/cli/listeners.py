"""Where a command line wants clients to come in, and who of them may: our own streams or a place on HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dragoman.transports.http.server.admission import Admission
    from dragoman.transports.http.server.authentication import Gate
    from dragoman.transports.http.server.listening import Place

OWN_STREAMS = "stdio:."
OF_HTTP = ("allow_host", "allow_origin", "tls_cert", "tls_key", "tls_client_ca", "auth_token_env")


@dataclass(frozen=True, slots=True)
class Listener:
    """A place on HTTP. `warnings` are sentences for the log."""

    place: "Place"
    admission: "Admission"
    gate: "Gate"
    warnings: tuple[str, ...] = ()


def read_listener(options: Mapping[str, Any], given: frozenset[str], environment: Mapping[str, str]) -> Listener | None:
    """The listener that --listen and its options ask for; `None` for our own streams.

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
    from dragoman.transports.http.server.authentication import Open, Token
    from dragoman.transports.http.server.listening import place

    try:
        where = place(target, options["tls_cert"], options["tls_key"], options["tls_client_ca"])
    except Refused as refused:
        raise click.UsageError(str(refused)) from None
    variable = options["auth_token_env"]
    if variable is not None and not environment.get(variable):
        raise click.UsageError("the variable of --auth-token-env is not set, or empty")
    gate: Gate = Token(environment[variable]) if variable is not None else Open()
    warnings: list[str] = []
    if not is_loopback(where.host):
        if isinstance(gate, Open) and where.client_ca is None:
            warnings.append("everyone who reaches this place can use the server; --auth-token-env asks for a token")
        if where.scheme == "http":
            warnings.append("what passes can be read on its way, as the place is not https; put a TLS proxy in front")
    admitted = admission(where.host, options["allow_host"], options["allow_origin"])
    return Listener(where, admitted, gate, tuple(warnings))
