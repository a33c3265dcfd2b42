"""Two moments held against each other: every item has exactly one fate."""

from hypothesis import given, settings
from hypothesis import strategies as st

from made import STARTED
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Fact, Item, Move, Status
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.events import Entry
from punchlist.views.run_diff import ItemFate, compare_items, find_fate, items_by_round

ITEMS = st.dictionaries(st.integers(1, 12), st.sampled_from(Status), max_size=12)


def item(number: int, status: Status = Status.OPEN) -> Item:
    found = Finding(
        id=str(number),
        source="ruff",
        title=f"item {number}",
        spot=Spot("a.py", number),
        severity=Severity.MAJOR,
    )
    return Item(number=number, fingerprint=str(number), findings=(found,), status=status)


@settings(deadline=None)
@given(before=ITEMS, after=ITEMS)
def test_every_item_of_either_moment_has_one_fate(before, after):
    old = {number: item(number, status) for number, status in before.items()}
    new = {number: item(number, status) for number, status in after.items()}
    found = compare_items(old, new)
    assert set(found) == set(ItemFate)
    assert sorted(each.item.number for some in found.values() for each in some) == sorted(
        {*before, *after}
    )
    assert all(
        each.after is not None and each.after.status is Status.FIXED
        for each in found[ItemFate.FIXED]
    )
    assert all(
        each.before is not None and each.before.status is Status.FIXED
        for each in found[ItemFate.BACK]
    )


def test_fates_are_told_by_both_ends():
    assert find_fate(None, item(1)) is ItemFate.NEW
    assert find_fate(item(1), None) is ItemFate.GONE
    assert find_fate(item(1), item(1, Status.DEFERRED)) is ItemFate.STILL
    assert find_fate(item(1), item(1, Status.FIXED)) is ItemFate.FIXED
    assert find_fate(item(1, Status.FIXED), item(1, Status.OPEN)) is ItemFate.BACK
    assert find_fate(item(1), item(1, Status.FILED)) is ItemFate.ENDED
    assert find_fate(item(1, Status.FILED), item(1, Status.DISMISSED)) is ItemFate.SETTLED


def test_each_round_is_shown_as_it_ended_and_the_last_as_it_is():
    """What is done after a loop decided to go on belongs to the round that decided."""
    told = (
        ("start", STARTED),
        ("0.1.0", ev.Consolidated(items=(item(1), item(2)))),
        ("0.1.1", ev.RoundEnded(round=1)),
        ("0.1.2", ev.Consolidated(items=(item(4),))),
        ("0.2.0", ev.Consolidated(items=(item(3),))),
        ("people", ev.Dismissed(by="ada", why="no", moves=(Move(1, Fact.DISMISSED),))),
        ("0.2.1", ev.RoundEnded(round=2, stop="settled")),
        ("people", ev.Dismissed(by="ada", why="no", moves=(Move(2, Fact.DISMISSED),))),
    )
    entries = [
        Entry(run="r", seq=seq, at=seq, place=place, key=str(seq), event=event)
        for seq, (place, event) in enumerate(told, 1)
    ]
    rounds = items_by_round("r", entries)
    assert {number: sorted(items) for number, items in rounds.items()} == {
        1: [1, 2, 4],
        2: [1, 2, 3, 4],
    }
    assert [rounds[1][1].status, rounds[2][1].status, rounds[2][2].status] == [
        Status.OPEN,
        Status.DISMISSED,
        Status.DISMISSED,
    ]
