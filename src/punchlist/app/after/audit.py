"""Audit of a ledger: the hash chain, and that every finding is accounted for."""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.model.item.item import ENDED, Status
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.hash_chain import verify_lines
from punchlist.model.ledger.run import Run


class Audit(Struct, frozen=True, kw_only=True):
    """`reported` = findings in items + sightings. In an ended run every item has an end."""

    run: str
    entries: int
    ok: bool
    problems: tuple[str, ...]
    reported: int = 0
    items: int = 0
    merged: int = 0
    seen_again: int = 0
    refused: int = 0
    fixed: int = 0
    filed: int = 0
    dismissed: int = 0
    listed: int = 0


def audit_entries(run_id: str, entries: Iterable[ev.Entry], written: Iterable[bytes]) -> Audit:
    """Audit the entries. `written` are their bytes on disk, which the hash chain covers."""
    lines = list(entries)
    broken = verify_lines(written)
    problems = [broken] if broken else []
    try:
        run = fold_entries(run_id, lines)
    except UsageError as error:  # the first line is gone, or another
        problems.append(str(error))
        return Audit(run=run_id, entries=len(lines), ok=False, problems=tuple(problems))
    problems += [*_find_lost(lines, run), *_find_unended(run), *_find_unproven(run)]
    placed = sum(len(item.findings) for item in run.items.values())
    tally = {status: len(run.find_items(status)) for status in Status}
    return Audit(
        run=run_id,
        entries=len(lines),
        ok=not problems,
        problems=tuple(problems),
        reported=run.reviewing.reported,
        items=len(run.items),
        merged=placed - len(run.items),
        seen_again=sum(item.sightings for item in run.items.values()),
        refused=len(run.reviewing.refused),
        fixed=tally[Status.FIXED],
        filed=tally[Status.FILED],
        dismissed=tally[Status.DISMISSED],
        listed=len(run.filing.listed),
    )


def _find_lost(entries: list[ev.Entry], run: Run) -> Iterator[str]:
    reported: list[str] = []
    placed: Counter[str] = Counter()
    for entry in entries:
        if isinstance(entry.event, ev.Reviewed):
            reported += [finding.id for finding in entry.event.findings]
        elif isinstance(entry.event, ev.Consolidated):
            placed.update(_finding_ids(entry.event))
    waiting = set() if run.ended else {finding.id for finding in run.reviewing.fresh}
    for identifier in reported:
        if placed[identifier] != 1 and identifier not in waiting:
            yield f"finding {identifier} is in {placed[identifier]} items"
    if len(set(reported)) != len(reported):
        yield "two findings have one id"


def _finding_ids(event: ev.Consolidated) -> Iterator[str]:
    yield from (finding.id for item in event.items for finding in item.findings)
    yield from (sighting.finding.id for sighting in event.sightings)


def _find_unended(run: Run) -> Iterator[str]:
    if not run.ended:
        return
    listed = set(run.filing.listed)
    for item in run.items.values():
        if item.status not in ENDED and item.number not in listed:
            yield f"item {item.number} ended {item.status}, and is not listed"


def _find_unproven(run: Run) -> Iterator[str]:
    for item in run.find_items(Status.FIXED):
        if not item.proofs or not item.commit:
            lacking = "a commit" if item.proofs else "a proof"
            yield f"item {item.number} is fixed without {lacking}"


def audit_run(session: Session, run_id: str) -> Audit:
    found = session.find(run_id)
    written = (line.rstrip(b"\n") for line in session.store.export(found))
    return audit_entries(found, session.store.read(found), written)
