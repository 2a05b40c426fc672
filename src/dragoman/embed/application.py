"""The listener as an ASGI application, for a Python web application that has a place for it."""

from collections.abc import Iterable, Mapping

from dragoman.embed.bridge import complain
from dragoman.embed.values import AnyUpstream, read_profile, read_upstream
from dragoman.exchange.notes import Level
from dragoman.fronts.handshake import Identity
from dragoman.limits import Limits
from dragoman.profile import Profile
from dragoman.runtime.assembly import Parts
from dragoman.runtime.endpoint import Endpoint
from dragoman.runtime.log import CHOICES, Log
from dragoman.transports.http.server.admission import admission
from dragoman.transports.http.server.app import App
from dragoman.transports.http.server.authentication import Gate, Open


def asgi(
    upstream: AnyUpstream,
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

    `upstream` is as for `dragoman.bridge`; with a text, `headers` and `ca_file` are those of a `Url`. `hosts` and
    `origins` are those that may call beside the ones of this machine; `gate` decides who else may not. `state_key` has
    32 bytes, and is needed only when several processes serve one endpoint. The log goes to standard error.

    The server is opened with the first request, which also finds out its era unless `upstream` says it. It is closed by
    the lifespan of the application that hosts this one, or by `await app.aclose()`.

    Raises:
        ValueError: a value cannot be used; the sentence says which and why, and repeats nothing of it.
    """
    found = read_profile(profile)
    if log_level not in CHOICES:
        raise ValueError(f"log_level is none of {', '.join(CHOICES)}")
    if not path.startswith("/"):
        raise ValueError("path does not begin with a slash")
    server = read_upstream(upstream, headers, ca_file)
    bounds = limits or Limits()
    log = Log(found.name, CHOICES[log_level], complain)
    parts = Parts(server.ways, server.era, found, bounds, log, Identity(name or server.name), state_key)
    endpoint = Endpoint(parts.shared(complain))

    def note(text: str) -> None:
        log.note(Level.WARN, "endpoint", text)

    async def close() -> None:
        await endpoint.aclose(bounds.grace)

    admitted = admission(None, hosts, origins)
    return App(lambda: endpoint, path, admitted, gate or Open(), bounds.reception, note, close)
