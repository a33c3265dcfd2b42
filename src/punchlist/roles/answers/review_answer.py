"""What a reviewer says, as findings: each entry is one or is refused, and only an explicit empty
list is clean.
"""

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from punchlist.intake.json_entry import DETAIL, LISTS, PATH, TITLE, Entry, note, text_of
from punchlist.intake.raw_finding import Unreadable, shortened
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Finding, Refused
from punchlist.roles.answers.find_json import found
from punchlist.roles.answers.lenient_json import Cut

_PLAIN_EMPTY = ("findings", "groups", "issues")
"""Lists whose emptiness says that there is nothing; an empty list of any other name may be about
anything.
"""
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


class Review(Struct, frozen=True):
    """`groups` are indexes into the findings."""

    findings: tuple[Finding, ...] = ()
    refused: tuple[Refused, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    failed: str = ""
    incomplete: str = ""


def review_of(text: str, name: str, sources: Sources) -> Review:
    """The findings in an answer of the reviewer `name`."""
    answer = found(text, fits)
    # One object a line, or what stands behind a place that could not be read: those are findings,
    # too.
    strays: list[object] = [stray for stray in answer.strays if _is_finding(stray)]
    if answer.failed and not strays:
        return Review(failed=answer.failed)
    findings: list[Finding] = []
    refused: list[Refused] = []
    groups: list[tuple[int, ...]] = []
    for group in (*_groups(answer.value), strays):
        before = len(findings)
        for entry in group:
            _read(entry, name, sources, findings, refused)
        if len(findings) > before:
            groups.append(tuple(range(before, len(findings))))
    grouped = isinstance(answer.value, dict) and "groups" in answer.value
    return Review(
        tuple(findings),
        tuple(refused),
        tuple(groups) if grouped else (),
        "" if findings else _why_not_clean(answer.value, refused, answer.incomplete),
        answer.incomplete,
    )


def fits(value: object) -> bool:
    """Whether it is a review: it has a list of findings, which may be empty only under a name that
    leaves no doubt.
    """
    if isinstance(value, list):
        return any(_is_finding(entry) for entry in value)
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(name), list) for name in _PLAIN_EMPTY):
        return True
    return any(
        any(_is_finding(entry) for entry in value[name])
        for name in LISTS
        if isinstance(value.get(name), list)
    )


def _is_finding(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    return bool(text_of(entry, (*TITLE, *DETAIL)) and text_of(entry, PATH)) or isinstance(
        entry.get("findings"), list
    )


def _groups(value: object) -> Iterator[list[object]]:
    if isinstance(value, list):
        yield from _unfolded(value)
    elif isinstance(value, dict):
        for name in ("groups", *LISTS):
            if isinstance(value.get(name), list):
                yield from _unfolded(value[name])


def _unfolded(entries: list[object]) -> Iterator[list[object]]:
    """Groups as their findings; what stands between them by itself is together too."""
    loose: list[object] = []
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("findings"), list):
            yield entry["findings"]
        elif isinstance(entry, list):
            yield from _unfolded(entry)
        else:
            loose.append(entry)
    yield loose


def _read(
    entry: object, name: str, sources: Sources, findings: list[Finding], refused: list[Refused]
) -> None:
    try:
        findings.append(sources.finding(name, len(findings) + 1, note(_whole(entry))))
    except Unreadable as error:
        if entry != {}:
            refused.append(Refused(name, shortened(msgspec.json.encode(entry)), str(error)))


def _whole(entry: object) -> Entry:
    if isinstance(entry, Cut):
        raise Unreadable("breaks off before its end")
    if not isinstance(entry, dict):
        raise Unreadable("is no object with a title")
    return entry


def _why_not_clean(value: object, refused: list[Refused], incomplete: str) -> str:
    """Why a review without findings cannot count as a clean one; empty if it can."""
    if refused:
        return f"none of its {len(refused)} entries could be read ({refused[0].reason})"
    if incomplete:
        return f"the answer breaks off before the first finding: {incomplete}"
    if isinstance(value, dict):
        if error := text_of(value, ("error", "errors", "failed", "failure")):
            return f"it reports an error: {error[:200]}"
        verdict = text_of(value, _VERDICT)[:_LONGEST]
        if _AGAINST.search(_HARMLESS.sub("", verdict)):
            return f'it says "{verdict[:80]}" and lists no finding'
        if value.get("approved") is False:
            return "it does not approve, and lists no finding"
    return ""
