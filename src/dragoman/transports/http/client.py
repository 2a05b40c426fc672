"""The channel to a modern server at a URL: each message is a POST, each response belongs to its request (HTTP).

* A request is one task from its POST to its answer, which is one JSON object or a stream of events. What comes is
  handed over as lines, in order; a request that ends without its answer is told by `lane_lost`, once.
* A cancel is not sent: it closes the response of its request, and that is what the server sees (HTTP-05).
* An answer -32020 to a tools/call is met by learning the marks of all tools and one more try; the client's side sees
  nothing of it (HTTP-03). Other requests repeat nothing that could be learned, so theirs is their answer.
* Nothing is called back from within `send`, and nothing after the begin of `aclose`.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import aiohttp
from msgspec import Raw

from dragoman.exchange.notes import internal_error
from dragoman.faults import HEADER_MISMATCH, Cause, is_of_no_era
from dragoman.limits import Limits
from dragoman.transports.http.annotations import Annotations
from dragoman.transports.http.answer import Said, Sort, said
from dragoman.transports.http.backlog import Backlog
from dragoman.transports.http.binding import Post, Unmirrorable, headers_of, post_of
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.connection import Connections
from dragoman.transports.http.endpoint import Endpoint
from dragoman.transports.http.events import MESSAGE, Events
from dragoman.transports.http.loss import Loss, Lost, cut, is_fine, unusable
from dragoman.transports.http.reading import Reading
from dragoman.transports.http.target import Target
from dragoman.wire import frame as wire
from dragoman.wire.members import closed, encoded, is_null, object_in

CANCELLED = "notifications/cancelled"
DISCOVER = "server/discover"
LIST, CALL = "tools/list", "tools/call"
LISTEN = "subscriptions/listen"

BOUNDS = Bounds()

Lines = Callable[[list[bytes], bytes], None]
Messages = Callable[[list[bytes]], None]


class HttpChannel:
    """`lines` gets messages with the id of the request that they belong to, `lane_lost` the id of a request and why it
    has no answer, `note` sentences for the log.

    Raises:
        UnusableProxy, UnusableTrust: the environment makes every connection impossible (HTTP-09).
    """

    def __init__(
        self,
        target: Target,
        loop: asyncio.AbstractEventLoop,
        limits: Limits,
        lines: Lines,
        lane_lost: Callable[[bytes, Loss], None],
        drained: Callable[[], None] = lambda: None,
        note: Callable[[str], None] = lambda _: None,
        bounds: Bounds = BOUNDS,
    ) -> None:
        self._loop = loop
        self._limits = limits
        self._bounds = bounds
        self._lines = lines
        self._lane_lost = lane_lost
        self._drained = drained
        self._note = note
        self._backlog = Backlog(self._relieved)
        self._connections = Connections(target, loop, bounds)
        self._reading = Reading(limits, bounds)
        self._endpoint = Endpoint(self._connections, self._reading, bounds)
        self._annotations = Annotations()
        self._learning = asyncio.Lock()
        self._own_ids = 0
        self._open: dict[bytes, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    @property
    def backlog(self) -> int:
        return self._backlog.size

    def send(self, frames: list[bytes]) -> None:
        for frame in frames:
            if self._closing:
                return
            post = post_of(frame)
            if post.method == CANCELLED:
                self._cancel(post.params.get("requestId"))
            elif post.id is None:
                task = self._loop.create_task(self._tell(post), name=post.method)
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            elif len(self._open) >= self._limits.in_flight + self._bounds.streams:
                self._loop.call_soon(self._lose, post.id, Loss(None, Cause.TOO_MANY_REQUESTS, None, True))
            else:
                self._backlog.add(post.id, len(frame))
                task = self._loop.create_task(self._request(post, post.id), name=post.method)
                self._open[post.id] = task
                self._tasks.add(task)

    def pause(self) -> None:
        self._reading.pause()

    def resume(self) -> None:
        self._reading.resume()

    async def aclose(self) -> None:
        """End every request and connection; takes twice the grace at the most."""
        self._closing = True
        self._open.clear()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._limits.grace)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.grace):
                await self._connections.close()

    def kill(self) -> None:
        """There is nothing that outlives this process."""

    # ------------------------------------------------------------------ requests

    def _cancel(self, id: Raw | None) -> None:
        key = bytes(id) if id is not None else b""
        task = self._open.pop(key, None)
        if task is not None:
            task.cancel()
            task.add_done_callback(self._tasks.discard)
            self._loop.call_soon(self._backlog.take, key)  # the task may never have begun

    async def _request(self, post: Post, id: bytes) -> None:
        """From the POST to the answer, or to the loss."""
        loss: Loss | None = None
        try:
            await self._ask(post, id)
        except Lost as lost:
            self._endpoint.forget()
            loss = lost.loss
        except Unmirrorable:
            loss = Loss(None, Cause.INVALID_REQUEST, None, False)
        except Exception as error:
            self._note(internal_error(error))
            loss = Loss(None, Cause.INTERNAL, type(error).__name__, False)
        finally:
            self._backlog.take(id)
            self._done(asyncio.current_task())
        if loss is not None and self._open.pop(id, None) is not None:
            self._lose(id, loss)

    def _done(self, task: "asyncio.Task[Any] | None") -> None:
        if task is not None:
            self._tasks.discard(task)

    async def _ask(self, post: Post, id: bytes) -> None:
        edition = self._annotations.edition
        mismatch: Said | None = None

        def answered(answer: Said) -> None:
            nonlocal mismatch
            if post.method == CALL and answer.code == HEADER_MISMATCH:
                mismatch = answer
            else:
                self._answer(post, id, answer)

        def passed(lines: list[bytes]) -> None:
            self._hand_over(lines, id)

        await self._post(post, passed, answered)
        if mismatch is None:
            return
        if await self._learned(post, edition):
            await self._post(post, passed, lambda answer: self._answer(post, id, answer))
        else:
            self._answer(post, id, mismatch)

    async def _tell(self, post: Post) -> None:
        """A notification: whatever the body of the response is, it is of no use (B111)."""
        try:
            response = await self._posted(post)
            response.close()
            if response.status >= 400:
                self._note(f"{post.method} was refused: HTTP status {response.status}")
        except Lost as lost:
            self._note(f"{post.method} was lost: {lost}")
        except Unmirrorable:
            self._note(f"{post.method} cannot be sent")

    def _answer(self, post: Post, id: bytes, answer: Said) -> None:
        if self._open.pop(id, None) is None:
            return  # cancelled meanwhile
        line = answer.line
        if post.method == LIST and answer.result is not None:
            result, reasons = self._annotations.learn(answer.result)
            for reason in reasons:
                self._note(f"a tool was left out of the list: {reason}")
            if result is not None:
                line = wire.reply(id, result)
        self._hand_over([line], id)

    def _hand_over(self, lines: list[bytes], of: bytes) -> None:
        if lines and not self._closing:
            self._lines(lines, of)

    def _lose(self, id: bytes, loss: Loss) -> None:
        if not self._closing:
            self._lane_lost(id, loss)

    def _relieved(self) -> None:
        if not self._closing:
            self._drained()

    async def _learned(self, post: Post, edition: int) -> bool:
        """Learn the marks of all tools, unless that has happened since `edition`; whether it could be done."""
        async with self._learning:
            if self._annotations.edition != edition:
                return True
            cursor: Raw | None = None
            try:
                for page in range(self._bounds.pages):
                    answers: list[Said] = []
                    await self._post(self._list_like(post, cursor), _drop, answers.append)
                    result = answers[0].result
                    if result is None:
                        return False
                    if page == 0:
                        self._annotations.forget()
                    self._annotations.learn(result)
                    cursor = result.get("nextCursor")
                    if cursor is None or is_null(cursor):
                        break
            except Lost:
                return False
            return True

    def _list_like(self, post: Post, cursor: Raw | None) -> Post:
        """A tools/list of ours with the `_meta` of `post`. Its id is a string, as those of the back are numbers."""
        self._own_ids += 1
        meta = object_in(post.params.get("_meta")) or {}
        meta.pop("progressToken", None)
        params = {"_meta": closed(meta)}
        if cursor is not None:
            params["cursor"] = cursor
        id = b'"marks-%d"' % self._own_ids
        return Post(id, LIST, params, wire.request(id, LIST, encoded(params)))

    # ------------------------------------------------------------------ HTTP

    async def _post(self, post: Post, passed: Messages, answered: Callable[[Said], None]) -> None:
        """`answered` gets the answer to `post` as soon as it is there: nobody waits for the rest of the response.

        Raises:
            Lost, Unmirrorable: there is no answer.
        """
        response = await self._posted(post)
        try:
            answered(await self._read(response, post, passed))
            if not response.content.at_eof():
                await self._reading.rest(response)
        finally:
            response.close()

    async def _posted(self, post: Post) -> aiohttp.ClientResponse:
        headers = headers_of(post)
        if post.method == CALL:
            headers |= self._annotations.headers(post.params.get("name"), post.params.get("arguments"))
        response = await self._endpoint.fetch("POST", headers, post.body, may_ask=post.method != LISTEN)
        if post.id is not None:
            self._backlog.take(post.id)
        return response

    # ------------------------------------------------------------------ responses

    async def _read(self, response: aiohttp.ClientResponse, post: Post, messages: Messages) -> Said:
        if self._reading.is_stream(response):
            return await self._answer_in_stream(response, post, messages)
        answer = said(await self._reading.document(response), post.id)
        is_of_another = post.method == DISCOVER and is_of_no_era(response.status)  # its error is no server's word (B47)
        if answer.sort is not Sort.ANSWER or is_of_another or (answer.error is None and not is_fine(response.status)):
            raise Lost(unusable(response.status, f"the body is {answer.sort.value}"))
        return answer

    async def _answer_in_stream(self, response: aiohttp.ClientResponse, post: Post, messages: Messages) -> Said:
        events = Events(self._bounds.response)
        while (found := await self._reading.events(response, events)) is not None:
            passed: list[bytes] = []
            for event in found:
                if event.kind != MESSAGE:
                    continue
                message = said(event.data, post.id)
                if message.sort is Sort.ANSWER:
                    messages(passed)
                    return message
                if message.sort is Sort.FOREIGN:
                    self._note(f"{message.sort.value} came in the stream of {post.method}; it was skipped")
                else:
                    passed.append(message.line)  # what is broken is told by the reader, who tells of all such lines
            messages(passed)
        raise Lost(cut(response.status, "the stream ended before the response"))


def _drop(_: list[bytes]) -> None:
    """Messages of requests of the channel's own are of no use to the client's side."""
