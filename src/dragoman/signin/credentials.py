"""The credentials of a server that may want a sign-in. Everything else here is loaded when that turns out.

A token that was kept earlier is used from the first request on; that there is one, a file tells (`shelf`).
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from dragoman.signin.key import Key
from dragoman.signin.options import Options
from dragoman.signin.person import Nobody, Person
from dragoman.transports.http.loss import Loss, Lost
from dragoman.transports.http.target import Target

if TYPE_CHECKING:
    from dragoman.signin import account
    from dragoman.signin.failure import Failed

GRACE = 5.0


class SignIn:
    """`say` writes a line for the user, `note` a sentence for the log. `person` is who signs in."""

    def __init__(
        self, target: Target, options: Options, say: Callable[[str], None], note: Callable[[str], None]
    ) -> None:
        self.person: Person = Nobody()
        self._target = target
        self._options = options
        self._key = Key(target.address.url, options.account, options.redirect_uri, options.client)
        self._say = say
        self._note = note
        self._account: account.Account | None = None
        self._listeners: list[asyncio.Future[None]] = []
        self._is_marked: bool | None = None

    async def close(self) -> None:
        """End what nobody waits for any more. A renewal that began gets a moment to come to its end."""
        if self._account is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE):
                    await self._account.close()

    @property
    def are_idle(self) -> bool:
        if self._is_marked is None:
            self._is_marked = self._key.mark(self._options.folder).exists()
        return self._account is None and not self._is_marked

    @property
    def are_kept(self) -> bool:
        """Whether the sign-in that was made, or used, would survive this process."""
        return self._account is not None and self._account.is_kept

    def visit(self, *, may_ask: bool) -> "Visit":
        return Visit(self, may_ask)

    async def next_sign_in(self) -> None:
        done = asyncio.get_running_loop().create_future()
        self._listeners.append(done)
        await done

    def account(self, *, only_if_marked: bool = False) -> "account.Account | None":
        """The account, loaded now if it was not; with `only_if_marked` only if something is kept for it."""
        if self._account is None:
            if only_if_marked and self.are_idle:
                return None
            self._account = self._loaded()
        return self._account

    def lost(self, failure: "Failed") -> Lost:
        """A failure as a channel reports it, with the facts of its sentence (ERR-05)."""
        options = self._options
        facts = (
            ("seconds", f"{options.timeout:g}"),
            ("port", str(options.redirect_port)),
            ("redirect_uri", options.redirect_uri),
        )
        return Lost(Loss(failure.status, failure.cause, failure.detail, failure.is_passing, facts))

    def _loaded(self) -> "account.Account":
        from dragoman.signin.account import Account
        from dragoman.signin.flow import Surroundings
        from dragoman.signin.shelf import Shelf

        options = self._options
        wall = time.time  # noqa: TID251 - tokens are dated by the wall clock
        around = Surroundings(self.person, self._say, self._note, wall)
        shelf = Shelf(options.store, options.folder, options.store_key, self._note)
        monotonic = asyncio.get_running_loop().time
        account = Account(self._target, options, self._key, shelf, around, monotonic)
        account.signed_in = self._signed_in
        return account

    def _signed_in(self) -> None:
        listeners, self._listeners = self._listeners, []
        for done in listeners:
            if not done.done():
                done.set_result(None)


class Visit:
    """One request."""

    def __init__(self, sign_in: SignIn, may_ask: bool) -> None:
        self._sign_in = sign_in
        self._may_ask = may_ask
        self._tried: account.Visit | None = None
        self._used: str | None = None

    async def authorization(self) -> str | None:
        known = self._sign_in.account(only_if_marked=True)
        if known is None:
            return None
        from dragoman.signin.failure import Failed

        try:
            self._used = await known.bearer()
        except Failed as failure:
            raise self._sign_in.lost(failure) from None
        return f"Bearer {self._used}" if self._used is not None else None

    async def refused(self, status: int, challenges: Sequence[str]) -> bool:
        from dragoman.signin.account import Visit as Tried
        from dragoman.signin.challenge import challenge
        from dragoman.signin.failure import Failed

        known = self._sign_in.account()
        assert known is not None
        self._tried = self._tried or Tried()
        self._tried.used = self._used
        try:
            return await known.refused(self._tried, challenge(status, challenges), may_ask=self._may_ask)
        except Failed as failure:
            raise self._sign_in.lost(failure) from None
