"""What the text that names a server means (decisions C3), and the way to the server that it names."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from dragoman.revisions import Era

if TYPE_CHECKING:
    from dragoman.transports.http.target import Target
    from dragoman.transports.upstream import Upstream

STDIO = "stdio:"
NETWORK = ("http", "https", "ws", "wss", "grpc", "grpcs")
LATER = ("unix", "a2a", "acp")


class Transport(Enum):
    """How a server at a URL is spoken to, when the user says it; the values are what stands before the URL."""

    STATELESS = "http-stateless:"
    SESSION = "http-session:"
    SSE = "sse:"

    @property
    def era(self) -> Era:
        return Era.MODERN if self is Transport.STATELESS else Era.LEGACY


@dataclass(frozen=True, slots=True)
class Named:
    """A command, or a URL with its transport, which has to be found out when it is `None`."""

    command: tuple[str, ...] = ()
    url: str | None = None
    transport: Transport | None = None


def is_url(text: str) -> bool:
    return "://" in text and text.partition("://")[0].lower() in NETWORK


def read_target(text: str) -> Named:
    """The server that `text` names: a URL, a transport and a URL, or a command, split as a shell splits words.

    Raises:
        ValueError: it names none; the sentence repeats nothing of it.
    """
    for transport in Transport:
        if text.startswith(transport.value):
            return Named(url=text.removeprefix(transport.value), transport=transport)
    if is_url(text):
        return Named(url=text)
    if text.partition(":")[0] in LATER:
        raise ValueError("is not known: this version reaches a command or an http(s) URL")
    try:
        words = shlex.split(text.removeprefix(STDIO))
    except ValueError:
        raise ValueError("has an open quote") from None
    if not words:
        raise ValueError("has no command")
    return Named(command=tuple(words))


def to_command(words: tuple[str, ...]) -> "Callable[[], Upstream]":
    """Each call gives a way to a process of its own."""
    from dragoman.transports.upstream import Command

    return lambda: Command(words)


def to_url(target: "Target", transport: Transport | None, response_limit: int) -> "Callable[[], Upstream]":
    """Each call gives a way to the server at the URL; `response_limit` is in bytes."""
    from dragoman.transports.http.upstream import AnyUrl, SessionUrl, SseUrl, Url

    kinds = {None: AnyUrl, Transport.STATELESS: Url, Transport.SESSION: SessionUrl, Transport.SSE: SseUrl}
    kind = kinds[transport]
    return lambda: kind(target, response_limit)
