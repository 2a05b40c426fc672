"""All clients of the modern era before a server of that era: nothing is kept of them between two requests."""

from collections.abc import Callable
from typing import Any

from dragoman.fronts.modern import Modern
from dragoman.revisions import LATEST
from dragoman.runtime.alone import Alone
from dragoman.runtime.shared import Shared


class Stateless(Alone[Modern]):
    """A party of the trunk."""

    def __init__(self, shared: Shared, rouse: Callable[[Any], None]) -> None:
        limits, log, rate = shared.limits, shared.log, shared.profile.progress_rate
        super().__init__(
            shared, rouse, lambda middle, out: Modern(middle, limits, log, out, limits.reception.exchanges, rate)
        )
        self.mediator.join(LATEST, LATEST)
