"""Make text safe for issues, comments and commits: no secrets, nothing a tracker acts on."""

import re
import tomllib
from collections import Counter
from functools import cache
from math import log2
from operator import ne
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits

from punchlist.model.finding.late_pattern import late_pattern
from punchlist.views.escaping import UNSEEN, disarm_links

_STEMS = ("pass", "pwd", "secret", "token", "key", "credential", "auth")
_ASSIGNED = late_pattern(
    r"(?P<name>(?:pass(?:word|wd|phrase)?|pwd|secret|token|(?:api|access|private|account)[_-]?key|credentials?|auth)[\w-]{0,20}"
    r"[\"']?\s{0,5}(?::=|=>|==|[:=])\s{0,5})(?:(?P<quote>[\"'`])(?P<quoted>[^\s\"'`]{5,300})(?P=quote)|(?P<bare>[^\s\"'`,;()\[\]{}<>]{8,300}))",
    re.IGNORECASE,
)
_HEADER = late_pattern(
    r"(?P<name>\b(?:bearer|basic|token)\s{1,5})(?P<bare>[A-Za-z0-9._~+/=-]{16}[A-Za-z0-9._~+/=-]*+)",
    re.IGNORECASE,
)
_RUN = late_pattern(r"[A-Za-z0-9+/_=-]{24}[A-Za-z0-9+/_=-]*+")
_HEX = late_pattern(r"[0-9a-fA-F-]*+")
_NOT_A_VALUE = ("$", "<", "{", "%", "*", "[")
_LEAST_ENTROPY = 3.7
_LEAST_DIGITS = 2
_ENOUGH = 1000
_LEAST_CHANGES = 0.4
"""Of neighbouring characters, how many differ in kind (lower, upper, digit): words and CamelCase
have fewer than chance.
"""

# Letters after a zero-width space are text to a person, and no mention, command, image or tag to a
# tracker.
_GAP = "\u200b"
_JOINERS = late_pattern("(?<=[!-~])[\u200c\u200d]++(?=[!-~])")
_ANSI = late_pattern(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_CLOSING = (
    r"(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)"
    r"(?=:?\s{1,5}(?:issues?\s{1,5})?https?://)"
)
_ACTED_ON = (
    ("@", r"@(?=\w)", rf"@{_GAP}"),
    ("#", r"#(?=\d)", rf"#{_GAP}"),
    ("!", r"!(?=\d)", rf"!{_GAP}"),
    ("$", r"\$(?=\d)", rf"${_GAP}"),
    ("[", r"\[(?=[a-z_]{1,20}:[\w/.-]*\d)", rf"[{_GAP}"),
    ("-", r"(?<=GH)-(?=\d)", rf"-{_GAP}"),
    ("http", _CLOSING, rf"\g<0>{_GAP}"),
    ("/", r"^[ \t>*+-]{0,40}(?=/\w)", rf"\g<0>{_GAP}"),
    (":", r"^(?=(?:[a-z]{1,30}-){1,4}by[ \t]*:|punchlist-[\w-]{1,40}[ \t]*:)", _GAP),
    ("![", r"!(?=\[)", rf"!{_GAP}"),
    ("<", r"<(?=[a-z/!?])", rf"<{_GAP}"),
    ("&", r"&(?=#|\d|commat|num;|sol;|excl;|dollar;|lsqb;|lbrack;|amp;|lt)", rf"&{_GAP}"),
)
"""What a text has, the pattern to look for then, and what takes its place."""


def safe_text(text: str) -> str:
    """Return the text made safe for trackers; idempotent."""
    plain = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).translate(UNSEEN)
    safe = remove_secrets(_JOINERS.sub("", plain.encode("utf-8", "replace").decode()))
    for marker, pattern, instead in _ACTED_ON:
        if marker in safe:
            safe = re.sub(pattern, instead, safe, flags=re.MULTILINE | re.IGNORECASE)
    return disarm_links(safe)


def remove_secrets(text: str) -> str:
    """Return the text with every secret replaced by its kind."""
    for removed, marker, pattern in _secret_patterns():
        if marker in text:
            text = re.sub(pattern, removed, text)
    folded = text.casefold()
    if any(stem in folded for stem in _STEMS):
        text = _ASSIGNED.sub(_redact_value, text)
    if any(word in folded for word in ("bearer", "basic", "token")):
        text = _HEADER.sub(
            lambda match: (
                match["name"] + _secret_note("credential") if _is_mixed(match["bare"]) else match[0]
            ),
            text,
        )
    return _RUN.sub(
        lambda match: _secret_note("high entropy") if _is_random(match[0]) else match[0], text
    )


@cache
def _secret_patterns() -> tuple[tuple[str, str, str], ...]:
    table = tomllib.loads(Path(__file__).with_name("secret_patterns.toml").read_text("utf-8"))
    return tuple(
        (_secret_note(kind), marker, pattern) for kind, marker, pattern in table["patterns"]
    )


def _secret_note(kind: str) -> str:
    return f"[secret removed: {kind}]"


def _redact_value(match: "re.Match[str]") -> str:
    """Redact a quoted value; a bare one only if it does not look like a word."""
    quote, value = match["quote"] or "", match["quoted"] or match["bare"]
    real = not value.startswith(_NOT_A_VALUE) and (quote or _is_mixed(value))
    return f"{match['name']}{quote}{_secret_note('password')}{quote}" if real else match[0]


def _is_mixed(word: str) -> bool:
    return any(char.isdigit() for char in word) and any(char.isalpha() for char in word)


def _is_random(run: str) -> bool:
    """Whether it looks random. Hexadecimal does not: commits and fingerprints are that."""
    run = run[:_ENOUGH]
    kinds = run.translate(_KINDS)
    if (
        kinds.count("0") < _LEAST_DIGITS
        or "A" not in kinds
        or "a" not in kinds
        or _HEX.fullmatch(run)
    ):
        return False
    changes = sum(map(ne, kinds, kinds[1:]))
    return changes >= _LEAST_CHANGES * (len(run) - 1) and _entropy(run) >= _LEAST_ENTROPY


_KINDS = str.maketrans(ascii_lowercase + ascii_uppercase + digits, "a" * 26 + "A" * 26 + "0" * 10)


def _entropy(text: str) -> float:
    return -sum(count / len(text) * log2(count / len(text)) for count in Counter(text).values())
