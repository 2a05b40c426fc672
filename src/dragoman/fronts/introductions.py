"""Who a request of the newest revision is from, by its `_meta`: said anew with each of them, and mostly the same words
(SDKMETA-03, SDKMETA-04)."""

from dataclasses import dataclass

import msgspec
from msgspec import Raw

from dragoman.exchange.caller import LEVELS, Caller
from dragoman.exchange.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PREFIX, PROTOCOL_VERSION
from dragoman.faults import Cause, Fault
from dragoman.revisions import STATELESS, Era, named
from dragoman.revisions.tolerance import declared
from dragoman.wire.members import Members, first_byte, is_object, own, text_of

KEPT = 64
"""Different words that are remembered. Clients whose words differ in every request are read anew each time."""
LONGEST = 4096
"""Bytes of words that are remembered."""

_members = msgspec.json.Decoder(dict[str, Raw]).decode
_SAID = (PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL)


@dataclass(frozen=True, slots=True)
class Introduction:
    """`meta` is all of the `_meta` but the progress token, and `beyond` what of it the protocol does not define. Many
    requests share one: nobody changes it."""

    caller: Caller
    meta: Members
    beyond: Members
    token: Raw | None = None


class Introductions:
    """All that one front has heard lately."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, str | None], Introduction] = {}
        self._callers: dict[tuple[object, ...], Caller] = {}

    def read(self, carried: Raw, principal: str | None) -> Introduction | Fault:
        """What a request with this `_meta` says, from a client that the transport knows as `principal`."""
        words = bytes(carried), principal
        known = self._known.get(words)
        if known is not None:
            return known
        if not is_object(carried):
            return Fault(Cause.MISSING_META, "params._meta is missing or no object")
        meta = _members(carried)
        is_short = len(carried) <= LONGEST
        caller = self._caller(meta, principal, is_short)
        if isinstance(caller, Fault):
            return caller
        token = meta.pop("progressToken", None)
        if token is not None:
            return Introduction(caller, meta, _beyond(meta), token if first_byte(token) not in b"{[n" else None)
        if not is_short:
            return Introduction(caller, meta, _beyond(meta))
        meta = {name: own(value) for name, value in meta.items()}
        if len(self._known) >= KEPT:
            self._known.clear()
        introduction = self._known[words] = Introduction(caller, meta, _beyond(meta))
        return introduction

    def _caller(self, meta: Members, principal: str | None, is_kept: bool) -> Caller | Fault:
        said = principal, *(bytes(value) if (value := meta.get(name)) is not None else None for name in _SAID)
        known = self._callers.get(said)
        if known is not None:
            return known
        name, given = text_of(meta.get(PROTOCOL_VERSION)), meta.get(CLIENT_CAPABILITIES)
        if name is None:
            return Fault(Cause.MISSING_META, f"{PROTOCOL_VERSION} is missing or no string")
        revision = named(name)
        if revision is None or revision.era is Era.LEGACY:
            supported = [revision.name for revision in STATELESS]
            return Fault(Cause.UNSUPPORTED_VERSION, extra=(("supported", supported), ("requested", name)))
        if given is None or first_byte(given) not in b"{[":
            return Fault(Cause.MISSING_META, f"{CLIENT_CAPABILITIES} is missing or no object")
        info, level = meta.get(CLIENT_INFO), text_of(meta.get(LOG_LEVEL))
        if LOG_LEVEL in meta and level not in LEVELS:
            return Fault(Cause.MISSING_META, f"{LOG_LEVEL} is no level")
        caller = Caller(
            revision,
            declared(given).members,
            own(info) if info is not None and is_object(info) else None,
            level,
            principal,
        )
        if is_kept:
            if len(self._callers) >= KEPT:
                self._callers.clear()
            self._callers[said] = caller
        return caller


def _beyond(meta: Members) -> Members:
    return {name: value for name, value in meta.items() if not name.startswith(PREFIX)}
