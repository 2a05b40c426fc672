"""Lists of several pages, asked for one after the other and given to the client as one.

For clients that read the first page only. A request that names a cursor is of a client that knows pages, and is left
alone. The number of pages is bounded, and a cursor that comes again ends the list; then the client gets what there is,
with the cursor of the rest if there is one, so that nothing is lost in silence.
"""

from msgspec import Raw

from dragoman.exchange.events import Call
from dragoman.exchange.notes import Level, Notes
from dragoman.revisions.methods import LISTS
from dragoman.wire.members import Members, encoded, is_null, items_of, own, text_of

CURSOR = "cursor"
NEXT = "nextCursor"


class _Pages:
    """The items of one list so far, and the cursors that led to them."""

    __slots__ = ("cursors", "items")

    def __init__(self) -> None:
        self.items: list[Raw] = []
        self.cursors: set[str] = set()


class Pages:
    """`most` bounds the pages of one list."""

    def __init__(self, most: int, notes: Notes) -> None:
        self._most = most
        self._notes = notes
        self._open: dict[int, _Pages] = {}

    def goes_on(self, call: Call, result: Members) -> bool:
        """Whether the call is to be sent once more, for which its params are changed; else `result` holds all items."""
        array = LISTS.get(call.method)
        pages = self._open.get(call.key)
        if array is None or (pages is None and CURSOR in call.params):
            return False
        items, given = items_of(result.get(array)), result.get(NEXT)
        cursor = text_of(given) if given is not None and not is_null(given) else None
        if items is None or (pages is None and cursor is None):
            return False
        if pages is None:
            pages = self._open[call.key] = _Pages()
        if cursor is not None and cursor not in pages.cursors and len(pages.cursors) + 1 < self._most:
            pages.items += [own(item) for item in items]
            pages.cursors.add(cursor)
            call.params = {**call.params, CURSOR: Raw(encoded(cursor))}
            return True
        result[array] = Raw(encoded([*pages.items, *items]))
        if cursor in pages.cursors:
            del result[NEXT]
            self._notes.note(Level.WARN, "upstream", f"{call.method}: a cursor came twice, so the list ends there")
        elif cursor is not None:
            text = f"{call.method}: the list has more than {self._most} pages; its client gets the cursor of the rest"
            self._notes.note(Level.WARN, "upstream", text)
        return False

    def forget(self, call: Call) -> None:
        """The call is over."""
        self._open.pop(call.key, None)
