"""One account at one server: the token in use, its renewal, and the sign-in when nothing else helps.

* One refresh and one sign-in at a time, over all processes that share the store: under the lock the store is read
  again, and what another process got meanwhile is used (B134, B149). Nobody gives up what he did not present.
* Who waits for a sign-in of another process shares its failure too, so that a refusal is not asked for ten times.
* A request is met by a renewal once and by a sign-in once; then it is refused for good (OAUTH-08).
* After a failure that was shown to the user by the client, nothing is asked for a minute (OAUTH-16).
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from dragoman.faults import Cause
from dragoman.signin.assertion import SigningKey
from dragoman.signin.challenge import FORBIDDEN, UNAUTHORIZED, Challenge
from dragoman.signin.clients import Kind
from dragoman.signin.discovery import NoSignIn
from dragoman.signin.failure import Failed, failed
from dragoman.signin.flow import Flow, Surroundings
from dragoman.signin.grants import REFRESH_REQUEST, Grants
from dragoman.signin.key import Key
from dragoman.signin.options import Method, Options
from dragoman.signin.record import Record
from dragoman.signin.shelf import PROMPT, Shelf
from dragoman.signin.stores import StoreFailed
from dragoman.signin.tokens import Tokens
from dragoman.signin.web import PATIENCE, Web
from dragoman.transports.http.target import Target

COOLDOWN = 60.0
RENEWAL = PATIENCE * 2  # seconds for a renewal, and for that of another process before
TRIES = 6
"""Refusals of one request, whatever others do meanwhile."""

NO_SIGN_IN = "the server asks who you are, and names no authorization server; give what it wants with --header-env"


@dataclass(slots=True)
class Visit:
    """What was tried for one request. `used` is the token that it was sent with last."""

    used: str | None = None
    tries: int = 0
    was_renewed: bool = False
    has_joined: bool = False
    has_signed_in: bool = False


class Account:
    """`monotonic` is the clock of the cooldown."""

    def __init__(
        self,
        target: Target,
        options: Options,
        key: Key,
        shelf: Shelf,
        around: Surroundings,
        monotonic: Callable[[], float],
    ) -> None:
        self._target = target
        self._options = options
        self._key = key
        self._shelf = shelf
        self._around = around
        self._monotonic = monotonic
        self._record: Record | None = None
        self._is_loaded = False
        self._is_kept = False
        self._unused: str | None = None  # a token just given: it is used once, however short its life is said to be
        self._loading = asyncio.Lock()
        self._renewal: asyncio.Task[None] | None = None
        self._sign_in: asyncio.Task[None] | None = None
        self._waiting = 0
        self._quiet_until = float("-inf")
        self.signed_in: Callable[[], None] = lambda: None

    # ------------------------------------------------------------------ what channels ask

    async def bearer(self) -> str | None:
        """The access token for the next request, renewed if it is about to end; `None` for none.

        Raises:
            Failed: it has ended, and cannot be renewed now.
        """
        tokens = await self._tokens()
        now = self._around.clock()
        if tokens is None:
            return None
        is_first = self._used_first(tokens)
        if not tokens.is_stale(now) or (is_first and tokens.is_over(now)):
            return tokens.access
        try:
            if self._options.method is Method.CLIENT:
                await self._signed_in(Challenge(UNAUTHORIZED, True), tokens.access)
            elif tokens.refresh is not None:
                await self._renewed(tokens.access)
        except NoSignIn:
            self._around.note(NO_SIGN_IN)
        except Failed as failure:
            if tokens.is_over(self._around.clock()) or not failure.is_passing:
                raise
            self._around.note(f"{failure}; the token is used until it ends")
        tokens = await self._tokens()
        if tokens is None or (not self._used_first(tokens) and tokens.is_over(self._around.clock())):
            return None
        return tokens.access

    def _used_first(self, tokens: Tokens) -> bool:
        """Whether this is the first use of a token just given; it is so once."""
        unused, self._unused = self._unused, None
        return unused == tokens.access

    async def refused(self, visit: Visit, challenge: Challenge, *, may_ask: bool = True) -> bool:
        """Whether the request is to be sent again, after a refusal; if not, the refusal is its answer.

        Without `may_ask` no sign-in is begun for it (LOSS-06).

        Raises:
            Failed: it could not be helped.
        """
        tokens = await self._tokens()
        visit.tries += 1
        is_newer = tokens is not None and tokens.access != visit.used
        if challenge.status == UNAUTHORIZED and is_newer and visit.tries < TRIES:
            return True  # it was not tried yet, or another request was quicker
        if visit.has_signed_in or visit.tries >= TRIES:
            raise Failed(Cause.ACCESS_REFUSED, f"HTTP status {challenge.status}", status=challenge.status)
        if challenge.status == FORBIDDEN and visit.used is not None and not challenge.wants_more:
            if not challenge.is_bearer:
                return False  # it is not about who asks
            raise Failed(Cause.ACCESS_REFUSED, f"HTTP status {challenge.status}", status=challenge.status)
        if challenge.status == UNAUTHORIZED and tokens is not None and tokens.refresh and not visit.was_renewed:
            visit.was_renewed = True
            await self._renewed(visit.used)
            if (after := await self._tokens()) is not None and after.access != visit.used:
                return True
        if not may_ask:
            return False
        try:
            is_own = await self._signed_in(challenge, visit.used, may_join=not visit.has_joined)
        except NoSignIn:
            self._around.note(NO_SIGN_IN)
            return False
        visit.has_signed_in = visit.has_signed_in or is_own
        visit.has_joined = True
        return True

    @property
    def is_kept(self) -> bool:
        """Whether what is known would survive this process."""
        return self._is_kept

    async def close(self) -> None:
        """End what still runs, but for a renewal, which is waited for."""
        if self._sign_in is not None and not self._sign_in.done():
            self._sign_in.cancel()
        running = [task for task in (self._sign_in, self._renewal) if task is not None]
        if running:
            await asyncio.wait(running)

    # ------------------------------------------------------------------ the record

    async def _tokens(self) -> Tokens | None:
        if not self._is_loaded:
            async with self._loading:
                if not self._is_loaded:
                    with self._waited(PROMPT):
                        self._record = await self._read()
                    self._is_loaded, self._is_kept = True, self._record is not None
        return self._record.tokens if self._record is not None else None

    async def _read(self) -> Record | None:
        try:
            return await self._shelf.read(self._key)
        except StoreFailed as error:
            raise failed(str(error)) from None

    async def _current(self) -> Record | None:
        """The record under the lock: what another process made of it, or gave up (`logout`)."""
        record = await self._read()
        if record is None and not (self._is_kept and self._shelf.is_shared):
            return self._record
        return record

    async def _keep(self, record: Record) -> None:
        self._record, self._is_loaded, self._is_kept = record, True, False
        self._unused = record.tokens.access if record.tokens is not None else None
        try:
            await self._shelf.write(self._key, record)
            self._is_kept = True
        except StoreFailed as error:
            self._around.note(f"{error}; this sign-in ends with this process")

    @contextmanager
    def _waited(self, seconds: float) -> Generator[None]:
        """Time that is not the server's; a sign-in that runs has its own."""
        is_ours = self._sign_in is None or self._sign_in.done()
        if is_ours:
            self._around.person.waits(seconds)
        try:
            yield
        finally:
            if is_ours and (self._sign_in is None or self._sign_in.done()):
                self._around.person.goes_on()

    # ------------------------------------------------------------------ renewal

    async def _renewed(self, used: str | None) -> None:
        """See to it that the token in use is another one than `used`, if a refresh token can do that.

        A renewal that began comes to its end, whatever becomes of the requests that wait for it: a refresh token that
        was shown may be used up, and what came for it has to be kept.

        Raises:
            Failed: nobody knows; nothing was given up.
        """
        if self._renewal is None or self._renewal.done():
            work = self._renew_alone(used)
            self._renewal = asyncio.get_running_loop().create_task(work, name="renewal of a token")
            self._renewal.add_done_callback(_seen)
        await asyncio.shield(self._renewal)

    async def _renew_alone(self, used: str | None) -> None:
        before = await self._tokens()
        if before is None or before.access != used:
            return
        try:
            with self._waited(RENEWAL):
                async with self._shelf.locked(self._key):
                    await self._renew(used)
        except (StoreFailed, OSError) as error:
            raise failed(f"{REFRESH_REQUEST}: {error}") from None

    async def _renew(self, used: str | None) -> None:
        record = await self._current()
        if record is None or record.tokens is None or record.tokens.access != used or record.tokens.refresh is None:
            self._record = record
            return
        key = SigningKey(self._options.signing_key) if self._options.signing_key is not None else None
        web = Web(self._target, note=self._around.note)
        try:
            grants = Grants(web, key, self._around.clock)
            endpoint, issuer, tokens = record.token_endpoint, record.issuer, record.tokens
            answer = await grants.by_refresh(endpoint, issuer, record.client, tokens, record.resource)
        finally:
            await web.close()
        if isinstance(answer, Tokens):
            await self._keep(_with(record, answer))
            return
        if answer.is_passing:
            raise failed(REFRESH_REQUEST, answer.status, answer.code, is_passing=True)
        again = await self._read()
        if again is not None and again.tokens is not None and again.tokens.access != used:
            self._record = again
            return
        self._around.note(
            f"the token could not be renewed ({answer.code or answer.why or f'HTTP status {answer.status}'})"
        )
        if answer.is_of_client and record.client.kind is Kind.REGISTERED:
            self._record = None
            try:
                await self._shelf.delete(self._key)
            except StoreFailed as error:
                self._around.note(str(error))
        else:
            await self._keep(_with(record, None))

    # ------------------------------------------------------------------ sign-in

    async def _signed_in(self, challenge: Challenge, used: str | None, may_join: bool = True) -> bool:
        """Sign in, or wait for the sign-in that runs; whether it was our own.

        Raises:
            Failed, NoSignIn: it did not come to an end.
        """
        running = self._sign_in
        is_own = running is None or running.done()
        if is_own or running is None:
            work = self._run(challenge, used)
            running = self._sign_in = asyncio.get_running_loop().create_task(work, name="sign-in")
            running.add_done_callback(_seen)
        self._waiting += 1
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            if running.cancelled():
                raise Failed(Cause.SIGN_IN_FAILED, "it was ended") from None
            raise
        finally:
            self._waiting -= 1
            if self._waiting == 0 and not running.done():
                running.cancel()  # nobody waits for it any more (OAUTH-34)
        return is_own or not may_join

    async def _run(self, challenge: Challenge, used: str | None) -> None:
        options, person = self._options, self._around.person
        if options.method is not Method.CLIENT:
            if options.is_sandboxed:
                raise Failed(Cause.SANDBOX)
            if not person.is_at_hand() and self._monotonic() < self._quiet_until:
                raise Failed(Cause.REAUTHORIZATION_REQUIRED, "cooldown")
        asks, is_done = person.is_at_hand() or person.can_be_asked(), False
        person.waits(options.timeout)
        try:
            async with asyncio.timeout(options.timeout):
                await self._run_alone(challenge, used)
        except TimeoutError:
            raise Failed(Cause.SIGN_IN_TIMEOUT) from None
        except (StoreFailed, OSError) as error:
            raise failed(str(error)) from None
        else:
            asks, is_done = False, True
        finally:
            if asks:
                self._quiet_until = self._monotonic() + COOLDOWN
            person.waits_no_more(is_done)
        self.signed_in()

    async def _run_alone(self, challenge: Challenge, used: str | None) -> None:
        begun = self._around.clock()
        await self._shelf.open()
        async with self._shelf.locked(self._key) as waited:
            record = await self._current()
            tokens = record.tokens if record is not None else None
            if tokens is not None and tokens.access != used and _serves(tokens, challenge, self._around.clock()):
                self._record, self._is_loaded = record, True
                return
            if waited:
                self._shelf.check_failure(self._key, begun)
            try:
                flow = Flow(self._target, self._options, self._around, self._keep)
                await flow.run(challenge, record)
            except Failed as failure:
                self._shelf.leave_failure(self._key, failure, self._around.clock())
                raise


def _seen(task: asyncio.Task[None]) -> None:
    """A failure is for those who wait; when nobody does any more, it is for nobody."""
    if not task.cancelled():
        task.exception()


def _serves(tokens: Tokens, challenge: Challenge, now: float) -> bool:
    """Whether tokens of another process are an answer to the challenge."""
    if tokens.is_over(now):
        return False
    return not challenge.wants_more or set(challenge.scopes or ()) <= set(tokens.scopes or ())


def _with(record: Record, tokens: Tokens | None) -> Record:
    return msgspec.structs.replace(record, tokens=tokens)
