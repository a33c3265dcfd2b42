"""Ruff's rules: the default selection, and each rule's severity and category."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.tool import Kit, run_probe
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.selection import is_named
from punchlist.model.finding.severity import Severity

CORRECTNESS_SELECT = (
    "E711,E712,E721,E722,E9,F,W605,ASYNC,B,EXE001,INT,LOG,NPY,PGH004,PLE,PLW,"
    "RUF006,RUF008,RUF009,RUF016,RUF200,T10,YTT"
)
CORRECTNESS_IGNORE = "B008,B009,B010,B028,B905,F541,PLW0603,PLW2901"
"""What is asked for where the project does not say it: defects and what is unused, not style.
Security is bandit's part.
"""

ALL_SELECT = (
    "E4,E7,E9,F,W605,B,ASYNC,C4,EXE,FLY,FURB,INT,ISC,LOG,NPY,PERF,PGH,PIE,PLE,PLW,PYI,Q004,"
    "RSE,RUF,SIM,T10,TRY203,TRY400,TRY401,UP,YTT"
)
"""With `rules = "all"`: also mechanical modernisation, but not layout, naming and docstrings."""

ALL_IGNORE = (
    "E701,E702,E731,E741,B008,ISC001,ISC003,PGH003,PIE790,PLW0603,PLW2901,PYI021,PYI041,PYI053,PYI054,PYI063,"
    "RUF001,RUF002,RUF003,RUF005,RUF012,RUF100,SIM102,SIM105,SIM108,SIM114,SIM117,SIM300,UP015,EXE002"
)
"""Taste within the groups above; and RUF100, which reports comments for rules run elsewhere."""

_CODE = late_pattern(r"(?:ruff:)?[A-Z][A-Z0-9]*\*?")
_OTHERS = late_pattern(r"(?:B[1-7]\d\d|SC\d+|CKV.*|DL\d+|TS\d+)")
_RULES = {
    (Severity.CRITICAL, "correctness"): "E9 F82 F7 PLE",
    (Severity.CRITICAL, "security"): "S102 S602",
    (Severity.MAJOR, "correctness"): (
        "YTT F E711 E721 E722 W605 B BLE ASYNC DTZ INT LOG NPY PLW"
        " RUF006 RUF008 RUF009 RUF016 RUF200 T10"
    ),
    (Severity.MAJOR, "security"): "S",
    (Severity.MINOR, "unused"): "F401 F841 F842 B007 RUF100 ARG ERA",
    (Severity.MINOR, "style"): "F541 F403 F405 E W B009 B010 A FAST G PD PLC RUF T20 I N",
    (Severity.MINOR, "correctness"): "B011 B028 B905 S110 S112",
    (Severity.MINOR, "security"): "S101 S311 S404 S603 S607",
    (Severity.MINOR, "complexity"): "PLR C90",
    (Severity.MINOR, "performance"): "PERF C4",
    (Severity.MINOR, "typing"): "ANN TC PYI FA",
    (Severity.MINOR, "documentation"): "D DOC",
    (Severity.MINOR, "modernisation"): "UP FURB PTH",
}
"""Rules, and prefixes of their names, by severity and category."""
_MEANING = {name: meaning for meaning, names in _RULES.items() for name in names.split()}


def rank_rule(rule: str) -> tuple[Severity, str]:
    """Return a rule's severity and category, by its longest known prefix."""
    for length in range(len(rule), 0, -1):
        known = _MEANING.get(rule[:length])
        # "I" must not speak for "ISC": a whole group's name ends where its digits begin.
        if known and (length == len(rule) or not rule[length].isalpha()):
            return known
    return Severity.MINOR, "style"


def find_misspelt(patterns: Sequence[str], rules: Sequence[str]) -> list[str]:
    """Return the patterns that look like codes of ruff and name none of its rules; those of bandit
    and shellcheck are no such.
    """
    odd = [each for each in patterns if _CODE.fullmatch(each) and not _OTHERS.fullmatch(each)]
    return [each for each in odd if not any(is_named(each, "ruff", rule) for rule in rules)]


async def find_rules(program: Sequence[str], patterns: Sequence[str], kit: Kit) -> tuple[str, ...]:
    """Return the names of the rules that patterns of `review.select` name, of those that this ruff
    has; () if it does not say which it has.
    """
    ran = await run_probe([*program, "rule", "--all", "--output-format=json"], kit)
    try:
        known = msgspec.json.decode(ran.stdout, type=list[_KnownRule])
    except msgspec.DecodeError:
        return ()
    usable = (rule.code for rule in known if not rule.preview and "Removed" not in rule.status)
    return tuple(
        code for code in usable if code and any(is_named(each, "ruff", code) for each in patterns)
    )


class _KnownRule(Struct, frozen=True):
    """A rule as `ruff rule --all` has it; older versions say less, and some have no code."""

    code: str | None = None
    preview: bool = False
    status: dict[str, Any] = {}
