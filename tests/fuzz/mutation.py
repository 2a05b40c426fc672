"""Mutations: a valid message, and what a peer with a fault, or an attacker, would write in its place."""

import json
import random
from collections.abc import Callable
from typing import Any, cast

Json = Any

ODD: tuple[str, ...] = (
    *("null", "true", "false", "0", "-1", "1.5", "1e999", "-0", "9" * 400, '""', '"x"', "[]", "{}", "[[]]", '{"":{}}'),
    *('"\\ud800"', '"\\u0000"', "18446744073709551616", '"2026-07-28"', '"tools/list"', "[1,2,3]", '{"a":null}'),
    "[" * 70 + "]" * 70,
)
"""Values as text, as some of them are none that a JSON library would write."""

PIECES = (b"\xff", b"\xed\xa0\x80", b"\x00", b",", b'"', b"{", b"\\", b" ", b"\xe2\x80\xa8")
MEMBERS = (b'"id":9', b'"method":"ping"', b'"params":{}', b'"result":{}', b'"jsonrpc":"2.0"', b'"\\u0069d":8')
MARK = "\x00odd {}\x00"
NAMES = (
    *("id", "jsonrpc", "method", "params", "result", "error", "_meta", "name", "uri", "arguments", "progressToken"),
    *("capabilities", "protocolVersion", "requestState", "inputRequests", "inputResponses", "resultType", "cursor"),
)
RUBBISH: tuple[bytes, ...] = (
    *(b"{", b"}", b"[]", b"[[]]", b"5", b"null", b"\xff", b"\xef\xbb\xbf{}", b"{}", b'""', b"\x00", b"NaN"),
    *(b'{"id":"\\x","method":"ping"}', b'{"jsonrpc":"2.0","id":null,"result":{}}', b'{"jsonrpc":"2.0","method":1}'),
    *(b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', b"[" * 100_000),
    *(b'{"jsonrpc":"2.0","id":7,"error":null,"result":null}', b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}'),
)


def mutated(rng: random.Random, message: Json) -> bytes:
    """`message` as a line, with one to three mutations, the last of which may be of its bytes."""
    copy = json.loads(json.dumps(message))
    odd: list[str] = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(STRUCTURE)(rng, copy, odd)
    text = json.dumps(copy, ensure_ascii=rng.random() < 0.5, separators=rng.choice(((",", ":"), (", ", ": "))))
    for number, value in enumerate(odd):
        text = text.replace(json.dumps(MARK.format(number)), value)
    line = text.encode("utf-8", "surrogatepass")
    return rng.choice(BYTES)(rng, line) if rng.random() < 0.4 else line


# ---------------------------------------------------------------------- of the structure


def _places(value: Json) -> list[tuple[Json, Any]]:
    """Every member and item within `value`, as what holds it and its name or index."""
    found: list[tuple[Json, Any]] = []
    holders: list[Any] = [value]
    while holders:
        holder: Any = holders.pop()
        keys: list[Any] = []
        if isinstance(holder, dict):
            keys = list(cast("dict[str, Any]", holder))
        elif isinstance(holder, list):
            keys = list(range(len(cast("list[Any]", holder))))
        found += [(cast("Any", holder), key) for key in keys]
        holders += [holder[key] for key in keys]
    return found


def _odd(rng: random.Random, odd: list[str]) -> str:
    odd.append(rng.choice(ODD))
    return MARK.format(len(odd) - 1)


def _retype(rng: random.Random, message: Json, odd: list[str]) -> None:
    if places := _places(message):
        holder, key = rng.choice(places)
        holder[key] = _odd(rng, odd)


def _drop(rng: random.Random, message: Json, odd: list[str]) -> None:
    if places := _places(message):
        holder, key = rng.choice(places)
        del holder[key]


def _rename(rng: random.Random, message: Json, odd: list[str]) -> None:
    places = [place for place in _places(message) if isinstance(place[0], dict)]
    if places:
        holder, key = rng.choice(places)
        holder[rng.choice((*NAMES, key + "s", key.upper(), ""))] = holder.pop(key)


def _add(rng: random.Random, message: Json, odd: list[str]) -> None:
    holders = [message, *(holder[key] for holder, key in _places(message) if isinstance(holder[key], dict))]
    rng.choice(holders)[rng.choice(NAMES)] = _odd(rng, odd)


def _swap(rng: random.Random, message: Json, odd: list[str]) -> None:
    places = _places(message)
    if len(places) > 1:
        (one, at), (other, there) = rng.sample(places, 2)
        value = json.loads(json.dumps(other[there]))
        one[at] = value


def _new_id(rng: random.Random, message: Json, odd: list[str]) -> None:
    if "id" in message:
        message["id"] = rng.choice((0, 1, 2, 3, "1", "b-1", "b-2", "é", -1, 10**30, ""))


STRUCTURE = (_retype, _retype, _drop, _rename, _add, _swap, _new_id)


# ---------------------------------------------------------------------- of the bytes


def _flip(rng: random.Random, line: bytes) -> bytes:
    at = rng.randrange(len(line))
    changed = bytes([line[at] ^ (1 << rng.randrange(8))])
    return line[:at] + (changed if changed not in (b"\n", b"\r") else b"?") + line[at + 1 :]


def _cut(rng: random.Random, line: bytes) -> bytes:
    return line[: rng.randrange(1, len(line))]


def _insert(rng: random.Random, line: bytes) -> bytes:
    at = rng.randrange(len(line))
    return line[:at] + rng.choice(PIECES) + line[at:]


def _repeat(rng: random.Random, line: bytes) -> bytes:
    one, other = sorted(rng.randrange(len(line)) for _ in range(2))
    return line[:other] + line[one:]


def _escape(rng: random.Random, line: bytes) -> bytes:
    """A letter as its number, wherever the first one stands, or each solidus escaped."""
    if rng.random() < 0.5:
        return line.replace(b"/", b"\\/")
    letter = rng.choice(b"aeimtrd")
    return line.replace(bytes([letter]), b"\\u%04x" % letter, rng.choice((1, -1)))


def _twice(rng: random.Random, line: bytes) -> bytes:
    """A member of the envelope once more."""
    return line[:-1] + b"," + rng.choice(MEMBERS) + b"}"


def _batch(rng: random.Random, line: bytes) -> bytes:
    return b"[" + b",".join([line] * rng.randrange(1, 3)) + b"]"


BYTES: tuple[Callable[[random.Random, bytes], bytes], ...] = (_flip, _cut, _insert, _repeat, _escape, _twice, _batch)
