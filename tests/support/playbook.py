"""Dialogues as text.

    == what happens (RULE-01, RULE-02)
    given revision=2025-11-25 client={"roots":{}} server={"tools":{}} profile=vscode limits={"rounds":2} stream
    C  {"id":7,"method":"tools/call","params":{"name":"t"}}      the client says; C+ joins it to the next one's read
    >S {"id":"$1","method":"tools/call","params":"…"}            the bridge writes this to the server, next
    S  {"id":"$1","result":{…}}                                  the server says
    >C {"id":7,"result":{"content":[]}}                          the bridge writes this to the client, next
    @  3600.1                                                    time passes, in seconds
    N  warning text                                              the log has a line with this text by now
    !  server dies | client leaves | spawn fails | spawn works   what happens outside the pipes
    !  server forgets                                            a new session took the place of the one there was
    !  $1 fails with 404                                         the request has this HTTP status, and no answer
    !  a sign-in of 300 s begins | the sign-in needs a page      somebody signs in to the server
    !  the sign-in succeeds | the sign-in fails                  and that is over
    !  a token was renewed                                       it was no sign-in that was waited for
    =  state ready | starts 1 | stops 0 | open 0 | asked 0       what is true now

Each input line must cause just the `>` lines that follow it, per side in order. `"…"` matches anything; the member
`"…"` allows further members; `"$name"` binds what it meets first and must meet the same again. `data.hint` of an error
is left out. A line `raw TEXT` in place of an object is sent as it stands, and `S  of $1 {…}` is said in the response of
that request. `given raw` leaves the handshake out, `stream` opens and acknowledges the stream of changes as well. With
`server_revision=` the server is one with a handshake that picks this revision, and `settled` has the client say that it
is ready. With `probe` the bridge is not told of which era the server is; it takes `raw`. With `modern` the client is
one without a handshake, and the `_meta` of its requests is put in here; with `undecided` too, it may still begin a
handshake.
"""

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from dragoman.limits import Limits, Timeouts
from support.dialogue import Dialogue

ANY = "…"
Object = dict[str, Any]


@dataclass
class Scene:
    title: str
    place: str
    given: str = ""
    lines: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])

    def __str__(self) -> str:
        return self.title


def scenes(path: Path) -> list[Scene]:
    """The scenes of one file, in order."""
    found: list[Scene] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("--"):
            continue
        if text.startswith("== "):
            found.append(Scene(text[3:], f"{path.name}:{number}"))
        elif text.startswith("given"):
            found[-1].given = text[5:].strip()
        else:
            mark, _, rest = text.partition(" ")
            assert mark in ("C", "C+", "S", ">C", ">S", "@", "N", "!", "="), f"{path.name}:{number}: {mark}"
            found[-1].lines.append((number, mark, rest.strip()))
    return found


def play(scene: Scene) -> None:
    """Play a scene on real machines.

    Raises:
        AssertionError: something else happened, with the line of the playbook at which it did.
    """
    dialogue = begin(scene.given)
    bound: dict[str, Any] = {}
    sides = {">C": dialogue.to_client, ">S": dialogue.to_server}
    joined: list[Any] = []
    for number, mark, text in scene.lines:
        where = f"{scene.place.partition(':')[0]}:{number}"
        if mark in sides:
            written = sides[mark]
            assert written, f"{where}: nothing was written, expected {text}"
            expected = object_of(text)
            actual = written.pop(0)
            actual = _without_hint({name: value for name, value in actual.items() if name != "jsonrpc"})
            assert matches(expected, actual, bound), f"{where}: expected {text}\n  but got {json.dumps(actual)}"
        elif mark == "N":
            assert text in dialogue.notes.texts(), f"{where}: no such line in\n{dialogue.notes.texts()}"
        elif mark == "=":
            _check(dialogue, text, where)
        else:
            left = {side: list(written) for side, written in sides.items() if written}
            assert not left, f"{where}: before this, there was also {json.dumps(left)}"
            if mark == "C+":
                joined.append(said(text, bound))
            elif mark == "C":
                dialogue.client(*joined, said(text, bound))
                joined = []
            elif mark == "S":
                lane = re.match(r"of (\$\S+) ", text)
                spoken = text if lane is None else text[lane.end() :]
                dialogue.server(said(spoken, bound), of=None if lane is None else bound[lane[1]])
            elif mark == "@":
                dialogue.wait(float(text))
            else:
                happen(dialogue, text, bound)
    left = {side: list(written) for side, written in sides.items() if written}
    assert not left, f"{scene.place}: at the end, there was also {json.dumps(left)}"


def begin(given: str, kind: type[Dialogue] = Dialogue) -> Dialogue:
    """The dialogue that a scene is given, of that kind."""
    options: dict[str, Any] = {}
    for name, value in re.findall(r"(\w+)(?:=(\{.*?\}(?= \w+=| \w+$|$)|\S+))?", given):
        options[name] = _value(value)
    limits = options.get("limits", {})
    times = {name: limits.pop(name) for name in list(limits) if hasattr(Timeouts(), name)}
    server_revision = options.get("server_revision")
    probes = "probe" in options
    assert not probes or "raw" in options
    peers: dict[str, Any] = {"server_revision": server_revision, "probes": probes}
    if "modern" in options:
        peers["declares"] = options.get("client", {})
        peers["is_undecided"] = "undecided" in options
    dialogue = kind(
        options.get("profile", "neutral"),
        replace(Limits(), timeouts=replace(Timeouts(), **times), **limits),
        **peers,
    )
    changes = {
        name: options[name]
        for name in ("allow_downgrade", "allow_reencode", "progress_rate", "merge_pages")
        if name in options
    }
    quirks = {name: True for name in ("restore_resource_not_found", "keep_error_codes") if name in options}
    if quirks:
        changes["quirks"] = replace(dialogue.profile.quirks, **quirks)
    if changes:
        changed = replace(dialogue.profile, **changes)
        dialogue = kind(changed, dialogue.limits, **peers)
    if "raw" not in options:
        stream = "stream" in options
        dialogue.open(
            options.get("revision", "2025-11-25"),
            options.get("client"),
            options.get("server"),
            initialized=stream or "settled" in options,
            acknowledge=stream,
        )
    dialogue.notes.lines.clear()
    return dialogue


def _value(text: str) -> Any:
    if not text:
        return True
    try:
        return json.loads(text)
    except ValueError:
        return text


def object_of(text: str) -> Any:
    """What a line of a playbook expects."""
    return json.loads(re.sub(r"(?<![\"\w])…(?![\"\w])", '"…":0', text) if '"…"' not in text else text)


def said(text: str, bound: dict[str, Any]) -> Any:
    """What a line of a playbook says, with names in their places."""
    if text.startswith("raw "):
        return text[4:].encode()
    return _filled(json.loads(text), bound)


def _filled(value: Any, bound: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(item, bound) for name, item in cast("Object", value).items()}
    if isinstance(value, list):
        return [_filled(item, bound) for item in cast("list[Any]", value)]
    if isinstance(value, str) and value.startswith("$"):
        return bound[value]
    return value


def _without_hint(frame: Object) -> Object:
    """An error of the bridge without the pointer to its log, which `test_faults` looks at."""
    error = frame.get("error")
    if not isinstance(error, dict) or not isinstance(data := cast("Object", error).get("data"), dict):
        return frame
    kept = {name: value for name, value in cast("Object", data).items() if name != "hint"}
    return {**frame, "error": {**cast("Object", error), "data": kept}}


def matches(expected: Any, actual: Any, bound: dict[str, Any]) -> bool:
    """Whether a frame is as expected; names are bound to what they meet first."""
    if expected == ANY:
        return True
    if isinstance(expected, str) and expected.startswith("$"):
        return bound.setdefault(expected, actual) == actual
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return False
        expected, actual = cast("Object", expected), cast("Object", actual)
        named = {name: value for name, value in expected.items() if name != ANY}
        if ANY not in expected and set(named) != set(actual):
            return False
        return all(name in actual and matches(value, actual[name], bound) for name, value in named.items())
    if isinstance(expected, list):
        if not isinstance(actual, list):
            return False
        items, others = cast("list[Any]", expected), cast("list[Any]", actual)
        pairs = zip(items, others, strict=False)
        return len(items) == len(others) and all(matches(one, other, bound) for one, other in pairs)
    return type(expected) is type(actual) and expected == actual


def _check(dialogue: Dialogue, text: str, where: str) -> None:
    what, _, value = text.partition(" ")
    facts = {
        "state": dialogue.front.state.name.lower() if dialogue.declares is None else "ready",
        "starts": str(dialogue.starts),
        "stops": str(dialogue.stops),
        "open": str(len(dialogue.mediator.inflight) + dialogue.open_questions),
        "asked": str(len(dialogue.mediator.inquiries)),
    }
    assert facts[what] == value, f"{where}: {what} is {facts[what]}"


def happen(dialogue: Dialogue, what: str, bound: dict[str, Any]) -> None:
    """Have something happen outside the pipes."""
    if " fails with " in what:
        name, _, status = what.partition(" fails with ")
        dialogue.fails(bound[name] if name.startswith("$") else int(name), int(status))
    elif what == "server dies":
        dialogue.server_dies()
    elif what == "server forgets":
        dialogue.server_forgets()
    elif what.startswith("a sign-in of "):
        dialogue.sign_in_begins(float(what.removeprefix("a sign-in of ").removesuffix(" s begins")))
    elif what == "a token was renewed":
        dialogue.token_came()
    elif what in ("the sign-in succeeds", "the sign-in fails"):
        dialogue.sign_in_ends(what == "the sign-in succeeds")
    elif what == "the sign-in needs a page":
        dialogue.page_wanted()
    elif what == "client leaves":
        dialogue.client_leaves()
    else:
        assert what in ("spawn fails", "spawn works"), what
        dialogue.spawn_fails = what == "spawn fails"
