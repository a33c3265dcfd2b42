"""Which rules of different tools name the same defect.

Most of it follows from how the tools name their rules: ruff kept the numbers of bandit (`S101` is
`B101`), pylint (`PLR0913` is `R0913`), pycodestyle, pyflakes and the flake8 plugins; biome writes
eslint's names in camel case. `same_rules.txt` has the rest.
"""

from functools import lru_cache
from pathlib import Path

from punchlist.model.finding.late_pattern import late_pattern

_SECURITY = late_pattern(r"[SB]([1-7]\d\d)")
_PYLINT = late_pattern(r"(?:PL)?([CERWF]\d{4})")
_HUMP = late_pattern(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=16384)
def rule_kind(rule: str) -> str:
    """Return the defect a rule is about, the same for all tools; an unknown rule names itself."""
    code = rule.strip()
    return _KINDS.get(code) or _derive_kind(code)


def is_shared(rule: str) -> bool:
    """Whether equal rules of other tools are known; then words are not compared."""
    found = rule_kind(rule)
    return found in _SHARED or found.startswith(("security-", "pylint-"))


def _derive_kind(code: str) -> str:
    short = code.rpartition("/")[2]
    if security := _SECURITY.fullmatch(short):
        return f"security-{security[1]}"
    if pylint := _PYLINT.fullmatch(short):
        return _KINDS.get(pylint[1]) or f"pylint-{pylint[1]}"
    dashed = _HUMP.sub("-", short).casefold() if _HUMP.search(short) and "-" not in short else short
    return _KINDS.get(dashed) or dashed


def _parse_table(table: str) -> dict[str, str]:
    lines = [line for line in table.splitlines() if not line.startswith("#")]
    return {rule: name for name, *rules in map(str.split, lines) for rule in _add_spellings(rules)}


def _add_spellings(rules: list[str]) -> set[str]:
    """Add bandit's number beside ruff's."""
    return {*rules, *(f"B{found[1]}" for rule in rules if (found := _SECURITY.fullmatch(rule)))}


_KINDS = _parse_table(Path(__file__).with_name("same_rules.txt").read_text("utf-8"))
_SHARED = frozenset(_KINDS.values())
