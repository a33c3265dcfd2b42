"""DSSE envelopes, signed with an Ed25519 key."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from punchlist.errors import UsageError
from punchlist.installed import extra_hint

if TYPE_CHECKING:
    from punchlist.adapters.formats.private_key import Ed25519Signer

_HINT = "make one: openssl genpkey -algorithm ed25519 -out key.pem"


def load_signer(file: Path) -> "Ed25519Signer":
    """Return what signs with the key in the file. Raise UsageError if it cannot be used."""
    try:
        # An extra, and slow to load: only what signs imports it.
        from punchlist.adapters.formats.private_key import Ed25519Signer, KeyUnusable
    except ImportError as error:
        raise UsageError(
            f"--key {file}: signing needs the extra `forges` ({error})", hint=extra_hint("forges")
        ) from error
    try:
        return Ed25519Signer(file.read_bytes())
    except OSError as error:
        raise UsageError(f"--key {file}: {error.strerror}", hint=_HINT) from error
    except KeyUnusable as unusable:
        raise UsageError(f"--key {file}: {unusable}", hint=_HINT) from None


def encode_preauth(payload: bytes, kind: str) -> bytes:
    """Return the bytes that are signed (PAE of the DSSE protocol)."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def sign_payload(payload: bytes, kind: str, signer: "Ed25519Signer") -> bytes:
    """Return the envelope as JSON."""
    signature = {
        "keyid": signer.key_id,
        "sig": base64.b64encode(signer.sign(encode_preauth(payload, kind))).decode(),
    }
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": kind,
        "signatures": [signature],
    }
    return msgspec.json.encode(envelope)
