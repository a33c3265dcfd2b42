"""Protected files: tests, checks and their configuration."""

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.word_lists import load_words

_PATTERNS = load_words(__file__, "protected.toml")
CONFIGURATION = _PATTERNS["configuration"]
TESTS = _PATTERNS["tests"]
STEERS_AGENTS = _PATTERNS["steers_agents"]
"""Files that coding agents take orders from; those of a change under review must not reach the
agents that judge it.
"""


_WILDCARD = late_pattern(r"(\*\*/?|\*|\?)")
_WILDCARDS = {"**": ".*", "**/": ".*", "*": "[^/]*", "?": "[^/]"}


class Protected(Struct, frozen=True):
    """Patterns: with a slash they match below any folder, without one the file's name. `**` crosses
    folders; a leading slash anchors a pattern at the root.
    """

    configuration: tuple[str, ...] = CONFIGURATION
    tests: tuple[str, ...] = TESTS

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.configuration, *self.tests)

    @property
    def steering(self) -> tuple[str, ...]:
        """Configuration that analyzers read."""
        return tuple(
            pattern for pattern in self.configuration if pattern not in _PATTERNS["analyzed"]
        )

    def holds(self, path: str) -> bool:
        return matches_any(path, self.all)


class ProtectedRun(Protected, frozen=True):
    """Protects the files that define the checks of a run, too; analyzers see these as they are
    under review.
    """

    checks: tuple[str, ...] = ()

    @property
    def steering(self) -> tuple[str, ...]:
        return tuple(pattern for pattern in super().steering if pattern not in self.checks)


def protect_files(
    protected: Protected, files: Iterable[str], named: Iterable[str] = ()
) -> ProtectedRun:
    """Return what is protected together with these files, which define checks, and the `named`
    patterns, which steer analyzers; tests stay tests.
    """
    steering = tuple(dict.fromkeys(named))
    own = tuple(dict.fromkeys(f"/{path}" for path in files if not protected.holds(path)))
    checks = tuple(pattern for pattern in own if pattern not in steering)
    return ProtectedRun((*protected.configuration, *steering, *checks), protected.tests, checks)


def matches_any(path: str, patterns: tuple[str, ...]) -> bool:
    if not patterns:
        return False
    names, rooted, wild = _split_patterns(patterns)
    if path in rooted or path in names:
        return True
    start = path.find("/")
    while start >= 0:
        if path[start + 1 :] in names:
            return True
        start = path.find("/", start + 1)
    return any(part in path and _compile_pattern(each).search(path) for each, part in wild)


@lru_cache(maxsize=32)
def _split_patterns(
    patterns: tuple[str, ...],
) -> tuple[frozenset[str], frozenset[str], tuple[tuple[str, str], ...]]:
    """Return the names without wildcards that fit in any folder, those that fit at the root only,
    and the patterns with wildcards, each with a part that fitting paths have: regular expressions
    are made for few of them.
    """
    plain = [pattern for pattern in patterns if not _WILDCARD.search(pattern)]
    rooted = frozenset(pattern.strip("/") for pattern in plain if pattern.startswith("/"))
    names = frozenset(pattern.strip("/") for pattern in plain if not pattern.startswith("/"))
    wild = filter(_WILDCARD.search, patterns)
    return names, rooted, tuple((pattern, _find_longest_part(pattern)) for pattern in wild)


def _find_longest_part(pattern: str) -> str:
    parts = _WILDCARD.split(pattern.strip("/"))
    return max((part for part in parts if part not in _WILDCARDS), key=len)


@lru_cache(maxsize=512)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(_translate_pattern(pattern), re.DOTALL)


def _translate_pattern(pattern: str) -> str:
    start = r"\A" if pattern.startswith("/") else r"(?:\A|/)"
    parts = _WILDCARD.split(pattern.strip("/"))
    return start + "".join(_WILDCARDS.get(part) or re.escape(part) for part in parts) + r"\Z"
