"""What is said on a pull request holds for its items, whatever becomes of code, runs and threads."""

import asyncio

from msgspec.structs import replace
from pull_model import make_item, make_thread

from made import STARTED, made_run
from punchlist.app.pulls.findings import read_thread
from punchlist.app.pulls.history import (
    PullHistory,
    find_ended,
    find_gone,
    find_settled,
    follow_keys,
    follow_names,
)
from punchlist.app.pulls.orders import find_carried, find_dismissed, find_ordered, show_dismissed
from punchlist.app.pulls.push import FixChain, choose_chains
from punchlist.model.finding.finding import Context, Spot
from punchlist.model.item.item import Status
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.ledger.events import Landed, Shown
from punchlist.model.ledger.run import LatestReview, Reviewing
from punchlist.views.pulls.board import is_proven
from punchlist.views.pulls.conversation import Comment, Conversation, Thread
from punchlist.views.pulls.marks import MarkKind, add_mark
from punchlist.views.pulls.orders import Order

SAID = Dismissal("ann", "as designed", "")


def make_run(name, *items):
    reviews = {"ruff": LatestReview("ruff", "head")}
    return made_run(name, items={item.number: item for item in items}, ended="leftovers", started=STARTED,
                    reviewing=Reviewing(reviews=reviews))  # fmt: skip


def own_thread(key, **more):
    first = Comment(id="5", author="punchy", own=True, body=add_mark("Item", MarkKind.ITEM, key))
    return Thread(id="t1", path="a.py", comments=(first,), **more)


def hear(*threads):
    return Conversation(viewer="punchy", threads=threads, writers=frozenset({"ann"}))


def dismiss(thread, *runs, landed=False):
    order = Order(id="9", by="ann", verb="dismiss", words="as designed", thread=thread.id)
    history = PullHistory(runs=runs)
    return [
        (each.run, each.item.number)
        for each in find_dismissed(hear(thread), history, [order], landed=landed)
    ]


def test_an_item_keeps_its_key_when_another_reporter_leads_it_and_the_code_round_it_has_changed():
    tool, person = make_item(1), make_item(1, label="t9")
    both = replace(tool, findings=(*tool.findings, *person.findings))
    moved = replace(person, fingerprint="f" * 32)
    again = replace(both, fingerprint="e" * 32)
    runs = [make_run("r1", both), make_run("r2", moved), make_run("r3", again)]
    assert {keys[1] for keys in follow_keys(runs).values()} == {tool.fingerprint}
    assert find_gone(runs[:2], runs[2]) == {}


def test_an_item_keeps_its_key_when_its_file_is_renamed():
    item = make_item(1, path="a.py")
    moved = replace(make_item(1, path="z.py"), fingerprint="f" * 32)
    first, last = make_run("r1", item), make_run("r2", moved)
    change = replace(last.started.change, renamed={"z.py": "a.py"})
    renamed = replace(last, started=replace(last.started, change=change))
    assert follow_keys([first, renamed])["r2"] == {1: item.fingerprint}
    assert find_gone([first], renamed) == {}
    assert follow_keys([first, last])["r2"] == {1: moved.fingerprint}


def test_items_that_become_one_have_both_names_and_neither_is_gone():
    tool, person = make_item(1), make_item(2, label="t9", title="Other words")
    joined = replace(person, findings=(*person.findings, replace(tool.lead, id="x")))
    runs = [make_run("r1", tool, person), make_run("r2", joined)]
    assert follow_names(runs)["r2"][2] == {tool.fingerprint, person.fingerprint}
    assert find_gone(runs[:1], runs[1]) == {}


def test_both_names_of_an_item_follow_it_through_renames_and_other_code():
    """Its code and its file change in turns: what was seen first fits what is seen last no more."""
    tool, person = make_item(1), make_item(2, label="t9", title="Other words")

    def join(path, version):
        code = Context(symbol="f", span="bad", before=f"{version} " * 9, after=f"{version} " * 9)
        spot = Spot(path, 3)
        findings = (*person.findings, replace(tool.lead, id="x", spot=spot, context=code))
        return replace(person, findings=findings)

    lead = join("a.py", "one").findings[1]
    first = replace(tool, findings=(lead,))
    steps = [("a.py", "one"), ("b.py", "one"), ("b.py", "two"), ("c.py", "two"), ("c.py", "three")]
    later = [make_run(f"r{n}", join(*step)) for n, step in enumerate(steps, 2)]
    runs = [make_run("r1", first, person), *later]
    for run in later:
        assert tool.fingerprint in follow_names(runs)[run.id][2]
    assert find_gone(runs[:-1], runs[-1]) == {}


def test_a_word_about_an_item_that_the_last_run_does_not_see_holds_for_it():
    item = make_item(1)
    thread = own_thread(item.fingerprint)
    assert dismiss(thread, make_run("r1", item), make_run("r2")) == [("r1", 1)]


def test_resolving_the_thread_of_a_fix_that_is_in_the_branch_dismisses_nothing():
    fixed = make_item(1, Status.FIXED)
    thread = own_thread(fixed.fingerprint, resolved=True, resolved_by="ann")
    history = PullHistory(runs=(make_run("r1", fixed),))
    assert list(find_dismissed(hear(thread), history, [], landed=True)) == []
    assert len(list(find_dismissed(hear(thread), history, [], landed=False))) == 1


def test_a_dismissal_is_carried_to_other_code_and_its_fix_is_none():
    old, new = make_item(1), replace(make_item(1, Status.FIXED), fingerprint="f" * 32)
    history = PullHistory(runs=(make_run("r1", old), make_run("r2", new)))
    known = {old.fingerprint: SAID}
    (carried,) = find_carried(history.runs[1], history, known)
    assert (carried.run, carried.item.number) == ("r2", 1)
    known |= {new.fingerprint: SAID}
    shown = show_dismissed(history.runs[1], known, landed=False).items[1]
    assert shown.status is Status.DISMISSED
    assert not is_proven(shown)
    assert is_proven(show_dismissed(history.runs[1], known, landed=True).items[1])


def test_a_thread_that_begins_with_an_order_since_its_first_comment_was_deleted_is_no_finding():
    assert read_thread(make_thread(1, "ann", "/punchlist dismiss no", bot=False)) is None
    assert read_thread(make_thread(1, "ann", "This is wrong", bot=False)) is not None


def choose(asked, *chains):
    items = {number: make_item(number, Status.FIXED) for number in range(1, 5)}
    items[4] = make_item(4, Status.FIXED, proofs=(Proof(ProofClass.CLAIM, "I did it"),))
    made = [
        FixChain(tuple(range(len(each))), tuple(Landed(n, f"c{n}", numbers) for n, numbers in enumerate(each)))
        for each in chains
    ]  # fmt: skip
    chosen, notes = choose_chains(made, make_run("r1", *items.values()), asked)
    return [sorted(each.items) for each in chosen], notes


def test_what_is_pushed_is_proven_and_asked_for():
    assert choose(None, [(1,)], [(2, 3)], [(4,)]) == (
        [[1], [2, 3]],
        ("item 4: not pushed: item 4 has a fix that nothing proves",),
    )
    assert choose(frozenset({1}), [(1,)], [(2, 3)], [(4,)]) == ([[1]], ())
    assert choose(frozenset({2}), [(1,)], [(2, 3)], [(4,)]) == ([[2, 3]], ())  # one change
    assert choose(frozenset({4}), [(1,)], [(2, 3)], [(4,)])[0] == []
    assert choose(None, [(1,), (4,)])[0] == []  # they share lines
    chosen, (why,) = choose(frozenset({1}), [(1,), (2, 3)])
    assert chosen == []
    assert "cannot be told apart from that of item 2" in why


def test_an_order_in_a_thread_is_about_its_items():
    runs = (make_run("r1", make_item(1), make_item(2, label="t7")),)
    threads = (own_thread(make_item(1).fingerprint), replace(make_thread("t7"), id="t7"))

    def ask(thread):
        order = Order(id="9", by="ann", verb="apply", thread=thread)
        return find_ordered(hear(*threads), PullHistory(runs=runs), [order])

    assert ask("t1") == {1}
    assert ask("t7") == {2}


class Commits:
    """Knows which commits the head has, and which stacks were merged as one."""

    def __init__(self, *commits, squashed=()):
        self._commits, self._squashed = commits, squashed

    async def has_fix(self, commit):
        return commit in self._commits

    async def has_squashed(self, since, tip):
        return tip in self._squashed


def test_a_fix_is_found_in_the_branch_however_its_stacked_pull_request_was_merged():
    item = make_item(1, Status.FIXED, label="t9", commit="a" * 40)
    shown = Shown(pull="", head="", updates=1, stack="c" * 40, stacked={1: "b" * 40})
    history = PullHistory(runs=(make_run("r1", item),), stacks={"r1": shown})

    def settle(finder):
        return asyncio.run(find_settled(history, finder))

    assert settle(Commits()) == {}
    assert settle(Commits("a" * 40))["t9"].commit == "a" * 40
    assert settle(Commits("b" * 40))["t9"].commit == "b" * 40
    assert settle(Commits(squashed=["c" * 40]))["t9"].commit == "b" * 40


def test_an_item_has_ended_if_the_newest_run_that_had_it_fixed_it():
    fixed, left = make_item(1, Status.FIXED, commit="a" * 40), make_item(1)
    key, other = fixed.fingerprint, make_run("r9", make_item(2))

    def find(*runs, run=other):
        history = PullHistory(runs=runs)
        return asyncio.run(find_ended(history, run, [key], Commits("a" * 40)))

    assert find(make_run("r1", fixed))[key].commit == "a" * 40
    assert find(make_run("r1", fixed), make_run("r2", left)) == {}
    assert find(make_run("r1", fixed), run=make_run("r9", left)) == {}
    assert find(make_run("r1", make_item(1, Status.DISMISSED))) == {}
