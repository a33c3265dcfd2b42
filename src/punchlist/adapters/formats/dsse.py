"""DSSE envelopes, signed with an Ed25519 key by the program openssl."""

import base64
import tempfile
from hashlib import sha256
from pathlib import Path

import msgspec

from punchlist.adapters.process.run import Origin, ProcessResult, run
from punchlist.errors import UsageError

_ED25519 = bytes.fromhex("302a300506032b6570032100")
"""How the DER form of such a public key begins."""
_SECONDS = 30
_HINT = "make one: openssl genpkey -algorithm ed25519 -out key.pem"


def encode_preauth(payload: bytes, kind: str) -> bytes:
    """Return the bytes that are signed (PAE of the DSSE protocol)."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


async def sign_payload(payload: bytes, kind: str, key: Path) -> bytes:
    """Return the envelope as JSON. Raises UsageError if the key cannot be used."""
    key = key.resolve()
    shown = await _call(key, "pkey", "-in", str(key), "-pubout", "-outform", "DER")
    if not shown.stdout.startswith(_ED25519):
        raise UsageError(f"--key {key}: is no Ed25519 key", hint=_HINT)
    with tempfile.TemporaryDirectory(prefix="punchlist-sign-") as folder:
        text = Path(folder) / "payload"
        text.write_bytes(encode_preauth(payload, kind))
        signed = await _call(
            key, "pkeyutl", "-sign", "-rawin", "-inkey", str(key), "-in", str(text)
        )
    signature = {
        "keyid": sha256(shown.stdout).hexdigest(),
        "sig": base64.b64encode(signed.stdout).decode(),
    }
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": kind,
        "signatures": [signature],
    }
    return msgspec.json.encode(envelope)


async def _call(key: Path, *arguments: str) -> ProcessResult:
    ran = await run(["openssl", *arguments], origin=Origin.USERS, cwd=Path("/"), timeout=_SECONDS)
    if not ran.ok:
        said = ran.trouble or ran.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise UsageError(f"--key {key}: openssl cannot sign with it: {said}", hint=_HINT)
    return ran
