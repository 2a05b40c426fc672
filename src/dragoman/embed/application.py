"""The listener as an ASGI application, for a Python web application that has a place for it."""

from collections.abc import Callable, Iterable, Mapping

from dragoman.embed.errors import InvalidValue
from dragoman.embed.parts import complain, parts_of
from dragoman.embed.values import AnyUpstream, read_token, read_upstream
from dragoman.exchange.notes import Level
from dragoman.limits import Limits
from dragoman.profile import Profile
from dragoman.runtime.endpoint import Endpoint
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
    token: str | None = None,
    gate: Gate | None = None,
    allow_downgrade: bool = False,
    allow_reencode: bool = False,
    restore_error_codes: bool = False,
    keep_error_codes: bool = False,
    merge_pages: bool = False,
    limits: Limits | None = None,
    state_key: bytes | None = None,
    log_level: str = "warn",
    record: Callable[[bytes], object] | None = None,
) -> App:
    """An ASGI application that serves clients of every revision in front of a server.

    The server is opened with the first request, which also finds out its era unless `upstream` says it. It is closed by
    the lifespan of the application that hosts this one, or by `await app.aclose()`. The log goes to standard error.

    Args:
        upstream: The server, as for `dragoman.bridge`.
        path: The path that clients use, below that of the mount.
        profile: The name of a profile that ships, or a `Profile`.
        headers: Sent to a server that `upstream` names as a text, and to nobody else.
        ca_file: Certificates (PEM) to trust beside those of the system, for such a server.
        name: The server's name for clients, when it tells none.
        hosts: Names that clients may call this place by, beside those of this machine.
        origins: Origins of web pages that may call, beside those of this machine.
        token: What clients must send as their bearer token; by default everyone is let in.
        gate: Decides in place of a token who is let in.
        allow_downgrade: As for `dragoman.bridge`, and so the next four.
        allow_reencode: Permit values to be spelled in another way.
        restore_error_codes: Give a missing resource the code of older revisions.
        keep_error_codes: Pass codes that only 2026-07-28 has to older clients.
        merge_pages: Give all pages of a list as one.
        limits: Every limit; by default `Limits()`.
        state_key: 32 bytes, needed only when several processes serve one endpoint; by default random ones.
        log_level: `err`, `warn`, `info` or `debug`.
        record: Is called on the event loop with each line of the frame log, as bytes with a line end.

    Raises:
        InvalidValue: a value cannot be used; the sentence says which and why, and repeats nothing of it.
    """
    try:
        if not path.startswith("/"):
            raise ValueError("path does not begin with a slash")
        if token is not None and gate is not None:
            raise ValueError("token and gate exclude each other")
        server = read_upstream(upstream, headers, ca_file)
        admitting = gate if gate is not None else Open() if token is None else read_token(token)
        parts = parts_of(
            server,
            profile=profile,
            allow_downgrade=allow_downgrade,
            allow_reencode=allow_reencode,
            restore_error_codes=restore_error_codes,
            keep_error_codes=keep_error_codes,
            merge_pages=merge_pages,
            name=name,
            limits=limits,
            state_key=state_key,
            log_level=log_level,
            record=record,
        )
    except ValueError as error:
        raise InvalidValue(str(error)) from None
    bounds = parts.limits
    endpoint = Endpoint(parts.shared(complain))

    def note(text: str) -> None:
        parts.log.note(Level.WARN, "endpoint", text)

    async def close() -> None:
        await endpoint.aclose(bounds.grace)

    admitted = admission(None, hosts, origins)
    return App(lambda: endpoint, path, admitted, admitting, bounds.reception, note, close)
