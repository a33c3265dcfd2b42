"""Protected files: tests, checks and their configuration."""

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from punchlist.model.finding.word_lists import load_words

_PATTERNS = load_words(__file__, "protected.toml")
CONFIGURATION = _PATTERNS["configuration"]
TESTS = _PATTERNS["tests"]
STEERS_AGENTS = _PATTERNS["steers_agents"]
"""Files that coding agents take orders from; those of a change under review must not reach the
agents that judge it.
"""


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
    return bool(patterns) and _compile_patterns(patterns).search(path) is not None


@lru_cache(maxsize=32)
def _compile_patterns(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(_translate_pattern, patterns)), re.DOTALL)


def _translate_pattern(pattern: str) -> str:
    start = r"\A" if pattern.startswith("/") else r"(?:\A|/)"
    parts = re.split(r"(\*\*/?|\*|\?)", pattern.strip("/"))
    return start + "".join(_WILDCARDS.get(part) or re.escape(part) for part in parts) + r"\Z"
