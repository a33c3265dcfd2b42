"""What a challenger says, as one score an item: the number decides, and whatever is missing or odd
is no score.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from punchlist.intake.json_entry import Entry, text_of
from punchlist.model.item.score import Score, by_item
from punchlist.roles.answers.find_json import found
from punchlist.roles.answers.item_codes import item_of, told

_LISTS = (
    "issues",
    "scores",
    "items",
    "findings",
    "evaluations",
    "results",
    "judgements",
    "judgments",
)
_SCORE = ("score", "satisfaction_score", "overall_score", "overall", "rating", "points")
_STATUS = ("status", "verdict", "outcome", "state")
_FEEDBACK = ("feedback", "reason", "explanation", "comment", "comments", "rationale", "summary")
_IMPROVEMENTS = ("improvements_needed", "improvements", "needed", "suggestions", "todo", "missing")
_NUMBER = re.compile(r"([+-]?\d{1,6})(?:\.\d{1,9})?\s*(?:%|/\s*100(?:\.0+)?|points?)?")
_TOP = 100
SILENT = "the challenger said nothing of it"


class Scores(Struct, frozen=True):
    scores: tuple[Score, ...] = ()
    failed: str = ""


def scores_of(text: str, asked: Sequence[int]) -> Scores:
    """One score for every item that was asked about; the lowest of several."""
    answer = found(text, fits)
    if answer.failed:
        return Scores(
            tuple(Score(number, feedback=answer.failed) for number in asked), answer.failed
        )
    said = [
        _score(known[0], entry)
        for name, entry in told(answer.value, _LISTS, "score") or ()
        if (known := item_of(name)) is not None and known[0] in asked
    ]
    best = by_item(said)
    why = f"{SILENT} ({answer.incomplete})" if answer.incomplete else SILENT
    return Scores(tuple(best.get(number) or Score(number, feedback=why) for number in asked))


def fits(value: object) -> bool:
    entries = told(value, _LISTS, "score")
    return entries is not None and any(
        item_of(name) and any(key in entry for key in _SCORE) for name, entry in entries
    )


def _score(number: int, entry: Entry) -> Score:
    score, odd = _read(entry, _SCORE)
    feedback = text_of(entry, _FEEDBACK)
    quality = next(
        (
            entry[name]
            for name in ("quality_scores", "quality", "dimensions")
            if isinstance(entry.get(name), dict)
        ),
        entry,
    )
    return Score(
        number,
        score,
        text_of(entry, _STATUS)[:80],
        "\n".join(part for part in (odd, feedback) if part),
        tuple(line for name in _IMPROVEMENTS for line in text_of(entry, (name,)).splitlines()),
        *(_read(quality, (name,))[0] for name in ("correctness", "safety", "style")),
    )


def _read(entry: Entry, names: Sequence[str]) -> tuple[int | None, str]:
    """The number, or why there is none."""
    raw = next((entry[name] for name in names if name in entry), None)
    if raw is None:
        return None, "no score was given"
    number = _number(raw)
    if number is None:
        return None, f"its score {str(raw)[:40]!r} is no number"
    if not 0 <= number <= _TOP:
        return None, f"its score {number} is not between 0 and {_TOP}"
    return number, ""


def _number(raw: object) -> int | None:
    """A whole number, fractions cut off: nobody is approved by rounding."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, int | float):
        return None if raw != raw or abs(raw) > _TOP**2 else int(raw // 1)  # noqa: PLR0124  # NaN differs from itself
    if isinstance(raw, dict):
        return _number(raw.get("value", raw.get("score")))
    found_ = _NUMBER.fullmatch(raw.strip()) if isinstance(raw, str) else None
    return int(found_[1]) if found_ else None
