"""Dismissals as files in the repository: one each, so that branches merge without conflicts."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.adapters.git.checkout_files import (
    list_plain_files,
    read_plain_file,
    remove_checkout_file,
    write_checkout_file,
)
from punchlist.app.after.dismissals import load_dismissals
from punchlist.app.gate.shared_files import DISMISSALS, SharedDismissal, parse_dismissals
from punchlist.app.session import Session
from punchlist.model.dedup.identity import fingerprint
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.item.item import Item
from punchlist.model.ledger.earlier_runs import Dismissal

_MOST_TWINS = 1000


class KnownDismissal(Struct, frozen=True, kw_only=True):
    """A dismissal with what it is about; `shared`: the file in the repository, or ''."""

    fingerprint: str
    by: str
    why: str
    place: str = ""
    title: str = ""
    shared: str = ""


def share_items(root: Path, items: Iterable[Item], saying: Dismissal) -> None:
    for item in items:
        lead, twin = item.lead, _find_twin(item)
        others = (fingerprint(each, twin) for each in item.findings[1:])
        rule = f"{lead.source}:{lead.rule or lead.category}"
        said = SharedDismissal(
            fingerprint=item.fingerprint,
            why=saying.why,
            by=saying.by,
            also=tuple(dict.fromkeys(each for each in others if each != item.fingerprint)),
            rule=rule,
            path=lead.spot.path,
            title=lead.title,
        )
        content = msgspec.json.format(msgspec.json.encode(said), indent=2) + b"\n"
        write_checkout_file(root, _name_file(item), content, b"")


def unshare_items(root: Path, items: Iterable[Item]) -> int:
    """Remove the items' files from the checkout; return how many there were."""
    return sum(remove_checkout_file(root, _name_file(item)) for item in items)


def _name_file(item: Item) -> str:
    return f"{DISMISSALS}/{item.fingerprint}.json"


def _find_twin(item: Item) -> int:
    """Return which of several equal findings the item is, 0 for the first."""
    twins = range(_MOST_TWINS)
    return next((n for n in twins if fingerprint(item.lead, n) == item.fingerprint), 0)


def list_dismissals(session: Session) -> list[KnownDismissal]:
    """Return the shared dismissals in the checkout, then the user's own that are not among them."""
    root = session.required_checkout.root
    names = [f"{DISMISSALS}/{name}" for name in list_plain_files(root, DISMISSALS)]
    raw = {name: read_plain_file(root, name) or b"" for name in names}
    known, _ = parse_dismissals(raw)
    shared = [
        _describe_shared(name, content) for name, content in raw.items() if _is_used(name, known)
    ]
    items = {item.fingerprint: item for item, _ in _list_own(session) if item}
    own = load_dismissals(session.store, session.key)
    return [
        *shared,
        *(
            _describe_own(name, each, items.get(name))
            for name, each in own.items()
            if name not in known
        ),
    ]


def _is_used(name: str, known: dict[str, Dismissal]) -> bool:
    return any(each.run == name for each in known.values())


def _describe_shared(name: str, content: bytes) -> KnownDismissal:
    said = parse_json(content, SharedDismissal)
    place = " ".join(filter(None, (said.path, said.rule)))
    return KnownDismissal(
        fingerprint=said.fingerprint,
        by=said.by,
        why=said.why,
        place=place,
        title=said.title,
        shared=name,
    )


def _describe_own(name: str, said: Dismissal, item: Item | None) -> KnownDismissal:
    lead = item.lead if item else None
    place = f"{lead.spot.path} {lead.source}:{lead.rule or lead.category}" if lead else ""
    title = lead.title if lead else ""
    return KnownDismissal(fingerprint=name, by=said.by, why=said.why, place=place, title=title)


def _list_own(session: Session) -> Iterator[tuple[Item | None, Dismissal]]:
    """Yield the user's own dismissals, each with its item as the run that has it knows it."""
    known = load_dismissals(session.store, session.key)
    for run_id in dict.fromkeys(each.run for each in known.values()):
        items = {item.fingerprint: item for item in session.load(run_id).items.values()}
        for name, each in known.items():
            if each.run == run_id:
                yield items.get(name), each


def share_own(session: Session) -> int:
    """Write the user's own dismissals as files that are not there yet; return how many."""
    root = session.required_checkout.root
    there = set(list_plain_files(root, DISMISSALS))
    written = 0
    for item, said in _list_own(session):
        if item is not None and f"{item.fingerprint}.json" not in there:
            share_items(root, [item], said)
            written += 1
    return written
