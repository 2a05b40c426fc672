"""The sessions of a listener, and the conversations that are kept for clients without one: who has them, how many there
may be, and which of them nobody uses.

When there are too many, in all or of one caller, the one that was silent longest and that nobody waits for makes room:
its client has to begin again. When all are in use, a newcomer is refused.
"""

from collections import OrderedDict
from collections.abc import Callable

from dragoman.core.inflight import NEVER
from dragoman.exchange.notes import Level, Notes
from dragoman.limits import Reception
from dragoman.runtime.kept import Kept
from dragoman.runtime.session import Session

Owner = Session | Kept
Key = tuple[str | None, bytes]


class SessionDirectory:
    """`ended` is called with each session or conversation that is taken out for want of room or use.

    `idle_due` is never later than the first moment at which one may have been idle for too long.
    """

    def __init__(self, bounds: Reception, notes: Notes, ended: Callable[[Owner], None]) -> None:
        self._bounds = bounds
        self._notes = notes
        self._ended = ended
        self.sessions: OrderedDict[str, Session] = OrderedDict()  # the longest silent first
        self.kept: dict[Key, Kept] = {}
        self.idle_due = NEVER

    def __len__(self) -> int:
        return len(self.sessions) + len(self.kept)

    @property
    def owners(self) -> list[Owner]:
        """All of them."""
        return [*self.sessions.values(), *self.kept.values()]

    @property
    def is_used(self) -> bool:
        """Whether somebody lives on the server as it is."""
        return bool(self.kept) or any(not session.is_useless for session in self.sessions.values())

    def add(self, session: Session, now: float) -> None:
        self.sessions[session.id] = session
        self.idle_due = min(self.idle_due, now + min(self._bounds.session_idle, self._bounds.unheld_idle))

    def keep(self, key: Key, kept: Kept, now: float) -> None:
        """Keep a conversation for a client without a session."""
        self.kept[key] = kept
        self.idle_due = min(self.idle_due, now + self._bounds.kept_idle)

    def seen(self, session: Session) -> None:
        """The client said something just now."""
        self.sessions.move_to_end(session.id)

    def drop(self, owner: Owner) -> None:
        """Take one out; it is not told."""
        if isinstance(owner, Session):
            self.sessions.pop(owner.id, None)
        else:
            self.kept = {key: kept for key, kept in self.kept.items() if kept is not owner}

    def has_room(self, principal: str | None, *, keeps_processes: bool) -> bool:
        """Whether this caller may have one more, which may cost another its own.

        `keeps_processes` tells that each has a process of the server.
        """
        bounds = self._bounds
        most = bounds.sessions
        of_caller = bounds.sessions_per_caller if principal is not None else most  # nobody knows how many these are
        if keeps_processes:
            most, of_caller = min(most, bounds.servers), min(of_caller, bounds.servers_per_caller)
        own = [owner for owner in self.owners if owner.principal == principal]
        if len(own) < of_caller and len(self) < most:
            return True
        if self._make_room(own if len(own) >= of_caller else self.owners):
            return True
        text = "the limit of sessions or servers is reached, and all of them are in use; a client is refused"
        self._notes.note(Level.WARN, "endpoint", text)
        return False

    def _make_room(self, owners: list[Owner]) -> bool:
        unused = [owner for owner in owners if not _is_used(owner)]
        if not unused:
            return False
        text = "the limit of sessions is reached; the one that was idle longest ends"
        self._notes.note(Level.WARN, "endpoint", text)
        self._ended(min(unused, key=lambda owner: owner.seen))
        return True

    def end_idle(self, now: float) -> None:
        """End what nobody used for too long, and find out when the next one may have been."""
        self.idle_due = NEVER
        for owner in self.owners:
            if _is_busy(owner):
                owner.seen = now  # it waits for an answer, or for its own connection to end
                if isinstance(owner, Session):
                    self.seen(owner)
            idle = self._patience(owner)
            if now - owner.seen >= idle:
                self._ended(owner)
            else:
                self.idle_due = min(self.idle_due, owner.seen + idle)

    def _patience(self, owner: Owner) -> float:
        if isinstance(owner, Kept):
            return self._bounds.kept_idle
        return self._bounds.session_idle if owner.is_held else self._bounds.unheld_idle


def _is_busy(owner: Owner) -> bool:
    return owner.is_busy or owner.is_sse if isinstance(owner, Session) else not owner.is_idle


def _is_used(owner: Owner) -> bool:
    return _is_busy(owner) or (isinstance(owner, Session) and owner.is_held)
