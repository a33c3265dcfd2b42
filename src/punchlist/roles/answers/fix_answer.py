"""What a fixer says of items, made the best of: any spelling, parts folded into their item,
contradictions seen as such.
"""

import re
from collections.abc import Collection, Iterable
from itertools import groupby
from typing import Any

from msgspec import Struct

from punchlist.intake.json_entry import Entry, text_of
from punchlist.model.finding.paths import normal_path
from punchlist.model.item.claim import Outcome, Report
from punchlist.roles.answers.find_json import found
from punchlist.roles.answers.item_codes import item_of, told

_LISTS = ("outcomes", "results", "reports", "items", "findings", "issues", "statuses", "fixes")
_OUTCOME = ("outcome", "status", "result", "state", "resolution", "disposition")
_WHY = (
    "why",
    "explanation",
    "justification",
    "reason",
    "details",
    "detail",
    "description",
    "summary",
    "notes",
    "message",
)
_FILES = ("files", "files_changed", "changed_files", "modified_files", "files_modified", "file")
_TESTS = (
    "tests",
    "test",
    "test_file",
    "test_files",
    "test_path",
    "regression_test",
    "regression_tests",
)
_WORDS = {
    word: outcome
    for outcome, words in {
        Outcome.FIXED: (
            "fixed, fix, done, resolved, solved, complete, completed, success, implemented, applied"
        ),
        Outcome.BLOCKED: (
            "blocked, block, cannot fix, cant fix, can not fix, unfixable, impossible, wont fix,"
            " will not fix"
        ),
        Outcome.DEFERRED: (
            """deferred, defer, skipped, skip, postponed, later, partial, partially fixed, partly
            fixed,
            in progress, failed, fail, failure, error, not fixed, unfixed, open, pending, todo,
            unresolved,
            not done, incomplete"""
        ),
        Outcome.CONTESTED: (
            """contested, contest, not a bug, no bug, not an issue, no issue, false positive,
            invalid,
            already fixed, already resolved, already done, not applicable, disputed, not
            reproducible, works as intended,
            no change needed"""
        ),
    }.items()
    for word in " ".join(words.split()).split(", ")
}


class Statement(Struct, frozen=True):
    """One entry of the answer, before it is folded."""

    part: str
    outcome: Outcome
    why: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


class Statements(Struct, frozen=True):
    reports: tuple[Report, ...] = ()
    contradicted: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()
    failed: str = ""


def statements_of(text: str, asked: Collection[int], root: str) -> Statements:
    """The reports in a fixer's answer on the items it was asked about."""
    answer = found(text, fits)
    if answer.failed:
        return Statements(failed=answer.failed)
    said: dict[int, list[Statement]] = {}
    unknown: list[str] = []
    for name, entry in told(answer.value, _LISTS, "outcome") or ():
        known = item_of(name)
        if known is None or known[0] not in asked:
            unknown.append(name[:80] or "(no name)")
        else:
            said.setdefault(known[0], []).append(_statement(known[1], entry, root))
    folded = {number: _folded(number, each) for number, each in sorted(said.items())}
    return Statements(
        tuple(report for report in folded.values() if report is not None),
        tuple(number for number, report in folded.items() if report is None),
        tuple(dict.fromkeys(unknown)),
    )


def fits(value: object) -> bool:
    """Whether it says of any item what became of it, or explicitly of none."""
    entries = told(value, _LISTS, "outcome")
    if entries is None:
        return False
    said = any(item_of(name) and text_of(entry, _OUTCOME) for name, entry in entries)
    return said or (isinstance(value, dict) and value.get("outcomes") == [])


def outcome_of(word: str) -> Outcome | None:
    """In any case and spacing; None where it is none of our words."""
    plain = " ".join(
        re.sub(r"[^a-z]+", " ", word.casefold().replace("'", "").replace("\u2019", "")).split()
    )
    return _WORDS.get(plain)


def _statement(part: str, entry: Entry, root: str) -> Statement:
    word = text_of(entry, _OUTCOME)
    outcome = outcome_of(word)
    why = text_of(entry, [name for name in _WHY if name not in _OUTCOME])
    if outcome is None:
        why = (
            f'it said "{word[:60]}", which is no outcome{why and f": {why}"}'
            if word
            else f"no outcome was given{why and f': {why}'}"
        )
    return Statement(
        part,
        outcome or Outcome.DEFERRED,
        why,
        _paths(entry, _FILES, root),
        _paths(entry, _TESTS, root),
    )


def _folded(number: int, said: list[Statement]) -> Report | None:
    """One report of all that was said on an item; None where the same part is said to be two
    things.
    """
    for _, same in groupby(sorted(said, key=lambda each: each.part), key=lambda each: each.part):
        if len({each.outcome for each in same}) > 1:
            return None
    outcomes = {each.outcome for each in said}
    if len(outcomes) == 1:
        outcome = outcomes.pop()
    else:
        # Some of it is not fixed, so it is not; only what nobody could do is blocked.
        outcome = (
            Outcome.BLOCKED if outcomes == {Outcome.FIXED, Outcome.BLOCKED} else Outcome.DEFERRED
        )
    relevant = [each for each in said if each.outcome is outcome] or said
    return Report(
        number,
        outcome,
        "\n".join(dict.fromkeys(each.why for each in relevant if each.why)),
        _once(path for each in said for path in each.files),
        _once(path for each in said for path in each.tests),
    )


def _paths(entry: Entry, names: Iterable[str], root: str) -> tuple[str, ...]:
    """Files below the root, however they are listed; what lies elsewhere is left out."""
    return _once(
        path for name in names for raw in _strings(entry.get(name)) if (path := below(raw, root))
    )


def below(raw: str, root: str) -> str:
    """A path of an agent's as git has it; empty where it is no file below the root."""
    path, odd = normal_path(raw, root)
    return "" if odd else path


def _strings(value: Any) -> Iterable[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for each in value for text in _strings(each)]
        case {"path": str(path)} | {"file": str(path)} | {"file_path": str(path)}:
            return [path]
        case _:
            return []


def _once(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))
