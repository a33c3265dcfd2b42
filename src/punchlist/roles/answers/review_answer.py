"""Parses a reviewer's answer into findings; only an explicit empty list means clean."""

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from punchlist.intake import markdown_findings
from punchlist.intake.json_entry import DETAIL, LISTS, PATH, TITLE, Entry, find_text, parse_entry
from punchlist.intake.raw_finding import Unreadable, shorten_raw
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Finding, RefusedEntry
from punchlist.roles.answers.find_json import find_answer
from punchlist.roles.answers.lenient_json import CutObject

_PLAIN_EMPTY = ("findings", "groups", "issues")
"""Lists of findings if empty; an empty list of any other name may be about anything."""
_VERDICT = ("verdict", "status", "decision", "recommendation", "result", "conclusion", "assessment")
_AGAINST = re.compile(
    r"reject|(?:request|need|requir)\w*\W+(?:\w+\W+)?(?:change|work|fix)|changes?\W+(?:request|need|requir)|block|fail|"
    r"\b(?:not|un|dis)\W*approv|incomplete|abort|could not|unable",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"\b(?:no|non|without|zero|0)\W+(?:\w+\W+)?(?:block|fail|change|fix|work)\w*|(?:\bnot|n't)\W+(?:need|requir)\w*",
    re.IGNORECASE,
)
"""What sounds like it and is not."""

_LONGEST = 400


class ReviewAnswer(Struct, frozen=True):
    """`groups` are indexes into the findings."""

    findings: tuple[Finding, ...] = ()
    refused: tuple[RefusedEntry, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    failed: str = ""
    incomplete: str = ""


def parse_review(text: str, name: str, sources: Sources) -> ReviewAnswer:
    """Parse the findings in an answer of the reviewer `name`."""
    answer = find_answer(text, is_review)
    # One object a line, or those behind an unreadable place, are findings, too.
    strays: list[object] = [stray for stray in answer.strays if _is_finding(stray)]
    if answer.failed and not strays:
        return _parse_markdown(text, name, sources) or ReviewAnswer(failed=answer.failed)
    findings: list[Finding] = []
    refused: list[RefusedEntry] = []
    groups: list[tuple[int, ...]] = []
    for group in (*_find_groups(answer.value), strays):
        before = len(findings)
        for entry in group:
            _read_entry(entry, name, sources, findings, refused)
        if len(findings) > before:
            groups.append(tuple(range(before, len(findings))))
    if not findings and (told := _parse_markdown(text, name, sources)):
        return told  # an empty list behind findings in Markdown is no clean review
    grouped = isinstance(answer.value, dict) and "groups" in answer.value
    return ReviewAnswer(
        tuple(findings),
        tuple(refused),
        tuple(groups) if grouped else (),
        "" if findings else _why_not_clean(answer.value, refused, answer.incomplete),
        answer.incomplete,
    )


def _parse_markdown(text: str, name: str, sources: Sources) -> ReviewAnswer | None:
    """Return the findings of an answer that is a Markdown document; None if none names a file:
    list items alone may say that nothing was found.
    """
    if not markdown_findings.is_findings(text):
        return None
    findings, refused = markdown_findings.read_markdown(text, sources, name)
    named = any(finding.spot.path for finding in findings)
    return ReviewAnswer(findings, refused) if named else None


def is_review(value: object) -> bool:
    """Return whether the value has a list of findings; only lists in _PLAIN_EMPTY may be empty."""
    if isinstance(value, list):
        return any(_is_finding(entry) for entry in value)
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(name), list) for name in _PLAIN_EMPTY):
        return True
    lists = (value[name] for name in LISTS if isinstance(value.get(name), list))
    return any(_is_finding(entry) for entries in lists for entry in entries)


def _is_finding(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    if isinstance(entry.get("findings"), list):
        return True
    return bool(find_text(entry, (*TITLE, *DETAIL)) and find_text(entry, PATH))


def _find_groups(value: object) -> Iterator[list[object]]:
    if isinstance(value, list):
        yield from _flatten_groups(value)
    elif isinstance(value, dict):
        for name in ("groups", *LISTS):
            if isinstance(value.get(name), list):
                yield from _flatten_groups(value[name])


def _flatten_groups(entries: list[object]) -> Iterator[list[object]]:
    """Yield the findings of each group, then those outside any group."""
    loose: list[object] = []
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("findings"), list):
            yield entry["findings"]
        elif isinstance(entry, list):
            yield from _flatten_groups(entry)
        else:
            loose.append(entry)
    yield loose


def _read_entry(
    entry: object, name: str, sources: Sources, findings: list[Finding], refused: list[RefusedEntry]
) -> None:
    try:
        raw = parse_entry(_require_whole(entry))
        findings.append(sources.make_finding(name, len(findings) + 1, raw))
    except Unreadable as error:
        if entry != {}:
            refused.append(RefusedEntry(name, shorten_raw(msgspec.json.encode(entry)), str(error)))


def _require_whole(entry: object) -> Entry:
    if isinstance(entry, CutObject):
        raise Unreadable("breaks off before its end")
    if not isinstance(entry, dict):
        raise Unreadable("is no object with a title")
    return entry


def _why_not_clean(value: object, refused: list[RefusedEntry], incomplete: str) -> str:
    """Return why a review without findings is not clean, or ''."""
    if refused:
        return f"none of its {len(refused)} entries could be read ({refused[0].reason})"
    if incomplete:
        return f"the answer breaks off before the first finding: {incomplete}"
    if isinstance(value, dict):
        if error := find_text(value, ("error", "errors", "failed", "failure")):
            return f"it reports an error: {error[:200]}"
        verdict = find_text(value, _VERDICT)[:_LONGEST]
        if _AGAINST.search(_HARMLESS.sub("", verdict)):
            return f'it says "{verdict[:80]}" and lists no finding'
        if value.get("approved") is False:
            return "it does not approve, and lists no finding"
    return ""
