"""Access tokens for tests: an issuer's keys, and tokens that are right or wrong in just one way."""

import base64
import hashlib
import hmac
import json
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

NOW = 1_800_000_000.0
ISSUER = "https://as.example/tenant"
AUDIENCE = "https://mcp.example/mcp"

Private = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@cache
def private(kind: str, number: int = 0) -> Private:
    """A key, made once; `number` tells several of one kind apart."""
    if kind == "OKP":
        return ed25519.Ed25519PrivateKey.generate()
    if kind.startswith("P-"):
        curve = {"P-256": ec.SECP256R1, "P-384": ec.SECP384R1, "P-521": ec.SECP521R1}[kind]
        return ec.generate_private_key(curve())
    return rsa.generate_private_key(65537, 1024 if kind == "weak" else 2048)


def jwk(kind: str = "P-256", kid: str | None = "k1", number: int = 0, **members: Any) -> dict[str, Any]:
    """The public half, as a key set has it."""
    key = private(kind, number).public_key()
    if isinstance(key, rsa.RSAPublicKey):
        entry = RSAAlgorithm.to_jwk(key, as_dict=True)
    elif isinstance(key, ec.EllipticCurvePublicKey):
        entry = ECAlgorithm.to_jwk(key, as_dict=True)
    else:
        entry = OKPAlgorithm.to_jwk(key, as_dict=True)
    entry.pop("key_ops", None)
    return {**entry, **({"kid": kid} if kid is not None else {}), **members}


def key_set(*entries: Any) -> bytes:
    return json.dumps({"keys": entries}).encode()


def said(**claims: Any) -> dict[str, Any]:
    """The claims of a right token; a claim of `None` is left out."""
    right = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "client_id": "editor", "exp": NOW + 60, "scope": "use"}
    return {name: value for name, value in {**right, **claims}.items() if value is not None}


def token(algorithm: str = "ES256", kind: str = "P-256", kid: str | None = "k1", number: int = 0, **claims: Any) -> str:
    headers = {"kid": kid} if kid is not None else {}
    return jwt.encode(said(**claims), private(kind, number), algorithm, headers)


def unsigned(**claims: Any) -> str:
    return ".".join((_part({"alg": "none", "kid": "k1"}), _part(said(**claims)), ""))


def signed_with_public_key(kind: str = "RSA") -> str:
    """A token of the algorithm with one secret for both sides, whose secret is the text of the public key."""
    secret = private(kind).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    text = f"{_part({'alg': 'HS256', 'kid': 'k1'})}.{_part(said())}"
    return f"{text}.{_encoded(hmac.digest(secret, text.encode(), hashlib.sha256))}"


def headed(header: bytes) -> str:
    """A token with that header, whatever it is."""
    return f"{_encoded(header)}.{_part(said())}.{_encoded(b'x' * 64)}"


def _part(value: Any) -> str:
    return _encoded(json.dumps(value).encode())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
