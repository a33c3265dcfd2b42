"""Which items an agent gets together, in which order batches begin, and who waits for whom."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.checks.protected import Protected
from punchlist.model.finding.finding import Finding, Fix, Splice, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.batch import AGENT, Batch
from punchlist.model.item.item import Attempt, Fact, Item, Status
from punchlist.model.ledger.events import Attempted, Entry, Planned, Started
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.run import Reviewing, RoundWork, Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.model.patch.patch import Patch
from punchlist.steps import fix
from punchlist.steps.plan import merge_orders, order_batches
from punchlist.steps.support.batching import (
    Grouping,
    Options,
    give_up_items,
    is_for_agent,
    make_batches,
)

CHANGE = Change(kind=ScopeKind.ALL, base="b", head="h")


def started(**crew) -> Started:
    return Started(
        repository="r", change=CHANGE, workflow_name="w", workflow="", settings="", reviewers=("ruff",), checks=(),
        checks_allowed=False, version="1", crew=crew,
    )  # fmt: skip


def item(
    number, path="a.py", *, fixable=False, severity=Severity.MAJOR, attempts=(), status=Status.OPEN
) -> Item:
    fix_ = Fix((Splice(path, number, number + 1, "x"),)) if fixable else None
    found = Finding(
        id=f"f{number}",
        source="ruff",
        title=f"t{number}",
        spot=Spot(path, number),
        severity=severity,
        fix=fix_,
    )
    return Item(
        number=number, fingerprint=str(number), findings=(found,), attempts=attempts, status=status
    )


def run_of(*items, crew=True, **more) -> Run:
    return Run(
        id="r",
        started=started(fixer=("robot",)) if crew else started(),
        items={each.number: each for each in items},
        **more,
    )


def test_an_agent_gets_what_no_tool_can_fix_and_only_if_there_is_one():
    options = Options()
    assert is_for_agent(item(1), options, run_of(item(1)))
    assert not is_for_agent(item(1, fixable=True), options, run_of(item(1)))
    assert not is_for_agent(item(1), options, run_of(item(1), crew=False))
    assert not is_for_agent(item(1), Options(agents=False), run_of(item(1)))
    assert not is_for_agent(
        item(1, severity=Severity.MINOR), Options(floor=Severity.MAJOR), run_of(item(1))
    )


def test_items_of_a_file_are_one_batch_up_to_a_size():
    items = [item(n) for n in range(1, 12)] + [item(20, "b.py")]
    found = make_batches(items, run_of(*items), Options(size=8), Protected())
    assert [(batch.items, batch.fixer) for batch in found.batches] == [
        (tuple(range(1, 9)), AGENT), (tuple(range(9, 12)), AGENT), ((20,), AGENT),
    ]  # fmt: skip
    alone = make_batches(items, run_of(*items), Options(group=Grouping.ITEM), Protected())
    assert len(alone.batches) == 12


def test_a_reviewers_groups_are_kept_where_the_workflow_says_so():
    items = [item(1), item(2, "b.py"), item(3, "c.py")]
    found = make_batches(
        items,
        run_of(*items, reviewing=Reviewing(hints=(("f1", "f3"), ("f2",)))),
        Options(group=Grouping.HINT),
        Protected(),
    )
    assert [batch.items for batch in found.batches] == [(1, 3), (2,)]


def test_where_a_tool_is_about_to_change_a_file_an_agent_waits():
    items = [item(1, fixable=True), item(2), item(3, "b.py")]
    found = make_batches(items, run_of(*items), Options(), Protected())
    assert [(batch.items, batch.fixer) for batch in found.batches] == [
        ((1,), "edits"),
        ((3,), AGENT),
    ]
    assert found.waiting == 1


def test_what_was_put_off_as_often_as_allowed_is_given_up():
    thrice = tuple(Attempt(n, Fact.SAID_DEFERRED, "robot", "later") for n in (1, 2, 3))
    run = run_of(
        item(1, attempts=thrice, status=Status.DEFERRED),
        item(2, attempts=thrice[:2], status=Status.DEFERRED),
    )
    (move,) = give_up_items(run, Options())
    assert (move.item, move.fact) == (1, Fact.SAID_BLOCKED)
    assert move.why == "3 attempts failed; the last one: later"


def test_what_is_opened_again_is_tried_as_if_for_the_first_time():
    options = Options()
    for fact in (Fact.SEEN_AGAIN, Fact.SAID_DEFERRED):
        thrice = tuple(Attempt(n, fact, "review", "again") for n in (1, 2, 3))
        assert not is_for_agent(item(1, attempts=thrice), options, run_of(item(1)))
        granted = item(1, attempts=(*thrice, Attempt(3, Fact.REOPENED, "kim", "one more round")))
        assert is_for_agent(granted, options, run_of(item(1)))


def working(*batches: Batch, after=None, done=()) -> Run:
    run = Run(
        id="r",
        started=started(fixer=("robot",)),
        work=RoundWork(batches={b.number: b for b in batches}, after=after or {}),
    )
    for seq, number in enumerate(done, 1):
        patch = Patch((Splice(run.work.batches[number].paths[0], 0, 1, "x"),))
        event = Attempted(fixer=AGENT, agent="robot", patches={number: patch})
        run = fold(
            run, Entry(run="r", seq=seq, at=1, place="1", key=f"batch {number}", event=event)
        )
    return run


def batch(number, *paths, items=1) -> Batch:
    return Batch(
        number=number,
        items=tuple(range(number * 10, number * 10 + items)),
        fixer=AGENT,
        title="t",
        paths=paths,
    )


def test_the_batch_whose_files_have_most_work_left_begins_first():
    run = working(batch(1, "a.py"), batch(2, "b.py", items=3), batch(3, "b.py", items=2))
    assert [action.key for action in fix.step(run, fix.Options(), "1")] == [
        "batch 2",
        "batch 3",
        "batch 1",
    ]


def test_who_shares_a_file_holds_it_and_who_builds_on_others_holds_theirs_too():
    run = working(batch(1, "a.py", "c.py"), batch(2, "a.py"), batch(3, "d.py"), done=(1,))
    held = {action.key: action.holds for action in fix.step(run, fix.Options(), "1")}
    assert held == {
        "batch 2": frozenset({"a.py"}) | frozenset(run.work.patches[1].paths),
        "batch 3": frozenset({"d.py"}),
    }


def test_a_batch_waits_for_those_the_planner_put_before_it():
    run = working(batch(1, "a.py"), batch(2, "b.py"), after={2: (1,)})
    assert [action.key for action in fix.step(run, fix.Options(), "1")] == ["batch 1"]
    done = working(batch(1, "a.py"), batch(2, "b.py"), after={2: (1,)}, done=(1,))
    assert [action.key for action in fix.step(done, fix.Options(), "1")] == ["batch 2"]


def test_in_one_call_the_agent_gets_all_batches():
    run = working(batch(1, "a.py"), batch(2, "b.py"))
    (action,) = fix.step(run, fix.Options(mode=fix.Mode.SINGLE), "1")
    assert action.input.batches == (1, 2)
    assert not action.input.fork


ORDERS = st.dictionaries(
    st.integers(1, 6), st.lists(st.integers(1, 6), max_size=4).map(tuple), max_size=6
)


@given(ORDERS, ORDERS)
def test_no_order_makes_batches_wait_for_each_other_in_a_circle(person, planner):
    """Whatever a planner or a person says: every batch can begin some time."""
    batches = tuple(
        Batch(number=n + 10, items=(n,), fixer=AGENT, title="t", paths=()) for n in range(1, 7)
    )
    rules = merge_orders(order_batches(batches, person), order_batches(batches, planner))
    done: set[int] = set()
    while len(done) < len(batches):
        free = [
            b.number
            for b in batches
            if b.number not in done and set(rules.get(b.number, ())) <= done
        ]
        assert free
        done.update(free)


def test_where_a_person_and_the_planner_disagree_the_person_is_right():
    assert merge_orders({1: (2,)}, {2: (1,), 3: (1,)}) == {1: (2,), 3: (1,)}


def test_a_later_plan_of_the_same_round_replaces_the_first():
    run = working(batch(1, "a.py"))
    event = Planned(batches=(batch(2, "b.py"),))
    assert list(
        fold(run, Entry(run="r", seq=9, at=1, place="1", key="read 1", event=event)).work.batches
    ) == [2]
