"""Parses a fixer's answer in any spelling; merges parts of items and detects contradictions."""

import re
from collections.abc import Collection, Iterable
from functools import partial
from itertools import groupby
from typing import Any

from msgspec import Struct

from punchlist.intake.json_entry import Entry, find_text
from punchlist.model.finding.paths import normalize_path
from punchlist.model.item.claim import ClaimOutcome, ItemClaim
from punchlist.roles.answers.find_json import find_answer
from punchlist.roles.answers.item_codes import NAMES, ReadCode, find_entries, parse_code
from punchlist.roles.answers.score_answer import TOP, parse_number

_LISTS = ("outcomes", "results", "reports", "items", "findings", "issues", "statuses", "fixes")
_OUTCOME = ("outcome", "status", "result", "state", "resolution", "disposition")
_WHY = tuple(
    "why explanation justification reason details detail description summary notes message".split()
)
_FILES = ("files", "files_changed", "changed_files", "modified_files", "files_modified", "file")
_TESTS = tuple("tests test test_file test_files test_path regression_test regression_tests".split())
_SURE = "confidence"
_SHARE = re.compile(r"0?\.\d{1,9}|1\.0{1,9}")
_EVALUATION = ("self_evaluation", "self_review", "evaluation")
_OUTCOME_WORDS = {
    ClaimOutcome.FIXED: """
        fixed fix done resolved solved complete completed success implemented applied
    """,
    ClaimOutcome.BLOCKED: """
        blocked block cannot-fix cant-fix can-not-fix unfixable impossible wont-fix will-not-fix
    """,
    ClaimOutcome.DEFERRED: """
        deferred defer skipped skip postponed later partial partially-fixed partly-fixed in-progress
        failed fail failure error not-fixed unfixed open pending todo unresolved not-done incomplete
    """,
    ClaimOutcome.CONTESTED: """
        contested contest not-a-bug no-bug not-an-issue no-issue false-positive invalid
        already-fixed already-resolved already-done not-applicable disputed not-reproducible
        works-as-intended no-change-needed
    """,
}
_PARTLY = re.compile(
    r"\W*(?:partially|partly|half|only part(?:ly|ially)?)\W+(?:of it\W+)?(?:is\W+)?"
    r"(?:fixed|done|resolved|solved|addressed|implemented)",
    re.IGNORECASE,
)
"""An explanation that begins like this says that something remains."""
_OUTCOMES = {word: outcome for outcome, words in _OUTCOME_WORDS.items() for word in words.split()}


class Statement(Struct, frozen=True):
    """One entry of the answer, before merging."""

    part: str
    outcome: ClaimOutcome
    why: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    confidence: int | None


class Statements(Struct, frozen=True):
    reports: tuple[ItemClaim, ...] = ()
    contradicted: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()
    failed: str = ""


def parse_statements(
    text: str, asked: Collection[int], root: str, read_code: ReadCode = parse_code
) -> Statements:
    """Parse the reports in a fixer's answer on the items it was asked about; `read_code` reads
    their names.
    """
    alone = next(iter(asked)) if len(asked) == 1 else None
    fits = is_fix_answer if alone is None else is_any_outcome
    answer = find_answer(text, partial(fits, read_code=read_code))
    if answer.failed:
        return Statements(failed=answer.failed)
    said: dict[int, list[Statement]] = {}
    unknown: dict[str, Entry] = {}
    for name, entry in _list_entries(answer.value, read_code):
        known = read_code(name)
        if known is None or known[0] not in asked:
            unknown[name[:80] or "(no name)"] = entry
        else:
            said.setdefault(known[0], []).append(_parse_statement(known[1], entry, root))
    if alone is not None and not said and unknown:  # it can only speak of the one item
        said[alone] = [_parse_statement("", entry, root) for entry in unknown.values()]
    folded = {number: _merge_statements(number, each) for number, each in sorted(said.items())}
    return Statements(
        tuple(report for report in folded.values() if report is not None),
        tuple(number for number, report in folded.items() if report is None),
        tuple(unknown),
    )


def _list_entries(value: object, read_code: ReadCode) -> list[tuple[str, Entry]]:
    entries = find_entries(value, _LISTS, "outcome", read_code)
    if entries is None and isinstance(value, dict):
        return [(find_text(value, NAMES), value)]
    return entries or []


def is_any_outcome(value: object, read_code: ReadCode = parse_code) -> bool:
    """Return whether the value has an outcome, whatever the item is called."""
    entries = _list_entries(value, read_code)
    named = is_fix_answer(value, read_code)
    return named or any(parse_outcome(find_text(entry, _OUTCOME)) for _, entry in entries)


def is_fix_answer(value: object, read_code: ReadCode = parse_code) -> bool:
    """Return whether the value has an outcome of an item, or an empty list of outcomes."""
    entries = find_entries(value, _LISTS, "outcome", read_code)
    if entries is None:
        return False
    said = any(read_code(name) and find_text(entry, _OUTCOME) for name, entry in entries)
    return said or (isinstance(value, dict) and value.get("outcomes") == [])


def parse_outcome(word: str) -> ClaimOutcome | None:
    """Parse an outcome in any case and spacing; None if the word is unknown."""
    letters = re.sub(r"[^a-z]+", " ", re.sub("['\u2019]", "", word.casefold()))
    return _OUTCOMES.get("-".join(letters.split()))


def _parse_statement(part: str, entry: Entry, root: str) -> Statement:
    word = find_text(entry, _OUTCOME)
    outcome = parse_outcome(word)
    why = find_text(entry, [name for name in _WHY if name not in _OUTCOME])
    if outcome is None:
        odd = f'it said "{word[:60]}", which is no outcome' if word else "no outcome was given"
        why = f"{odd}: {why}" if why else odd
        outcome = ClaimOutcome.DEFERRED
    if outcome is ClaimOutcome.FIXED and _PARTLY.match(why):
        outcome = ClaimOutcome.DEFERRED
    files, tests = (_parse_paths(entry, names, root) for names in (_FILES, _TESTS))
    return Statement(part, outcome, why, files, tests, _parse_confidence(entry))


def _parse_confidence(entry: Entry) -> int | None:
    """Return how sure the fixer is, 0 to 100, also from a share (0.85) or a nested evaluation."""
    inner: Entry = next((entry[n] for n in _EVALUATION if isinstance(entry.get(n), dict)), {})
    raw = next((each[_SURE] for each in (entry, inner) if each.get(_SURE) is not None), None)
    if isinstance(raw, str) and _SHARE.fullmatch(raw.strip()):
        raw = float(raw)
    number = parse_number(round(raw * 100) if isinstance(raw, float) and 0 <= raw <= 1 else raw)
    return number if number is not None and 0 <= number <= TOP else None


def _merge_statements(number: int, said: list[Statement]) -> ItemClaim | None:
    """Merge all statements on an item into one report; None if they contradict each other."""
    for _, same in groupby(sorted(said, key=lambda each: each.part), key=lambda each: each.part):
        if len({each.outcome for each in same}) > 1:
            return None
    outcomes = {each.outcome for each in said}
    outcome = ClaimOutcome.DEFERRED  # if some of it is not fixed
    if len(outcomes) == 1:
        outcome = said[0].outcome
    elif outcomes == {ClaimOutcome.FIXED, ClaimOutcome.BLOCKED}:
        outcome = ClaimOutcome.BLOCKED
    relevant = [each for each in said if each.outcome is outcome] or said
    return ItemClaim(
        number,
        outcome,
        "\n".join(dict.fromkeys(each.why for each in relevant if each.why)),
        _unique_paths(path for each in said for path in each.files),
        _unique_paths(path for each in said for path in each.tests),
        min((each.confidence for each in said if each.confidence is not None), default=None),
    )


def _parse_paths(entry: Entry, names: Iterable[str], root: str) -> tuple[str, ...]:
    """Return the listed files below the root; others are left out."""
    return _unique_paths(
        path
        for name in names
        for raw in _list_strings(entry.get(name))
        if (path := relative_path(raw, root))
    )


def relative_path(raw: str, root: str) -> str:
    """Return the path relative to the root, as git has it; '' if it is not below the root."""
    path, odd = normalize_path(raw, root)
    return "" if odd else path


def _list_strings(value: Any) -> Iterable[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for each in value for text in _list_strings(each)]
        case {"path": str(path)} | {"file": str(path)} | {"file_path": str(path)}:
            return [path]
        case _:
            return []


def _unique_paths(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))
