"""Keys of Apps for tests, made by openssl when they are needed and in no other place than the folder of the test."""

import subprocess
from pathlib import Path


def openssl(*words: str | Path, given: bytes = b"") -> bytes:
    ran = subprocess.run(
        ["openssl", *map(str, words)], input=given, capture_output=True, check=True
    )
    return ran.stdout


def make_key(folder: Path, bits: int = 2048, *, plain: bool = True) -> Path:
    """Write a new private key: in the form that GitHub gives (PKCS #1), or in the newer one (PKCS #8)."""
    file = folder / f"app-{bits}-{'pkcs1' if plain else 'pkcs8'}.pem"
    made = openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{bits}")
    file.write_bytes(openssl("rsa", "-traditional", given=made) if plain else made)
    file.chmod(0o600)
    return file


def rewrap(file: Path, *how: str) -> Path:
    """Write the same key in another form."""
    other = file.with_suffix(".other.pem")
    other.write_bytes(openssl(*how, "-in", file))
    other.chmod(0o600)
    return other
