"""The listen streams of modern clients before a server that tells changes on its own.

Each stream has its own filter; upstream goes the union of all. Wishes run one at a time (CHANGE-01): a stream is
acknowledged when the wish that includes it is answered, with the part that was granted, and hears nothing before that
(SDKSUB-02, SDKSUB-03). What changes meanwhile it hears then (translation 4.4a).
"""

from dragoman.exchange.changes import Change, Early, filter_in, hears, is_wanted, spelled
from dragoman.exchange.events import Call, Changed, Filter
from dragoman.revisions.capabilities import has_flag
from dragoman.wire.members import Members, raw

LISTS = (Changed.TOOLS, Changed.PROMPTS, Changed.RESOURCES)


def wanted(params: Members, offered: Members) -> Filter:
    """What a listen request asks for, as far as the server declared that it tells it."""
    asked = filter_in(params.get("notifications"))
    return Filter(
        asked.tools and has_flag(offered, "tools", "listChanged"),
        asked.prompts and has_flag(offered, "prompts", "listChanged"),
        asked.resources and has_flag(offered, "resources", "listChanged"),
        asked.uris if has_flag(offered, "resources", "subscribe") else (),
    )


class Streams:
    def __init__(self) -> None:
        self._open: dict[Call, Filter] = {}
        self._waiting: dict[Call, Early] = {}
        self._running: int | None = None
        self._asked: frozenset[Call] = frozenset()
        self._changes = 0
        self.is_behind = False  # what is wanted has changed since the wish that runs

    def __len__(self) -> int:
        return len(self._open)

    def add(self, call: Call, filter_: Filter) -> None:
        self._open[call] = filter_
        self._waiting[call] = Early()

    def drop(self, call: Call) -> bool:
        """A stream is over; whether it was one of these."""
        self._waiting.pop(call, None)
        return self._open.pop(call, None) is not None

    def next_wish(self) -> tuple[int, Filter] | None:
        """The wish that is to be sent now; nothing while another one runs."""
        if self._running is not None:
            self.is_behind = True
            return None
        self.is_behind = False
        self._changes += 1
        self._running = self._changes
        self._asked = frozenset(self._waiting)
        filters = self._open.values()
        uris = dict.fromkeys(uri for filter_ in filters for uri in filter_.uris)
        return self._changes, Filter(
            any(filter_.tools for filter_ in filters),
            any(filter_.prompts for filter_ in filters),
            any(filter_.resources for filter_ in filters),
            tuple(uris),
        )

    def answered(self, change: int, granted: Filter) -> list[tuple[Call, Members, list[Change]]] | None:
        """A wish has its answer: the streams that are acknowledged by it, each with what it hears of from now on, and
        with what changed meanwhile.

        `None` when it was none of these. What was not granted is taken out of the filters.
        """
        if change != self._running:
            return None
        self._running = None
        told: list[tuple[Call, Members, list[Change]]] = []
        for call in [call for call in self._waiting if call in self._asked]:
            filter_ = self._open[call]
            uris = tuple(uri for uri in filter_.uris if uri in granted.uris)
            heard = self._open[call] = Filter(filter_.tools, filter_.prompts, filter_.resources, uris)
            early = [(what, params) for what, params in self._waiting.pop(call).taken() if hears(heard, what, params)]
            told.append((call, {"notifications": spelled(heard)}, early))
        return told

    def hearing(self, what: Changed, params: Members | None) -> list[Call]:
        """The streams that hear of a change now; those that are not acknowledged yet will."""
        hearing = [call for call, filter_ in self._open.items() if hears(filter_, what, params)]
        for call in hearing:
            if call in self._waiting:
                self._waiting[call].add(what, params)
        return [call for call in hearing if call not in self._waiting]

    def missed(self) -> list[tuple[Call, Changed, Members]]:
        """What the streams are told after a gap: whatever they hear of may have changed."""
        told: list[tuple[Call, Changed, Members]] = []
        for call, filter_ in self._open.items():
            if call not in self._waiting:
                told += [(call, what, {}) for what in LISTS if is_wanted(filter_, what)]
                told += [(call, Changed.RESOURCE, {"uri": raw(uri)}) for uri in filter_.uris]
        return told
