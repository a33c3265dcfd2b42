"""What a finding asks for, by category, rule and words: changed behaviour, the same, or unclear."""

import re
from collections.abc import Iterable
from enum import StrEnum

from punchlist.model.finding.finding import Finding
from punchlist.model.item.item import Item


class Intent(StrEnum):
    """CHANGE: the program must behave differently afterwards. KEEP: it must not. OPEN: either may
    be right.
    """

    CHANGE = "change"
    KEEP = "keep"
    OPEN = "open"


def _compile_words(words: str, *, first: bool = False) -> re.Pattern[str]:
    """Match one of the words, `*` for any ending, `_` for a blank or a hyphen; `first`: only at the
    start.
    """
    choices = "|".join(word.replace("_", "[ -]?").replace("*", r"\w*") for word in words.split())
    return re.compile(rf"{'^' if first else chr(92) + 'b'}(?:{choices})\b", re.IGNORECASE)


_BUG = _compile_words(
    "bug bugs correctness logic* functional* behavior behaviour regression edge_case* data_loss",
    first=True,
)
_TIDY = _compile_words(
    """style refactor* maintainability readability naming complexity duplicat* simplif* convention
    clarity structure code_quality
    clean_up modernization idiom*""",
    first=True,
)
_UNSEEN = _compile_words(
    """leak* close closed closing race races racy thread* lock* concurren* deadlock* async* await*
    perform* slow* quadratic memory
    cache* caching timing constant_time compare_digest timeout* retry retries log logs logged
    logging warn* message messages
    secur* random* seed* hash* md5 sha1 pickle subprocess shell network database sql cursor
    transaction* permission* environment
    global_state side_effect* type types typing annotat* doc docs docstring* comment* document*
    test tests coverage untested
    deprecat* import imports unused dead unreachable redundant refactor* renam* naming readab*
    style complex* duplicat* simplif*
    magic_number* inconsisten*"""
)
"""Matters that two calls side by side do not show, or that are put right without another answer."""
_WRONG = _compile_words(
    """wrong* incorrect* bug bugs buggy off_by_one crash* raise raises fail fails broken return
    returns instead should must never
    always ignor* misses missing drops loses lost invert* swapped negat* overflow* divi* zero empty
    boundar* inclusive exclusive
    infinite truncat* round*"""
)
_TEXT = _compile_words(
    """comment* doc docs docstring* documentation readme changelog typo typos spelling misspel*
    format formatting whitespace
    indentation blank_line blank_lines line_length long_line long_lines import_order naming renam*
    variable_name* misleading_name
    unclear_name trailing style readab* todo fixme license header type types annotat* hint hints"""
)
_REMOVAL = _compile_words(
    """unused dead remov* delet* obsolete unreachable redundant duplicat* get_rid inline*
    unnecessary needless stale leftover
    vestigial deprecated renam* consolidat* extract*"""
)


def find_intent(items: Iterable[Item]) -> Intent:
    """Return the intent of all items together; OPEN if unclear."""
    asked = {_finding_intent(item.current) for item in items}
    if Intent.CHANGE in asked and asked <= {Intent.CHANGE, Intent.KEEP}:
        return Intent.CHANGE
    return Intent.KEEP if asked == {Intent.KEEP} else Intent.OPEN


def _finding_intent(finding: Finding) -> Intent:
    category, words = finding.category.strip(), f"{finding.title}\n{finding.detail}"
    if _TIDY.search(category):
        return Intent.OPEN if _WRONG.search(finding.title) else Intent.KEEP
    if _UNSEEN.search(finding.title) or (category and not _BUG.search(category)):
        return Intent.OPEN
    if _BUG.search(category):
        return Intent.CHANGE
    # A tool's rule without a category may be about anything; a reviewer's plain words are believed
    # where they say "wrong".
    return (
        Intent.CHANGE
        if not finding.rule and _WRONG.search(finding.title) and not _UNSEEN.search(words)
        else Intent.OPEN
    )


def is_about_text(items: Iterable[Item]) -> bool:
    """Whether a change of comments, layout or names can be what was asked for."""
    return any(_TEXT.search(_headline(finding)) for item in items for finding in item.sighted)


def asks_removal(items: Iterable[Item]) -> bool:
    """Whether code may be gone, moved or called something else afterwards."""
    told = (
        f"{_headline(finding)}\n{finding.suggestion}" for item in items for finding in item.sighted
    )
    return any(_REMOVAL.search(text) for text in told)


def join_words(items: Iterable[Item]) -> str:
    """Return all that the reviewers wrote about the items."""
    return "\n".join(
        f"{_headline(finding)}\n{finding.detail}\n{finding.suggestion}"
        for item in items
        for finding in item.sighted
    )


def _headline(finding: Finding) -> str:
    return f"{finding.category} {finding.rule} {finding.title}"
