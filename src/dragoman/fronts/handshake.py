"""What `initialize` says, and what is answered to it or to `server/discover` (INIT, CAP, IRES)."""

from dataclasses import dataclass

from msgspec import Raw

from dragoman import __version__
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Ready
from dragoman.profile import Profile
from dragoman.revisions import LATEST_LEGACY, STATELESS, Era, Revision, named
from dragoman.revisions.capabilities import client_capabilities
from dragoman.revisions.tolerance import declared, implementation
from dragoman.wire.members import Members, closed, object_in, own, raw, text_of

IMPLEMENTATION = ("name", "title", "version", "icons", "description", "websiteUrl")


@dataclass(frozen=True, slots=True)
class Identity:
    """How the bridge names itself when the server does not say its name (IRES-07, IRES-08)."""

    name: str
    version: str = __version__

    def raw(self) -> Raw:
        return raw({"name": self.name, "version": self.version})


def read_initialize(params: Raw | None, profile: Profile, level: str | None) -> tuple[Caller, tuple[str, ...]] | None:
    """The caller that an `initialize` introduces, and what of it was written otherwise than it was read.

    `None` when its params are not valid (INIT-02).
    """
    members = object_in(params)
    if members is None:
        return None
    asked, info = text_of(members.get("protocolVersion")), object_in(members.get("clientInfo"))
    if asked is None or info is None:
        return None
    if text_of(info.get("name")) is None or text_of(info.get("version")) is None:
        return None
    revision = reply_revision(asked, profile)
    said = declared(members.get("capabilities"))
    capabilities = profile.mask_client(client_capabilities(said.members, revision, revision))
    return Caller(revision, capabilities, own(members["clientInfo"]), level), said.flaws


def reply_revision(asked: str, profile: Profile) -> Revision:
    """The revision of the conversation: the profile's, else the one asked for, else the newest (decisions T2)."""
    if profile.reply_revision is not None:
        return profile.reply_revision
    revision = named(asked)
    return revision if revision is not None and revision.era is Era.LEGACY else LATEST_LEGACY


def initialize_result(ready: Ready, caller: Caller, fallback: Identity) -> Raw:
    """The result of a successful `initialize`, made of nothing but what the server declared (INIT-07)."""
    info = server_info(ready.info, is_whole=ready.revision is caller.revision)
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


def server_info(given: Raw | None, *, is_whole: bool = False) -> Raw | None:
    """The server's own description, if it is usable (IRES-05, IRES-06).

    With `is_whole` all members stay, as between equal revisions; else those that are known.
    """
    usable = implementation(given)
    if usable is None or is_whole:
        return usable
    members = object_in(usable) or {}
    kept = {name: members[name] for name in IMPLEMENTATION if name in members}
    return usable if len(kept) == len(members) else closed(kept)
