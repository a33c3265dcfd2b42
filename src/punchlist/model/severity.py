"""How bad a finding is: three ranks, and the many words reviewers have for them."""

from enum import StrEnum


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
    Severity.MINOR: """minor low p2 p3 p4 note info information informational notice nit nitpick trivial style hint suggestion
        recommendation convention none sev3 nice-to-have""",
}
_BY_WORD = {word: severity for severity, words in _WORDS.items() for word in words.split()}


def severity_of(word: str | None) -> tuple[Severity, bool]:
    """The rank of a reviewer's word, and whether the word was known; an unknown one ranks major, never lowest."""
    key = "-".join((word or "").casefold().replace("_", " ").split()).strip("[]():.!")
    known = _BY_WORD.get(key)
    return (known, True) if known else (Severity.MAJOR, False)


def worst(severities: "list[Severity] | tuple[Severity, ...]") -> Severity:
    return min(severities, key=lambda severity: severity.rank)
