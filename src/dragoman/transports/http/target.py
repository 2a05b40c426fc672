"""What the user gives for a server at a URL: the URL, headers and certificates (CLI-15 to CLI-20).

Every refusal is a `Refused` whose sentence names the option, the header or the variable and repeats no value (CLI-14).
Values of headers are not shown by `repr`.
"""

import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dragoman.transports.http.address import Address, Refused
from dragoman.transports.http.binding import TOKEN
from dragoman.transports.http.credentials import Credentials

OURS = frozenset(
    {
        *("host", "connection", "content-length", "transfer-encoding", "accept", "content-type", "accept-encoding"),
        *("dpop", "te", "trailer", "upgrade", "keep-alive", "proxy-connection", "expect", "proxy-authorization"),
    }
)
SECRETS = frozenset({"authorization", "cookie", "x-api-key", "api-key"})
"""Headers whose value should come from the environment: on the command line every process of the machine sees it."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class UnusableTrust(ValueError):
    """The system's certificates cannot be read (HTTP-09)."""


@dataclass(frozen=True, slots=True)
class Header:
    name: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Target:
    """`environment` is where the proxy variables are looked up. `credentials` are for the user's own origin alone.

    `named_hosts` are those of other URLs that the user wrote; `allow_intranet` lets URLs that others wrote lead into
    private networks.
    """

    address: Address
    headers: tuple[Header, ...] = ()
    ca_file: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    credentials: Credentials | None = field(default=None, repr=False, compare=False)
    named_hosts: frozenset[str] = frozenset()
    allow_intranet: bool = False


def header(text: str) -> Header:
    """The header that `NAME:VALUE` gives.

    Raises:
        Refused: it is none, or one that is not the user's to give.
    """
    name, colon, value = text.partition(":")
    if not colon:
        raise Refused("the value of --header must be a name, a colon and a value")
    return _checked(name, value.strip(" \t"))


def header_from(text: str, environment: Mapping[str, str]) -> Header:
    """The header that `NAME=VARIABLE` gives.

    Raises:
        Refused: it is none, or its variable has no value.
    """
    name, equals, variable = text.partition("=")
    if not equals or not variable:
        raise Refused("the value of --header-env must be a name, an equals sign and a variable")
    _check_name(name)
    value = environment.get(variable, "")
    if not value:
        raise Refused(f"the variable for the header {name.lower()} is unset or empty")
    return _checked(name, value)


def together(headers: Iterable[Header]) -> tuple[Header, ...]:
    """All headers of one command line.

    Raises:
        Refused: two have the same name.
    """
    found: dict[str, Header] = {}
    for one in headers:
        if one.name.lower() in found:
            raise Refused(f"the header {one.name.lower()} is given twice")
        found[one.name.lower()] = one
    return tuple(found.values())


def check_ca_file(path: str) -> None:
    """Make sure that a file holds certificates.

    Raises:
        Refused: it cannot be read, or holds none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cafile=path)
    except ssl.SSLError:
        raise Refused("the file of --ca-file has no usable certificate") from None
    except (OSError, ValueError):
        raise Refused("the file of --ca-file cannot be read") from None
    if not context.cert_store_stats()["x509"]:
        raise Refused("the file of --ca-file has no usable certificate")


def trust(target: Target) -> ssl.SSLContext:
    """Whom we trust: the system's certificates and those of the extra file.

    Raises:
        UnusableTrust: one of them cannot be read.
    """
    try:
        named = target.environment.get("SSL_CERT_FILE")
        if named:  # OpenSSL itself passes over a store that cannot be read, and then trusts nobody
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=named)
        context = ssl.create_default_context()
        if target.ca_file is not None:
            context.load_verify_locations(cafile=target.ca_file)
    except (OSError, ValueError) as error:
        raise UnusableTrust("the CA certificates cannot be read") from error
    return context


def _checked(name: str, value: str) -> Header:
    _check_name(name)
    if not value:
        raise Refused(f"the header {name.lower()} has no value")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Refused(f"the header {name.lower()} has a value that is no text") from None
    if _CONTROL.search(value):
        raise Refused(f"the header {name.lower()} has a control character in its value")
    return Header(name, value)


def _check_name(name: str) -> None:
    if not TOKEN.fullmatch(name):
        raise Refused("the name of a header is no token of HTTP")
    if name.lower() in OURS or name.lower().startswith("mcp-"):
        raise Refused(f"the header {name.lower()} is set by the bridge itself")
