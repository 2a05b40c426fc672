"""The bridge in a program of yours: the one that the command line builds, without its signals and its exit code."""

import asyncio
from collections.abc import Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dragoman.embed.errors import CannotListen, InvalidValue, WrongState
from dragoman.embed.parts import complain, parts_of
from dragoman.embed.values import STDIO, AnyUpstream, Http, Listener, read_listen, read_upstream
from dragoman.exchange.notes import Level
from dragoman.limits import Limits
from dragoman.profile import Profile
from dragoman.runtime.assembly import Parts
from dragoman.transports.pipes import Overflow

if TYPE_CHECKING:
    from dragoman.runtime.conversation import Conversation
    from dragoman.runtime.server import Serving


def bridge(
    upstream: AnyUpstream,
    *,
    listen: str | Http = STDIO,
    profile: Profile | str = "neutral",
    allow_downgrade: bool = False,
    allow_reencode: bool = False,
    restore_error_codes: bool = False,
    keep_error_codes: bool = False,
    merge_pages: bool = False,
    name: str | None = None,
    limits: Limits | None = None,
    state_key: bytes | None = None,
    log_level: str = "warn",
    record: Callable[[bytes], object] | None = None,
) -> "Bridge":
    """A bridge between a server and its clients; nothing is started yet.

    Log lines, and what a process of a server writes for people, go to standard error.

    Args:
        upstream: The server: a `Command`, a `Url`, a `Way`, or a text as for `--upstream`.
        listen: Where clients come in: an `Http`, its URL as a text, or `stdio:.` for one client on our own standard
            streams, which are used for nothing else then.
        profile: The name of a profile that ships, or a `Profile`.
        allow_downgrade: Permit fallbacks that lose something, which is reported.
        allow_reencode: Permit values to be spelled in another way, as text instead of structure.
        restore_error_codes: Give a missing resource the code of older revisions.
        keep_error_codes: Pass codes that only 2026-07-28 has to older clients.
        merge_pages: Give all pages of a list as one.
        name: The server's name for clients, when it tells none; by default that of the command or the host.
        limits: Every limit; by default `Limits()`.
        state_key: 32 bytes that seal the states of parked calls; by default random ones.
        log_level: `err`, `warn`, `info` or `debug`.
        record: Is called on the event loop with each line of the frame log, as bytes with a line end.

    Raises:
        InvalidValue: a value cannot be used; the sentence says which and why, and repeats nothing of it.
    """
    try:
        server = read_upstream(upstream)
        listener = read_listen(listen, server.era)
        parts = parts_of(
            server,
            profile=profile,
            allow_downgrade=allow_downgrade,
            allow_reencode=allow_reencode,
            restore_error_codes=restore_error_codes,
            keep_error_codes=keep_error_codes,
            merge_pages=merge_pages,
            name=name,
            limits=limits,
            state_key=state_key,
            log_level=log_level,
            record=record,
        )
    except ValueError as error:
        raise InvalidValue(str(error)) from None
    return Bridge(parts, listener)


class Bridge:
    """A bridge, which serves once.

    `await bridge` serves until the end. `async with bridge:` serves while the block runs, and `await bridge` inside of
    it waits for the end. The end comes by cancellation, by the end of the block, and on our own streams with the client
    or the server as well. It is graceful: what is in flight has its time, then everything that was started is ended.
    """

    def __init__(self, parts: Parts, listener: Listener | None) -> None:
        self._parts = parts
        self._listener = listener
        self._serving: Serving | None = None
        self._conversation: Conversation | None = None
        self._talk: asyncio.Task[int] | None = None
        self._over = asyncio.Event()
        self._is_used = False

    @property
    def url(self) -> str:
        """Where clients come in, with the port that the system chose if that was left to it.

        Raises:
            WrongState: the bridge is not serving, or not on HTTP.
        """
        if self._serving is None:
            raise WrongState("a bridge has a url while it serves on HTTP")
        return self._serving.url

    def __await__(self) -> Generator[Any, None, int]:
        """Serve until the end, or wait for it if the bridge serves already. Gives 0, or 1 when a server on our own
        streams stopped before its client.

        Raises:
            CannotListen: the place to listen on cannot be had.
            WrongState: it has served before.
        """
        return (self._ended() if self._is_used else self._served()).__await__()

    async def __aenter__(self) -> Self:
        """Start to serve.

        Raises:
            CannotListen: the place to listen on cannot be had.
            WrongState: it has served before.
        """
        if self._is_used:
            raise WrongState("a bridge serves once; make another one")
        self._is_used = True
        if self._listener is None:
            self._talk = self._begin()
        else:
            await self._listen(self._listener)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End as the end of the block does; a second time does nothing."""
        serving, self._serving = self._serving, None
        if serving is not None:
            await serving.aclose()
        if self._talk is not None and self._conversation is not None:
            self._conversation.stop()
            await asyncio.wait({self._talk})
        self._over.set()

    async def _served(self) -> int:
        async with self:
            return await self._ended()

    async def _ended(self) -> int:
        if self._talk is not None:
            return await asyncio.shield(self._talk)
        await self._over.wait()
        return 0

    def _begin(self) -> "asyncio.Task[int]":
        parts = self._parts
        stderr = Overflow(2, parts.limits.stderr)
        self._conversation = parts.conversation(parts.ways(), stderr, owns_process=False)
        loop = asyncio.get_running_loop()
        return loop.create_task(self._conversation.run(), name="dragoman on the standard streams")

    async def _listen(self, listener: Listener) -> None:
        from dragoman.runtime.server import Serving

        serving = Serving(listener.place, self._parts.shared(complain), listener.admission, listener.gate)
        try:
            await serving.start()
        except OSError as error:
            text = f"cannot listen on {listener.place.url}: {error.strerror or error}"
            raise CannotListen(error.errno, text) from error
        self._serving = serving
        self._parts.log.note(Level.INFO, "endpoint", f"listens on {serving.url}")
