"""What a finding asks for, by category, rule and words: changed behaviour, the same, or unclear."""

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import cache

from punchlist.model.finding.finding import Finding
from punchlist.model.finding.word_lists import load_words
from punchlist.model.item.item import Item

_OF_CATEGORIES = ("bug", "tidy", "tests")


class Intent(StrEnum):
    """CHANGE: the program must behave differently afterwards. KEEP: it must not. OPEN: either may
    be right.
    """

    CHANGE = "change"
    KEEP = "keep"
    OPEN = "open"


@cache
def _compile_list(name: str) -> re.Pattern[str]:
    """Compile a list of intent_words.toml; one for categories matches only at the start."""
    words = load_words(__file__, "intent_words.toml")[name]
    choices = "|".join(word.replace("_", "[ -]?").replace("*", r"\w*") for word in words)
    start = "^" if name in _OF_CATEGORIES else r"\b"
    return re.compile(rf"{start}(?:{choices})\b", re.IGNORECASE)


def _has_words(name: str, text: str) -> bool:
    return _compile_list(name).search(text) is not None


def find_intent(items: Iterable[Item]) -> Intent:
    """Return the intent of all items together; OPEN if unclear."""
    asked = {_finding_intent(item.current) for item in items}
    if Intent.CHANGE in asked and asked <= {Intent.CHANGE, Intent.KEEP}:
        return Intent.CHANGE
    return Intent.KEEP if asked == {Intent.KEEP} else Intent.OPEN


def _finding_intent(finding: Finding) -> Intent:
    category = finding.category.strip()
    words = f"{finding.title}\n{finding.detail}\n{finding.impact}"
    if _has_words("tidy", category):
        return Intent.OPEN if _has_words("wrong", finding.title) else Intent.KEEP
    if _has_words("unseen", finding.title) or (category and not _has_words("bug", category)):
        return Intent.OPEN
    if _has_words("bug", category):
        return Intent.CHANGE
    # A tool's rule without a category may be about anything; a reviewer's plain words are believed
    # where they say "wrong".
    return (
        Intent.CHANGE
        if not finding.rule
        and _has_words("wrong", finding.title)
        and not _has_words("unseen", words)
        else Intent.OPEN
    )


def is_about_text(items: Iterable[Item]) -> bool:
    """Whether a change of comments, layout or names can be what was asked for."""
    return any(_has_words("text", _headline(finding)) for item in items for finding in item.sighted)


def asks_tests(items: Iterable[Item]) -> bool:
    """Whether all findings are about missing tests, as their reviewers sorted them."""
    findings = [item.current for item in items]
    named = [each.category.strip().replace("_", " ") for each in findings]
    return bool(named) and all(_has_words("tests", category) for category in named)


def is_about_safety(items: Iterable[Item]) -> bool:
    """Whether all are security findings: code that is called as they say must answer otherwise."""
    found = [item.current.category.strip().lower() for item in items]
    return bool(found) and all(each.startswith(("security", "vulnerab")) for each in found)


def asks_removal(items: Iterable[Item]) -> bool:
    """Whether code may be gone, moved or called something else afterwards."""
    return any(
        _has_words("removal", f"{_headline(finding)}\n{finding.suggestion}")
        for item in items
        for finding in item.sighted
    )


def join_words(items: Iterable[Item]) -> str:
    """Return all that the reviewers wrote about the items."""
    return "\n".join(
        f"{_headline(finding)}\n{finding.detail}\n{finding.impact}\n{finding.suggestion}"
        for item in items
        for finding in item.sighted
    )


def _headline(finding: Finding) -> str:
    return f"{finding.category} {finding.rule} {finding.title}"
