"""One entry of a report as its reader understood it, before it is held against the tree."""

from functools import lru_cache

from msgspec import Struct

from punchlist.model.finding.finding import Fix
from punchlist.model.finding.severity import Severity, severity_of

RAW_LIMIT = 4000
_LONGEST_TITLE = 200


class Note(Struct, frozen=True, kw_only=True, gc=False):
    """What an entry says of itself; its place is not looked up yet."""

    path: str
    title: str
    severity: Severity
    rule: str = ""
    line: int | None = None
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None
    label: str = ""
    detail: str = ""
    category: str = ""
    suggestion: str = ""
    url: str = ""
    severity_word: str = ""
    fix: Fix | None = None
    marks: tuple[str, ...] = ()


class Unreadable(ValueError):  # it names what the entry is
    """An entry that is well-formed and still says nothing usable; the message says why."""


@lru_cache(maxsize=256)
def ranked(word: str) -> tuple[Severity, str]:
    """The rank of a report's word, and what is odd about the word."""
    severity, known = severity_of(word)
    if known:
        return severity, ""
    return (
        severity,
        f'severity "{word}" is not known, ranked {severity}'
        if word
        else f"no severity was given, ranked {severity}",
    )


def headline(text: str) -> tuple[str, str]:
    """A text as title and detail: its first line, shortened, and the whole where the title does not
    say it all.
    """
    whole = text.strip()
    first = whole.splitlines()[0].strip() if whole else ""
    title = first if len(first) <= _LONGEST_TITLE else first[: _LONGEST_TITLE - 1].rstrip() + "…"
    return title, "" if title == whole else whole


def shortened(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    return (
        text
        if len(text) <= RAW_LIMIT
        else text[:RAW_LIMIT] + f"... ({len(text) - RAW_LIMIT} characters more)"
    )
