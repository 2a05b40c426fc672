"""What `bridge` and `asgi` have in common: from the values of a program to the parts of a bridge."""

import sys
from collections.abc import Callable

from dragoman.embed.values import Server, read_profile
from dragoman.fronts.handshake import Identity
from dragoman.limits import Limits
from dragoman.profile import Profile
from dragoman.runtime.assembly import Parts
from dragoman.runtime.log import CHOICES, Log


def parts_of(
    server: Server,
    *,
    profile: Profile | str,
    allow_downgrade: bool,
    allow_reencode: bool,
    restore_error_codes: bool,
    keep_error_codes: bool,
    merge_pages: bool,
    name: str | None,
    limits: Limits | None,
    state_key: bytes | None,
    log_level: str,
    record: Callable[[bytes], object] | None,
) -> Parts:
    """
    Raises:
        ValueError: a value cannot be used.
    """
    found = read_profile(profile).allowing(
        downgrade=allow_downgrade,
        reencode=allow_reencode,
        restore_codes=restore_error_codes,
        keep_codes=keep_error_codes,
        merge_pages=merge_pages,
    )
    if log_level not in CHOICES:
        raise ValueError(f"log_level is none of {', '.join(CHOICES)}")
    if state_key is not None and len(state_key) != 32:
        raise ValueError("state_key does not have 32 bytes")
    tap = None
    if record is not None:
        from dragoman.diagnostics.framelog import FrameLog

        tap = FrameLog(record)
    log = Log(found.name, CHOICES[log_level], complain)
    return Parts(server.ways, server.era, found, limits or Limits(), log, Identity(name or server.name), state_key, tap)


def complain(data: bytes) -> None:
    """Write to standard error, as far as there is one."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] - a program with windows has none
        sys.stderr.write(data.decode("utf-8", "replace"))
