"""The public keys of an issuer, a JSON Web Key Set (RFC 7517), and which of them a token names."""

from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.exceptions import PyJWTError

KINDS = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The algorithms that are taken, each with the type and curve of its keys. With all of them, only the issuer can sign:
one that uses the same secret on both sides would make a signing key of the public one (RFC 8725 section 3.1)."""

LEAST_RSA = 2048
"""Bits of an RSA key (RFC 7518 section 3.3)."""

PUBLIC = ("kty", "crv", "n", "e", "x", "y")


class _Set(msgspec.Struct):
    keys: list[Any]


class Keys:
    """What was read of a key set. A key is made when the first token needs it."""

    def __init__(self, document: bytes) -> None:
        """
        Raises:
            ValueError: the document is no key set.
        """
        try:
            entries = msgspec.json.decode(document, type=_Set).keys
        except (msgspec.DecodeError, RecursionError):
            raise ValueError("no key set") from None
        self._entries: list[dict[str, Any]] = [entry for entry in entries if isinstance(entry, dict)]
        self._made: dict[tuple[int, str], PyJWK | None] = {}

    def find(self, algorithm: str, kid: str | None) -> PyJWK | None:
        """The key `kid` for that algorithm; without a `kid`, the only key for it."""
        if algorithm not in KINDS:
            return None
        fitting = [place for place, entry in enumerate(self._entries) if _fits(entry, algorithm, kid)]
        if not fitting or (kid is None and len(fitting) > 1):
            return None
        made = fitting[0], algorithm
        if made not in self._made:
            self._made[made] = _key(self._entries[fitting[0]], algorithm)
        return self._made[made]


def _fits(entry: dict[str, Any], algorithm: str, kid: str | None) -> bool:
    kind, curve = KINDS[algorithm]
    operations = entry.get("key_ops")
    return (
        entry.get("kty") == kind
        and (curve is None or entry.get("crv") == curve)
        and entry.get("alg", algorithm) == algorithm
        and entry.get("use", "sig") == "sig"
        and (not isinstance(operations, list) or "verify" in operations)
        and (kid is None or entry.get("kid") == kid)
    )


def _key(entry: dict[str, Any], algorithm: str) -> PyJWK | None:
    try:
        made = PyJWK({name: entry[name] for name in PUBLIC if name in entry}, algorithm)
    except (PyJWTError, TypeError, ValueError):
        return None
    return None if isinstance(made.key, RSAPublicKey) and made.key.key_size < LEAST_RSA else made
