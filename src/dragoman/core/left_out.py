"""What is of no use to a side of another revision, and what some clients refuse: left out or not, it is said once."""

from collections.abc import Iterable

from dragoman.exchange.notes import Level, Notes
from dragoman.profile.input_schemas import flaws
from dragoman.wire.members import Members, is_null, items_of, object_in, text_of

PROGRESS = frozenset({"progress", "total", "message"})
DATA = "data"  # of a log message may be any value
MESSAGE = frozenset({"level", "logger", DATA})
SHOWN = 60  # characters of a name in a log line


class LeftOut:
    """Of one conversation. Between different revisions a notification loses members that the other may not know."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._told: set[str] = set()

    def known(self, method: str, params: Members, names: frozenset[str]) -> Members:
        """The params of a notification with these members only; a `null` is nothing to the other side."""
        kept = {name: value for name, value in params.items() if name in names and (name == DATA or not is_null(value))}
        if len(kept) < len(params) and method not in self._told:
            self._told.add(method)
            self.tell(method, params.keys() - kept.keys())
        return kept

    def tell(self, where: str, names: Iterable[str]) -> None:
        shown = ", ".join(sorted(ascii(name[:SHOWN]) for name in names))
        if shown:
            self._notes.note(Level.INFO, "translate", f"{where}: left out for the other side's revision: {shown}")

    def tell_made_up(self, names: Iterable[str]) -> None:
        """Capabilities that the client is told of, as a server of an older revision has no way to say them (S1-05)."""
        shown = ", ".join(sorted(names))
        if shown:
            self._notes.note(Level.INFO, "translate", f"capabilities: the server's revision cannot say these: {shown}")


def note_schemas(notes: Notes, result: Members) -> None:
    """Name the tools for which some clients drop the whole list."""
    for item in items_of(result.get("tools")) or ():
        tool = object_in(item) or {}
        found = flaws(tool.get("inputSchema"))
        if found:
            text = f"tool {(text_of(tool.get('name')) or '')[:SHOWN]!a}: inputSchema, {found[0]}"
            remedy = f"{found[0].refused_by} may drop all tools for it; the quirk repair_input_schemas repairs it"
            notes.note(Level.WARN, "tools", f"{text}: {remedy}")
