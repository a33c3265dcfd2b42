"""What a later look makes of known items: seen again, lost, or not seen because nobody could look."""

import pytest

from made import made_run
from punchlist.model.dedup.merge import MergeRule
from punchlist.model.finding.finding import Context, Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Attempt, Fact, Item, Status
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.run import Landing, Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.steps.support.batching import GONE
from punchlist.steps.support.item_matching import consolidate_findings

CHANGE = Change(kind=ScopeKind.ALL, base="b", head="b")
LANDED = ev.Committed(branch="b", tip="t", landed=(ev.Landed(1, "t"),))


def found(name, line=3, span="dead()", path="a.py", source="ruff"):
    context = Context(
        symbol=f"uses {span}", span=span, before=f"before {span}", after=f"after {span}"
    )
    spot = Spot(path, line)
    return Finding(
        id=name,
        source=source,
        rule="R1",
        title=span,
        spot=spot,
        severity=Severity.MAJOR,
        context=context,
    )


def after(*events, items=(), change=CHANGE) -> Run:
    """The run when all that was told is consolidated."""
    run = made_run(id="r", landing=Landing(tip="b"))
    for event in (ev.Consolidated(items=items), LANDED, *events):
        run = fold(
            run, ev.Entry(run="r", seq=run.seq + 1, at=0, place="0", key=str(run.seq), event=event)
        )
    event = consolidate_findings(run, change, MergeRule.SMART)
    return fold(run, ev.Entry(run="r", seq=run.seq + 1, at=0, place="0", key="items", event=event))


def item(number, finding, **more):
    return Item(number=number, fingerprint=str(number), findings=(finding,), **more)


def looked(*findings, **more):
    return ev.Reviewed(**{"reviewer": "ruff", "commit": "t", "findings": findings, **more})


@pytest.mark.parametrize(
    ("unread", "status"),
    [
        ((), Status.FIXED),
        (("b.py",), Status.FIXED),
        (("a.py",), Status.OPEN),
        (("b.py", ""), Status.OPEN),
    ],
)
def test_silence_about_a_file_that_could_not_be_read_fixes_nothing(unread, status):
    run = after(looked(unread=unread), items=(item(1, found("o1")),))
    assert run.items[1].status is status


def test_an_item_of_two_tools_is_only_gone_where_both_could_read():
    both = Item(number=1, fingerprint="1", findings=(found("o1"), found("o2", source="bandit")))
    assert after(looked(), looked(reviewer="bandit"), items=(both,)).items[1].status is Status.FIXED
    assert (
        after(looked(), looked(reviewer="bandit", unread=("a.py",)), items=(both,)).items[1].status
        is Status.OPEN
    )


def test_what_is_said_of_a_file_that_was_not_read_as_a_whole_is_news():
    """It does not stand for an item that is only out of sight."""
    run = after(looked(found("n1", 90, "other()"), unread=("a.py",)), items=(item(1, found("o1")),))
    assert [(each.status, each.sightings) for each in run.items.values()] == [
        (Status.OPEN, 0),
        (Status.OPEN, 0),
    ]


def test_two_fixed_items_with_the_same_code_come_back_one_for_one():
    twins = (
        item(1, found("o1", 3), status=Status.FIXED),
        item(2, found("o2", 9), status=Status.FIXED),
    )
    both = after(looked(found("n1", 3), found("n2", 9)), items=twins)
    assert [(each.status, each.sightings) for each in both.items.values()] == [
        (Status.OPEN, 1),
        (Status.OPEN, 1),
    ]
    one = after(looked(found("n1", 3)), items=twins)
    assert sorted(each.status for each in one.items.values()) == [Status.FIXED, Status.OPEN]
    three = after(looked(found("n1", 3), found("n2", 9), found("n3", 12)), items=twins)
    assert len(three.left) == 3


def test_a_finding_our_fixes_may_have_brought_about_is_ours_also_if_it_is_taken_for_an_item_out_of_scope():
    outside = item(1, found("o1"), in_scope=False)
    run = after(
        looked(found("n1", 90, "other()")),
        items=(outside,),
        change=Change(kind=ScopeKind.BRANCH, base="b", head="b"),
    )
    assert [finding.id for each in run.left for finding in each.sighted] == ["n1"]


def test_an_item_out_of_scope_that_is_only_seen_again_stays_out_of_scope():
    outside = item(1, found("o1"), in_scope=False)
    run = after(
        looked(found("o9")),
        items=(outside,),
        change=Change(kind=ScopeKind.BRANCH, base="b", head="b"),
    )
    assert (run.left, run.items[1].sightings) == ([], 1)


def test_an_item_in_scope_is_looked_for_before_one_that_is_not():
    items = (item(1, found("o1", 3, "one()"), in_scope=False), item(2, found("o2", 9, "two()")))
    run = after(looked(found("n1", 90, "other()")), items=items)
    assert [each.number for each in run.left] == [2]


@pytest.mark.parametrize(
    ("why", "status"), [("would take too long", Status.FIXED), (GONE, Status.BLOCKED)]
)
def test_a_blocked_item_that_its_tool_no_longer_reports_is_gone_unless_its_file_is(why, status):
    blocked = Attempt(1, Fact.SAID_BLOCKED, "robot", why)
    known = item(1, found("o1"), status=Status.BLOCKED, attempts=(blocked,))
    assert after(looked(), items=(known,)).items[1].status is status
