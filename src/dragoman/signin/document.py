"""Documents of authorization servers, read as what they plainly say (faults E).

An optional member of a wrong type counts as absent, and a line says which; a value that is nearly right is taken for
what it plainly means: one text where a list of them belongs, a number or a truth in quotation marks.
"""

import math
from collections.abc import Callable

import msgspec

Note = Callable[[str], None]


def silent(line: str) -> None:
    """A note that nobody reads."""


class Document:
    """One document, whose members are asked for by their names.

    Args:
        text: the document.
        name: what it is called in a line of the log, such as "the token response".
        note: takes such a line, once for each member that cannot be used; it holds no value.

    Raises:
        ValueError: the text is no JSON object.
    """

    def __init__(self, text: bytes, name: str, note: Note = silent) -> None:
        try:
            self._members = msgspec.json.decode(text, type=dict[str, object])
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise ValueError(f"{name} is no JSON object") from None
        self._name = name
        self._note = note

    def text(self, member: str) -> str | None:
        """A text that is not empty; a whole number is the text of its digits."""
        value = self._members.get(member)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return value if isinstance(value, str) and value else self._odd(member, value, "a text", value == "")

    def texts(self, member: str) -> tuple[str, ...] | None:
        """A list of texts; one alone is a list, which spaces part."""
        value = self._members.get(member)
        if isinstance(value, str):
            return tuple(value.split())
        if not isinstance(value, list):
            return self._odd(member, value, "a list")
        items: list[object] = value  # pyright: ignore[reportUnknownVariableType]
        return tuple(item for item in items if isinstance(item, str))

    def flag(self, member: str) -> bool:
        """Whether something is so; what says neither does not."""
        value = self._members.get(member)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        return value if isinstance(value, bool) else bool(self._odd(member, value, "true or false"))

    def number(self, member: str) -> float | None:
        """A finite number, which may be written as a text."""
        value = self._members.get(member)
        if not isinstance(value, bool) and isinstance(value, int | float | str):
            try:
                number = float(value)
            except (ValueError, OverflowError):
                number = math.nan
            if math.isfinite(number):
                return number
        return self._odd(member, value, "a number")

    def refuse(self, member: str, why: str) -> None:
        """A member cannot be used for another reason."""
        self._note(f"{self._name}: {member} is not used: {why}")

    def _odd(self, member: str, value: object, kind: str, is_absent: bool = False) -> None:
        if value is not None and not is_absent:
            self.refuse(member, f"it is not {kind}")
