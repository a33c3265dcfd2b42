"""The private key of a GitHub App: read in both forms, signs as openssl does, refused with the reason."""

import base64
import json
import os
import sys
from math import gcd, lcm

import pytest
from app_keys import make_key, openssl, rewrap
from cryptography.hazmat.primitives.asymmetric import rsa

from needs import rarely
from punchlist.adapters.formats.private_key import KeyUnusable, load_rsa_key
from punchlist.adapters.rest.github_app.app_key import AppKey
from punchlist.adapters.rest.retry import Unavailable
from punchlist.installed import extra_hint

NOW = 1_800_000_000.5


@pytest.fixture(scope="module")
def key_file(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("key"))


def decode(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def sign(file):
    return AppKey(issuer="4242", file=str(file)).sign_jwt(NOW)


def sign_with_openssl(file, message):
    return openssl("dgst", "-sha256", "-sign", file, given=message)


@pytest.mark.parametrize("bits", [2048, *rarely(3072, 4096)])
def test_a_signature_is_the_one_that_openssl_makes_from_either_form(tmp_path, bits):
    plain = make_key(tmp_path, bits)
    wrapped = rewrap(plain, "pkcs8", "-topk8", "-nocrypt")
    one_line = tmp_path / "one-line.pem"
    one_line.write_text(wrapped.read_text().replace("\n", "\\n"))
    one_line.chmod(0o600)
    for file in (plain, wrapped, one_line):
        signed, _, signature = sign(file).rpartition(".")
        assert decode(signature) == sign_with_openssl(plain, signed.encode())


def test_openssl_verifies_a_token_with_the_public_key(key_file, tmp_path):
    token = sign(key_file)
    signed, _, signature = token.rpartition(".")
    head, claims = (json.loads(decode(part)) for part in signed.split("."))
    assert head == {"alg": "RS256", "typ": "JWT"}
    assert claims == {"iat": 1_799_999_940, "exp": 1_800_000_540, "iss": "4242"}
    public, proof = tmp_path / "public.pem", tmp_path / "proof"
    public.write_bytes(openssl("pkey", "-in", key_file, "-pubout"))
    proof.write_bytes(decode(signature))
    said = openssl("dgst", "-sha256", "-verify", public, "-signature", proof, given=signed.encode())
    assert said == b"Verified OK\n"


@pytest.mark.parametrize("made", [
    (("rsa", "-aes128", "-passout", "pass:dummy", "-traditional"), "is encrypted with a password", "openssl rsa"),
    (("pkcs8", "-topk8", "-passout", "pass:dummy"), "is encrypted with a password", "openssl rsa"),
    (("rsa", "-pubout"), "holds no private key", "Private keys"),
])  # fmt: skip
def test_a_key_in_a_form_that_cannot_be_used_says_so(key_file, made):
    how, why, hint = made
    other = rewrap(key_file, *how)
    with pytest.raises(Unavailable, match=why) as raised:
        sign(other)
    assert hint in raised.value.hint
    assert str(other) in str(raised.value)


@pytest.mark.parametrize("kind", ["sec1", "pkcs8"])
def test_a_key_of_another_kind_says_so(kind):
    made = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    text = openssl("ec", given=made) if kind == "sec1" else made
    with pytest.raises(KeyUnusable, match="is not a key for RSA"):
        load_rsa_key(text)


def test_a_key_that_is_too_small_says_so():
    with pytest.raises(KeyUnusable, match="has 1024 bits"):
        load_rsa_key(openssl("genrsa", "1024"))


def test_a_key_that_is_cut_or_changed_anywhere_is_refused_without_showing_it(key_file):
    text = key_file.read_bytes()
    for end in range(0, len(text) - 30, 97):
        with pytest.raises(KeyUnusable) as raised:
            load_rsa_key(text[:end])
        assert text[100:130].decode() not in str(raised.value)
        assert raised.value.__cause__ is None
    lines = text.splitlines()
    for left_out in range(1, len(lines) - 1, 5):
        with pytest.raises(KeyUnusable):
            load_rsa_key(b"\n".join([*lines[:left_out], *lines[left_out + 1 :]]))


def encode_der(tag, content):
    size = len(content)
    long = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, *([size] if size < 128 else [0x80 | len(long), *long])]) + content


def encode_pem(*numbers, pad=b"", inside=b"", behind=b""):
    """A key in PKCS #1 form with these numbers, well formed or not."""
    parts = [pad + each.to_bytes(each.bit_length() // 8 + 1, "big") for each in numbers]
    content = b"".join(encode_der(2, part) for part in parts) + inside
    body = base64.encodebytes(encode_der(0x30, content) + behind)
    return b"-----BEGIN RSA PRIVATE KEY-----\n" + body + b"-----END RSA PRIVATE KEY-----\n"


def make_numbers(p, q, e, d):
    back = pow(q, -1, p) if gcd(p, q) == 1 else 0
    return 0, p * q, e, d, p, q, d % (p - 1), d % (q - 1), back


def list_weak_keys(key):
    """Texts that look like keys, and whose signatures would be worth nothing, or give a factor away."""
    numbers = key.private_numbers()
    p, q, d, e = numbers.p, numbers.q, numbers.d, numbers.public_numbers.e
    good, turn = make_numbers(p, q, e, d), lcm(p - 1, q - 1)
    large = rsa.generate_private_key(public_exponent=e, key_size=4096).private_numbers().p
    yield "the same prime twice", encode_pem(*make_numbers(p, p, e, d))
    yield "a prime of 3", encode_pem(*make_numbers(3, large, e, pow(e, -1, 2 * (large - 1))))
    yield "a prime of 1", encode_pem(0, p * q, e, d, p * q, 1, 1, 1, 1)
    yield "a composite prime", encode_pem(*make_numbers(p, q * 3, e, d))
    yield "another exponent", encode_pem(*make_numbers(p, q, e + 2, d))
    yield "another private exponent", encode_pem(*make_numbers(p, q, e, d + 2))
    yield "exponents that do nothing", encode_pem(*make_numbers(p, q, turn + 1, turn + 1))
    yield "zeros before numbers", encode_pem(*good, pad=b"\0\0\0")
    yield "more inside", encode_pem(*good, inside=b"\x04\x02ab")
    yield "more behind", encode_pem(*good, behind=b"\xff" * 40)
    yield "more than two primes", encode_pem(1, *good[1:])
    yield "no numbers", encode_pem()
    yield "numbers without bytes", encode_pem(inside=b"\x02\x00" * 9)


def test_a_key_whose_numbers_are_weak_or_whose_form_is_lax_is_refused_with_a_reason():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    numbers = key.private_numbers()
    good = make_numbers(numbers.p, numbers.q, 65537, numbers.d)
    assert load_rsa_key(encode_pem(*good)).key_size == 2048
    assert [name for name, text in list_weak_keys(key) if not is_refused(text)] == []


def is_refused(text):
    try:
        load_rsa_key(text)
    except KeyUnusable:
        return True
    return False


@pytest.mark.parametrize(
    "text", ["", "no key", "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n", "x" * 70_000, "\0", "\ufeff"]
)
def test_text_that_is_no_key_says_so(text):
    with pytest.raises(KeyUnusable):
        load_rsa_key(text.encode())


def test_without_the_library_the_extra_is_named(key_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "jwt", None)
    monkeypatch.delitem(sys.modules, "punchlist.adapters.formats.private_key", raising=False)
    with pytest.raises(Unavailable, match="needs the extra `forges`") as raised:
        sign(key_file)
    assert raised.value.hint == extra_hint("forges")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_file_that_others_can_read_is_refused(key_file, tmp_path, mode):
    open_file = tmp_path / "app.pem"
    open_file.write_bytes(key_file.read_bytes())
    open_file.chmod(mode)
    with pytest.raises(Unavailable, match="can be read by other users") as raised:
        sign(open_file)
    assert raised.value.hint == f"chmod 600 {open_file}"


def test_a_pipe_or_a_device_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    for file in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(Unavailable, match="is no file"):
            sign(file)


def test_a_file_that_is_not_there_or_in_the_repository_is_refused(key_file):
    for file, checkout, why in [
        ("/nowhere/app.pem", None, "No such file"),
        ("app.pem", None, "no whole path"),
        (str(key_file.parent), None, "is no file"),
        (str(key_file), key_file.parent, "lies in the repository under review"),
    ]:
        with pytest.raises(Unavailable, match=why):
            AppKey(issuer="4242", file=file, checkout=checkout).sign_jwt(NOW)


def test_the_key_may_be_in_a_variable(key_file, monkeypatch):
    with pytest.raises(Unavailable, match="OUR_KEY is not set"):
        AppKey(issuer="4242", variable="OUR_KEY").sign_jwt(NOW)
    monkeypatch.setenv("OUR_KEY", key_file.read_text())
    assert AppKey(issuer="4242", variable="OUR_KEY").sign_jwt(NOW).count(".") == 2
    with pytest.raises(Unavailable, match="neither the id nor the client id"):
        AppKey(issuer="x y", variable="OUR_KEY").sign_jwt(NOW)
