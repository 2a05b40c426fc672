"""Sign-ins in the keychain of the system, through the `keyring` library.

* A backend that only pretends, or that writes plain text, is none (its priority is below 1).
* Some keychains take short texts only, so a long one is kept in pieces.
"""

import base64
import binascii
from typing import TYPE_CHECKING

import keyring
from keyring.errors import KeyringError, PasswordDeleteError

from dragoman.signin.stores import StoreFailed

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "dragoman"
PIECE = 1000
"""Characters of one piece: Windows takes 2560 bytes, and writes two for each."""


class Keychain:
    label = "the system's keychain"
    is_shared = True

    def __init__(self) -> None:
        """
        Raises:
            StoreFailed: the system has no keychain that can be used.
        """
        try:
            self._ring: KeyringBackend = keyring.get_keyring()
            usable = self._ring.priority >= 1
        except Exception:  # a backend may fail in any way while it is looked for
            usable = False
        if not usable:
            raise StoreFailed("the system has no keychain that can be used")
        self._get("index")

    def read(self, name: str) -> bytes | None:
        head = self._get(name)
        if head is None:
            return None
        try:
            count = int(head)
            pieces = [self._get(f"{name}/{number}") for number in range(count)]
            return base64.b64decode("".join(piece for piece in pieces if piece is not None), validate=True)
        except (ValueError, binascii.Error):
            return None

    def write(self, name: str, data: bytes) -> None:
        text = base64.b64encode(data).decode()
        pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
        before = self._count(name)
        try:
            for number, piece in enumerate(pieces):
                self._put(f"{name}/{number}", piece)
            self._put(name, str(len(pieces)))
        except Exception as error:
            raise _failed(error) from None
        for number in range(len(pieces), before):
            self._drop(f"{name}/{number}")

    def delete(self, name: str) -> bool:
        count = self._count(name)
        was_there = self._drop(name)
        for number in range(count):
            self._drop(f"{name}/{number}")
        return was_there

    def _count(self, name: str) -> int:
        head = self._get(name)
        return int(head) if head is not None and head.isdecimal() else 0

    def _get(self, name: str) -> str | None:
        try:
            return self._ring.get_password(SERVICE, name)
        except Exception as error:
            raise _failed(error) from None

    def _put(self, name: str, text: str) -> None:
        self._ring.set_password(SERVICE, name, text)  # pyright: ignore[reportUnknownMemberType] - it has no types

    def _drop(self, name: str) -> bool:
        try:
            self._ring.delete_password(SERVICE, name)
        except PasswordDeleteError:
            return False
        except Exception as error:
            raise _failed(error) from None
        return True


def _failed(error: Exception) -> StoreFailed:
    kind = "it is locked or refused" if isinstance(error, KeyringError) else type(error).__name__
    return StoreFailed(f"the system's keychain does not answer: {kind}")
