"""What every conversation of one listener has in common."""

from dataclasses import dataclass

from dragoman.fronts.handshake import Identity
from dragoman.limits import Limits
from dragoman.profile import Profile
from dragoman.runtime.log import Log
from dragoman.runtime.tap import Tap
from dragoman.runtime.trunk import Trunk


@dataclass(frozen=True, slots=True)
class Shared:
    trunk: Trunk
    profile: Profile
    limits: Limits
    log: Log
    identity: Identity
    tap: Tap | None = None
