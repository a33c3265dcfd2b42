"""What the ledger says landed is what the branch has, whoever is in the way: a limit, a crash, a hook, git itself."""

import pytest
from scripted import MAJOR, Judge, MemoryGit, Said, Watch, Words, finding

from punchlist.errors import RepositoryError
from punchlist.model.finding.finding import Fix, Splice
from punchlist.model.item.item import Fact, Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger import events as ev
from punchlist.ports.repository import Heard
from punchlist.views.summary import find_gaps


class PowerCut(BaseException):
    """The process is gone; nobody catches this."""


class Unlucky(MemoryGit):
    """Git that is in trouble once: `dies` after the commits are made, `fails` instead of making them, `stuck` in publishing."""

    def __init__(self, files, *troubles) -> None:
        super().__init__(files)
        self.troubles = list(troubles)
        self.asked: list = []
        self.shown: list[str] = []

    def _now(self, trouble: str) -> bool:
        return trouble in self.troubles and not self.troubles.remove(trouble)

    async def commit_chain(self, *arguments):
        if self._now("fails"):
            raise RepositoryError("git is out of order", hint="look at: git fsck")
        made = await super().commit_chain(*arguments)
        if self._now("dies"):
            raise PowerCut
        return made

    async def publish(self, branch, *, tip="", replaces=""):
        if self._now("stuck"):
            raise RepositoryError(
                f"{branch}: is checked out", hint="switch to another branch first"
            )
        self.shown.append(list(self.commits)[-1])

    async def run_hook(self, name, commit, patches, *, pristine):
        self.asked.append(pristine)
        return Heard(unheard=pristine is None, refused=self.refusal if pristine else "")


@pytest.fixture
def unlucky(make_bench):
    def make(*troubles, files=None, **words):
        judge = Words(**(words or {"bad": (MAJOR, "good")}))
        bench = make_bench(files or {"a.py": "bad\n"}, judge)
        bench.git = Unlucky(bench.git.commits["base"], *troubles)
        return bench

    return make


def test_commits_a_killed_try_made_are_believed_before_any_hook_is_asked_again(unlucky):
    bench = unlucky("dies")
    with pytest.raises(PowerCut):
        bench.run()
    bench.git.refusal = "no"
    run = bench.resume("r1")
    (item,) = run.items.values()
    assert item.status is Status.FIXED
    assert (
        [landed.commit for landed in run.landing.landed]
        == [run.landing.tip]
        == list(bench.git.commits)[1:]
    )
    assert not run.trouble
    assert bench.audit(run.id).ok


def test_where_git_makes_no_commit_the_items_are_open_again_with_the_reason_and_may_be_tried_again(
    unlucky,
):
    bench = unlucky("fails")
    run = bench.run()
    (item,) = run.items.values()
    back = next(attempt for attempt in item.attempts if attempt.fact is Fact.REJECTED)
    assert back.why == "it could not be committed: git is out of order"
    assert item.status is Status.FIXED, "in the second round"
    assert run.trouble[0].endswith("git is out of order (hint: look at: git fsck)")
    assert run.ended == "incomplete"
    assert bench.audit(run.id).ok


def test_a_branch_that_cannot_be_shown_loses_no_round_and_is_shown_by_the_next_one(unlucky):
    bench = unlucky("stuck", bad=(MAJOR, "odd"))
    bench.reviewers["then"] = Words("then", odd=(MAJOR, "good"))
    seen = {}
    run = bench.run(
        watch=Watch(
            lambda entry, run: (
                isinstance(entry.event, ev.Published)
                and seen.update({run.position.round: run.landing.unpublished})
            )
        )
    )
    assert seen == {1: "punchlist/r1: is checked out (hint: switch to another branch first)", 2: ""}
    assert {item.status for item in run.items.values()} == {Status.FIXED}
    assert (bench.git.shown, run.landing.published, run.landing.unpublished) == (
        [run.landing.tip],
        run.landing.tip,
        "",
    )
    assert run.ended == "fixed"


def test_a_branch_that_is_never_shown_is_told_and_the_fixes_stay(unlucky):
    run = unlucky("stuck").run()
    assert [item.status for item in run.items.values()] == [Status.FIXED]
    told = next(gap for gap in find_gaps(run) if "does not have all of punchlist/r1" in gap.what)
    assert "switch to another branch first" in told.why


@pytest.mark.parametrize("allowed", [True, False])
def test_a_hook_is_asked_only_where_commands_are_allowed_and_steered_by_the_base(unlucky, allowed):
    bench = unlucky()
    bench.allowed = allowed
    run = bench.run()
    assert [item.status for item in run.items.values()] == [Status.FIXED]
    (pristine,) = bench.git.asked
    said = [gap.why for gap in find_gaps(run) if gap.what == "The pre-commit hook was not run"]
    if allowed:
        assert (pristine.origin, said) == ("base", [])
        assert ".pre-commit-config.yaml" in pristine.alone
        assert "a.py" in pristine.opened
    else:
        assert pristine is None
        assert "`punchlist allow` or --yes lets it" in said[0]


def both(*paths):
    """One fix for findings in several files: the source, and the test that would have caught it."""
    fix = Fix((Splice("a.py", 0, 1, "3"), Splice("tests/test_a.py", 0, 1, "3")))
    return Said(*(finding(number, path, fix=fix) for number, path in enumerate(paths, 1)))


def test_a_fix_to_the_judge_and_to_what_it_judges_is_refused(make_bench):
    bench = make_bench({"a.py": "2\n", "tests/test_a.py": "2\n"})
    bench.documents = {"document": both("a.py", "tests/test_a.py")}
    bench.judge = Judge(agrees=lambda tree: tree.text("a.py") == tree.text("tests/test_a.py"))
    run = bench.run()
    assert not run.landing.landed
    for item in run.items.values():
        assert item.attempts[0].why == "it changes tests or CI configuration together with the code"
        assert item.status is Status.FILED


def test_a_fix_to_the_judges_own_files_is_rechecked_and_flagged_and_never_called_checked(unlucky):
    run = unlucky(files={"tests/test_a.py": "bad\n", "b.py": "bad\n"}).run()
    of = {item.lead.spot.path: item for item in run.items.values()}
    judges, other = of["tests/test_a.py"], of["b.py"]
    assert (judges.status, other.status) == (Status.FIXED, Status.FIXED)
    assert [proof.kind for proof in judges.proofs] == [ProofClass.RECHECKED]
    assert ProofClass.CHECKED in [proof.kind for proof in other.proofs]
    assert "tests or CI configuration" in judges.flags[0]


def test_a_fix_to_the_judges_own_files_that_no_analyzer_can_prove_does_not_land(make_bench):
    bench = make_bench({"tests/test_a.py": "2\n"})
    fix = Fix((Splice("tests/test_a.py", 0, 1, "3"),))
    bench.documents = {"document": Said(finding(1, "tests/test_a.py", fix=fix))}
    run = bench.run()
    assert not run.landing.landed
    assert [item.status for item in run.items.values()] == [Status.FILED]
