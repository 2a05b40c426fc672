"""The `endpoint` event of an SSE server: where messages are posted (revisions 5.2).

It is resolved as RFC 3986 says, against the URL that the stream came from, and must stay at its origin. A server behind
a path prefix may name a place without it, so there is a second guess, for a server that answers 404 (B124).

The sentences of a refusal repeat nothing of the event (ERR-06).
"""

from urllib.parse import urljoin, urlsplit, urlunsplit

from dragoman.transports.http.address import Address, Refused, address


def named_by(data: bytes, stream: Address) -> tuple[Address, Address | None]:
    """The place that the event with `data` names in the stream of that URL, and the second guess if there is one.

    Raises:
        Refused: it is no place, or one at another origin.
    """
    try:
        to = address(urljoin(stream.url, data.decode().strip()).partition("#")[0], allow_http=stream.is_plain)
    except ValueError:
        raise Refused("the endpoint event names no usable place") from None
    if to.origin != stream.origin:
        raise Refused("the endpoint event names a place at another origin")
    return to, _under_prefix(to, stream)


def _under_prefix(to: Address, stream: Address) -> Address | None:
    prefix = urlsplit(stream.url).path.rpartition("/")[0]
    parts = urlsplit(to.url)
    if not prefix or parts.path.startswith(prefix + "/"):
        return None
    return address(urlunsplit(parts._replace(path=prefix + parts.path)), allow_http=stream.is_plain)
