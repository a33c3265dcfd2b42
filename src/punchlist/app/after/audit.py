"""Audit: verify that a run's ledger adds up, and that every finding is accounted for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from msgspec import MsgspecError, Struct
from msgspec.structs import replace

from punchlist.app.session import Session
from punchlist.errors import StoreError, UsageError
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.commit_trailers import Anchor
from punchlist.model.ledger.events import Entry
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.verify_ledger import Ledger
from punchlist.ports.artifacts import Artifacts


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
    head: str = ""
    """The hash of the last entry."""
    anchors: tuple[str, ...] = ()
    """The commits and files that it was compared with."""


def audit_lines(
    run_id: str, lines: Iterable[bytes], *, head: str = "", anchors: Mapping[str, str] | None = None
) -> Audit:
    """Audit lines by the laws of the ledger, and by what punchlist itself makes of them. `head`:
    the hash of the last entry, if known; `anchors`: hashes that it must have, and who says so.
    """
    lines = list(lines)
    ledger = Ledger()
    for line in lines:
        ledger.add_line(line)
    ledger.close(head, dict(anchors or {}))
    problems = [*ledger.problems, *_find_differences(run_id, lines, ledger)]
    audit = Audit(
        run=run_id,
        entries=len(lines),
        ok=not problems,
        problems=tuple(problems),
        head=ledger.previous,
    )
    sums = {name: n for name, n in ledger.count().items() if name in Audit.__struct_fields__}
    return replace(audit, **sums)


def _find_differences(run_id: str, lines: Iterable[bytes], ledger: Ledger) -> Iterator[str]:
    """Yield why punchlist cannot read the lines, or which state it folds them to instead; those
    that break a law need not be readable.
    """
    try:
        run = fold_entries(run_id, [wire.decode(line, Entry) for line in lines])
    except (UsageError, MsgspecError, LookupError, ValueError, TypeError) as error:
        yield f"punchlist cannot read it: {error}"
        return
    for number in sorted(run.items.keys() | ledger.items.keys()):
        ours = run.items[number].status.value if number in run.items else "missing"
        said = ledger.items[number].status if number in ledger.items else "missing"
        if ours != said:
            yield f"item {number} is {said} by its entries, and punchlist takes it for {ours}"


def audit_run(session: Session, run_id: str, anchors: Sequence[Anchor] = ()) -> Audit:
    """Audit a run of the store: its lines, the tables and files beside them, and `anchors`, hashes
    of entries that are kept elsewhere.
    """
    found = session.find(run_id)
    kept = session.store.take_snapshot(found)
    named = {anchor.hash: anchor.where for anchor in anchors}
    audit = audit_lines(found, kept.lines, head=kept.head or "", anchors=named)
    audit = replace(audit, anchors=tuple(sorted(set(named.values()))))
    beside = list(kept.faults)
    if kept.lines and kept.head == "":
        beside.append("the table does not say which entry is the last one")
    beside += _find_changed_files(kept.lines, session.artifacts(found))
    return replace(audit, ok=audit.ok and not beside, problems=(*audit.problems, *beside))


def _find_changed_files(lines: Iterable[bytes], artifacts: Artifacts) -> Iterator[str]:
    """Yield files of evidence that are not as they were when they were recorded; one that is gone
    may have been cleaned up.
    """
    ledger = Ledger()
    for line in lines:
        ledger.add_line(line)
    for name, known in sorted(ledger.pins.items()):
        try:
            content = artifacts.read(name)
        except StoreError as error:
            yield f"the evidence {name!r:.120} cannot be read: {error}"
            continue
        if content is not None and sha256(content).hexdigest() != known:
            yield f"the evidence {name} was changed after it was recorded"
