"""One conversation with mutations, played on the real machines, and what must be true of it all the same.

* What leaves is one line of strict JSON, and a message of JSON-RPC. It is one of its receiver's schema, too, as long as
  the peers' own messages were: what no rule touches leaves as it came, so a wrong value that is only passed on stays
  wrong, and nothing else does.
* No id is answered more often than it was asked, and in the end each request has its answer, unless it was cancelled.
* No id of ours is used twice towards one process of the server.
* Nothing is raised, and nothing stays open when the server is gone.
"""

import json
import random
from collections import Counter
from typing import Any, cast

from dragoman.fronts.legacy import Legacy
from fuzz.conversations import Step, corpus
from fuzz.mutation import RUBBISH, mutated
from support import official
from support.dialogue import MODERN, Dialogue
from support.playbook import begin, happen, matches, object_of, said

Json = dict[str, Any]

END = 200_000.0  # seconds after which every time limit is over
DEPTH = 60  # brackets; a line with more may be nested too deep
RATE = 0.25  # of the messages that are mutated


def _strict(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def strict(line: bytes) -> Any:
    """The value of a line.

    Raises:
        ValueError: it is no valid JSON text of UTF-8.
    """
    return json.loads(line.decode(), parse_constant=_strict)


def plain(line: bytes) -> Any:
    """The value of a line in which nothing is said twice.

    Raises:
        ValueError: it is no valid JSON text of UTF-8, or ambiguous.
    """
    return json.loads(line.decode(), parse_constant=_strict, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> Json:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name occurs twice")
    return dict(pairs)


def _check_line(line: bytes) -> None:
    assert b"\n" not in line
    strict(line)


def check_envelope(frame: Json) -> None:
    """
    Raises:
        AssertionError: `frame` is no message of JSON-RPC as MCP has it.
    """
    assert frame["jsonrpc"] == "2.0"
    if "id" in frame:
        is_id = isinstance(frame["id"], str) or type(frame["id"]) is int
        assert is_id or (frame["id"] is None and "error" in frame)
    if "method" in frame:
        assert isinstance(frame["method"], str)
        assert isinstance(frame.get("params", {}), dict)
        assert not {"result", "error"} & set(frame)
        return
    assert "id" in frame
    assert ("result" in frame) != ("error" in frame)
    if "error" in frame:
        assert type(frame["error"]["code"]) is int
        assert isinstance(frame["error"]["message"], str)
    else:
        assert isinstance(frame["result"], dict)


class Fuzzed(Dialogue):
    """A dialogue that keeps account of what was asked and answered, and expects nothing of its peers."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.transcript: list[str] = []
        self.clean: Counter[str] = Counter()  # requests of the client, by their id as text
        self.dirty: list[bytes] = []  # its lines that may be requests, or none
        self.answered: Counter[str] = Counter()
        self.cancelled: set[str] = set()
        self.ids: set[tuple[int, str]] = set()  # those of ours, with the number of the server's process
        self.are_peers_valid = True
        self._methods: dict[str, list[str]] = {}
        self._asked_of_server: Json = {}  # methods by the id as text
        self._asked_of_client: Json = {}

    # ------------------------------------------------------------------ speaking

    def client(self, *frames: Any, at: float | None = None) -> "Fuzzed":
        lines = [frame if isinstance(frame, bytes) else self._text(self._declaring(frame)) for frame in frames]
        for line in lines:
            self.transcript.append(f"C  {line[:2000]!r}")
            self._note(line)
        self._front.receive(list(lines), self.now)
        return self._settled()

    def server(self, *frames: Any, at: float | None = None, of: Any = None) -> "Fuzzed":
        for frame in frames:
            line = frame if isinstance(frame, bytes) else self._text(frame)
            self.transcript.append(f"S  {line[:2000]!r}")
            self._judge(line, self._agreed, self._asked_of_server)
            if not self.running:
                continue  # nobody is there who could say it
            self._back.receive(line, self.now, None if of is None else json.dumps(of).encode())
            self._settled()
        return self

    def _text(self, frame: Any) -> bytes:
        line = self._line(frame)
        assert isinstance(line, bytes)
        return line

    def _settled(self) -> "Fuzzed":
        self._settle()
        return self

    # ------------------------------------------------------------------ what was asked

    def _note(self, line: bytes) -> None:
        try:
            message = plain(line)
        except (ValueError, RecursionError):
            self.dirty.append(line)
            self.are_peers_valid = False
            return
        self._judge(line, self._revision, self._asked_of_client)
        if not isinstance(message, dict) or line.count(b"[") + line.count(b"{") > DEPTH:
            self.dirty.append(line)
            return
        request = cast("Json", message)
        id, method = request.get("id"), request.get("method")
        if not isinstance(method, str) or request.get("jsonrpc") != "2.0" or {"result", "error"} & set(request):
            self.dirty.append(line)
        elif method == "notifications/cancelled" and "id" not in request:
            params = request.get("params")
            if isinstance(params, dict) and "requestId" in params:
                self.cancelled.add(json.dumps(cast("Json", params)["requestId"]))
        elif isinstance(id, str) or (isinstance(id, int) and not isinstance(id, bool)):
            self.clean[json.dumps(id)] += 1
            self._methods.setdefault(json.dumps(id), []).append(method)
        elif "id" in request:
            self.dirty.append(line)

    def _judge(self, line: bytes, revision: str, asked: Json) -> None:
        """Whether a peer's line is one of its own schema; `asked` has the methods of what it may answer."""
        if not self.are_peers_valid:
            return
        try:
            message = plain(line)
            assert not {"result", "error"} <= set(message)
            if "method" in message:
                official.check_frame(revision, message)
            elif (method := asked.get(json.dumps(message["id"]))) is not None:
                official.check_frame(revision, message, method)
        except (AssertionError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.are_peers_valid = False

    # ------------------------------------------------------------------ what left

    def _check_for_server(self, frame: Json) -> None:
        self.transcript.append(f">S {json.dumps(frame)[:2000]}")
        _check_line(self.raw_to_server[-1])
        if "method" in frame and "id" in frame:
            key = (self.starts, json.dumps(frame["id"]))
            assert key not in self.ids, f"the id {key[1]} is used twice"
            self.ids.add(key)
            self._asked_of_server[key[1]] = frame["method"]
        if frame.get("method") == "initialize":
            self._agreed = frame["params"]["protocolVersion"]
        elif frame.get("method") == "server/discover":
            self._agreed = MODERN
        elif self.server_revision is not None and self._agreed != MODERN:
            self._agreed = self.server_revision
        self._check_frame(self._agreed, frame, "ping" if "method" not in frame else None)

    def _check_for_client(self, frame: Json) -> None:
        self.transcript.append(f">C {json.dumps(frame)[:2000]}")
        _check_line(self.raw_to_client[-1])
        answers = None
        if "method" in frame and "id" in frame:
            self._asked_of_client[json.dumps(frame["id"])] = frame["method"]
        elif "method" not in frame:
            key = json.dumps(frame["id"])
            self.answered[key] += 1
            if key != "null":
                allowed = self.clean[key] + sum(self._may_mean(line, frame["id"]) for line in self.dirty)
                assert self.answered[key] <= allowed, f"the id {key} is answered {self.answered[key]} times"
            else:
                most = sum(1 + line.count(b"jsonrpc") for line in self.dirty)  # one each, of a batch one for each entry
                assert self.answered[key] <= most, "more errors without an id than lines that are none"
            methods = self._methods.get(key, [])
            answers = methods.pop(0) if len(methods) == 1 else None
        if answers == "initialize" and "result" in frame:
            self._revision = frame["result"]["protocolVersion"]
        self._check_frame(self._revision, frame, answers)

    def _check_frame(self, revision: str, frame: Json, answers: str | None) -> None:
        check_envelope(frame)
        if self.are_peers_valid and not self.keeps_structure and ("method" in frame or answers in official.RESULTS):
            official.check_frame(revision, frame, answers)

    @staticmethod
    def _may_mean(line: bytes, id: Any) -> int:
        """How many requests with this id a line that is none may have been read as."""
        text = id if isinstance(id, str) else json.dumps(id)
        if b"\\" in line or not text.isascii():
            return 1 + line.count(b"jsonrpc")
        return line.count(text.encode())

    # ------------------------------------------------------------------ the end

    def check_end(self) -> None:
        """The server goes, all time passes, and nothing is left open."""
        if self.running:
            self.server_dies()
        self.wait(END)
        for key, count in self.clean.items():
            if key in self.cancelled or any(self._may_mean(line, json.loads(key)) for line in self.dirty):
                continue
            assert self.answered[key] == count, f"the id {key}: {count} requests, {self.answered[key]} answers"
        assert not len(self.mediator.inflight), "requests stay open"
        assert not len(self.mediator.inquiries), "questions of the server stay open"
        front = getattr(self._front, "front", self._front)
        assert not isinstance(front, Legacy) or not len(front.asking), "questions to the client stay open"


def play(rng: random.Random) -> tuple[str, Fuzzed]:
    """Play one conversation of the corpus with mutations; gives its title and what was said.

    Raises:
        Broken: something is not as it must be.
    """
    scene, steps = rng.choice(corpus())
    dialogue = begin(scene.given, Fuzzed)
    assert isinstance(dialogue, Fuzzed)
    try:
        _play(rng, dialogue, _reordered(rng, steps))
        dialogue.check_end()
    except Exception as error:
        raise Broken(scene.title, dialogue.transcript) from error
    return scene.title, dialogue


class Broken(Exception):
    def __init__(self, title: str, transcript: list[str]) -> None:
        super().__init__("\n".join((title, *transcript[-60:])))


def _reordered(rng: random.Random, steps: tuple[Step, ...]) -> list[Step]:
    """The steps, of which some are left out, said twice or later, or followed by something else."""
    found = list(steps)
    for _ in range(rng.choice((0, 0, 1, 2))):
        if not found:
            break
        at = rng.randrange(len(found))
        what = rng.randrange(5)
        if what == 0:
            del found[at]
        elif what == 1:
            found.insert(at, found[at])
        elif what == 2:
            found.insert(rng.randrange(len(found)), found.pop(at))
        elif what == 3:
            found.insert(at, Step(rng.choice(("rubbish C", "rubbish S")), ""))
        else:
            found.insert(at, Step("@", rng.choice(("0.01", "0.3", "5.1", "61", "3700"))))
    return found


def _play(rng: random.Random, dialogue: Fuzzed, steps: list[Step]) -> None:
    bound: dict[str, Any] = {}
    sides = {">C": dialogue.to_client, ">S": dialogue.to_server}
    for step in steps:
        if step.mark in sides:
            _bind(step.text, sides[step.mark], bound)
        elif step.mark == "@":
            dialogue.transcript.append(f"@  {step.text}")
            dialogue.wait(float(step.text))
        elif step.mark == "!":
            dialogue.transcript.append(f"!  {step.text}")
            _happen(dialogue, step.text, bound)
        elif step.mark.startswith("rubbish"):
            (dialogue.client if step.mark.endswith("C") else dialogue.server)(rng.choice(RUBBISH))
        elif step.mark in ("C", "C+"):
            dialogue.client(_spoken(rng, step.text, bound, dialogue))
        elif step.mark == "S":
            text = step.text.partition("} ")[2] if step.text.startswith("of ") and "} " in step.text else step.text
            if text.startswith("of "):
                text = text.split(" ", 2)[2]
            dialogue.server(_spoken(rng, text, bound, None))


def _spoken(rng: random.Random, text: str, bound: dict[str, Any], client: Fuzzed | None) -> Any:
    try:
        frame = said(text, bound)
    except KeyError:  # a name that was never bound, as what it stands for did not happen
        frame = json.loads(text.replace('"$', '"'))
    if not isinstance(frame, dict) or rng.random() >= RATE:
        return cast("Any", frame)
    whole: Json = {"jsonrpc": "2.0", **cast("Json", client._declaring(frame) if client is not None else frame)}  # pyright: ignore[reportPrivateUsage]
    return mutated(rng, whole)


def _bind(text: str, written: list[Any], bound: dict[str, Any]) -> None:
    """Bind the names of what was expected, if anything that was written is like it."""
    expected = object_of(text)
    for frame in written:
        trial = dict(bound)
        if matches(expected, {name: value for name, value in frame.items() if name != "jsonrpc"}, trial):
            bound.update(trial)
            return
    for frame in written:
        if frame.get("method") == expected.get("method") and "id" in frame and isinstance(expected.get("id"), str):
            bound.setdefault(expected["id"], frame["id"])


def _happen(dialogue: Fuzzed, what: str, bound: dict[str, Any]) -> None:
    if what == "client leaves":
        return  # then nothing is owed to it
    if what == "server dies" and not dialogue.running:
        return
    try:
        happen(dialogue, what, bound)
    except (KeyError, AssertionError):
        return  # it speaks of something that did not come to be
