"""A server with a sign-in that is looked at while nobody can sign in: by `doctor`, or for all clients of a listener."""

from collections.abc import Callable

from dragoman.runtime.visit import Visit
from dragoman.signin.person import Nobody


class Unattended(Nobody):
    """The `Person` of a visit: nobody, but the time in which a token is renewed is not the server's.

    Args:
        visit: gives the visit that goes on now, if there is one.
    """

    def __init__(self, visit: Callable[[], Visit | None]) -> None:
        self._visit = visit

    def waits(self, seconds: float) -> None:
        if (visit := self._visit()) is not None:
            visit.step(lambda now: visit.back.held(seconds, now))

    def goes_on(self) -> None:
        if (visit := self._visit()) is not None:
            visit.step(visit.back.resumed)

    def waits_no_more(self, signed_in: bool) -> None:
        if (visit := self._visit()) is not None:
            visit.step(lambda now: visit.back.released(signed_in, now))
