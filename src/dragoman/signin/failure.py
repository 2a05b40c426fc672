"""How a sign-in ends without a token. The detail never holds a URL, a token or a text of the other side (ERR-03)."""

from dragoman.faults import Cause


class Failed(Exception):
    """`detail` names the step, and the HTTP status or the error code when there is one.

    `is_passing` tells that the same may succeed later, so nothing that is stored was given up.
    """

    def __init__(
        self, cause: Cause, detail: str | None = None, *, status: int | None = None, is_passing: bool = False
    ) -> None:
        super().__init__(detail or cause.value)
        self.cause = cause
        self.detail = detail
        self.status = status
        self.is_passing = is_passing


def failed(step: str, status: int | None = None, code: str | None = None, *, is_passing: bool = False) -> Failed:
    """`step` failed: `sign_in_failed`, with what is known of why."""
    known = [f"HTTP status {status}"] if status is not None else []
    if code is not None:
        known.append(code)
    detail = f"{step}: {', '.join(known)}" if known else step
    return Failed(Cause.SIGN_IN_FAILED, detail, status=status, is_passing=is_passing)
