"""What became of items between two moments: two rounds of a run, or two runs of a repository."""

from collections.abc import Hashable, Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from punchlist.model.item.item import ENDED, Item, Status, reading_order
from punchlist.model.ledger.events import Entry, RoundEnded
from punchlist.model.ledger.fold import begin, fold

K = TypeVar("K", bound=Hashable)


class Fate(StrEnum):
    """Every item of either moment has exactly one."""

    BACK = "back"
    """Fixed at the first moment, and not at the second."""
    NEW = "new"
    STILL = "still"
    """Without an end at both."""
    FIXED = "fixed"
    ENDED = "ended"
    """Filed or dismissed in between."""
    GONE = "gone"
    """Not on the second list: nobody reported it there."""
    SETTLED = "settled"
    """Had its end at the first moment already."""


class Changed(Struct, frozen=True, kw_only=True):
    """An item as it was and as it is; None where it was not on the list."""

    fate: Fate
    before: Item | None
    after: Item | None

    @property
    def item(self) -> Item:
        found = self.after or self.before
        if found is None:
            raise ValueError("an item that is on neither list")
        return found


def changes(before: Mapping[K, Item], after: Mapping[K, Item]) -> dict[Fate, tuple[Changed, ...]]:
    """By fate, each in reading order; every fate is named."""
    found: dict[Fate, list[Changed]] = {fate: [] for fate in Fate}
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        fate = fate_of(old, new)
        found[fate].append(Changed(fate=fate, before=old, after=new))
    return {
        fate: tuple(sorted(each, key=lambda one: reading_order(one.item)))
        for fate, each in found.items()
    }


def fate_of(old: Item | None, new: Item | None) -> Fate:
    if new is None:
        return Fate.GONE
    if old is None:
        return Fate.NEW
    if new.status is Status.FIXED:
        return Fate.SETTLED if old.status is Status.FIXED else Fate.FIXED
    if old.status is Status.FIXED:
        return Fate.BACK
    if new.status not in ENDED:
        return Fate.STILL
    return Fate.SETTLED if old.status in ENDED else Fate.ENDED


def by_round(run_id: str, entries: Iterable[Entry]) -> dict[int, dict[int, Item]]:
    """The items as each round left them; the last one as they are now."""
    lines, rounds = iter(entries), dict[int, dict[int, Item]]()
    run = begin(run_id, lines)
    for entry in lines:
        ended = entry.event.round if isinstance(entry.event, RoundEnded) else None
        run = fold(run, entry)
        if ended is not None:
            rounds[ended] = run.items
    return {**rounds, run.position.round: run.items}


def by_fingerprint(items: Iterable[Item]) -> dict[str, Item]:
    """How items of two runs are told to be the same."""
    return {item.fingerprint: item for item in items}
