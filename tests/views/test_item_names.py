"""How a user names an item: every way leads to the same one, or lists those it may be."""

import pytest

from made import made_run
from punchlist.errors import UsageError
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item
from punchlist.views.item_list import find_item


def make_run(*fingerprints: str):
    items = {}
    for number, fingerprint in enumerate(fingerprints, 1):
        found = Finding(
            id=f"x:{number}",
            source="tool",
            title="Odd",
            spot=Spot("a.py", number),
            severity=Severity.MINOR,
            issue_code=f"SHOP-{number}",
        )
        items[number] = Item(number=number, fingerprint=fingerprint, findings=(found,))
    return made_run(id="261116-ab640e", items=items)


RUN = make_run("aaaa1111bbbb", "aaaa2222bbbb", "cccc0003dddd")


@pytest.mark.parametrize(
    ("named", "number"),
    [
        ("1", 1),
        ("#2", 2),
        ("F003", 3),
        ("f3", 3),
        ("003", 3),
        ("261116-ab640e/2", 2),
        ("1111", 1),
        ("AA22", 2),
        ("shop-3", 3),
        ("cccc", 3),
    ],
)
def test_every_name_of_an_item_is_understood(named, number):
    assert find_item(RUN, named) == number


def test_a_part_of_several_ids_lists_the_items_it_may_be():
    with pytest.raises(UsageError, match=r"2 items .* have .bbbb. .*: 1 \(aaaa1111bbbb\), 2 \("):
        find_item(RUN, "bbbb")


@pytest.mark.parametrize("named", ["", "0", "4", "F", "#", "zzzz", "-1", "²", "aaa"])
def test_a_name_of_no_item_is_refused(named):
    with pytest.raises(UsageError, match="has no item") as refused:
        find_item(RUN, named)
    assert "punchlist show" in refused.value.hint
