"""The fold copies what an event changes, however long the run is."""

from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made import made_run
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Fact, Item, Move
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.append_only import AppendOnlyList
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.paged_map import PagedMap


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2000), st.integers()), max_size=30))
def test_a_paged_mapping_never_changes_for_its_holder(growth):
    """Each grows from any earlier one, beside plain dicts that are copied."""
    held, plain = [PagedMap()], [{}]
    for parent, key, value in growth:
        at = parent % len(held)
        held.append(held[at].with_entries({key: value}))
        plain.append({**plain[at], key: value})
    for ours, theirs in zip(held, plain, strict=True):
        assert dict(ours) == theirs
        assert sorted(ours.values()) == sorted(theirs.values())
        assert (len(ours), ours.get(5), 5 in ours) == (len(theirs), theirs.get(5), 5 in theirs)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers()), max_size=30), st.slices(30))
def test_a_growing_list_never_changes_for_its_holder(growth, part):
    held, plain = [AppendOnlyList()], [[]]
    for parent, value in growth:
        at = parent % len(held)
        held.append(held[at].with_value(value))
        plain.append([*plain[at], value])
    for ours, theirs in zip(held, plain, strict=True):
        assert (list(ours), len(ours), ours[part]) == (theirs, len(theirs), theirs[part])
        assert list(reversed(ours)) == theirs[::-1]
        assert ours[-1:] == theirs[-1:]


def _item(number):
    lead = Finding(
        id=f"f{number}",
        source="ruff",
        title="t",
        spot=Spot("a.py", number),
        severity=Severity.MINOR,
    )
    return Item(number=number, fingerprint=f"{number:032}", findings=(lead,))


@pytest.mark.parametrize("count", [2_000, 20_000])
def test_an_event_about_one_item_copies_one_page_of_items_and_no_line_of_the_log(count):
    found = ev.Consolidated(items=tuple(map(_item, range(1, count + 1))))
    run = fold(made_run(), ev.Entry(run="r", seq=2, at=0, place="1", key="items", event=found))
    moved = ev.Dismissed(by="ada", why="as meant", moves=(Move(7, Fact.DISMISSED, by="ada"),))
    after = fold(run, ev.Entry(run="r", seq=3, at=0, place="people", key="k", event=moved))
    pages = zip(run.items._pages.values(), after.items._pages.values(), strict=True)
    copied = [len(theirs) for ours, theirs in pages if ours is not theirs]
    assert len(copied) == 1
    assert copied[0] <= 256
    assert after.items[7].status == "dismissed"
    assert run.items[7].status == "open"
    assert after.timeline._shared is run.timeline._shared


def test_threads_that_grow_the_same_list_see_their_own_values_only():
    base, seen = AppendOnlyList([0]), []

    def grow(name):
        values = [(name, number) for number in range(2000)]
        seen.extend((base.with_value(value), [0, value]) for value in values)

    threads = [Thread(target=grow, args=(name,)) for name in "abcd"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert all(list(ours) == theirs for ours, theirs in seen)
