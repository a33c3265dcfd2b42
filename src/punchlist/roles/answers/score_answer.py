"""Parses a challenger's answer into one score per item; a missing or invalid number is no score."""

import re
from collections.abc import Sequence

from msgspec import Struct

from punchlist.intake.json_entry import Entry, find_text
from punchlist.model.item.score import Score, lowest_scores
from punchlist.roles.answers.find_json import find_answer
from punchlist.roles.answers.item_codes import find_entries, parse_code

_LISTS = tuple("issues scores items findings evaluations results judgements judgments".split())
_SCORE = ("score", "satisfaction_score", "overall_score", "overall", "rating", "points")
_STATUS = ("status", "verdict", "outcome", "state")
_FEEDBACK = ("feedback", "reason", "explanation", "comment", "comments", "rationale", "summary")
_IMPROVEMENTS = ("improvements_needed", "improvements", "needed", "suggestions", "todo", "missing")
_NUMBER = re.compile(r"([+-]?\d{1,6})(?:\.\d{1,9})?\s*(?:%|/\s*100(?:\.0+)?|points?)?")
TOP = 100
SILENT = "the challenger said nothing of it"


class Scores(Struct, frozen=True):
    scores: tuple[Score, ...] = ()
    failed: str = ""


def parse_scores(text: str, asked: Sequence[int]) -> Scores:
    """Return a score for every item asked about, the lowest if there are several."""
    answer = find_answer(text, is_score_answer)
    if answer.failed:
        unscored = tuple(Score(number, feedback=answer.failed) for number in asked)
        return Scores(unscored, answer.failed)
    said = [
        _parse_score(known[0], entry)
        for name, entry in find_entries(answer.value, _LISTS, "score") or ()
        if (known := parse_code(name)) is not None and known[0] in asked
    ]
    best = lowest_scores(said)
    why = f"{SILENT} ({answer.incomplete})" if answer.incomplete else SILENT
    return Scores(tuple(best.get(number) or Score(number, feedback=why) for number in asked))


def is_score_answer(value: object) -> bool:
    entries = find_entries(value, _LISTS, "score")
    return entries is not None and any(
        parse_code(name) and any(key in entry for key in _SCORE) for name, entry in entries
    )


def _parse_score(number: int, entry: Entry) -> Score:
    score, odd = _read_number(entry, _SCORE)
    feedback = find_text(entry, _FEEDBACK)
    parts = (entry.get(name) for name in ("quality_scores", "quality", "dimensions"))
    quality = next((part for part in parts if isinstance(part, dict)), entry)
    return Score(
        number,
        score,
        find_text(entry, _STATUS)[:80],
        "\n".join(part for part in (odd, feedback) if part),
        tuple(line for name in _IMPROVEMENTS for line in find_text(entry, (name,)).splitlines()),
        *(_read_number(quality, (name,))[0] for name in ("correctness", "safety", "style")),
    )


def _read_number(entry: Entry, names: Sequence[str]) -> tuple[int | None, str]:
    """Return the number, or None and the reason."""
    raw = next((entry[name] for name in names if name in entry), None)
    if raw is None:
        return None, "no score was given"
    number = parse_number(raw)
    if number is None:
        return None, f"its score {str(raw)[:40]!r} is no number"
    if not 0 <= number <= TOP:
        return None, f"its score {number} is not between 0 and {TOP}"
    return number, ""


def parse_number(raw: object) -> int | None:
    """Return a whole number, rounded down so that rounding approves nothing, or None."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, int | float):
        return None if raw != raw or abs(raw) > TOP**2 else int(raw // 1)  # noqa: PLR0124  # NaN differs from itself
    if isinstance(raw, dict):
        return parse_number(raw.get("value", raw.get("score")))
    found = _NUMBER.fullmatch(raw.strip()) if isinstance(raw, str) else None
    return int(found[1]) if found else None
