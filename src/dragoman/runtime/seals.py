"""The seal of this process: its key from the environment, or a random one that no other process has (SEAL-07)."""

import base64
import binascii
import os
import secrets
import time

from dragoman.fronts.sealing import KEY, Seal


def seal(key: bytes | None, lifetime: float) -> Seal:
    """`lifetime` is in seconds. Without a key, a restart refuses the states from before."""
    return Seal(key or secrets.token_bytes(KEY), lifetime, os.urandom, time.time)  # noqa: TID251 - other processes read it


def read_key(text: str) -> bytes:
    """The key that a variable holds, as Base64 or as hexadecimal digits.

    Raises:
        ValueError: it is no key of 32 bytes.
    """
    given = text.strip()
    for decode in (bytes.fromhex, _from_base64):
        try:
            key = decode(given)
        except (ValueError, binascii.Error):
            continue
        if len(key) == KEY:
            return key
    raise ValueError("is no key of 32 bytes, in Base64 or hexadecimal digits")


def _from_base64(text: str) -> bytes:
    return base64.b64decode(text.replace("+", "-").replace("/", "_"), altchars=b"-_", validate=True)
