"""Read private keys from PEM, and sign with them: by `cryptography` and PyJWT, an extra."""

from collections.abc import Mapping
from hashlib import sha256

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

_LEAST_BITS = 2048
_UNEVEN_BITS = 16
"""By how much a prime of a generated key may be shorter than half of the modulus."""
_MOST_EXPONENT_BITS = 64
_LONGEST = 16 * 1024
"""Characters; an RSA key of 16,384 bits has 12,700."""
ENCRYPTED = "is encrypted with a password"


class KeyUnusable(Exception):
    """The text holds no key that can be used; the message says why, and nothing of the text."""


def sign_jwt(text: bytes, claims: Mapping[str, object]) -> str:
    """Return a JSON Web Token, signed with an RSA key (RS256). Raise KeyUnusable."""
    return jwt.encode(dict(claims), load_rsa_key(text), algorithm="RS256")


def load_rsa_key(text: bytes) -> RSAPrivateKey:
    """Return the RSA key of a PEM text. Raise KeyUnusable."""
    key = _load_key(text)
    if not isinstance(key, RSAPrivateKey):
        raise KeyUnusable("is not a key for RSA")
    if key.key_size < _LEAST_BITS:
        raise KeyUnusable(f"has {key.key_size} bits; GitHub's keys have {_LEAST_BITS}")
    numbers = key.private_numbers()
    short = min(numbers.p, numbers.q).bit_length() < key.key_size // 2 - _UNEVEN_BITS
    if short or numbers.public_numbers.e.bit_length() > _MOST_EXPONENT_BITS:
        raise KeyUnusable("is a weak key: its numbers are not those of a generated one")
    return key


class Ed25519Signer:
    """Signs with the Ed25519 key of a PEM text. Raises KeyUnusable."""

    def __init__(self, text: bytes) -> None:
        key = _load_key(text)
        if not isinstance(key, Ed25519PrivateKey):
            raise KeyUnusable("is not an Ed25519 key")
        self._key = key

    @property
    def key_id(self) -> str:
        """The SHA-256 of the public key in DER form."""
        form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
        return sha256(self._key.public_key().public_bytes(*form)).hexdigest()

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


def _load_key(text: bytes) -> PrivateKeyTypes:
    if len(text) > _LONGEST:
        raise KeyUnusable("is too long for a key")
    try:
        return load_pem_private_key(text, password=None)
    except TypeError:  # its word for a key that needs a password
        raise KeyUnusable(ENCRYPTED) from None
    except (ValueError, UnsupportedAlgorithm):
        raise KeyUnusable("holds no private key in PEM form, or a damaged one") from None
