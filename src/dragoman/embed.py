"""The listener as an ASGI application, for a Python web application that has a place for it."""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from dragoman.exchange.notes import Level
from dragoman.fronts.handshake import Identity
from dragoman.limits import Limits
from dragoman.profile import Profile, named
from dragoman.runtime.endpoint import Endpoint
from dragoman.runtime.log import CHOICES, Log
from dragoman.runtime.seals import seal
from dragoman.runtime.shared import Shared
from dragoman.runtime.targets import read_target, to_command, to_url
from dragoman.transports.http.server.admission import admission
from dragoman.transports.http.server.app import App
from dragoman.transports.http.server.authentication import Gate, Open

if TYPE_CHECKING:
    from dragoman.transports.http.target import Target


def asgi(
    upstream: str,
    *,
    path: str = "/mcp",
    profile: Profile | str = "neutral",
    headers: Mapping[str, str] | None = None,
    ca_file: str | None = None,
    name: str | None = None,
    hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
    gate: Gate | None = None,
    limits: Limits | None = None,
    state_key: bytes | None = None,
    log_level: str = "warn",
) -> App:
    """An ASGI application that serves clients of every revision on `path`, in front of the server `upstream`.

    `upstream` is written as for `--upstream`: a command, a URL, or a transport and a URL. `headers` are sent to a
    server at a URL. `hosts` and `origins` are those that may call beside the ones of this machine; `gate` decides who
    else may not. `state_key` has 32 bytes, and is needed only when several processes serve one endpoint. The log goes
    to standard error.

    The server is opened with the first request, which also finds out its era unless `upstream` says it. It is closed by
    the lifespan of the application that hosts this one, or by `await app.aclose()`.

    Raises:
        ValueError: a value cannot be used; the sentence says which and why, and repeats nothing of it.
    """
    found = named(profile) if isinstance(profile, str) else profile
    if found is None:
        raise ValueError("profile is none of those that ship")
    if log_level not in CHOICES:
        raise ValueError(f"log_level is none of {', '.join(CHOICES)}")
    if not path.startswith("/"):
        raise ValueError("path does not begin with a slash")
    try:
        server = read_target(upstream)
    except ValueError as error:
        raise ValueError(f"upstream {error}") from None
    bounds = limits or Limits()
    log = Log(found.name, CHOICES[log_level], _write)
    if server.url is None:
        make, fallback = to_command(server.command), PurePath(server.command[0]).stem
    else:
        target = _target(server.url, headers or {}, ca_file)
        make, fallback = to_url(target, server.transport, bounds.line), target.address.host
    era = server.transport.era if server.transport is not None else None
    sealing = seal(state_key, bounds.state_life)
    shared = Shared(make, era, found, bounds, log, Identity(name or fallback), _write, sealing)
    endpoint = Endpoint(shared)

    def note(text: str) -> None:
        log.note(Level.WARN, "endpoint", text)

    async def close() -> None:
        await endpoint.aclose(bounds.grace)

    admitted = admission(None, hosts, origins)
    return App(lambda: endpoint, path, admitted, gate or Open(), bounds.reception, note, close)


def _target(url: str, headers: Mapping[str, str], ca_file: str | None) -> "Target":
    from dragoman.transports.http import target
    from dragoman.transports.http.address import address

    given = target.together(target.header(f"{name}:{value}") for name, value in headers.items())
    if ca_file is not None:
        target.check_ca_file(ca_file)
    return target.Target(address(url), given, ca_file, dict(os.environ))


def _write(data: bytes) -> None:
    sys.stderr.write(data.decode("utf-8", "replace"))
