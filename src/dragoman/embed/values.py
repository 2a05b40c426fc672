"""What a program says of the two sides of its bridge, as frozen values, and what is made of them.

Every sentence of a refusal names the value that cannot be used, and repeats nothing of it.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.limits import Limits
from dragoman.profile import Profile, named
from dragoman.revisions import Era
from dragoman.runtime.targets import Transport, is_url, read_target, to_command, to_url
from dragoman.transports.upstream import Upstream

if TYPE_CHECKING:
    from dragoman.transports.http.server.admission import Admission
    from dragoman.transports.http.server.authentication import Gate
    from dragoman.transports.http.server.listening import Place

STDIO = "stdio:."
"""Our own standard streams, for one client."""


@dataclass(frozen=True, slots=True)
class Command:
    """A server that is started as a process: its words, the program first. No shell is run."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Url:
    """A server at a URL. `transport` says what it speaks, if that need not be found out.

    `headers` are sent to it and to nobody else. `ca_file` has certificates (PEM) to trust beside those of the system.
    `response_limit` is in bytes, of one response or event. `allow_http` permits plain http beyond this machine, which
    can be read on its way.
    """

    url: str
    transport: Literal["http-stateless", "http-session", "sse"] | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    ca_file: str | None = None
    allow_http: bool = False
    response_limit: int = Limits().line


@dataclass(frozen=True, slots=True)
class Way:
    """A server that is reached by a transport of your own: each call of `make` gives an `Upstream`.

    `era` is `modern` for a server without a handshake, `legacy` for one with, and `None` to find it out. `name` is what
    clients see when the server does not say its name.
    """

    make: Callable[[], Upstream]
    era: Literal["modern", "legacy"] | None = None
    name: str = "server"


@dataclass(frozen=True, slots=True)
class Http:
    """A place on HTTP where clients come in: `http://HOST:PORT/PATH` or `https://…`; port 0 is any free one.

    `hosts` and `origins` are those that may call beside the ones of this machine. `token` is what clients must send;
    `gate` decides in its place, if there is one. `shared_upstream` lets strangers from beyond this machine share a
    server that keeps state. An `https` place has a certificate and its key, and perhaps a CA whose
    certificates clients must have, each as the path of a PEM file.
    """

    url: str = "http://127.0.0.1:0/mcp"
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)
    gate: "Gate | None" = None
    shared_upstream: bool = False
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None


AnyUpstream: TypeAlias = str | Command | Url | Way


@dataclass(frozen=True, slots=True)
class Server:
    """How a server is reached, its era if that is known, and what it is called unless it says so itself."""

    ways: Callable[[], Upstream]
    era: Era | None
    name: str


@dataclass(frozen=True, slots=True)
class Listener:
    place: "Place"
    admission: "Admission"
    gate: "Gate"


def read_upstream(
    upstream: AnyUpstream, headers: Mapping[str, str] | None = None, ca_file: str | None = None
) -> Server:
    """How a server is reached; `headers` and `ca_file` are for a text that names a URL.

    Raises:
        ValueError: it names no server that can be reached.
    """
    if isinstance(upstream, str):
        try:
            found = read_target(upstream)
        except ValueError as error:
            raise ValueError(f"upstream {error}") from None
        if found.url is None:
            return read_upstream(Command(found.command))
        return _at_url(Url(found.url, None, headers or {}, ca_file), found.transport)
    if isinstance(upstream, Way):
        era = Era(upstream.era) if upstream.era is not None else None
        return Server(upstream.make, era, upstream.name)
    if isinstance(upstream, Url):
        return _at_url(upstream, Transport(f"{upstream.transport}:") if upstream.transport is not None else None)
    if not upstream.words or not upstream.words[0]:
        raise ValueError("upstream has no command")
    return Server(to_command(tuple(upstream.words)), None, PurePath(upstream.words[0]).stem)


def _at_url(given: Url, transport: Transport | None) -> Server:
    from dragoman.transports.http import target
    from dragoman.transports.http.address import address

    headers = target.together(target.header(f"{name}:{value}") for name, value in given.headers.items())
    if given.ca_file is not None:
        target.check_ca_file(given.ca_file)
    found = target.Target(address(given.url, allow_http=given.allow_http), headers, given.ca_file, dict(os.environ))
    era = transport.era if transport is not None else None
    return Server(to_url(found, transport, given.response_limit), era, found.address.host)


def read_listen(listen: str | Http, era: Era | None) -> Listener | None:
    """The place on HTTP, or `None` for our own standard streams. `era` is the server's, if it was said.

    Raises:
        ValueError: it is neither, its certificate is missing or unwanted, or strangers would share a server there.
    """
    if isinstance(listen, str):
        if listen == STDIO:
            return None
        if not is_url(listen):
            raise ValueError("listen is not known: it is stdio:. or a place like http://HOST:PORT/mcp")
        listen = Http(listen)
    from dragoman.transports.http.server.admission import admission
    from dragoman.transports.http.server.authentication import Open
    from dragoman.transports.http.server.listening import is_for_strangers, place

    where = place(listen.url, listen.tls_cert, listen.tls_key, listen.tls_client_ca)
    gate = listen.gate
    if gate is None:
        gate = Open() if listen.token is None else read_token(listen.token)
    if era is not Era.MODERN and not listen.shared_upstream and is_for_strangers(where, gate):
        raise ValueError("listen lets strangers share one server: give it a token, a gate or shared_upstream")
    return Listener(where, admission(where.host, listen.hosts, listen.origins), gate)


def read_token(token: str) -> "Gate":
    """
    Raises:
        ValueError: no header can carry it.
    """
    from dragoman.transports.http.server.authentication import Token

    try:
        return Token(token)
    except ValueError:
        raise ValueError("token has spaces or characters that no header can carry") from None


def read_profile(profile: Profile | str) -> Profile:
    """
    Raises:
        ValueError: no profile of that name ships.
    """
    found = named(profile) if isinstance(profile, str) else profile
    if found is None:
        raise ValueError("profile is none of those that ship")
    return found
