"""Items in groups: what is unresolved comes first, nothing is lost, and a page stays small."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made import made_run
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status
from punchlist.views.tables.item_table import (
    ROWS,
    TableGrouping,
    build_one_group,
    build_table,
    can_dismiss,
)

RULES = ("", "S1", "-S2", "<b>")


def make_item(number: int, rule: str, status: Status, severity: Severity = Severity.MAJOR) -> Item:
    found = Finding(
        id=f"f{number}",
        source="ruff",
        rule=rule,
        title=f"fault {number}",
        spot=Spot(f"shop/{number % 7}.py", number),
        severity=severity,
    )
    return Item(number=number, fingerprint=f"p{number}", findings=(found,), status=status)


ITEMS = st.lists(
    st.tuples(st.sampled_from(RULES), st.sampled_from(Status), st.sampled_from(Severity)),
    max_size=60,
).map(lambda all_: [make_item(number, *each) for number, each in enumerate(all_, 1)])


@given(items=ITEMS, by=st.sampled_from(TableGrouping), page=st.integers(-1, 3))
def test_every_item_is_counted_in_one_group_and_unresolved_ones_come_first(items, by, page):
    run = made_run()
    table = build_table(run, items, by, page)
    assert sum(group.total for group in table.groups) == table.found == len(items)
    assert [bool(group.unresolved) for group in table.groups] == sorted(
        (bool(group.unresolved) for group in table.groups), reverse=True
    )
    ended = (Status.FIXED, Status.FILED, Status.DISMISSED)
    for group in table.groups:
        alone = build_one_group(run, items, by, group.key)
        rows = alone.groups[0].rows
        assert len(rows) == group.total
        assert rows[: len(group.rows)] == group.rows
        assert [row.status in ended for row in rows] == sorted(row.status in ended for row in rows)
        assert group.dismissable == sum(row.can_dismiss for row in rows)


def test_a_group_that_is_not_there_is_an_empty_table():
    table = build_one_group(made_run(), [make_item(1, "S1", Status.OPEN)], TableGrouping.RULE, "S2")
    assert (table.groups, table.found) == ((), 0)


@pytest.mark.parametrize("status", Status)
def test_what_is_fixed_claimed_or_dismissed_has_no_box(status):
    is_left = status not in (Status.FIXED, Status.CLAIMED, Status.DISMISSED)
    assert can_dismiss(make_item(1, "", status)) == is_left


@pytest.mark.parametrize("by", TableGrouping)
def test_ten_thousand_items_make_no_more_rows_than_a_hundred(by):
    items = [
        make_item(number, f"R{number % 3000}", list(Status)[number % 7]) for number in range(10_000)
    ]
    table = build_table(made_run(), items, by)
    assert sum(len(group.rows) for group in table.groups) <= 80
    assert len(table.groups) <= 50
    assert sum(group.opened for group in table.groups) >= 1
    one = build_one_group(made_run(), items, by, table.groups[0].key)
    assert len(one.groups[0].rows) <= ROWS
