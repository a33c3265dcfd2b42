"""DSSE envelopes: other programs verify them, and a key that cannot be used is refused with the reason."""

import base64
import json
import subprocess
import sys
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from punchlist.adapters.formats.dsse import load_signer, sign_payload
from punchlist.errors import UsageError
from punchlist.installed import extra_hint

KIND = "application/vnd.in-toto+json"


def openssl(*words, given=b""):
    command = ["openssl", *map(str, words)]
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout


@pytest.fixture
def key(tmp_path):
    file = tmp_path / "key.pem"
    file.write_bytes(openssl("genpkey", "-algorithm", "ed25519"))
    return file


@pytest.mark.parametrize("payload", [b"", b"{}", b'{"a": "\xc3\xa4"}\n', bytes(range(256)) * 500])
def test_an_envelope_is_verified_by_openssl_and_by_a_library(key, tmp_path, payload):
    envelope = json.loads(sign_payload(payload, KIND, load_signer(key)))
    assert base64.b64decode(envelope["payload"]) == payload
    (made,) = envelope["signatures"]
    signature = base64.b64decode(made["sig"])
    signed = f"DSSEv1 {len(KIND)} {envelope['payloadType']} {len(payload)} ".encode() + payload
    assert (
        made["keyid"]
        == sha256(openssl("pkey", "-in", key, "-pubout", "-outform", "DER")).hexdigest()
    )
    load_pem_public_key(openssl("pkey", "-in", key, "-pubout")).verify(signature, signed)
    (tmp_path / "sig").write_bytes(signature)
    (tmp_path / "signed").write_bytes(signed)
    words = ("-rawin", "-inkey", key, "-sigfile", tmp_path / "sig", "-in", tmp_path / "signed")
    assert b"Verified Successfully" in openssl("pkeyutl", "-verify", *words)
    assert openssl("pkeyutl", "-sign", *words[:3], *words[5:]) == signature


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (("genpkey", "-algorithm", "RSA"), "is not an Ed25519 key"),
        (("genpkey", "-algorithm", "ed448"), "is not an Ed25519 key"),
        (
            ("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"),
            "is not an Ed25519 key",
        ),
        (
            ("genpkey", "-algorithm", "ed25519", "-aes256", "-pass", "pass:dummy"),
            "is encrypted with a password",
        ),
        (("version",), "holds no private key in PEM form"),
    ],
)
def test_a_key_that_cannot_be_used_says_why(tmp_path, made, why):
    file = tmp_path / "other.pem"
    file.write_bytes(openssl(*made))
    with pytest.raises(UsageError, match=why) as raised:
        load_signer(file)
    assert str(file) in str(raised.value)
    assert raised.value.hint == "make one: openssl genpkey -algorithm ed25519 -out key.pem"


def test_a_public_key_and_a_file_that_is_not_there_say_so(key, tmp_path):
    public = tmp_path / "public.pem"
    public.write_bytes(openssl("pkey", "-in", key, "-pubout"))
    for file, why in [
        (public, "holds no private key"),
        (tmp_path / "none.pem", "No such file"),
        (tmp_path, "Is a directory"),
    ]:
        with pytest.raises(UsageError, match=why):
            load_signer(file)


def test_without_the_library_the_extra_is_named(key, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for name in [each for each in sys.modules if each.startswith("cryptography.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "punchlist.adapters.formats.private_key", raising=False)
    with pytest.raises(UsageError, match="needs the extra `forges`") as raised:
        load_signer(key)
    assert raised.value.hint == extra_hint("forges")
