"""Who calls, and what may be asked of them."""

from dataclasses import dataclass, field

from msgspec import Raw

from dragoman.revisions import Era, Revision
from dragoman.wire.members import Members, closed, object_in

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


@dataclass(frozen=True, slots=True)
class Caller:
    """A client as its front knows it.

    `capabilities` are those that it declared, as its own revision has them, with every malformed member left out
    (CAP-08); a back lowers them to the revision of its server. `info` is its
    `clientInfo` as written. `level` is the lowest level of log messages that it wants, or `None` for none.
    """

    revision: Revision
    capabilities: Members = field(default_factory=dict[str, Raw])
    info: Raw | None = None
    level: str | None = None
    principal: str | None = None

    @property
    def is_modern(self) -> bool:
        """Whether each of its requests says all of this by itself."""
        return self.revision.era is Era.MODERN

    def has(self, capability: str, part: str | None = None) -> bool:
        """Whether the client declared a capability, and (with `part`) a member of it.

        `elicitation` without any mode means forms (CHK-16).
        """
        declared = object_in(self.capabilities.get(capability))
        if declared is None:
            return False
        if capability == "elicitation" and part == "form":
            return "form" in declared or "url" not in declared
        return part is None or part in declared

    def hears(self, level: str) -> bool:
        """Whether the client wants log messages of a level."""
        return self.level is not None and LEVELS.index(level) >= LEVELS.index(self.level)

    def declared(self) -> Raw:
        """The capabilities as one object."""
        return closed(self.capabilities)
