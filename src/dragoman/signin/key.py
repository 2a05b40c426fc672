"""Under which name a sign-in is kept, and whether there is one (STORE-07). It is loaded for every server at a URL."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

MARK = ".mark"


@dataclass(frozen=True, slots=True)
class Key:
    """Whose sign-in it is. `client` tells clients that the user gave from each other and from our own."""

    server: str
    account: str
    redirect_uri: str
    client: str = ""

    @property
    def name(self) -> str:
        """The name under which it is kept: it tells nobody which server it is for."""
        parts = msgspec.json.encode([self.server, self.account, self.redirect_uri, self.client])
        return hashlib.sha256(parts).hexdigest()[:40]

    def mark(self, folder: Path) -> Path:
        """An empty file that tells the next process, before it loads anything, that there is a sign-in."""
        return folder / f"{self.name}{MARK}"
