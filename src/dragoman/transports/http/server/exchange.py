"""One POST with requests in it, from its arrival to the last answer.

It begins undecided. When its answer is the first thing that comes, it is answered as one JSON object. When something
else comes first, or nothing for a while, it becomes a stream of events (B131); a client that takes no events gets its
answer alone.
"""

import asyncio
from collections.abc import Callable
from enum import Enum

from dragoman.transports.http.server.stream import Stream


class Form(Enum):
    """What the response is, once that is known."""

    JSON = "one JSON object"
    STREAM = "a stream of events"
    SLOW = "not known after a while"


class Exchange:
    """`wants` counts the answers that are still to come; `stream` is there when it became one.

    `open_stream` gives the stream that its lane becomes, or is `None` for a client that takes no events. `session` is
    the id that a new session has, when the answer to initialize was a good one.
    """

    __slots__ = (
        "_form",
        "_open_stream",
        "_waiting",
        "answers",
        "began",
        "has_requests",
        "is_batch",
        "lane",
        "session",
        "status",
        "stream",
        "wants",
    )

    def __init__(
        self, lane: int, wants: int, began: float, open_stream: Callable[[int], Stream] | None, is_batch: bool = False
    ) -> None:
        self.lane = lane
        self.wants = wants
        self.began = began
        self.has_requests = wants > 0
        self.is_batch = is_batch
        self.answers: list[bytes] = []
        self.status = 200
        self.session: str | None = None
        self.stream: Stream | None = None
        self._open_stream = open_stream
        self._form: Form | None = None
        self._waiting: asyncio.Future[Form] | None = None

    @property
    def is_over(self) -> bool:
        return self.wants <= 0

    def tell(self, frame: bytes) -> bool:
        """Something that belongs to a request, before its answer; `False` when this client cannot be told here."""
        stream = self.become_stream()
        if stream is None:
            return False
        stream.put(frame)
        return True

    def answer(self, frame: bytes, status: int = 200) -> None:
        self.wants -= 1
        if self.stream is not None:
            self.stream.put(frame, last=self.wants <= 0)
            return
        self.answers.append(frame)
        if status != 200 and not self.is_batch:
            self.status = status
        if self.wants <= 0:
            self._decide(Form.JSON)

    def drop(self) -> None:
        """One answer does not come: the client has taken its request back."""
        self.wants -= 1
        if self.wants > 0:
            return
        stream = self.become_stream()
        if stream is not None:
            stream.finish()
        else:
            self._decide(Form.JSON)

    def expect(self, wants: int) -> None:
        """A batch was taken, and so many of its answers are still to come."""
        self.wants = wants
        self.has_requests = wants > 0 or bool(self.answers) or self.stream is not None
        if wants <= 0 and self.stream is not None:
            self.stream.finish()
        elif wants <= 0:
            self._decide(Form.JSON)

    def become_stream(self) -> Stream | None:
        """Answer with a stream of events from now on, if the client takes them."""
        if self.stream is None and self._open_stream is not None and self._form is not Form.JSON:
            self.stream = self._open_stream(self.lane)
            for frame in self.answers:
                self.stream.put(frame)
            self.answers.clear()
            self._decide(Form.STREAM)
        return self.stream

    def grow_old(self) -> None:
        """Nothing has come for a while."""
        if self.become_stream() is None:
            self._wake(Form.SLOW)

    def taken(self) -> bytes:
        """All answers, as one JSON text that is kept here no more; nothing when none came."""
        answers, self.answers = self.answers, []
        if not answers:
            return b""
        return b"[" + b",".join(answers) + b"]" if self.is_batch else answers[0]

    async def form(self) -> Form:
        """What the response is to be, once that is known, or that it takes long."""
        if self._form is not None:
            return self._form
        self._waiting = asyncio.get_running_loop().create_future()
        return await self._waiting

    def _decide(self, form: Form) -> None:
        if self._form is None:
            self._form = form
            self._wake(form)

    def _wake(self, form: Form) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(form)

    async def over(self) -> None:
        """Wait for the last answer, however long it takes."""
        while not self.is_over:
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
