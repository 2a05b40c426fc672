"""Where a command line wants clients to come in, and who of them may: our own streams or a place on HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.gates import OF_TOKENS, read_gate, read_public
from dragoman.revisions import Era

if TYPE_CHECKING:
    from dragoman.transports.http.server.admission import Admission
    from dragoman.transports.http.server.authentication import Gate
    from dragoman.transports.http.server.listening import Place

OWN_STREAMS = "stdio:."
OF_HTTP = (
    *("allow_host", "allow_origin", "public_url", "tls_cert", "tls_key", "tls_client_ca"),
    *("shared_upstream", "auth_token_env", *OF_TOKENS),
)
STRANGERS = (
    "clients from beyond this machine would share one conversation with the server, unknown to each other: ask them for"
    " a token (--auth-token-env, --auth-issuer) or a certificate (--tls-client-ca), or allow it with --shared-upstream"
)
EVERYONE = "everyone who reaches this place can use the server; --auth-token-env or --auth-issuer asks for a token"


@dataclass(frozen=True, slots=True)
class Listener:
    """A place on HTTP. `warnings` are sentences for the log."""

    place: "Place"
    admission: "Admission"
    gate: "Gate"
    warnings: tuple[str, ...] = ()


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
    return Listener(where, admitted, gate, tuple(warnings))
