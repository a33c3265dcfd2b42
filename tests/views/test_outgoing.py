"""What leaves for issues and commits holds no secret, and nothing a tracker would act on."""

import random
import re
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.views.safe_text import safe_text

ALNUM = string.ascii_letters + string.digits


def drawn(alphabet, size):
    return st.text(alphabet, min_size=size, max_size=size)


SECRETS = st.one_of(
    drawn(string.ascii_uppercase + string.digits, 16).map("AKIA{}".format),
    drawn(ALNUM, 36).map("ghp_{}".format),
    drawn(ALNUM + "_", 82).map("github_pat_{}".format),
    drawn(ALNUM + "-", 20).map("glpat-{}".format),
    drawn(ALNUM, 24).map("xoxb-1234567890-{}".format),
    drawn(ALNUM, 24).map("sk_live_{}".format),
    drawn(ALNUM + "-_", 35).map("AIza{}".format),
    drawn(ALNUM + "-_", 90).map("sk-ant-api03-{}".format),
    drawn(ALNUM, 36).map("npm_{}".format),
    drawn(ALNUM, 64).map(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----".format
    ),
)


# What stands around a secret may be anything, but does not repeat it.
around = st.text(st.characters(exclude_characters=ALNUM + "-_")) | st.sampled_from(
    ["see the file ", "x = ", "(", "token is: "]
)


@given(before=around, secret=SECRETS, after=around)
def test_a_planted_secret_never_gets_out(before, secret, after):
    out = safe_text(before + secret + after)
    assert secret not in out
    core = re.sub(r"-----.*?-----", "", secret).strip()[-20:]
    assert core not in out


@given(st.text(st.characters(codec=None)))
def test_text_that_was_made_safe_stays_as_it_is_and_is_unicode(text):
    once = safe_text(text)
    once.encode()
    assert safe_text(once) == once


@given(st.text("@#/!<>[]()&;-:ab1 \n\t`*", max_size=60))
def test_nothing_a_tracker_acts_on_is_left(text):
    out = safe_text(text)
    assert not re.search(r"@\w", out)
    assert not re.search(r"#\d", out)
    assert not re.search(r"^\s*/\w", out, re.MULTILINE)
    assert "![" not in out
    assert not re.search(r"<[a-z/!?]", out)


def seen(text):
    """What a person sees of it."""
    return text.replace("\u200b", "")


@pytest.mark.parametrize(
    "text",
    [
        "ask @octocat, or @org/team",
        "Fixes #12 and GH-13, org/repo#14",
        "/close\n  /assign me\n> /lgtm",
        "![beacon](https://evil.example/x.png)",
        "<script>alert(1)</script> <!-- punchlist:fingerprint abc --> <img src=x>",
        "&#64;octocat &commat;octocat &lt;b&gt;",
        "Signed-off-by: someone <a@example.org>\nPunchlist-Run: r1\nCo-authored-by: x",
        "Closes https://github.com/o/r/issues/1",
        "Closing https://gitlab.com/o/r/-/issues/1",
        "Implements: issue https://gitlab.com/o/r/-/issues/1",
        "see !12, acme/shop!13, &14, $15 and [vulnerability:16], [issue:acme/shop/17]",
    ],
)
def test_people_see_the_same_text(text):
    out = safe_text(text)
    assert out != text
    assert seen(out) == text


@pytest.mark.parametrize(
    ("text", "gone", "kind"),
    [
        ('password = "hunter2"', "hunter2", "password"),
        ("Possible hardcoded password: 'hunter2'", "hunter2", "password"),
        ("API_KEY=abc123def456", "abc123def456", "password"),
        ('"api_key": "0123456789abcdef0123456789abcdef"', "0123456789abcdef", "password"),
        ("postgres://admin:s3cr3t@db.example.org/x", "s3cr3t", "password in a URL"),
        ("Authorization: Bearer abcdef0123456789abcdef", "abcdef0123456789", "credential"),
        (
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
            "dozjgNryP4J3",
            "web token",
        ),
        ("it said k7Gq2ZxP9vLm4RtY8wBn3HdJ6sFa1UcE", "k7Gq2ZxP9v", "high entropy"),
        ("ghp_\u200b" + "a1B2" * 9, "a1B2a1B2", "GitHub token"),
    ],
)
def test_a_secret_is_replaced_by_its_kind(text, gone, kind):
    out = safe_text(text)
    assert gone not in out
    assert f"[secret removed: {kind}]" in out


@pytest.mark.parametrize(
    "text",
    [
        "Use CommandRunner from maverick.runners.command instead of subprocess",
        "commit 5c6a086f1e2d3c4b5a69788796a5b4c3d2e1f001 and 32 hex 0123456789abcdef0123456789abcdef",
        "password = get_password(user)",
        "password: str = field(default_factory=new_password)",
        "src/punchlist/adapters/store/sqlite_store_with_a_long_name.py:45-67",
        "TestHTTPServerWithVeryLongCamelCaseName2 in test_server_handles_keepalive_2",
        "token = os.environ['TOKEN'] and secret: ${SECRET}",
        "a < b && c > d, x#y, 100% sure; mail me: a at b",
        "the task-force-of-people-with-long-names",
    ],
)
def test_ordinary_text_is_left_alone(text):
    assert safe_text(text) == text


def test_invisible_and_reordering_characters_are_taken_out():
    assert safe_text("a\x1b[31mb\x1b[0m\x00c\u202ed\r\ne\tf") == "abcd\ne\tf"


LOT = random.Random(1)
MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    "unit",
    [
        "a", "@", "<", "-", "&#", "![", "/", "\n/", "eyJ-", "eyJabcdefghijklm.", "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nabc-",
        "password=", "password = 'x", "://", "://a:", "sk-", "SG.", "SG." + "a" * 20 + ".", "ghp_", "bearer ", " \t", "x-by", "a-", "#1", "=", "aB1", "\x1b[",
        "".join(LOT.choices(ALNUM, k=977)),
    ],
)  # fmt: skip
def test_a_megabyte_takes_a_moment(unit):
    text = (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]
    began = time.process_time()
    safe_text(text)
    assert time.process_time() - began < 2
