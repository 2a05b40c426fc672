"""A client that proves itself with a key: assertions of `private_key_jwt` (RFC 7523)."""

import secrets

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

LIFE = 60.0
"""Seconds for which one assertion is good."""

CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


class SigningKey:
    """A private key in PEM, without a password."""

    def __init__(self, pem: bytes) -> None:
        """
        Raises:
            ValueError: it is no such key, or of a kind that signs nothing here.
        """
        try:
            self._key = load_pem_private_key(pem, None)
        except (ValueError, TypeError):
            raise ValueError("is no private key in PEM without a password") from None
        if isinstance(self._key, rsa.RSAPrivateKey):
            self.algorithm = "RS256"
        elif isinstance(self._key, ec.EllipticCurvePrivateKey) and self._key.curve.name in CURVES:
            self.algorithm = CURVES[self._key.curve.name]
        elif isinstance(self._key, ed25519.Ed25519PrivateKey):
            self.algorithm = "EdDSA"
        else:
            raise ValueError("is no key for RSA, for a NIST curve or for Ed25519")

    def assertion(self, client_id: str, issuer: str, now: float) -> str:
        """Who the client is, said to `issuer` at the time `now` (seconds of Unix), once."""
        claims = {"iss": client_id, "sub": client_id, "aud": issuer, "iat": int(now), "exp": int(now + LIFE)}
        assert isinstance(self._key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey)
        return jwt.encode({**claims, "jti": secrets.token_urlsafe(16)}, self._key, self.algorithm)
