"""A server's refusal to begin, as the fault that a client is told (ERR-10)."""

from dataclasses import replace

from dragoman.exchange.events import ServerError
from dragoman.faults import (
    HEADER_MISMATCH,
    INVALID_REQUEST,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
    URL_ELICITATION_REQUIRED,
    Cause,
    Fault,
)
from dragoman.wire.members import items_of, object_in, text_of

OF_MODERN_SERVERS = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})
MOST, LONGEST = 16, 40
"""Revisions that are passed on, and characters of each: they are a server's words."""


def told(error: ServerError) -> Fault:
    """The fault, with the server's code and sentence, and with the revisions that it names (S4-27)."""
    members = object_in(error.error) or {}
    code = None if error.code == URL_ELICITATION_REQUIRED else error.code
    named = items_of((object_in(members.get("data")) or {}).get("supported")) or []
    supported = [text[:LONGEST] for item in named[:MOST] if (text := text_of(item)) is not None]
    extra = (("supported", supported),) if error.code == UNSUPPORTED_VERSION and supported else ()
    return Fault(Cause.DISCOVER_FAILED, text_of(members.get("message")), code, extra)


def with_known_code(fault: Fault) -> Fault:
    """The fault for a client that may not know a code of modern servers: -32600, and the code in the data (T29)."""
    if fault.code not in OF_MODERN_SERVERS:
        return fault
    return replace(fault, code=INVALID_REQUEST, extra=(*fault.extra, ("code", fault.code)))


def described(fault: Fault) -> str:
    """What the log says of it."""
    supported = dict(fault.extra).get("supported")
    text = f"{fault.cause}, {fault.detail or 'no detail'}"
    return f"{text}; it supports {supported!a}" if supported else text
