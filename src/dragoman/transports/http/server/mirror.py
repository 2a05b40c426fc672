"""Do the headers of a modern request say what its body says? (revisions 5.5, THTTP-03)

Only what the body carries is compared: what a body lacks is the front's matter. Names of headers do not care about
case, their values do; surrounding white space does not count. Integers are compared as numbers.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from dragoman.exchange.meta import PROTOCOL_VERSION
from dragoman.revisions import Era, named
from dragoman.transports.http.annotations import PREFIX, Annotations
from dragoman.transports.http.binding import NAMED_BY, Unmirrorable, text_in, unsealed
from dragoman.wire.members import Members, text_of

VERSION, METHOD, NAME = "mcp-protocol-version", "mcp-method", "mcp-name"


def mismatch(
    headers: Mapping[str, str], method: str, params: Members, meta: Members, annotations: Annotations
) -> str | None:
    """The first header that does not fit, in words for the error; `None` when all do. `meta` is that of the params."""
    version = text_of(meta.get(PROTOCOL_VERSION))
    if version is not None and headers.get(VERSION, "").strip() != version:
        return _said("MCP-Protocol-Version", headers.get(VERSION))
    revision = named(version) if version is not None else None
    if version is not None and (revision is None or revision.era is Era.LEGACY):
        return None  # which headers it would have, nobody knows: the front refuses the revision
    if headers.get(METHOD, "").strip() != method:
        return _said("Mcp-Method", headers.get(METHOD))
    member = NAMED_BY.get(method)
    if member is not None and not _is_same(headers.get(NAME), params.get(member)):
        return _said("Mcp-Name", headers.get(NAME))
    if method == "tools/call":
        return _argument(headers, params.get("name"), params.get("arguments"), annotations)
    return None


def _argument(headers: Mapping[str, str], name: Raw | None, given: Raw | None, annotations: Annotations) -> str | None:
    """Whether the marked arguments of a tool are in their headers; of a tool never heard of, nothing is known."""
    try:
        expected = annotations.headers(name, given)
    except Unmirrorable:
        return None  # no header can carry it, so none can be asked for
    for header, value in expected.items():
        sent = headers.get(header.lower())
        if sent is None or not _is_equal(unsealed(sent.strip()), unsealed(value)):
            return _said(header, sent)
    for header in annotations.known(name) - set(expected):
        if header.lower() in headers:
            return f"{PREFIX}{header.removeprefix(PREFIX)} has a value, and the argument has none"
    return None


def _is_same(header: str | None, member: Raw | None) -> bool:
    try:
        value = text_in(member)
    except (Unmirrorable, msgspec.DecodeError):
        return False
    return value is None or (header is not None and unsealed(header.strip()) == value)


def _is_equal(sent: str | None, value: str | None) -> bool:
    if sent is None or value is None:
        return False
    if sent == value:
        return True
    try:
        return float(sent) == int(value)
    except ValueError:
        return False


def _said(header: str, value: str | None) -> str:
    return f"{header} is missing" if value is None else f"{header} differs from the body"
