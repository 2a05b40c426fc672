"""Tasks that a server works on, as far as a back has to know of them: their progress goes on after the first answer.

The answer to a call that became a task tells the task's id; the call's progress token holds until the task has ended
(revisions 2.13). What is not heard of again is forgotten when there are too many.
"""

from dragoman.exchange.events import Call
from dragoman.wire.members import Members, object_in, text_of

MOST = 256
ENDED = frozenset({"cancelled", "completed", "failed"})


class Tasks:
    """`of_client` tells that the client works on tasks for the server, `of_server` that the server does for the client;
    both are of the revision that has them then."""

    def __init__(self, of_client: bool = False, of_server: bool = False) -> None:
        self.of_client = of_client
        self.of_server = of_server
        self._by_token: dict[bytes, tuple[str, Call]] = {}

    def begin(self, token: bytes, result: Members, call: Call) -> None:
        """A call has its answer; if that is a task, its progress is still to come under that token."""
        task = object_in(result.get("task"))
        id = text_of(task.get("taskId")) if task is not None else None
        if id is not None:
            if len(self._by_token) >= MOST:
                del self._by_token[next(iter(self._by_token))]
            self._by_token[token] = id, call

    def of(self, token: bytes) -> Call | None:
        """The call whose task this progress is about."""
        found = self._by_token.get(token)
        return found[1] if found is not None else None

    def status(self, params: Members) -> None:
        """A task has another status."""
        if text_of(params.get("status")) in ENDED:
            id = text_of(params.get("taskId"))
            self._by_token = {token: kept for token, kept in self._by_token.items() if kept[0] != id}
