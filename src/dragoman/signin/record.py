"""What is kept of one sign-in."""

import msgspec

from dragoman.signin.clients import Client
from dragoman.signin.scopes import Scopes
from dragoman.signin.tokens import Tokens


class Record(msgspec.Struct, frozen=True):
    """All of it belongs to `issuer`, and is never used at another one (OAUTH-03).

    `resource` and `scopes` are what tokens were asked for with, `token_endpoint` where they are renewed,
    `revocation_endpoint` where they are given back.
    """

    issuer: str
    client: Client
    token_endpoint: str
    tokens: Tokens | None = None
    resource: str | None = None
    scopes: Scopes | None = None
    revocation_endpoint: str | None = None
    version: int = 1


def written(record: Record) -> bytes:
    return msgspec.json.encode(record)


def read(data: bytes | None) -> Record | None:
    """The record that `data` holds; `None` for none, and for what this version cannot read."""
    if data is None:
        return None
    try:
        record = msgspec.json.decode(data, type=Record)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return record if record.version == 1 else None
