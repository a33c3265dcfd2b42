"""Which rules of different tools name the same defect.

Most of it follows from how the tools name their rules: ruff kept the numbers of bandit (`S101` is
`B101`), pylint (`PLR0913` is `R0913`), pycodestyle, pyflakes and the flake8 plugins; biome writes
eslint's names in camel case. `same_rules.txt` has the rest.
"""

import re
from functools import lru_cache
from pathlib import Path

_SECURITY = re.compile(r"[SB]([1-7]\d\d)")
_PYLINT = re.compile(r"(?:PL)?([CERWF]\d{4})")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=16384)
def kind(rule: str) -> str:
    """The defect a rule is about, named the same for every tool that has such a rule; what nobody
    else has names itself.
    """
    code = rule.strip()
    return _KINDS.get(code) or _named(code)


def is_shared(rule: str) -> bool:
    """Whether it is known which rules of other tools are the same; then words need not be asked."""
    found = kind(rule)
    return found in _SHARED or found.startswith(("security-", "pylint-"))


def _named(code: str) -> str:
    short = code.rpartition("/")[2]
    if security := _SECURITY.fullmatch(short):
        return f"security-{security[1]}"
    if pylint := _PYLINT.fullmatch(short):
        return _KINDS.get(pylint[1]) or f"pylint-{pylint[1]}"
    dashed = _HUMP.sub("-", short).casefold() if _HUMP.search(short) and "-" not in short else short
    return _KINDS.get(dashed) or dashed


def _read(table: str) -> dict[str, str]:
    lines = [line for line in table.splitlines() if not line.startswith("#")]
    return {rule: name for name, *rules in map(str.split, lines) for rule in _spellings(rules)}


def _spellings(rules: list[str]) -> set[str]:
    """Bandit's number beside ruff's, for the few that are in the table because others have them
    too.
    """
    return {*rules, *(f"B{found[1]}" for rule in rules if (found := _SECURITY.fullmatch(rule)))}


_KINDS = _read(Path(__file__).with_name("same_rules.txt").read_text("utf-8"))
_SHARED = frozenset(_KINDS.values())
