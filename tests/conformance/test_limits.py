"""At a limit the largest set of fixes that was already seen green lands, and nothing that was not."""

import asyncio

import pytest
from msgspec.structs import replace
from scripted import CHECK, MAJOR, MINOR, Judge, Watch, Words, finding

from made import made_run
from punchlist.model.checks.check import CheckKind
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Item, Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.run import RoundWork
from punchlist.model.patch.patch import Patch
from punchlist.steps import challenge
from punchlist.views.summary import find_gaps
from punchlist.workflow.loader import load_builtin

PROVEN = load_builtin("proven").text
WORDS = {f"w{n}": (MAJOR, f"v{n}") for n in range(1, 9)}


class Slow(Judge):
    """An exit code, red with the fix of `w7`; so many runs take no time, and the next one all there is."""

    def __init__(self, bench, runs: int, bad: str = "v7") -> None:
        super().__init__()
        self.bench, self.free, self.bad = bench, runs, bad

    async def run(self, check, tree, *, only=()):
        said = await super().run(check, tree)
        if len(self.runs) == self.free:
            self.bench.tick = lambda: 10_000
        return replace(said, tests={}, exit_code=int(self.bad in tree.texts["a.py"]))


@pytest.fixture
def bench(make_bench):
    bench = make_bench({"a.py": "\n".join(WORDS) + "\n"}, Words(**WORDS))
    bench.checks = (replace(CHECK, kind=CheckKind.PLAIN),)
    bench.tick = lambda: 0
    bench.limits = replace(bench.limits, seconds=100)
    return bench


def fixed(run) -> set[str]:
    return {item.lead.rule for item in run.find_items(Status.FIXED)}


def test_what_was_green_when_the_time_was_up_lands_with_its_proofs(bench):
    bench.judge = Slow(bench, 2, bad="nothing")
    run = bench.run()
    assert (run.halted, run.ended) == ("time limit of 100 s reached", "incomplete")
    assert fixed(run) == set(WORDS)
    kinds = {proof.kind for item in run.items.values() for proof in item.proofs}
    assert kinds == {ProofClass.RECHECKED, ProofClass.CHECKED}
    assert "v7" in bench.git.commits[run.landing.tip]["a.py"]
    said = [gap.why for gap in find_gaps(run) if gap.about == "limit"]
    assert said == ["time limit of 100 s reached; what was proven by then is on the branch"]
    assert bench.audit(run.id).ok


def test_in_the_middle_of_a_search_the_largest_green_set_lands_and_the_rest_is_not_judged(bench):
    bench.judge = Slow(bench, 7)  # base, three red ones, green without, red again, the first half
    run = bench.run()
    assert fixed(run) == {"w1", "w2", "w3", "w4"}
    (rest,) = {
        attempt.why
        for item in run.find_items(Status.FILED)
        for attempt in item.attempts
        if attempt.by == "verify"
    }
    assert rest == "not judged: time limit of 100 s reached"
    assert bench.audit(run.id).ok


def test_before_anything_was_green_nothing_lands(bench):
    bench.judge = Slow(bench, 5)
    run = bench.run()
    assert not run.landing.landed
    assert {item.status for item in run.items.values()} == {Status.FILED}


def test_when_the_check_runs_are_spent_the_largest_green_set_lands(bench):
    bench.judge = Slow(bench, 0)
    few = PROVEN.replace("unsafe-needs: checked", "unsafe-needs: checked, trials: 4")
    few = few.replace("rounds: 8", "rounds: 1")
    assert fixed(bench.run(few)) == {"w1", "w2", "w3", "w4"}


def test_a_green_set_in_which_the_analyzers_find_something_new_does_not_land(bench):
    class Misses(Words):
        """Reports what is still fine while all eight words are there, or gone."""

        async def analyze(self, tree, paths):
            said = await super().analyze(tree, paths)
            text = tree.texts["a.py"]
            return said if "v1" not in text or "v7" in text else await self.more(tree, said)

        async def more(self, tree, said):
            new = replace(said.findings[0], id="new", title="half done", rule="new", fix=None)
            return replace(said, findings=(*said.findings, new))

    bench.reviewers = {"words": Misses(**WORDS, other=(MINOR, None))}
    bench.judge = Slow(bench, 7)
    run = bench.run()
    assert not run.landing.landed


def test_a_run_that_was_killed_after_its_limit_lands_the_same_when_it_is_resumed(bench):
    bench.judge = Slow(bench, 7)

    class Killed(Exception):
        pass

    def kill(entry, run):
        if entry.key == "halted":
            raise Killed

    with pytest.raises(Killed):
        bench.run(watch=Watch(kill))
    assert fixed(bench.resume("r1")) == {"w1", "w2", "w3", "w4"}


@pytest.mark.parametrize(
    ("fixer", "everything", "held"),
    [("agent", False, [1]), ("edits", False, []), ("edits", True, [1])],
)
def test_what_the_challenger_was_still_to_judge_is_held_back_at_the_limit(fixer, everything, held):
    batch = Batch(number=1, items=(1,), fixer=fixer, title="t", paths=("a.py",))
    work = RoundWork(batches={1: batch}, patches={1: Patch()}, verified=ev.Verified(passed=(1,)))
    item = Item(number=1, fingerprint="f", findings=(finding(1),), status=Status.CLAIMED)
    run = made_run(id="r", items={1: item}, work=work, halted="time limit of 100 s reached")
    run = replace(run, started=replace(run.started, crew={"challenger": ("robot",)}))
    actions = challenge.step(run, challenge.Options(all=everything), "3.1.3")
    told = [asyncio.run(challenge.hold_back(action.input, run, None)) for action in actions]
    assert [move.item for event in told for move in event.moves] == held
    assert {move.fact for event in told for move in event.moves} <= {Fact.REJECTED}
