"""Which scopes a sign-in asks for (revisions 7, rows on scopes; B147, B148)."""

from collections.abc import Iterable, Sequence

OFFLINE = "offline_access"

Scopes = tuple[str, ...]


def chosen(
    challenged: Scopes | None, supported: Sequence[str] | None, offered: Sequence[str] | None, before: Scopes | None
) -> Scopes | None:
    """The scopes to ask for, or `None` to leave the parameter out.

    The challenge names them, else the metadata of the resource does (`supported`). `before` is what was asked for or
    granted earlier, when this is a step-up: nothing of it may be lost. `offered` are those of the authorization server;
    one that knows `offline_access` gives refresh tokens only for it.
    """
    wanted = challenged if challenged is not None else tuple(supported or ()) or None
    if before is not None:
        wanted = _union(before, wanted or ())
    if wanted is not None and OFFLINE in (offered or ()):
        wanted = _union(wanted, (OFFLINE,))
    return wanted


def text_of(scopes: Scopes | None) -> str | None:
    return " ".join(scopes) if scopes else None


def _union(first: Iterable[str], then: Iterable[str]) -> Scopes:
    return tuple(dict.fromkeys((*first, *then)))
