"""Severity: three ranks, and the words reviewers use for them."""

from enum import StrEnum

from punchlist.model.finding.late_pattern import late_pattern


class Severity(StrEnum):
    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"

    @property
    def rank(self) -> int:
        """0 is the worst, so that sorting by rank puts the worst first."""
        return _RANKS[self]


_RANKS = {Severity.CRITICAL: 0, Severity.MAJOR: 1, Severity.MINOR: 2}

_WORDS = {
    Severity.CRITICAL: "critical blocker blocking p0 error high fatal severe sev0 sev1 must-fix",
    Severity.MAJOR: "important major p1 warning warn medium moderate sev2 should-fix",
    Severity.MINOR: """
        minor low p2 p3 p4 note info information informational notice nit nitpick trivial style hint
        suggestion recommendation convention none sev3 nice-to-have
    """,
}
_PART = late_pattern(r"[a-z]+\d?")
_NEGATIONS = frozenset({"not", "non", "no", "un"})
_LONGEST = 60
_BY_WORD = {word: severity for severity, words in _WORDS.items() for word in words.split()}


def parse_severity(word: str | None) -> tuple[Severity, bool]:
    """Return the severity of a reviewer's word, or MAJOR, and whether the word was known."""
    said = (word or "").casefold()
    key = "-".join(said.replace("_", " ").split()).strip("[]():.!")
    parts = set(_PART.findall(said[:_LONGEST]))
    # "Critical (P0)" and "high/medium" say several at once: the worst holds. "Not critical" says
    # none.
    words = {key} if parts & _NEGATIONS else {key, *parts}
    known = [_BY_WORD[word] for word in words if word in _BY_WORD]
    return (worst_severity(known), True) if known else (Severity.MAJOR, False)


def worst_severity(severities: "list[Severity] | tuple[Severity, ...]") -> Severity:
    return min(severities, key=lambda severity: severity.rank)
