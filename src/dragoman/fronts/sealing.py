"""`requestState` of calls that wait at the bridge: a handle that only this bridge can make (SEAL).

The text is a version, a dot, and the Base64 of nonce and AES-256-GCM ciphertext. Inside are the handle, the round and
the expiry; principal, method and a digest of the params, as the client wrote them, are bound to it as associated data.
Whatever does not fit is told with one sentence and no more, as the text may be an attacker's.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable

import msgspec

from dragoman.exchange.events import Call
from dragoman.wire.canonical import canonical
from dragoman.wire.members import Members, closed, encoded

VERSION = "1"
NONCE = 12
KEY = 32
HANDLE = 9
RETRY = frozenset({"inputResponses", "requestState"})


class Inner(msgspec.Struct):
    """What a state says."""

    handle: str
    round: int
    expires: float


_inner = msgspec.json.Decoder(Inner).decode


class Unsealed(ValueError):
    """Why a state is not taken."""


class Seal:
    """`key` has 32 bytes; `random` gives so many random bytes, `wall` the time in seconds of Unix."""

    def __init__(self, key: bytes, lifetime: float, random: Callable[[int], bytes], wall: Callable[[], float]) -> None:
        self._key = key
        self._lifetime = lifetime
        self._random = random
        self._wall = wall

    def handle(self) -> str:
        """A name that no other call has, here or in another process."""
        return self._random(HANDLE).hex()

    def seal(self, handle: str, round_: int, call: Call, params: Members) -> str:
        """The state for a call that waits under `handle` in that round, and came with these params."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = self._random(NONCE)
        inner = encoded(Inner(handle, round_, self._wall() + self._lifetime))
        sealed = AESGCM(self._key).encrypt(nonce, inner, _bound(call, params))
        return f"{VERSION}.{base64.urlsafe_b64encode(nonce + sealed).decode('ascii')}"

    def opened(self, text: str, call: Call, params: Members) -> tuple[str, int]:
        """Handle and round of the state that `call` brings back with these params.

        Raises:
            Unsealed: it was changed, is too old, or belongs to another request or caller.
        """
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        version, _, rest = text.partition(".")
        if version != VERSION:
            raise Unsealed("the requestState is of an unknown form")
        try:
            data = base64.b64decode(rest, altchars=b"-_", validate=True)
            if base64.urlsafe_b64encode(data).decode("ascii") != rest:
                raise ValueError  # other bits where none count: another spelling of the same
            inner = _inner(AESGCM(self._key).decrypt(data[:NONCE], data[NONCE:], _bound(call, params)))
        except (binascii.Error, ValueError, InvalidTag):
            raise Unsealed("the requestState was changed, or belongs to another request or bridge") from None
        if inner.expires <= self._wall():
            raise Unsealed("the requestState is too old")
        return inner.handle, inner.round


def _bound(call: Call, params: Members) -> bytes:
    """What a state is bound to, in one spelling: who asks, what, and with which params (SEAL-04 to SEAL-06)."""
    asked = {name: value for name, value in params.items() if name not in RETRY}
    digest = hashlib.sha256(canonical(closed(asked))).hexdigest()
    return encoded([VERSION, call.caller.principal, call.method, digest])
