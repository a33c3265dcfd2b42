"""Make foreign text safe to show: nothing in it acts on the screen or hides."""

import re
import unicodedata
from collections.abc import Callable
from urllib.parse import urlsplit

from punchlist.model.finding.late_pattern import late_pattern

_COLOURS = late_pattern(r"\x1b\[[0-9;:]*m")
_DESTINATION = (
    r"(?<=\])[(:]\s{0,20}+"
    r"(?:<(?!\u200b)(?=(?!https?://|mailto:)[^>\n/?#]{0,2000}?[:\\&])"
    r"|(?![<\u200b])(?=(?!https?://|mailto:)[^)\s>/?#]{0,2000}?[:\\&]))"
)
"""Before a link's destination, in brackets or in a reference, that has a scheme or hides one.
Compiled when a text has a link.
"""
_ACTING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_TEXT = frozenset("\t\n\u00ad")
"""Tab, line end, and the soft hyphen, which only says where a word may be broken."""
JOINERS = "\u200c\u200d"
"""What joins letters or emoji, or keeps letters apart; plain text of some languages has it."""


def acts_on_text(char: str) -> bool:
    """Return whether a character is none, or acts on how others are shown instead of being shown:
    controls, format characters, surrogates, separators of lines.
    """
    code = ord(char)
    if unicodedata.category(char) in _ACTING:
        return char not in _TEXT
    hidden = 0xE0000 <= code <= 0xE0FFF and unicodedata.category(char) == "Cn"
    return hidden or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


class EscapeTable(dict[int, str]):
    """A table for `str.translate` that replaces the characters of one kind."""

    def __init__(self, is_meant: Callable[[str], bool], replace: Callable[[str], str]) -> None:
        super().__init__()
        self._is_meant = is_meant
        self._replace = replace

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = self._replace(char) if self._is_meant(char) else char
        return self[code]


def _is_unseen(char: str) -> bool:
    joins = char in JOINERS or unicodedata.category(char) in ("Cs", "Zl", "Zp")
    return acts_on_text(char) and not joins


UNSEEN = EscapeTable(_is_unseen, lambda char: "")
"""Removes what people do not see and programs read; surrogates and ends of lines stay."""
_VISIBLE = EscapeTable(acts_on_text, lambda char: f"\u2039U+{ord(char):04X}\u203a")


def escape_controls(text: str) -> str:
    """Remove colours; show other controls, direction marks and broken characters as code points."""
    if text.isascii() and text.isprintable():
        return text
    plain = _COLOURS.sub("", text.replace("\r\n", "\n"))
    return plain.translate(_VISIBLE)


def one_line(text: str) -> str:
    return " ".join(escape_controls(text).split())


def escape_path(path: str) -> str:
    """Return a path on one line, with every space that it has."""
    shown = escape_controls(path)
    return shown.replace("\n", "\u2039U+000A\u203a").replace("\t", "\u2039U+0009\u203a")


def disarm_links(text: str) -> str:
    """Return Markdown in which links lead to web and mail addresses and to files, and nowhere else:
    no `javascript:` and no `data:`, however it is spelled; idempotent.
    """
    if "](" not in text and "]:" not in text:
        return text
    return re.sub(_DESTINATION, "\\g<0>\u200b", text, flags=re.IGNORECASE)


def web_address(url: str) -> str:
    """Return the address if a browser may follow it from a report, or ""."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    plain = escape_controls(url) == url and not re.search(r"\s", url)
    return url if plain and parts.netloc and parts.scheme in ("http", "https") else ""
