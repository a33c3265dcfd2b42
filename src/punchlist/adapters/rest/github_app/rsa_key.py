"""Read an RSA private key from PEM, and sign with it as RS256 asks for (PKCS #1 v1.5, SHA-256).

Why this is not left to a package or to openssl: docs/decisions/our-own-rs256.md.
"""

import base64
import binascii
import math
import re
import secrets
from hashlib import sha256

_PEM = re.compile(
    r"-----BEGIN (?P<label>[A-Z0-9 ]{1,40})-----(?P<body>.*?)-----END (?P=label)-----", re.DOTALL
)
_BEGIN = re.compile(r"-----BEGIN (?P<label>[A-Z0-9 ]{1,40})-----")
_PLAIN, _WRAPPED = "RSA PRIVATE KEY", "PRIVATE KEY"
_OTHER_KINDS = {
    "ENCRYPTED PRIVATE KEY": "is encrypted with a password",
    "EC PRIVATE KEY": "is a key for elliptic curves, not for RSA",
    "DSA PRIVATE KEY": "is a key for DSA, not for RSA",
    "OPENSSH PRIVATE KEY": "is a key of OpenSSH, not of an App",
    "PUBLIC KEY": "is a public key, not the private one",
    "RSA PUBLIC KEY": "is a public key, not the private one",
    "CERTIFICATE": "is a certificate, not a private key",
}
_RSA = bytes.fromhex("2a864886f70d010101")
"""The object identifier rsaEncryption."""
_DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
"""What stands before a SHA-256 digest in a signature (RFC 8017, 9.2)."""
_INTEGER, _OCTETS, _OBJECT, _SEQUENCE = 0x02, 0x04, 0x06, 0x30
_LEAST_BITS, _MOST_BITS = 2048, 16384
_LONGEST_PEM = 64 * 1024
_CUT = "is cut short, or damaged"


class KeyUnusable(Exception):
    """The text holds no key that can be used; the message says why, and nothing of the text."""


class RsaKey:
    """An RSA private key; no part of it is ever shown."""

    def __init__(self, modulus: int, public: int, primes: tuple[int, int], private: int) -> None:
        self.modulus = modulus
        self._public = public
        self._primes = primes
        self._private = private

    def __repr__(self) -> str:
        return f"RsaKey({self.modulus.bit_length()} bits)"

    def sign(self, message: bytes) -> bytes:
        """Return the signature; raise KeyUnusable if the parts of the key do not fit together."""
        size = (self.modulus.bit_length() + 7) // 8
        tail = _DIGEST_INFO + sha256(message).digest()
        padded = b"\x00\x01" + b"\xff" * (size - len(tail) - 3) + b"\x00" + tail
        wanted = int.from_bytes(padded, "big")
        signature = self._decrypt_blinded(wanted)
        if pow(signature, self._public, self.modulus) != wanted:
            raise KeyUnusable(_CUT)  # a wrong signature could tell a factor of the modulus
        return signature.to_bytes(size, "big")

    def _decrypt_blinded(self, number: int) -> int:
        """Return the number to the power of the private exponent. Blinded: how long that takes
        says nothing about the key, because the number is a random one.
        """
        modulus, (first, second) = self.modulus, self._primes
        while math.gcd(blind := secrets.randbelow(modulus - 2) + 2, modulus) != 1:
            pass
        hidden = number * pow(blind, self._public, modulus) % modulus
        # By the Chinese remainder theorem, which is four times faster.
        one = pow(hidden, self._private % (first - 1), first)
        two = pow(hidden, self._private % (second - 1), second)
        found = two + second * ((one - two) * pow(second, -1, first) % first)
        return found * pow(blind, -1, modulus) % modulus


def parse_key(text: str) -> RsaKey:
    """Return the key of a PEM text, PKCS #1 or PKCS #8. Raise KeyUnusable."""
    text = text.replace("\\n", "\n")  # as files with variables often write the ends of lines
    if len(text) > _LONGEST_PEM:
        raise KeyUnusable("is too long for a key")
    found = next((each for each in _PEM.finditer(text) if "PRIVATE" in each["label"]), None)
    found = found or _PEM.search(text)
    if found is None:
        raise KeyUnusable(_CUT if _BEGIN.search(text) else "holds no key in PEM form")
    label, body = found["label"], found["body"]
    if "ENCRYPTED" in body:
        raise KeyUnusable(_OTHER_KINDS["ENCRYPTED PRIVATE KEY"])
    if label not in (_PLAIN, _WRAPPED):
        raise KeyUnusable(_OTHER_KINDS.get(label, "is no private key for RSA"))
    try:
        der = base64.b64decode("".join(body.split()), validate=True)
        return _parse_numbers(_unwrap(der) if label == _WRAPPED else der)
    except (binascii.Error, ValueError, IndexError) as error:
        raise KeyUnusable(_CUT) from error


def _unwrap(der: bytes) -> bytes:
    """Return the PKCS #1 key inside a PKCS #8 one."""
    parts = _DerReader(_DerReader(der).read(_SEQUENCE))
    parts.read(_INTEGER)
    if _DerReader(parts.read(_SEQUENCE)).read(_OBJECT) != _RSA:
        raise KeyUnusable("is no private key for RSA")
    return parts.read(_OCTETS)


def _parse_numbers(der: bytes) -> RsaKey:
    parts = _DerReader(_DerReader(der).read(_SEQUENCE))
    version, modulus, public, private, first, second = (parts.read_number() for _ in range(6))
    if version != 0 or first * second != modulus or min(first, second, public, private) < 3:
        raise KeyUnusable(_CUT)
    bits = modulus.bit_length()
    if not _LEAST_BITS <= bits <= _MOST_BITS:
        raise KeyUnusable(f"has {bits} bits; GitHub's keys have {_LEAST_BITS}")
    return RsaKey(modulus, public, (first, second), private)


class _DerReader:
    """Reads one value after the other; raises ValueError or IndexError for what is no DER."""

    def __init__(self, der: bytes) -> None:
        self._rest = der

    def read(self, tag: int) -> bytes:
        """Return the content of the next value, which must have the tag."""
        if self._rest[0] != tag:
            raise ValueError("another kind of value")
        length, start = self._rest[1], 2
        if length & 0x80:
            start += length & 0x7F
            length = int.from_bytes(self._rest[2:start], "big")
        content, self._rest = self._rest[start : start + length], self._rest[start + length :]
        if len(content) != length:
            raise ValueError("the value is longer than the text")
        return content

    def read_number(self) -> int:
        return int.from_bytes(self.read(_INTEGER), "big", signed=True)
