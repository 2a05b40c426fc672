"""What a refusal with 401 or 403 asks for: the `Bearer` challenge of its `WWW-Authenticate` (RFC 9110, 6750, 9728)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

UNAUTHORIZED, FORBIDDEN = 401, 403
INSUFFICIENT_SCOPE = "insufficient_scope"

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAM = re.compile(rf"""({_TOKEN})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^',]*)'|([^\s,"=][^\s,"]*))""")
"""A parameter; some servers write a value in single quotes, or a URL without any."""
_SCHEME = re.compile(rf"({_TOKEN})(?:\s+|$|(?=,))")
_TOKEN68 = re.compile(r"[A-Za-z0-9._~+/-]+=*\s*(?=,|$)")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_GAP = re.compile(r"[\s,]*")
_ESCAPED = re.compile(r"\\(.)")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


@dataclass(frozen=True, slots=True)
class Challenge:
    """`is_bearer` tells whether there was a `Bearer` challenge at all; the rest is empty without one.

    `scopes` are those that this operation needs, `None` when the server does not say.
    """

    status: int
    is_bearer: bool = False
    metadata_url: str | None = None
    scopes: tuple[str, ...] | None = None
    error: str | None = None

    @property
    def wants_more(self) -> bool:
        """Whether the token is good and only its scopes are too few (step-up)."""
        return self.status == FORBIDDEN and self.error == INSUFFICIENT_SCOPE


def challenge(status: int, values: Iterable[str]) -> Challenge:
    """The challenge of a response; `values` are all its `WWW-Authenticate` fields."""
    for value in values:
        for scheme, params in _challenges(value):
            if scheme == "bearer":
                url = params.get("resource_metadata", "")
                named = url if _ABSOLUTE.match(url) else None  # a relative one counts as absent
                return Challenge(status, True, named, scopes_of(params.get("scope")), params.get("error"))
    return Challenge(status)


def scopes_of(text: str | None) -> tuple[str, ...] | None:
    """The scopes of a list that is separated by spaces, each once; `None` for none."""
    found = tuple(dict.fromkeys(one for one in (text or "").split() if _SCOPE.fullmatch(one)))
    return found or None


def _challenges(value: str) -> Iterable[tuple[str, dict[str, str]]]:
    found: list[tuple[str, dict[str, str]]] = []
    at = 0
    while True:
        gap = _GAP.match(value, at)
        at = gap.end() if gap is not None else at
        if at >= len(value):
            return found
        param = _PARAM.match(value, at)
        if param is not None and found:
            name, quoted, single, plain = param.groups()
            value_of = _ESCAPED.sub(r"\1", quoted) if quoted is not None else plain if single is None else single
            found[-1][1].setdefault(name.lower(), value_of)
            at = param.end()
            continue
        scheme = _SCHEME.match(value, at)
        if scheme is None:
            return found  # what follows cannot be read; what stood before it can
        found.append((scheme[1].lower(), {}))
        at = scheme.end()
        if not _PARAM.match(value, at):
            token68 = _TOKEN68.match(value, at)
            at = token68.end() if token68 is not None and token68[0].strip() else at
