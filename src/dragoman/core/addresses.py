"""The URL rule: which addresses of an upstream server a user may be sent to (URLR).

An `https` URL is offered, and an `http` URL only to a loopback host and without user information. A web browser will
read what is let through, by rules of its own (WHATWG), so a URL is also refused where its reading and ours could
differ:

* a character that no URL has as such, anywhere: a backslash, white space, a control character, one outside ASCII;
* a scheme without two slashes, an authority that is not user information, host and port, or an empty one;
* a host that is no plain name, dotted address or bracketed address. Browsers map other spellings (`%31`, `0x7f.1`,
  `2130706433`, a disguised ASCII name in punycode) to hosts that the letters do not show, so none of them is read.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from unicodedata import normalize

CLEAN = re.compile(r"[\x21-\x5b\x5d-\x7e]+")
URL = re.compile(r"(?P<scheme>[A-Za-z]+)://(?P<authority>[^/?#]+)(?:[/?#].*)?")
AUTHORITY = re.compile(r"(?:(?P<user>[^@]*)@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{0,5}))?")
LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

LONGEST_NAME = 253
LAST_PORT = 65535

Host = str | IPv4Address | IPv6Address


def is_offered(url: str) -> bool:
    """Whether the client may show `url` to its user."""
    found = URL.fullmatch(url) if CLEAN.fullmatch(url) else None
    parts = AUTHORITY.fullmatch(found["authority"]) if found is not None else None
    if found is None or parts is None or int(parts["port"] or 0) > LAST_PORT:
        return False
    host = host_of(parts["host"])
    if host is None:
        return False
    match found["scheme"].lower():
        case "https":
            return True
        case "http":
            return parts["user"] is None and _is_loopback(host)
        case _:
            return False


def host_of(written: str) -> Host | None:
    """The host that every reader sees in `written`; `None` where readers may differ, or where there is none."""
    try:
        if written.startswith("["):
            return IPv6Address(written[1:-1])
        name = written.lower().removesuffix(".")
        labels = name.split(".")
        if len(name) > LONGEST_NAME or not all(LABEL.fullmatch(label) and _is_itself(label) for label in labels):
            return None
        return IPv4Address(written) if NUMBER.fullmatch(labels[-1]) else name
    except AddressValueError:
        return None


def _is_itself(label: str) -> bool:
    """Whether a label is plain, or punycode for a name that no reader maps to another one."""
    if not label.startswith("xn--"):
        return True
    try:
        name = label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return False
    return name.isprintable() and not name.isascii() and name == normalize("NFKC", name.lower())


def _is_loopback(host: Host) -> bool:
    if isinstance(host, str):
        return host == "localhost"
    if isinstance(host, IPv6Address) and host.ipv4_mapped is not None:
        host = host.ipv4_mapped
    return host.is_loopback
