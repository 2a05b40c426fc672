"""Which store is used (STORE-01, STORE-02), and where its files are."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from dragoman.signin.stores import Store, StoreFailed

CHOICES = ("auto", "keychain", "file", "memory")


def own_folder(environment: Mapping[str, str]) -> Path:
    """The folder of this program's sign-ins, by the custom of the system. No version is part of it (B150)."""
    home = Path(environment.get("USERPROFILE" if sys.platform == "win32" else "HOME") or os.path.expanduser("~"))
    if sys.platform == "win32":
        base = Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        named = environment.get("XDG_DATA_HOME", "")
        base = Path(named) if named.startswith("/") else home / ".local" / "share"
    return base / "dragoman" / "sign-ins"


def opened(choice: str, folder: Path, key: bytes | None) -> Store:
    """The store that `choice` names. `key` is that of the file store, if one was given.

    Raises:
        StoreFailed: it does not open; `auto` always finds one.
    """
    if choice in ("auto", "keychain"):
        try:
            from dragoman.signin.stores.keychain import Keychain

            return Keychain()
        except StoreFailed:
            if choice == "keychain":
                raise
    return beside_keychain(choice, folder, key)


def beside_keychain(choice: str, folder: Path, key: bytes | None) -> Store:
    """The store that serves without a keychain.

    Raises:
        StoreFailed: files are asked for, and cannot be used.
    """
    if choice in ("auto", "file") and key is not None:
        from dragoman.signin.stores.files import Files

        try:
            return Files(folder, key)
        except StoreFailed:
            if choice == "file":
                raise
    if choice == "file":
        raise StoreFailed("the file store needs a key")
    from dragoman.signin.stores.memory import Memory

    return Memory()
