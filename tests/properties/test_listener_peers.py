"""A listener with clients and a server that do what they want, in any order.

Every call is marked, and the server answers with the mark. Each request gets exactly one answer, or was taken back, or
its client left; a mark shows on its own exchange only; at the end no table remembers anything.
"""

import asyncio
import json
import re
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dragoman.limits import Reception
from support.listener import Clock, Listener, Response, Server, call, elapse, modern, notice, request, settle
from support.listener import initialize as hello
from support.proofs import proves

pytestmark = pytest.mark.timeout(110)

MARK = re.compile(r"#\d+#")
REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25")
ids = st.sampled_from([0, 1, "1", "a"])
places = st.integers(0, 1000)


@dataclass
class Asked:
    """What a client asked in one message, and where the answers may come."""

    marks: set[str]
    ids: list[Any]
    session: str | None
    responses: list[Response]
    may_lack: bool = False  # it was taken back, or its client went away

    def answers(self, response: Response) -> int:
        found = [message for message in response.messages if "method" not in message]
        assert all(message["id"] in self.ids for message in found)
        return len(found)

    def check(self) -> None:
        """Nothing is answered twice on one connection, and nothing with another's mark."""
        for response in self.responses:
            assert set(MARK.findall(json.dumps(response.messages))) <= self.marks
            assert self.answers(response) <= len(self.ids)

    def check_end(self) -> None:
        """Everything was answered."""
        assert self.may_lack or sum(self.answers(response) for response in self.responses) >= len(self.ids)


@dataclass
class Client:
    session: str
    revision: str
    stream: Response | None = None  # of a client of HTTP+SSE
    asked: list[Asked] = field(default_factory=list[Asked])


@proves("QA-06", "B29", "B41", "B133", "THTTP-04", "SDKCXL-03", "CANC-09")
class Clients(RuleBasedStateMachine):
    @initialize(kept=st.sampled_from([200, 1 << 20]), finishes=st.booleans())
    def begin(self, kept: int, finishes: bool) -> None:
        self.finishes = finishes  # else everything is still open when all clients go away
        self.loop = Clock()
        self.marks = 0
        self.asked: list[Asked] = []
        self.clients: list[Client] = []
        self.streams: list[tuple[str, Response]] = []
        self.answered: set[str] = set()
        self.do(self._begin(kept))

    async def _begin(self, kept: int) -> None:
        self.listener = Listener(Server(tools={"listChanged": True}), Reception(kept=kept, resume=60, abandon=5))
        self.server = self.listener.server

    def do(self, what: Coroutine[Any, Any, Any]) -> Any:
        asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(what)

    # ------------------------------------------------------------------ clients

    @rule(revision=st.sampled_from(REVISIONS), listens=st.booleans())
    def open(self, revision: str, listens: bool) -> None:
        if self.server.may_end is not None or len(self.clients) > 5:
            return
        client = Client(self.do(self.listener.open(revision)), revision)
        if listens:
            self.streams.append((client.session, self.do(self.listener.get(client.session))))
        self.clients.append(client)

    @rule()
    def open_sse(self) -> None:
        if self.server.may_end is not None or len(self.clients) > 5:
            return
        stream = self.do(self.listener.get())
        session = next(reversed(self.listener.endpoint.directory.sessions))
        client = Client(session, "2024-11-05", stream, [Asked(set(), [], session, [stream])])
        self._post_to(client, hello("2024-11-05", id="hello"))
        self._post_to(client, notice("initialized"))
        self.clients.append(client)
        self.asked += client.asked

    def _post_to(self, client: Client, message: Any) -> None:
        assert self.do(self.listener.post_to(client.session, message)).status == 202
        if "id" in message:
            client.asked[0].ids.append(message["id"])

    @rule(id=ids, progress=st.booleans(), events=st.booleans())
    def ask_alone(self, id: Any, progress: bool, events: bool) -> None:
        message = modern(call(id, "slow", self._mark()), **({"progressToken": id} if progress else {}))
        self._ask(message, None, None, events)

    @rule(id=ids, place=places, progress=st.booleans(), events=st.booleans())
    @precondition(lambda self: self.clients)
    def ask(self, id: Any, place: int, progress: bool, events: bool) -> None:
        message = call(id, "slow", self._mark())
        if progress:
            message["params"]["_meta"] = {"progressToken": id}
        client = self.clients[place % len(self.clients)]
        if client.stream is not None:
            client.asked[0].marks.add(message["params"]["arguments"]["text"])
            self._post_to(client, message)
        elif client.revision == "2025-03-26" and place % 3 == 0:
            self._ask([message, call("other", "slow", self._mark())], client, client.session, events)
        else:
            self._ask(message, client, client.session, events)

    def _ask(self, message: Any, client: Client | None, session: str | None, events: bool) -> None:
        headers = {} if events else {"accept": "application/json"}
        response = self.do(self.listener.post(message, session, **headers))
        batch = cast("list[Any]", message) if isinstance(message, list) else [message]
        marks = {each["params"]["arguments"]["text"] for each in batch}
        one = Asked(marks, [each["id"] for each in batch], session, [response])
        self.asked.append(one)
        if client is not None:
            client.asked.append(one)

    @rule(place=places)
    @precondition(lambda self: self.clients)
    def ping(self, place: int) -> None:
        client = self.clients[place % len(self.clients)]
        if client.stream is not None:
            self._post_to(client, request("p", "ping"))
            return
        response = self.do(self.listener.post(request("p", "ping"), client.session))
        assert [message["result"] for message in response.messages] == [{}]

    @rule(id=ids, place=places)
    @precondition(lambda self: self.clients)
    def cancel(self, id: Any, place: int) -> None:
        client = self.clients[place % len(self.clients)]
        for one in client.asked:
            one.may_lack |= id in one.ids
        if client.stream is not None:
            self._post_to(client, notice("cancelled", requestId=id))
        else:
            self.do(self.listener.post(notice("cancelled", requestId=id), client.session))

    @rule(place=places)
    @precondition(lambda self: self.asked)
    def hang_up(self, place: int) -> None:
        one = self.asked[place % len(self.asked)]
        one.may_lack |= not one.responses[-1].is_over
        one.responses[-1].hang_up()
        self.do(settle())
        self.clients = [
            client for client in self.clients if client.session in self.listener.endpoint.directory.sessions
        ]

    @rule(place=places)
    @precondition(lambda self: self.asked)
    def resume(self, place: int) -> None:
        one = self.asked[place % len(self.asked)]
        if one.session in self.listener.endpoint.directory.sessions and one.responses[-1].ids:
            again = self.do(self.listener.get(one.session, last_event_id=one.responses[-1].ids[-1]))
            one.responses.append(again)

    @rule(place=places)
    @precondition(lambda self: self.clients)
    def leave(self, place: int) -> None:
        client = self.clients.pop(place % len(self.clients))
        for one in client.asked:
            one.may_lack = True
        if client.stream is not None:
            client.stream.hang_up()
            self.do(settle())
            return
        assert self.do(self.listener.delete(client.session)).status == 204

    @rule(seconds=st.sampled_from([0.3, 1.5, 10, 70]))
    def wait(self, seconds: float) -> None:
        self.do(elapse(seconds))

    # ------------------------------------------------------------------ the server

    @rule(place=places, what=st.sampled_from(["text", "text", "error", "progress", "broken", "twice"]))
    def say(self, place: int, what: str) -> None:
        waiting = [frame for frame in self.server.heard("tools/call") if frame["id"] not in self.answered]
        if not waiting or not self.server.running or self.server.may_end is not None:
            return
        frame = waiting[place % len(waiting)]
        mark = frame["params"]["arguments"]["text"]
        meta = frame["params"]["_meta"]
        result = {"resultType": "complete", "content": [{"type": "text", "text": mark}]}
        text = {"jsonrpc": "2.0", "id": frame["id"], "result": result}
        if what == "progress":
            if "progressToken" in meta:
                self._say(notice("progress", progressToken=meta["progressToken"], progress=1, message=mark))
            return
        self.answered.add(frame["id"])
        if what == "error":
            self._say({"jsonrpc": "2.0", "id": frame["id"], "error": {"code": -1, "message": mark}})
        elif what == "broken":
            self._say(b'{"jsonrpc":"2.0","id":"%b","result":{"%b' % (frame["id"].encode(), mark.encode()))
        elif what == "twice":
            self._say(text, text)
        else:
            self._say(text)

    def _say(self, *frames: Any) -> None:
        async def say() -> None:
            self.server.say(*frames)
            await settle()

        self.do(say())

    @rule(lingers=st.booleans())
    @precondition(lambda self: self.server.running and self.server.may_end is None)
    def die(self, lingers: bool) -> None:
        self.answered |= {frame["id"] for frame in self.server.heard("tools/call")}
        self.server.may_end = asyncio.Event() if lingers else None

        async def die() -> None:
            self.server.die()
            await settle()

        self.do(die())

    @rule()
    @precondition(lambda self: self.server.may_end is not None)
    def has_ended(self) -> None:
        self.server.may_end.set()  # pyright: ignore[reportOptionalMemberAccess]
        self.server.may_end = None
        self.do(settle())

    # ------------------------------------------------------------------ what must hold

    def _mark(self) -> str:
        self.marks += 1
        return f"#{self.marks}#"

    @invariant()
    def marks_are_where_they_belong(self) -> None:
        for one in self.asked:
            one.check()
        for session, stream in self.streams:
            own = {mark for one in self.asked if one.session == session for mark in one.marks}
            assert set(MARK.findall(json.dumps(stream.messages))) <= own  # a POST may take nothing but its answer
            assert all("method" in message for message in stream.messages)

    def teardown(self) -> None:
        if not hasattr(self, "listener"):
            return
        try:
            self.do(self._end())
        finally:
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.do(settle())
            self.loop.close()

    async def _end(self) -> None:
        if self.server.may_end is not None:
            self.server.may_end.set()
            self.server.may_end = None
        await settle()
        if self.finishes:
            for frame in self.server.heard("tools/call"):
                if frame["id"] not in self.answered:
                    self.server.text(frame, frame["params"]["arguments"]["text"])
            await settle()
            for one in self.asked:
                one.check_end()
        for one in self.asked:
            for response in one.responses:
                response.hang_up()
        await elapse(61)
        await elapse(61)
        left = {frame["id"] for frame in self.server.heard("tools/call")} - self.answered
        assert self.finishes or left <= set(self.server.cancelled)
        self.listener.assert_idle()
        endpoint: Any = self.listener.endpoint
        for session in endpoint.directory.sessions.values():
            assert not session.streams
            assert not session._orphans
            assert not session.back._rounds
        stateless = endpoint._stateless
        assert stateless is None or not stateless.back._rounds
        assert len(endpoint._shared._trunk._parties) == len(endpoint.directory.sessions) + (stateless is not None)
        await self.listener.close()


Clients.TestCase.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestClients = Clients.TestCase


def test_a_handshake_and_a_call_can_be_played_by_hand() -> None:
    """The machine above is right about the simplest case."""
    play = Clients()
    play.begin(1 << 20, finishes=True)
    play.open("2025-11-25", listens=True)
    play.ask(1, 0, progress=True, events=True)
    play.say(0, "progress")
    play.say(0, "text")
    assert play.asked[0].answers(play.asked[0].responses[0]) == 1
    play.teardown()
