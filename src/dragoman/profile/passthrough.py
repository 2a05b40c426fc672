"""Which `_meta` keys of a client's request travel on to the server (META-01 to META-07, META-09).

A key passes when all of this holds:

1. the profile allows it, by its name, by a prefix, or because it allows everything;
2. it is written as the protocol writes keys: labels joined by dots and closed by a slash, or none, then a name;
3. it is no key of the protocol itself, which the bridge writes on its own account;
4. its prefix is not reserved, that is, its second label is neither `modelcontextprotocol` nor `mcp`.

A key that does not pass is left out; it never makes a request fail.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
NAME = "[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
GRAMMAR = re.compile(rf"(?:(?P<prefix>{LABEL}(?:\.{LABEL})*)/)?(?:{NAME})?", re.ASCII)

OF_THE_PROTOCOL = frozenset(
    {
        "progressToken",
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/clientCapabilities",
        "io.modelcontextprotocol/logLevel",
        "io.modelcontextprotocol/subscriptionId",
    }
)
RESERVED_LABELS = frozenset({"modelcontextprotocol", "mcp"})

REMEMBERED = 256  # a client uses the same few keys all the time; a longer key is never remembered


@dataclass(frozen=True, slots=True)
class MetaPassthrough:
    keys: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    everything: bool = False

    def passes(self, key: str) -> bool:
        if not (self.everything or key in self.keys or key.startswith(self.prefixes)):
            return False
        return _remembered(key) if len(key) <= REMEMBERED else is_free(key)


def is_free(key: str) -> bool:
    """Whether a key is well written and nobody's but its author's (META-03 to META-05)."""
    found = GRAMMAR.fullmatch(key)
    if found is None or key in OF_THE_PROTOCOL:
        return False
    labels = (found["prefix"] or "").split(".")
    return len(labels) < 2 or labels[1] not in RESERVED_LABELS


_remembered = lru_cache(maxsize=REMEMBERED)(is_free)
