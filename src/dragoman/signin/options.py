"""What the user says about sign-in, as one frozen value. It is loaded with the command line, so it imports little."""

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.signin.issuers import IssuerSettings

REDIRECT_PORT = 29417
"""Our own, outside the range from which systems take ports for outgoing connections."""

HOST, CALLBACK = "127.0.0.1", "/callback"
"""The literal address: a name could lead to another program (OAUTH-09, B151)."""

TIMEOUT = 300
ACCOUNT = "default"
NO_RESOURCE = "none"
"""Leave out the parameter that names the server."""


def redirect_uri(port: int) -> str:
    """Where the browser comes back to."""
    return f"http://{HOST}:{port}{CALLBACK}"


class Method(Enum):
    BROWSER = "browser"
    DEVICE = "device"  # a code that the user enters on another device
    CLIENT = "client"  # without a user: the client's own credentials


@dataclass(frozen=True, slots=True)
class Options:
    """`signing_key` is a private key in PEM, `store_key` 32 bytes. `secrets` are the names of variables that hold one.

    `is_port_fixed` tells that no other port will do, as somebody relies on this one. `issuers` are the settings that
    the user has for single authorization servers. `opens_browser` is off for `--no-browser`; `needs_browser` makes it a
    failure when none can be opened.
    """

    folder: Path
    method: Method = Method.BROWSER
    client_id: str | None = None
    client_issuer: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    signing_key: bytes | None = field(default=None, repr=False)
    client_metadata_url: str | None = None
    redirect_port: int = REDIRECT_PORT
    is_port_fixed: bool = False
    issuers: "tuple[IssuerSettings, ...]" = ()
    opens_browser: bool = True
    needs_browser: bool = False
    timeout: float = float(TIMEOUT)
    account: str = ACCOUNT
    store: str = "auto"
    store_key: bytes | None = field(default=None, repr=False)
    secrets: frozenset[str] = frozenset()
    is_sandboxed: bool = False

    @property
    def redirect_uri(self) -> str:
        return redirect_uri(self.redirect_port)

    @property
    def client(self) -> str:
        """What tells records of different clients of one server apart (STORE-07)."""
        if self.client_id is not None:
            kind = "client" if self.method is Method.CLIENT else "id"
            return f"{kind}:{self.client_id} {self.client_issuer or ''}"
        return f"document:{self.client_metadata_url}" if self.client_metadata_url is not None else ""
