"""One parsed entry of a report, before it is located in the tree."""

from functools import lru_cache

from msgspec import Struct

from punchlist.model.finding.finding import Fix
from punchlist.model.finding.severity import Severity, parse_severity

RAW_LIMIT = 4000
_LONGEST_TITLE = 200


class RawFinding(Struct, frozen=True, kw_only=True, gc=False):
    """A parsed entry; its place is not looked up yet."""

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
    impact: str = ""
    category: str = ""
    suggestion: str = ""
    url: str = ""
    severity_word: str = ""
    fix: Fix | None = None
    issue_code: str = ""
    marks: tuple[str, ...] = ()


class Unreadable(ValueError):  # it names what the entry is
    """A well-formed entry without usable content; the message says why."""


@lru_cache(maxsize=256)
def rank_severity(word: str) -> tuple[Severity, str]:
    """Return the severity of a report's word, and what is odd about the word."""
    severity, known = parse_severity(word)
    if known:
        return severity, ""
    odd = f'severity "{word}" is not known' if word else "no severity was given"
    return severity, f"{odd}, ranked {severity}"


def split_headline(text: str) -> tuple[str, str]:
    """Return title and detail: the first line, shortened, and the whole text if it says more."""
    whole = text.strip()
    first = whole.splitlines()[0].strip() if whole else ""
    title = first if len(first) <= _LONGEST_TITLE else first[: _LONGEST_TITLE - 1].rstrip() + "…"
    return title, "" if title == whole else whole


def shorten_raw(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    more = len(text) - RAW_LIMIT
    return f"{text[:RAW_LIMIT]}... ({more} characters more)" if more > 0 else text
