"""Sign-ins in files, each encrypted with AES-256-GCM under a key that the user keeps elsewhere (STORE-03, STORE-04).

The name of a record is part of what is authenticated, so no file can stand for another. A file is written beside its
place and then moved, so that who reads sees the old one or the new one.
"""

import os
import re
import secrets
import stat
import sys
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dragoman.signin.stores import StoreFailed, Unreadable

SUFFIX = ".signin"
MAGIC = b"dragoman-1\n"
NONCE = 12

_KEY = re.compile(r"[0-9a-fA-F]{64}")


class Files:
    """`key` has 32 bytes."""

    label = "encrypted files"
    is_shared = True

    def __init__(self, folder: Path, key: bytes) -> None:
        """
        Raises:
            StoreFailed: the folder cannot be made.
        """
        self._folder = folder
        self._cipher = AESGCM(key)
        try:
            private_folder(folder)
        except OSError as error:
            raise StoreFailed(f"the folder of sign-ins cannot be made: {error.strerror}") from None

    def read(self, name: str) -> bytes | None:
        try:
            data = self._place(name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreFailed(f"a sign-in cannot be read: {error.strerror}") from None
        body = data.removeprefix(MAGIC)
        try:
            return self._cipher.decrypt(body[:NONCE], body[NONCE:], name.encode())
        except (InvalidTag, ValueError):
            raise Unreadable("a sign-in that is kept cannot be read with this key") from None

    def write(self, name: str, data: bytes) -> None:
        nonce = secrets.token_bytes(NONCE)
        place = self._place(name)
        beside = place.with_name(f"{place.name}.{secrets.token_hex(8)}")
        try:
            try:
                with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(MAGIC + nonce + self._cipher.encrypt(nonce, data, name.encode()))
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(beside, place)
                _sync(self._folder)
            except OSError:
                beside.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise StoreFailed(f"a sign-in cannot be written: {error.strerror}") from None

    def delete(self, name: str) -> bool:
        try:
            self._place(name).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreFailed(f"a sign-in cannot be deleted: {error.strerror}") from None
        return True

    def _place(self, name: str) -> Path:
        return self._folder / f"{name}{SUFFIX}"


def _sync(folder: Path) -> None:
    """See to it that the names in `folder` outlive a loss of power."""
    if sys.platform == "win32":
        return  # a folder cannot be opened there
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def private_folder(folder: Path) -> None:
    """Make a folder that only its owner can look into.

    Raises:
        OSError: it cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if sys.platform != "win32" and folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


def read_key(text: str) -> bytes:
    """The key that 64 hexadecimal digits spell.

    Raises:
        ValueError: they are none.
    """
    if not _KEY.fullmatch(text.strip()):
        raise ValueError("must hold a key of 64 hexadecimal digits")
    return bytes.fromhex(text.strip())


def key_in(file: Path, folder: Path) -> bytes:
    """The key in a file that nobody else can read, and that is not kept beside what it opens (STORE-04).

    Raises:
        ValueError: it is not such a file; the sentence continues "the file of --token-key-file".
    """
    try:
        whole = file.resolve(strict=True)
        if whole.is_relative_to(folder.resolve()):
            raise ValueError("must not be in the folder of the sign-ins")
        if sys.platform != "win32":
            status = whole.stat()
            if stat.S_IMODE(status.st_mode) & 0o077:
                raise ValueError("can be read by other accounts; give it the mode 600")
            if status.st_uid not in (os.getuid(), 0):
                raise ValueError("belongs to another account")
        return read_key(whole.read_text("ascii"))
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("must hold a key of 64 hexadecimal digits") from None
