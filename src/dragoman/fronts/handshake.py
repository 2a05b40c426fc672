"""What `initialize` says, and what is answered to it or to `server/discover` (INIT, CAP, IRES)."""

from dataclasses import dataclass

import msgspec
from msgspec import Raw

from dragoman import __version__
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Ready
from dragoman.profile import Profile
from dragoman.revisions import LATEST_LEGACY, STATELESS, Era, Revision, named
from dragoman.revisions.capabilities import client_capabilities
from dragoman.wire.members import Members, closed, items_of, object_in, own, raw, text_of

IMPLEMENTATION = ("name", "title", "version", "icons", "description", "websiteUrl")


@dataclass(frozen=True, slots=True)
class Identity:
    """How the bridge names itself when the server does not say its name (IRES-07, IRES-08)."""

    name: str
    version: str = __version__

    def raw(self) -> Raw:
        return raw({"name": self.name, "version": self.version})


def read_initialize(params: Raw | None, profile: Profile, level: str | None) -> Caller | None:
    """The caller that an `initialize` introduces; `None` when its params are not valid (INIT-02)."""
    members = object_in(params)
    if members is None:
        return None
    asked, info = text_of(members.get("protocolVersion")), object_in(members.get("clientInfo"))
    if asked is None or info is None:
        return None
    if text_of(info.get("name")) is None or text_of(info.get("version")) is None:
        return None
    given = members.get("capabilities")
    declared = object_in(given) if given is not None else {}
    if declared is None:
        return None
    revision = reply_revision(asked, profile)
    capabilities = profile.mask_client(client_capabilities(declared, revision, revision))
    return Caller(
        revision,
        {name: own(value) for name, value in capabilities.items()},
        own(members["clientInfo"]),
        level,
    )


def reply_revision(asked: str, profile: Profile) -> Revision:
    """The revision of the conversation: the profile's, else the one asked for, else the newest (decisions T2)."""
    if profile.reply_revision is not None:
        return profile.reply_revision
    revision = named(asked)
    return revision if revision is not None and revision.era is Era.LEGACY else LATEST_LEGACY


def initialize_result(ready: Ready, caller: Caller, fallback: Identity) -> Raw:
    """The result of a successful `initialize`, made of nothing but what the server declared (INIT-07)."""
    info = server_info(ready.info)
    members: dict[str, object] = {
        "protocolVersion": caller.revision.name,
        "capabilities": ready.capabilities,
        "serverInfo": info if info is not None else fallback.raw(),
    }
    if ready.instructions is not None:
        members["instructions"] = ready.instructions
    return raw(members)


def discovered(ready: Ready) -> Members:
    """The result of `server/discover`, made of what a server with a handshake said of itself (decisions T9)."""
    members: Members = {
        "resultType": Raw(b'"complete"'),
        "supportedVersions": raw([revision.name for revision in STATELESS]),
        "capabilities": closed(ready.capabilities),
    }
    if ready.instructions is not None:
        members["instructions"] = ready.instructions
    return members | {"ttlMs": Raw(b"0"), "cacheScope": Raw(b'"private"')}


def server_info(given: Raw | None) -> Raw | None:
    """The server's own description, if it is usable: known members only, all of the right shape (IRES-05, IRES-06)."""
    members = object_in(given)
    if members is None or not text_of(members.get("name")):
        return None
    kept: Members = {}
    for name in IMPLEMENTATION:
        value = members.get(name)
        if value is None:
            continue
        if not (_icons(value) if name == "icons" else text_of(value) is not None):
            return None
        kept[name] = value
    return closed(kept) if "version" in kept else None


def _icons(value: Raw) -> bool:
    items = items_of(value)
    if items is None:
        return False
    try:
        return all(text_of((object_in(item) or {}).get("src")) is not None for item in items)
    except msgspec.DecodeError:
        return False
