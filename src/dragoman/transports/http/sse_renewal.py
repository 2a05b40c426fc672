"""The channel to a server of HTTP+SSE that goes on when its stream ends: each stream is a session (B53, B98).

* When a stream ends whose `initialize` was answered, what was open on it is lost. It may have been carried out, so it
  is not sent again. The next message opens another stream, and so does a stream that had lived for a while, once.
* A new stream begins with the client's `initialize`, under an id of the channel's own, and `notifications/initialized`.
  What is to be sent waits for it, in bounded time. `renewed` then says that the server knows nothing of the one before.
* Nothing is called back from within `send`, and nothing after the begin of `aclose`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import msgspec

from dragoman.faults import Cause
from dragoman.limits import Limits
from dragoman.transports.http.answer import Said, said
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.loss import Loss, cut
from dragoman.transports.http.outgoing import INITIALIZE, INITIALIZED, Outgoing, outgoing
from dragoman.transports.http.sse import SseChannel
from dragoman.transports.http.target import Target
from dragoman.wire import frame as wire
from dragoman.wire.members import closed, text_of

BOUNDS = Bounds()


class RenewedSse:
    """The arguments are those of `SseChannel`. `gone` is told only of a stream whose `initialize` has no answer yet."""

    def __init__(
        self,
        target: Target,
        loop: asyncio.AbstractEventLoop,
        limits: Limits,
        lines: Callable[[list[bytes], None], None],
        lane_lost: Callable[[bytes, Loss], None],
        gone: Callable[[str, Cause], None],
        drained: Callable[[], None] = lambda: None,
        note: Callable[[str], None] = lambda _: None,
        bounds: Bounds = BOUNDS,
        renewed: Callable[[], None] = lambda: None,
    ) -> None:
        self._whereto = target, loop, limits
        self._besides = drained, note, bounds
        self._loop = loop
        self._limits = limits
        self._lines = lines
        self._lane_lost = lane_lost
        self._gone = gone
        self._note = note
        self._renewed = renewed
        self._first: Outgoing | None = None  # the client's own initialize
        self._version: str | None = None  # what it was answered with
        self._open: dict[bytes, None] = {}
        self._held: list[bytes] = []
        self._own: bytes | None = None  # the id of the initialize of ours that has no answer yet
        self._renewals = 0
        self._timer: asyncio.TimerHandle | None = None
        self._endings: set[asyncio.Task[None]] = set()
        self._is_paused = self._is_over = False
        self._stream: SseChannel | None = self._another()

    @property
    def backlog(self) -> int:
        return (self._stream.backlog if self._stream is not None else 0) + sum(map(len, self._held))

    def send(self, frames: list[bytes]) -> None:
        if self._is_over:
            return
        for frame in frames:
            out = outgoing(frame)
            if out.method == INITIALIZE:
                self._first, self._version = out, None
            if out.id is not None and out.method is not None:
                self._open[out.id] = None
        if self._stream is None and self._version is None:
            self._stream = self._another()  # the client begins by itself
        elif self._stream is None:
            self._begin_again()
        if self._own is not None:
            self._held += frames
        elif self._stream is not None:
            self._stream.send(frames)

    def pause(self) -> None:
        self._is_paused = True
        if self._stream is not None:
            self._stream.pause()

    def resume(self) -> None:
        self._is_paused = False
        if self._stream is not None:
            self._stream.resume()

    async def aclose(self) -> None:
        """End every request and connection; takes three times the grace at the most."""
        self._is_over = True
        self._stop_waiting()
        stream = [self._stream.aclose()] if self._stream is not None else []
        await asyncio.gather(*stream, *self._endings)

    def kill(self) -> None:
        """There is nothing that outlives this process."""

    # ------------------------------------------------------------------ one stream

    def _another(self) -> SseChannel:
        self._since = self._loop.time()
        stream = SseChannel(*self._whereto, self._take, self._lose, self._ended, *self._besides)
        if self._is_paused:
            stream.pause()
        return stream

    def _take(self, lines: list[bytes], _: None) -> None:
        passed: list[bytes] = []
        for line in lines:
            message = said(line, self._own)
            if self._own is not None and message.id == self._own:
                self._answered(message)
                continue
            if message.id is not None:
                self._open.pop(message.id, None)
                if self._first is not None and message.id == self._first.id and self._version is None:
                    self._version = _version(said(line, message.id))
            passed.append(line)
        if passed and not self._is_over:
            self._lines(passed, None)

    def _lose(self, id: bytes, loss: Loss) -> None:
        if id == self._own:
            self._fail(loss)
        elif self._open.pop(id, id) is None and not self._is_over:
            self._lane_lost(id, loss)

    def _ended(self, how: str, cause: Cause) -> None:
        if self._own is not None:
            self._fail(cut(None, "the event stream ended before the response"))
        elif self._version is None:
            self._gone(how, cause)
        else:
            self._end_stream()
            self._note(f"the connection to the server {how}")
            lost, self._open = self._open, {}
            for id in lost:
                self._lane_lost(id, cut(None, "the event stream ended before the response"))
            if self._loop.time() - self._since >= self._limits.settled:
                self._timer = self._loop.call_later(self._limits.reopen_first, self._begin_again)

    def _end_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            task = self._loop.create_task(stream.aclose(), name="end of a stream of the server")
            self._endings.add(task)
            task.add_done_callback(self._endings.discard)

    # ------------------------------------------------------------------ the next one

    def _begin_again(self) -> None:
        first = self._first
        if first is None or self._is_over or self._stream is not None:
            return
        self._renewals += 1
        self._own = own = b'"session-%d"' % self._renewals
        self._stop_waiting()
        self._timer = self._loop.call_later(self._limits.timeouts.discover, self._late)
        self._stream = self._another()
        self._stream.send([replace(first, body=wire.request(own, INITIALIZE, closed(first.params))).body])

    def _answered(self, answer: Said) -> None:
        """The answer to an initialize of ours."""
        if _version(answer) != self._version:
            why = "an error" if answer.result is None else "another revision than before"
            self._fail(Loss(None, Cause.INVALID_RESPONSE, f"initialize was answered with {why}", False))
            return
        self._own = None
        self._stop_waiting()
        held, self._held = self._held, []
        assert self._stream is not None
        self._stream.send([wire.notice(INITIALIZED), *held])
        self._note("the connection to the server is a new one")
        self._renewed()

    def _late(self) -> None:
        self._fail(cut(None, "no new event stream in time"))

    def _fail(self, loss: Loss) -> None:
        """There is no new stream: what waits for it is lost, and the next message tries again."""
        self._own = None
        self._stop_waiting()
        self._end_stream()
        self._held.clear()
        lost, self._open = self._open, {}
        if not self._is_over:
            self._note(f"there is no new connection to the server: {loss.detail}")
            for id in lost:
                self._lane_lost(id, loss)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _version(answer: Said) -> str | None:
    try:
        return text_of((answer.result or {}).get("protocolVersion"))
    except msgspec.DecodeError:
        return None
