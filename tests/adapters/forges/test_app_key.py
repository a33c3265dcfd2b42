"""The private key of a GitHub App: read in both forms, signs as openssl does, refused with the reason."""

import base64
import json
import os

import pytest
from app_keys import make_key, openssl, rewrap

from needs import rarely
from punchlist.adapters.rest.github_app.app_key import AppKey
from punchlist.adapters.rest.github_app.rsa_key import KeyUnusable, parse_key
from punchlist.adapters.rest.retry import Unavailable

NOW = 1_800_000_000.5


@pytest.fixture(scope="module")
def key_file(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("key"))


def decode(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def sign_with_openssl(file, message):
    return openssl("dgst", "-sha256", "-sign", file, given=message)


@pytest.mark.parametrize("bits", [2048, *rarely(3072, 4096)])
def test_a_signature_is_the_one_that_openssl_makes_from_either_form(tmp_path, bits):
    plain = make_key(tmp_path, bits)
    wrapped = rewrap(plain, "pkcs8", "-topk8", "-nocrypt")
    wanted = sign_with_openssl(plain, b"some text")
    assert parse_key(plain.read_text()).sign(b"some text") == wanted
    assert parse_key(wrapped.read_text().replace("\n", "\\n")).sign(b"some text") == wanted


def test_openssl_verifies_a_token_with_the_public_key(key_file, tmp_path):
    token = AppKey(issuer="4242", file=str(key_file)).sign_jwt(NOW)
    signed, _, signature = token.rpartition(".")
    head, claims = (json.loads(decode(part)) for part in signed.split("."))
    assert head == {"alg": "RS256", "typ": "JWT"}
    assert claims == {"iat": 1_799_999_940, "exp": 1_800_000_540, "iss": "4242"}
    public, proof = tmp_path / "public.pem", tmp_path / "proof"
    public.write_bytes(openssl("pkey", "-in", key_file, "-pubout"))
    proof.write_bytes(decode(signature))
    said = openssl("dgst", "-sha256", "-verify", public, "-signature", proof, given=signed.encode())
    assert said == b"Verified OK\n"


def test_a_key_shows_nothing_of_itself(key_file):
    key = parse_key(key_file.read_text())
    assert repr(key) == "RsaKey(2048 bits)"


@pytest.mark.parametrize("made", [
    (("rsa", "-aes128", "-passout", "pass:dummy", "-traditional"), "is encrypted with a password", "openssl rsa"),
    (("pkcs8", "-topk8", "-passout", "pass:dummy"), "is encrypted with a password", "openssl rsa"),
    (("rsa", "-pubout"), "is a public key", "Private keys"),
])  # fmt: skip
def test_a_key_in_a_form_that_cannot_be_used_says_so(key_file, made):
    how, why, hint = made
    other = rewrap(key_file, *how)
    with pytest.raises(Unavailable, match=why) as raised:
        AppKey(issuer="4242", file=str(other)).read()
    assert hint in raised.value.hint
    assert str(other) in str(raised.value)


@pytest.mark.parametrize("kind", ["sec1", "pkcs8"])
def test_a_key_of_another_kind_says_so(tmp_path, kind):
    made = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    text = openssl("ec", given=made) if kind == "sec1" else made
    with pytest.raises(KeyUnusable, match=r"is a key for elliptic|is no private key"):
        parse_key(text.decode())


def test_a_key_that_is_too_small_says_so():
    with pytest.raises(KeyUnusable, match="has 1024 bits"):
        parse_key(openssl("genrsa", "1024").decode())


def test_a_key_that_is_cut_or_changed_anywhere_is_refused_without_showing_it(key_file):
    text = key_file.read_text()
    for end in range(0, len(text) - 30, 97):
        with pytest.raises(KeyUnusable) as raised:
            parse_key(text[:end])
        assert text[100:130] not in str(raised.value)
    head, body, foot = text.partition("\n")[0], text.splitlines()[1:-1], text.splitlines()[-1]
    for left_out in range(len(body)):
        some = "\n".join([head, *body[:left_out], *body[left_out + 1 :], foot])
        with pytest.raises(KeyUnusable):
            parse_key(some)


@pytest.mark.parametrize("byte", [40, 271, 300, 600, 700])
def test_no_signature_is_made_with_a_key_whose_numbers_do_not_fit(key_file, byte):
    lines = key_file.read_text().splitlines()
    der = bytearray(base64.b64decode("".join(lines[1:-1])))
    der[byte] ^= 4
    damaged = "\n".join([lines[0], base64.b64encode(bytes(der)).decode(), lines[-1]])
    with pytest.raises(KeyUnusable):
        parse_key(damaged).sign(b"some text")


@pytest.mark.parametrize(
    "text", ["", "no key", "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n", "x" * 70_000]
)
def test_text_that_is_no_key_says_so(text):
    with pytest.raises(KeyUnusable):
        parse_key(text)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_file_that_others_can_read_is_refused(key_file, tmp_path, mode):
    open_file = tmp_path / "app.pem"
    open_file.write_bytes(key_file.read_bytes())
    open_file.chmod(mode)
    with pytest.raises(Unavailable, match="can be read by other users") as raised:
        AppKey(issuer="4242", file=str(open_file)).read()
    assert raised.value.hint == f"chmod 600 {open_file}"


def test_a_pipe_or_a_device_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    for file in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(Unavailable, match="is no file"):
            AppKey(issuer="4242", file=str(file)).read()


def test_a_file_that_is_not_there_or_in_the_repository_is_refused(key_file):
    for file, checkout, why in [
        ("/nowhere/app.pem", None, "No such file"),
        ("app.pem", None, "no whole path"),
        (str(key_file.parent), None, "is no file"),
        (str(key_file), key_file.parent, "lies in the repository under review"),
    ]:
        with pytest.raises(Unavailable, match=why):
            AppKey(issuer="4242", file=file, checkout=checkout).read()


def test_the_key_may_be_in_a_variable(key_file, monkeypatch):
    with pytest.raises(Unavailable, match="OUR_KEY is not set"):
        AppKey(issuer="4242", variable="OUR_KEY").read()
    monkeypatch.setenv("OUR_KEY", key_file.read_text())
    assert AppKey(issuer="4242", variable="OUR_KEY").read().modulus
    with pytest.raises(Unavailable, match="neither the id nor the client id"):
        AppKey(issuer="x y", variable="OUR_KEY").read()
