"""Compare the items of two rounds of a run, or of two runs of a repository."""

from collections.abc import Hashable, Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from punchlist.model.item.item import ENDED, Item, Status, reading_order
from punchlist.model.ledger.events import Entry
from punchlist.model.ledger.fold import begin, fold

K = TypeVar("K", bound=Hashable)


class ItemFate(StrEnum):
    """What became of an item between two snapshots; each item has one."""

    BACK = "back"
    """Fixed at the first moment, and not at the second."""
    NEW = "new"
    STILL = "still"
    """Without an end at both."""
    FIXED = "fixed"
    ENDED = "ended"
    """Filed or dismissed in between."""
    GONE = "gone"
    """Not on the second list: no reviewer reported it there."""
    SETTLED = "settled"
    """Had its end at the first moment already."""


class ItemChange(Struct, frozen=True, kw_only=True):
    """An item before and after; None where it was not on the list."""

    fate: ItemFate
    before: Item | None
    after: Item | None

    @property
    def item(self) -> Item:
        found = self.after or self.before
        if found is None:
            raise ValueError("an item that is on neither list")
        return found


def compare_items(
    before: Mapping[K, Item], after: Mapping[K, Item]
) -> dict[ItemFate, tuple[ItemChange, ...]]:
    """Return changes by fate, in reading order; every fate is a key."""
    found: dict[ItemFate, list[ItemChange]] = {fate: [] for fate in ItemFate}
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        fate = find_fate(old, new)
        found[fate].append(ItemChange(fate=fate, before=old, after=new))
    return {
        fate: tuple(sorted(each, key=lambda one: reading_order(one.item)))
        for fate, each in found.items()
    }


def find_fate(old: Item | None, new: Item | None) -> ItemFate:
    if new is None:
        return ItemFate.GONE
    if old is None:
        return ItemFate.NEW
    if new.status is Status.FIXED:
        return ItemFate.SETTLED if old.status is Status.FIXED else ItemFate.FIXED
    if old.status is Status.FIXED:
        return ItemFate.BACK
    if new.status not in ENDED:
        return ItemFate.STILL
    return ItemFate.SETTLED if old.status in ENDED else ItemFate.ENDED


def items_by_round(run_id: str, entries: Iterable[Entry]) -> dict[int, Mapping[int, Item]]:
    """Return the items after each round; the last round as they are now."""
    lines = iter(entries)
    run = begin(run_id, lines)
    rounds = {run.position.round: run.items}
    for entry in lines:
        run = fold(run, entry)
        rounds[run.position.round] = run.items
    return rounds


def index_fingerprints(items: Iterable[Item]) -> dict[str, Item]:
    """Return items by fingerprint, which matches them across runs."""
    return {item.fingerprint: item for item in items}
