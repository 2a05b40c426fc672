"""Laws of lowering, over random payloads and every pair of revisions.

Payloads are made for a revision: with what it has, and with some members of nobody's. They are written with odd spacing
and odd numbers, since bytes that no rule touches must come out as they went in.
"""

import json
from itertools import pairwise, permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.revisions import HANDSHAKE, LATEST, ORDER, Revision
from dragoman.revisions.plan import Loss, Part, Policy, Refusal, lowering
from dragoman.revisions.rows import ROWS
from dragoman.wire.members import Members, closed, opened
from support import official
from support.proofs import proves

Json = dict[str, Any]
Payload = tuple[str, Part, Json]

SAMPLING, ELICITATION, ROOTS = "sampling/createMessage", "elicitation/create", "roots/list"

words = st.sampled_from(["a", "é", '"audio"', "type", "outputSchema", "line\nline", "\U0001f600", "true"])
scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), words, st.just(1.0), st.just(1e22))
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2))
others = st.dictionaries(st.sampled_from(["x", "vendor/y"]), values, max_size=2)
objects = st.dictionaries(words, values, max_size=2)


def members(required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    fixed = st.fixed_dictionaries(required, optional=optional)
    return st.tuples(fixed, others).map(lambda both: both[1] | both[0])


text_blocks = members({"type": st.just("text"), "text": words})


def blocks(revision: Revision) -> st.SearchStrategy[Json]:
    kinds = [
        text_blocks,
        members({"type": st.just("image"), "data": st.just("aQ=="), "mimeType": st.just("image/png")}),
    ]
    if revision.place >= 1:
        kinds.append(members({"type": st.just("audio"), "data": st.just("aQ=="), "mimeType": st.just("audio/wav")}))
    if revision.place >= 2:
        kinds.append(
            members({"type": st.just("resource_link"), "uri": st.just("file:///a"), "name": words}, title=words)
        )
    return st.one_of(kinds)


def schemas(revision: Revision, root: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    part = objects | st.booleans() if revision is LATEST else objects
    return members(
        {"type": root}, properties=st.dictionaries(words, part, max_size=2), additionalProperties=st.booleans()
    )


def structures(revision: Revision) -> st.SearchStrategy[Any]:
    return values if revision is LATEST else objects


def call_results(revision: Revision) -> st.SearchStrategy[Json]:
    content = st.lists(blocks(revision), max_size=3)
    plain = members({"content": content}, isError=st.booleans(), _meta=others)
    if revision.place < 2:
        return plain
    return plain | members({"content": content, "structuredContent": structures(revision)})


def tools(revision: Revision) -> st.SearchStrategy[Json]:
    optional: dict[str, st.SearchStrategy[Any]] = {"description": words}
    if revision.place >= 1:
        optional["annotations"] = st.just({"readOnlyHint": True})
    if revision.place >= 2:
        root = st.sampled_from(["object", "array"]) if revision is LATEST else st.just("object")
        optional |= {"title": words, "outputSchema": schemas(revision, root)}
    if revision.place == 3:
        optional["execution"] = st.just({"taskSupport": "optional"})
    return members({"name": words, "inputSchema": schemas(revision, st.just("object"))}, **optional)


def results(revision: Revision) -> st.SearchStrategy[Payload]:
    messages = st.lists(members({"role": st.just("user"), "content": blocks(revision)}), max_size=2)
    made = {
        "tools/call": call_results(revision),
        "tools/list": members({"tools": st.lists(tools(revision), max_size=3)}, nextCursor=words),
        "prompts/get": members({"messages": messages}, description=words),
        "prompts/list": members({"prompts": st.lists(members({"name": words}), max_size=2)}, nextCursor=words),
        "completion/complete": members({"completion": st.fixed_dictionaries({"values": st.lists(words, max_size=3)})}),
        "vendor/method": others,
    }
    return st.one_of([found.map(lambda made, name=name: (name, Part.RESULT, made)) for name, found in made.items()])


def answers(revision: Revision) -> st.SearchStrategy[Payload]:
    said = blocks(revision).filter(lambda block: block["type"] != "resource_link")
    content = said | st.lists(said, max_size=2) if revision.place >= 3 else said
    sampled = members({"role": st.just("assistant"), "model": words, "content": content}, _meta=objects)
    fields = st.dictionaries(words, st.lists(words, max_size=1) | words if revision.place >= 3 else words, max_size=2)
    filled = members({"action": st.just("accept"), "content": fields}, _meta=objects)
    roots = members({"roots": st.lists(members({"uri": st.just("file:///a")}), max_size=2)})
    made = {SAMPLING: sampled, ROOTS: roots} | ({ELICITATION: filled} if revision.place >= 2 else {})
    return st.one_of([found.map(lambda made, name=name: (name, Part.RESULT, made)) for name, found in made.items()])


def params(revision: Revision) -> st.SearchStrategy[Payload]:
    choices = st.just({"type": "string", "oneOf": [{"const": "x", "title": "X"}]})
    several = st.just({"type": "array", "items": {"type": "string", "enum": ["x"]}})
    field = st.one_of([st.just({"type": "string"}), *([choices, several] if revision.place >= 3 else [])])
    form = members({"type": st.just("object"), "properties": st.dictionaries(words, field, max_size=2)})
    mode = {"mode": st.sampled_from(["form", "url"])} if revision.place >= 3 else {}
    made = {
        "tools/call": members({"name": words}, arguments=objects, task=objects),
        SAMPLING: members(
            {"maxTokens": st.just(1), "messages": st.lists(messages(revision), max_size=2)}, task=objects
        ),
        ELICITATION: members({"message": words, "requestedSchema": form}, **mode),
    }
    if revision.place < 2:
        del made[ELICITATION]
    return st.one_of([found.map(lambda made, name=name: (name, Part.PARAMS, made)) for name, found in made.items()])


def messages(revision: Revision) -> st.SearchStrategy[Json]:
    said = blocks(revision).filter(lambda block: block["type"] != "resource_link")
    content = said | st.lists(said, max_size=2) if revision.place >= 3 else said
    return members({"role": st.just("user"), "content": content})


def payloads(revision: Revision) -> st.SearchStrategy[Payload]:
    return results(revision) | answers(revision) | params(revision)


policies = st.builds(Policy, st.booleans(), st.booleans(), st.booleans(), st.booleans())
spacings = st.sampled_from([(",", ":"), (" , ", " :\t"), (",", ": ")])
pairs = st.tuples(st.sampled_from(ORDER), st.sampled_from(ORDER))
journeys = pairs.flatmap(lambda pair: st.tuples(st.just(pair[0]), st.just(pair[1]), payloads(pair[0])))


def written(payload: Json, spacing: tuple[str, str]) -> bytes:
    return json.dumps(payload, separators=spacing).encode()


def value(found: Members) -> Json:
    return json.loads(bytes(closed(found)))


def carried(
    payload: Payload, text: bytes, path: list[Revision], policy: Policy
) -> tuple[Members | Refusal, list[Loss]]:
    """The payload after every step of a path."""
    method, part, _ = payload
    report: list[Loss] = []
    found = opened(text)
    for source, target in pairwise(path):
        after = lowering(source, target).apply(method, part, found, policy, report)
        if isinstance(after, Refusal):
            return after, report
        found = after
    return found, report


@given(journeys, policies, spacings)
def test_lowering_twice_is_lowering_once(
    journey: tuple[Revision, Revision, Payload], policy: Policy, spacing: tuple[str, str]
) -> None:
    source, target, payload = journey
    once, _ = carried(payload, written(payload[2], spacing), [source, target], policy)
    if isinstance(once, Refusal):
        return
    before = dict(once)
    report: list[Loss] = []

    twice = lowering(source, target).apply(payload[0], payload[1], once, policy, report)

    assert isinstance(twice, dict)
    assert report == []
    assert list(twice) == list(before)
    assert all(twice[name] is before[name] for name in before)


@proves("REV-09", "RES-14")
@given(journeys, policies, spacings)
def test_what_no_rule_changes_keeps_its_bytes(
    journey: tuple[Revision, Revision, Payload], policy: Policy, spacing: tuple[str, str]
) -> None:
    """RES-14, REV-09: the very same objects, not only equal ones."""
    source, target, payload = journey
    given_ = opened(written(payload[2], spacing))
    before = dict(given_)
    report: list[Loss] = []

    after = lowering(source, target).apply(payload[0], payload[1], given_, policy, report)

    if isinstance(after, Refusal):
        return
    changed = {name for name in before if name not in after or after[name] is not before[name]}
    reported = {loss.place.partition(".")[0].partition("[")[0] for loss in report}
    assert changed <= reported | {"_meta"}  # an empty `_meta` of an answer goes without a word (S4-33)
    assert {name for name in after if name not in before} <= reported | {"resultType", "ttlMs", "cacheScope"}
    for name in changed & after.keys():
        assert json.loads(bytes(after[name])) != json.loads(bytes(before[name]))


def exempt(source: Revision, target: Revision, payload: Json) -> bool:
    """The one place where the way matters: two revisions on it want objects where its two ends do not."""
    if source is not LATEST or target.place >= 2:
        return False
    listed: list[Json] = payload.get("tools", [])
    typed = all(tool.get("outputSchema", {"type": "object"})["type"] == "object" for tool in listed)
    return not (typed and isinstance(payload.get("structuredContent", {}), dict))


@given(journeys, policies, spacings)
def test_step_by_step_is_in_one_go(
    journey: tuple[Revision, Revision, Payload], policy: Policy, spacing: tuple[str, str]
) -> None:
    source, target, payload = journey
    low, high = sorted((source.place, target.place))
    path = list(ORDER[low : high + 1])
    if source is not path[0]:
        path.reverse()
    text = written(payload[2], spacing)

    direct, _ = carried(payload, text, [source, target], policy)
    stepped, _ = carried(payload, text, path, policy)

    if exempt(source, target, payload[2]):
        return
    if isinstance(direct, Refusal) or isinstance(stepped, Refusal):
        assert isinstance(direct, Refusal)
        assert isinstance(stepped, Refusal)
        if direct.place:  # a method that the target lacks is refused as such, before anyone looks inside
            assert (direct.row, direct.why, direct.place) == (stepped.row, stepped.why, stepped.place)
    else:
        assert value(direct) == value(stepped)


@proves("REV-09")
@pytest.mark.parametrize("revision", ORDER, ids=repr)
@given(data=st.data(), policy=policies)
def test_equal_revisions_change_nothing(revision: Revision, data: st.DataObject, policy: Policy) -> None:
    """REV-09."""
    method, part, payload = data.draw(payloads(LATEST))
    before = opened(json.dumps(payload).encode())
    report: list[Loss] = []

    after = lowering(revision, revision).apply(method, part, dict(before), policy, report)

    assert after == before
    assert report == []


def expressible(payload: Json) -> bool:
    """Whether a legacy result has no more to lose in the newest revision, and its value is mirrored already."""
    mirrored = (
        any(block["type"] == "text" for block in payload.get("content", [])) or "structuredContent" not in payload
    )
    return mirrored and not any("execution" in tool for tool in payload.get("tools", []))


@proves("REV-07")
@pytest.mark.parametrize("revision", HANDSHAKE, ids=repr)
@given(data=st.data(), spacing=spacings)
def test_lifted_and_lowered_is_the_same(revision: Revision, data: st.DataObject, spacing: tuple[str, str]) -> None:
    """REV-07."""
    payload = data.draw(results(revision).filter(lambda made: expressible(made[2])))
    text = written(payload[2], spacing)
    before = opened(text)

    after, report = carried(payload, text, [revision, LATEST, revision], Policy())

    assert report == []
    assert after == before


EVERY_PAIR = pytest.mark.parametrize(("source", "target"), list(permutations(ORDER, 2)), ids=repr)
SUPPLIED = ("resultType", "ttlMs", "cacheScope")


def faults_of(revision: Revision, method: str, part: Part, payload: Json) -> list[str]:
    """What the official schema of a revision says against a result, or against a request of the server."""
    if part is Part.RESULT:
        return official.faults_of(revision.name, official.RESULTS[method], payload)
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": payload}
    return official.faults_of(revision.name, official.REQUESTS[method], request)


def official_payloads(revision: Revision) -> st.SearchStrategy[Payload]:
    """Payloads of official methods that are valid in their own revision; results of the newest have what they need."""

    def complete(payload: Payload) -> Payload:
        method, part, made = payload
        if revision is LATEST and part is Part.RESULT and method in official.REQUESTS:
            made = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} | made
        return method, part, made

    asked = params(revision).filter(lambda made: made[0] != "tools/call")
    made = results(revision).filter(lambda made: made[0] in official.RESULTS)
    return (made | asked).map(complete).filter(lambda made: not faults_of(revision, *made))


@proves("LOSSY-10")
@EVERY_PAIR
@settings(max_examples=15)
@given(data=st.data(), policy=policies)
def test_every_pair_fits_or_is_refused_by_a_row(
    source: Revision, target: Revision, data: st.DataObject, policy: Policy
) -> None:
    """LOSSY-10, REV-02: what is valid on one side is valid on the other, or the row says why it cannot be."""
    method, part, made = payload = data.draw(official_payloads(source))

    after, report = carried(payload, written(made, (",", ":")), [source, target], policy)

    assert all(loss.row in ROWS for loss in report)
    if isinstance(after, Refusal):
        assert after.row in ROWS
        assert (after.source, after.target) == (source.name, target.name)
    elif not policy.keep_structure:
        assert faults_of(target, method, part, value(after)) == []


@proves("REV-07")
@EVERY_PAIR
@settings(max_examples=15)
@given(data=st.data())
def test_what_lost_nothing_comes_back_whole(source: Revision, target: Revision, data: st.DataObject) -> None:
    """REV-07, over every pair: there and back again."""
    payload = data.draw(official_payloads(source).filter(lambda made: expressible(made[2])))
    text = written(payload[2], (",", ":"))

    there, report = carried(payload, text, [source, target], Policy())
    after, also = carried(payload, text, [source, target, source], Policy())

    if isinstance(there, Refusal) or isinstance(after, Refusal) or report or also:
        return
    supplied = SUPPLIED if LATEST in (source, target) else ()
    assert {name: v for name, v in after.items() if name not in supplied} == {
        name: v for name, v in opened(text).items() if name not in supplied
    }


@pytest.mark.parametrize("revision", HANDSHAKE, ids=repr)
@given(data=st.data())
def test_lifted_results_fit_the_newest_schema(revision: Revision, data: st.DataObject) -> None:
    payload = data.draw(results(revision).filter(lambda made: made[0] in official.RESULTS))

    after, _ = carried(payload, written(payload[2], (",", ":")), [revision, LATEST], Policy())

    assert isinstance(after, dict)
    assert official.faults_of(LATEST.name, official.RESULTS[payload[0]], value(after)) == []


@proves("LOSSY-10")
@pytest.mark.parametrize("revision", HANDSHAKE, ids=repr)
@given(data=st.data(), policy=policies)
def test_lowered_results_fit_or_are_refused(revision: Revision, data: st.DataObject, policy: Policy) -> None:
    """LOSSY-10: with the report of what was done, in the names of rows."""
    payload = data.draw(results(LATEST).filter(lambda made: made[0] in official.RESULTS))

    after, report = carried(payload, written(payload[2], (",", ":")), [LATEST, revision], policy)

    assert all(loss.kind in "LFRB" and loss.row and loss.place for loss in report)
    if isinstance(after, Refusal):
        assert after.row in ("S1-02", "S2-04", "S4-19")
    elif not policy.keep_structure:
        assert official.faults_of(revision.name, official.RESULTS[payload[0]], value(after)) == []
