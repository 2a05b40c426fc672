"""The revisions of the Model Context Protocol: their names, their eras, and what each can do.

This package is the only place that knows revision names. Elsewhere a revision is a value, compared by its traits.
"""

from dataclasses import dataclass
from enum import Enum


class Era(Enum):
    """The two ways to hold a conversation."""

    LEGACY = "legacy"  # a handshake, state of the connection, and the server may ask
    MODERN = "modern"  # each request self-contained, and questions come back as results


class Trait(Enum):
    """What a machine may want to know of a revision, in place of comparing names."""

    BATCHES = "JSON-RPC batches"
    ELICITATION = "form elicitation"
    ELICITATION_MODES = "form and URL elicitation, with elicitation ids and their completion"
    SAMPLING_TOOLS = "sampling with tools"
    TYPED_STRUCTURE = "structuredContent must be an object"
    VERSION_HEADER = "the MCP-Protocol-Version header"
    PRIMED_STREAMS = "an event without data at the begin of a stream, so that it can be resumed from there"
    COMPLETIONS = "the completions capability"
    TASKS = "tasks, which either side may ask of the other"


@dataclass(frozen=True, slots=True)
class Revision:
    name: str
    place: int
    era: Era
    traits: frozenset[Trait] = frozenset()

    def has(self, trait: Trait) -> bool:
        return trait in self.traits

    def __repr__(self) -> str:
        return f"<revision {self.name}>"


ORDER: tuple[Revision, ...] = (
    Revision("2024-11-05", 0, Era.LEGACY),
    Revision("2025-03-26", 1, Era.LEGACY, frozenset({Trait.BATCHES, Trait.COMPLETIONS})),
    Revision(
        "2025-06-18",
        2,
        Era.LEGACY,
        frozenset(
            {
                Trait.COMPLETIONS,
                Trait.ELICITATION,
                Trait.TYPED_STRUCTURE,
                Trait.VERSION_HEADER,
            }
        ),
    ),
    Revision(
        "2025-11-25",
        3,
        Era.LEGACY,
        frozenset(
            {
                Trait.COMPLETIONS,
                Trait.ELICITATION,
                Trait.PRIMED_STREAMS,
                Trait.TASKS,
                Trait.ELICITATION_MODES,
                Trait.SAMPLING_TOOLS,
                Trait.TYPED_STRUCTURE,
                Trait.VERSION_HEADER,
            }
        ),
    ),
    Revision(
        "2026-07-28",
        4,
        Era.MODERN,
        frozenset(
            {
                Trait.COMPLETIONS,
                Trait.ELICITATION,
                Trait.ELICITATION_MODES,
                Trait.SAMPLING_TOOLS,
                Trait.VERSION_HEADER,
            }
        ),
    ),
)

_BY_NAME = {revision.name: revision for revision in ORDER} | {"draft": ORDER[-1]}

LATEST = ORDER[-1]
LATEST_LEGACY = next(revision for revision in reversed(ORDER) if revision.era is Era.LEGACY)
STATELESS = tuple(revision for revision in ORDER if revision.era is Era.MODERN)
HANDSHAKE = tuple(revision for revision in ORDER if revision.era is Era.LEGACY)


def named(name: str | None) -> Revision | None:
    """The revision of that name, `draft` included (decisions N5); `None` for every other text."""
    return _BY_NAME.get(name) if name is not None else None
