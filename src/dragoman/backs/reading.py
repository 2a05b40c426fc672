"""What a back says of lines that are no plain answer; the same for both ways to talk."""

import msgspec
from msgspec import UNSET, Raw

from dragoman.exchange.events import ServerError
from dragoman.exchange.notes import Level, Notes
from dragoman.faults import INTERNAL_ERROR, Cause, Fault
from dragoman.limits import Limits
from dragoman.wire.frame import Broken, Flaw, Opened
from dragoman.wire.members import first_byte, is_null, object_in, own, raw, text_of


class _Error(msgspec.Struct, gc=False):
    code: int
    message: str


_error = msgspec.json.Decoder(_Error).decode


class Noise:
    """Counts what a server writes that is no message for us, and notes each piece."""

    __slots__ = ("_notes", "count")

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self.count = 0

    def add(self, what: str) -> None:
        self.count += 1
        self._notes.note(Level.WARN, "upstream", f"the server wrote {what}; it was skipped")

    def add_line(self, broken: Broken, limits: Limits) -> None:
        shown = broken.excerpt[: limits.excerpt].decode("utf-8", "replace")
        self.add(f"a line that is {broken.flaw.value}: {shown!r}")

    def explains(self, why: Fault) -> Fault:
        """The loss of a server that never spoke properly, with that as its reason when it has none."""
        return Fault(why.cause, self._detail()) if self.count and why.detail is None else why

    def silence(self, seconds: float) -> str:
        """The detail of an answer that did not come in time."""
        detail = f"no response in {seconds:g} s"
        return f"{detail}; {self._detail()}" if self.count else detail

    def _detail(self) -> str:
        return f"lines of the server that are no newline-delimited JSON-RPC: {self.count}; see the log"


def error_of(frame: Opened) -> Fault | ServerError:
    """Why a response without a result failed its request."""
    if frame.error is UNSET or is_null(frame.error):
        return Fault(Cause.INVALID_RESPONSE, "the response has neither a result nor an error")
    try:
        return ServerError(_error(frame.error).code, own(frame.error))
    except msgspec.DecodeError:
        return _nearly(frame.error) or Fault(Cause.INVALID_RESPONSE, "the error is not an error object")


def _nearly(given: Raw) -> ServerError | None:
    """An error that is not quite an error object, read as what it plainly means (decisions T21)."""
    members = object_in(given)
    if members is None:
        text = text_of(given)
        return ServerError(INTERNAL_ERROR, raw({"code": INTERNAL_ERROR, "message": text})) if text else None
    code, message = _whole(members.get("code")), members.get("message")
    told = text_of(message)
    mended: dict[str, object] = {**members, "code": code, "message": "" if told is None else told}
    if told is None and message is not None and not is_null(message) and "data" not in members:
        mended["data"] = message
    return ServerError(code, raw(mended))


def _whole(code: Raw | None) -> int:
    """The code, which may be written as a text or with a fraction of zero."""
    digits = (
        text_of(code)
        if code is not None and first_byte(code) == 0x22
        else bytes(code or b"").decode("ascii", "replace")
    )
    try:
        number = float(digits or "")
        return int(number) if number == int(number) and abs(number) < 2**31 else INTERNAL_ERROR
    except (ValueError, OverflowError):
        return INTERNAL_ERROR


def refused(broken: Broken) -> Fault:
    """What a request of the server that cannot be read is answered with."""
    if broken.flaw in (Flaw.NOT_JSON, Flaw.NOT_UTF8):
        return Fault(Cause.PARSE_ERROR)
    return Fault(Cause.LINE_TOO_LONG if broken.flaw is Flaw.TOO_LONG else Cause.INVALID_REQUEST_SHAPE)


def unreadable(broken: Broken, limits: Limits) -> Fault:
    """What a response that cannot be read is for its request (SIZE-05)."""
    if broken.flaw is Flaw.TOO_LONG:
        return Fault(Cause.INVALID_RESPONSE, f"the response is longer than the line limit of {limits.line} bytes")
    return Fault(Cause.INVALID_RESPONSE, f"the response is {broken.flaw.value}")


def overdue(cause: Cause, detail: str, held: float) -> Fault:
    """Why a server that did not open in time is not there: `held` are the seconds of a sign-in that still runs."""
    return Fault(Cause.SIGN_IN_TIMEOUT, facts=(("seconds", f"{held:g}"),)) if held else Fault(cause, detail)
