"""converge: a fresh reviewer each round, a findings document each round, three rounds, then a person; five at most."""

import json
import shutil
from pathlib import Path

import pytest
from watching import Watch
from workbench import FAULTS, Workbench, finding, fix, fixer, homes, review

import needs
from punchlist.adapters.documents.document import FindingsDocument
from punchlist.errors import UsageError
from punchlist.model.item.item import Fact, Status
from punchlist.model.ledger.events import Reported, Reviewed
from punchlist.views.summary import summarize_run

ORDER = {1: "page", 2: "cheapest", 3: "initials"}
"""What is fixed in which round."""


def fresh(*names, **more):
    return review(*names, role="adversarial", **more)


def test_nothing_must_fix_ends_the_loop_in_the_first_round(bench):
    bench.play(fresh("initials"), fixer())
    run = bench.run("converge")
    assert run.position.round == 1
    assert run.position.rounds[0].stop == "no must-fix item is open"
    assert [role for _, role in bench.calls] == ["adversarial"]
    assert run.items[1].status is Status.FILED, "a minor finding is not lost"


def test_review_fix_review_until_it_is_clean(bench):
    """The remote of the repository never hears of it, and what came to the base since is not under review."""
    bench.repo.git("checkout", "--quiet", "main")
    bench.repo.commit({"shop/later.py": "LATER = 1\n"}, "the base goes on")
    bench.repo.git("checkout", "--quiet", "feature")
    remote = bench.folder / "remote.git"
    bench.repo.git("init", "--quiet", "--bare", str(remote))
    bench.repo.git("remote", "add", "origin", str(remote))
    bench.repo.git("push", "--quiet", "origin", "main", "feature")
    pushed = bench.repo.git("ls-remote", str(remote))
    seen = {"prompt": "total(prices) / len(prices) if prices else None"}
    odd = {"fail": {"text": "the base is not under review", "trouble": "other"}}
    bench.play(
        {"role": "adversarial", "prompt": "later.py", **odd},
        fresh("mean", "page", times=1),
        fresh(**seen),
        fixer(*map(fix, FAULTS)),
    )
    run = bench.run("converge")
    assert {item.status for item in run.items.values()} == {Status.FIXED}
    assert [role for _, role in bench.calls] == ["adversarial", "fixer", "adversarial"]
    assert run.ended == "fixed"
    assert bench.repo.git("ls-remote", str(remote)) == pushed


def test_a_reviewer_who_failed_has_found_nothing_clean_and_is_asked_again(bench):
    failed = {"role": "adversarial", "fail": {"text": "quota exceeded", "trouble": "other"}}
    bench.play({**failed, "times": 1}, fresh("mean", times=1), fresh(), fixer(*map(fix, FAULTS)))
    run = bench.run("converge")
    assert [past.stop for past in run.position.rounds] == ["", "", "no must-fix item is open"]
    assert run.items[1].status is Status.FIXED
    assert run.ended == "fixed"


def test_where_nobody_can_review_a_person_is_asked_and_told_so(bench):
    bench.play({"role": "adversarial", "fail": {"text": "quota exceeded", "trouble": "other"}})
    run = bench.run("converge")
    assert "- Critical: 0\n- Important: 0\n- Minor: 0\n" in run.waiting_for.question
    assert (
        "Not reviewed to the end: adversarial: robot: quota exceeded." in run.waiting_for.question
    )
    assert bench.answer("b").ended == "incomplete", "nobody's word makes a review of it"


def test_every_round_has_a_findings_document_in_the_known_format(bench):
    bench.play(fresh("mean", "page", times=1), fresh(), fixer(*map(fix, FAULTS)))
    watch = Watch()
    run = bench.run("converge", watch=watch)
    documents = sorted(
        (bench.artifacts() / "docs" / "progress").glob("story-*-review-findings-round-*.md")
    )
    assert [path.name.rpartition("-")[2] for path in documents] == ["1.md", "2.md"]
    text = documents[0].read_text()
    assert text.startswith(f"# Story {run.id} Code Review Findings - Round 1")
    assert "## Critical Issues (Must Fix)" in text
    assert "**Total findings:** 2" in text
    FindingsDocument.open(documents[0])
    assert len(watch.of(Reported)) == 3


def test_the_impact_of_a_finding_is_a_field_of_its_own_everywhere(bench):
    """A fixer that is not told the impact has no line to play."""
    why = "a shop without prices cannot open"
    found = {"findings": [finding("mean", impact=why)], "summary": "looked"}
    bench.play(
        {"role": "adversarial", "prompt": '"impact": "why it matters', "answer": found},
        fixer(fix("mean", "deferred", "later"), prompt=f"impact: {why}"),
    )
    bench.run("converge")
    assert f"   - **Problem:** mean() fails for no prices.\n   - **Impact:** {why}\n" in document(
        bench, 1
    )
    run = bench.answer("a")
    lead = run.items[1].lead
    assert (lead.impact, why in lead.detail) == (why, False)
    assert f"Impact: {why}" in Path(run.items[1].issue).read_text()
    report = json.loads((bench.artifacts() / "report.json").read_text())
    assert report["items"][0]["findings"][0]["impact"] == why
    for name in ("report.md", "report.html", "report.sarif"):
        assert why in (bench.artifacts() / name).read_text(), name


def test_what_a_later_reviewer_calls_critical_is_no_longer_minor(bench):
    """A minor finding that is left in round 1 is critical to the reviewer of round 2."""
    graver = {"findings": [finding("initials", severity="critical")], "summary": "looked"}
    bench.play(
        fresh("page", "initials", times=1),
        {"role": "adversarial", "answer": graver, "times": 1},
        fresh(),
        fixer(fix("page"), fix("initials", "deferred", "later"), times=1),
        fixer(fix("initials")),
    )
    run = bench.run("converge")
    assert "- **Critical:** 1\n- **Important:** 0\n- **Minor:** 0\n" in document(bench, 2)
    assert [past.stop for past in run.position.rounds] == ["", "", "no must-fix item is open"]
    assert {item.status for item in run.items.values()} == {Status.FIXED}


def test_a_story_is_named_in_prompts_documents_commits_and_the_question(bench):
    """Agents that are not told the story have no line to play, and fail."""
    bench.repo.commit({"docs/story.md": "Every total is rounded.\n"}, "the story")
    told = (
        "This is about Story 2.3: Cart totals\nBranch: feature\nBase branch: main\n"
        "Story file: docs/story.md"
    )
    shown = (
        "security holes, crashes, data loss",
        "acceptance criterion",
        "Every total is rounded.",
    )
    bench.play(
        *(
            fresh("mean", "page", prompt=[f"{told}\nRound: {n}", *shown], times=1)
            for n in (1, 2, 3)
        ),
        *(
            fixer(
                fix("page"), fix("mean", "deferred", "later"), prompt=f"{told}\nRound: {n}", round=n
            )
            for n in (1, 2)
        ),
    )
    subject = "fix: address code review round {round} - {title}"
    flags = {"documents": "./docs/x/", "commit-subject": subject}
    about = {"story": "2.3", "title": "Cart totals", "specification": ("docs/story.md",)}
    run = bench.run("converge", flags=flags, **about)
    assert not run.blind
    assert run.waiting_for.question.startswith("Story 2.3: Cart totals: review blocked\nAfter 3")
    (made,) = bench.repo.git("log", "--format=%B%x00", f"feature..{run.landing.branch}").split(
        "\0"
    )[:-1]
    assert made.startswith("fix: address code review round 1 - page() skips the first page\n")
    assert "Story: 2.3 Cart totals\n" in made
    names = [f"docs/x/story-2.3-review-findings-round-{n}.md" for n in (1, 2, 3)]
    assert list(run.filing.placed) == names
    texts = [(bench.repo.root / name).read_text() for name in names]
    assert texts[0].startswith(
        "# Story 2.3 Code Review Findings - Round 1\n\n**Story:** Cart totals\n**Reviewer:** robot"
    )
    assert "\n**Branch:** feature\n" in texts[0]
    assert f"Findings document: {names[2]}" in run.waiting_for.question
    assert texts[2] == document(bench, 3)
    assert bench.repo.git("status", "--porcelain", "-uall").split()[::2] == ["??"] * 3
    inside = bench.repo.git("ls-tree", "-r", "--name-only", run.landing.branch, "docs")
    assert inside.split() == ["docs/story.md"], "no document is committed"
    assert bench.answer("b").ended


def test_a_fix_that_breaks_a_test_does_not_land_and_the_next_fixer_is_told(bench):
    """The second fixer has a line to play only if it is told which test broke."""
    wrong = {"path": "shop/prices.py", "replace": "return sum(prices)", "with": "return 0"}
    broken = {"when": FAULTS["mean"][0], "edits": [wrong], "outcome": {"outcome": "fixed"}}
    bench.play(
        fresh("mean", times=2),
        fresh(),
        fixer(broken, round=1),
        fixer(fix("mean"), prompt="test_total", round=2),
    )
    run = bench.run("converge")
    assert [attempt.fact for attempt in run.items[1].attempts if attempt.round == 1] == [
        Fact.SAID_FIXED,
        Fact.REJECTED,
    ]
    assert (run.items[1].status, run.ended) == (Status.FIXED, "fixed")
    assert "return 0" not in bench.landed("shop/prices.py")


def test_each_round_is_one_commit_where_that_is_asked_for(bench):
    bench.play(
        fresh("page", "mean", "initials", "cheapest", times=1),
        fresh("cheapest", times=1),
        fresh(),
        fixer(
            fix("cheapest", "deferred", "later"), *map(fix, ("page", "mean", "initials")), times=1
        ),
        fixer(fix("cheapest")),
    )
    subject = "fix: address code review round {round} - {title}"
    run = bench.run("converge", flags={"commits": "round", "commit-subject": subject})
    made = bench.repo.git("log", "--reverse", "--format=%s", f"feature..{run.landing.branch}")
    first, second = made.splitlines()
    assert first == "fix: address code review round 1 - 3 findings"
    assert second == "fix: address code review round 2 - cheapest() returns the dearest"
    assert len({item.commit for item in run.find_items(Status.FIXED)}) == 2


TESTS = """\
import unittest

from shop.names import initials
from shop.pages import page
from shop.prices import cheapest, mean


class More(unittest.TestCase):
    def test_all(self):
        self.assertEqual(mean([1, 3]), 2)
        self.assertEqual(cheapest([4]), 4)
        self.assertEqual(page([1, 2], 0, 1), [1])
        self.assertEqual(initials("a b"), "ab")
"""


def test_under_the_demanded_coverage_no_round_is_clean_until_tests_are_written(bench):
    """The reviewer finds nothing. The second fixer writes the tests, if it is told the figure."""
    wanted = {"when": "Test coverage is under the demanded 80%"}
    written = {"edits": [{"path": "tests/test_more.py", "content": TESTS}]}
    bench.play(
        fresh(),
        fixer({**wanted, "outcome": {"outcome": "deferred", "explanation": "later"}}, round=1),
        fixer({**wanted, **written}, prompt="coverage must be at least 80%", round=2),
        python=needs.covered_python(),
    )
    run = bench.run("converge", flags={"checks.coverage": "80"})
    assert "under the demanded 80%" in document(bench, 1)
    assert "- **Important:** 1\n" in document(bench, 1)
    assert "It is 40% (4 of 10 lines). Least covered: " in run.items[1].lead.detail
    assert [past.stop for past in run.position.rounds] == ["", "", "no must-fix item is open"]
    assert (run.items[1].status, run.ended) == (Status.FIXED, "fixed")


def test_a_coverage_that_cannot_be_measured_keeps_every_fix_and_every_clean_end_away(bench):
    """The Python of the tests has no coverage.py."""
    bench.play(fresh("page"), fixer(fix("page")))
    run = bench.run("converge", flags={"coverage": "80"})
    why = "80% is demanded, and could not be measured: tests: coverage.py is not installed for"
    assert why in run.waiting_for.question
    assert not run.landing.landed
    refused = "test coverage could not be measured: tests: coverage.py is not installed for"
    assert any(attempt.why.startswith(refused) for attempt in run.items[1].attempts)
    assert bench.answer("b").ended == "incomplete"


def test_a_reviewer_is_told_nothing_of_earlier_rounds(bench):
    """A reviewer whose prompt had anything of the fixer's words or of the first review in it would say so and fail."""
    told = {"fail": {"text": "I was told", "trouble": "other"}}
    bench.play(
        *(
            {"role": "adversarial", "prompt": words, **told}
            for words in ("waiting for the owner", "mean() fails for no prices")
        ),
        fresh("mean", "page"),
        fixer(fix("mean", "deferred", "waiting for the owner of the data")),
    )
    watch = Watch()
    run = bench.run("converge", watch=watch)
    assert len(watch.of(Reviewed)) == 3
    assert not run.blind


def document(bench, number: int) -> str:
    """The findings document of a round."""
    (found,) = bench.artifacts().glob(f"docs/progress/story-*-round-{number}.md")
    return found.read_text()


@pytest.fixture(scope="module")
def waiting(shared_repo):
    """Where a run waits for an answer after three rounds, and what is there then, which no test changes."""
    folder = shared_repo.root.parent
    left = "the owner of the data has to decide"
    with pytest.MonkeyPatch.context() as patch:
        homes(folder, patch)
        bench = Workbench(shared_repo, folder)
        bench.play(  # fewer faults each round, and one that nobody fixes
            *(fresh("mean", *list(ORDER.values())[turn:], times=1) for turn in range(4)),
            fresh("mean"),
            *(
                fixer(fix(name), fix("mean", "deferred", left), {"outcome": None}, round=n)
                for n, name in ORDER.items()
            ),
            fixer(fix("mean", "deferred", left)),
        )
        bench.run("converge")
    return folder, folder.rename(folder.with_suffix(".kept"))


@pytest.fixture
def stuck(waiting, shared_repo, monkeypatch):
    """A run that waits for an answer, in a copy of its own."""
    folder, kept = waiting
    shutil.copytree(kept, folder, symlinks=True)
    homes(folder, monkeypatch)
    yield Workbench(shared_repo, folder, new=False)
    shutil.rmtree(folder)


def test_after_three_rounds_a_person_is_asked(stuck):
    run = stuck.read_last()
    assert run.waiting_for is not None
    assert "After 3 review rounds" in run.waiting_for.question
    assert list(run.waiting_for.choices) == ["a", "b", "c"]
    assert [role for _, role in stuck.calls].count("fixer") == 2, (
        "two fix attempts before anybody is asked"
    )
    with pytest.raises(UsageError, match="is no answer"):
        stuck.answer("x")


def test_a_blocks_what_is_open(stuck):
    run = stuck.answer("a")
    assert run.ended == "leftovers"
    assert "The review is blocked, for pat to fix by hand;" in summarize_run(run).headline
    assert all(item.status in (Status.FILED, Status.FIXED) for item in run.items.values())
    assert any(
        "blocked after 3 rounds" in attempt.why
        for item in run.items.values()
        for attempt in item.attempts
    )


def test_b_accepts_what_is_open_in_the_name_of_who_said_so(stuck):
    run = stuck.answer("b", by="kim")
    dismissed = run.find_items(Status.DISMISSED)
    assert dismissed
    assert all(item.attempts[-1].by == "kim" for item in dismissed)


def test_c_grants_one_more_round_up_to_five_in_all(stuck):
    run = stuck.read_last()
    for rounds in (4, 5):
        assert "c" in run.waiting_for.choices
        run = stuck.answer("c")
        assert f"After {rounds} review rounds" in run.waiting_for.question
    assert list(run.waiting_for.choices) == ["a", "b"]
    assert [role for _, role in stuck.calls].count("adversarial") == 5
    assert stuck.answer("a").ended == "leftovers"


def test_a_loop_that_does_not_converge_stops_early_and_says_why(bench):
    bench.play(
        fresh("mean", "page"),
        fixer(fix("mean", "deferred", "x is owned elsewhere"), fix("page", "deferred", "the same")),
    )
    run = bench.run("converge")
    assert "(churning: no fewer items in 2 rounds)" in run.waiting_for.question
    for rounds, choices in ((4, ["a", "b", "c"]), (5, ["a", "b"])):
        run = bench.answer("c")
        assert f"After {rounds} review rounds, issues remain:" in run.waiting_for.question
        assert "(churning:" in run.waiting_for.question
        assert list(run.waiting_for.choices) == choices
    assert [role for _, role in bench.calls].count("fixer") == 4
    assert bench.answer("a").ended == "leftovers"


EXCUSES = ["would take too long", "needs the owner of the data", "this is by design"]


@pytest.mark.parametrize("excuse", [EXCUSES[0], *needs.rarely(*EXCUSES[1:])])
def test_a_fixer_that_calls_everything_blocked_does_not_end_the_loop(bench, excuse):
    bench.play(
        fresh("mean", "page"), fixer(fix("mean", "blocked", excuse), fix("page", "blocked", excuse))
    )
    run = bench.run("converge")
    assert [role for _, role in bench.calls] == [*["adversarial", "fixer"] * 2, "adversarial"], (
        "must-fix findings before round 3 go to the fixer again, whatever it said of them"
    )
    assert run.waiting_for.question.startswith("After 3 review rounds, issues remain:")
    assert f"The fixer calls 2 of them blocked, for example: {excuse}." in run.waiting_for.question
    assert not run.ended


def test_what_a_later_reviewer_overlooks_is_in_the_document_and_keeps_the_loop_going(bench):
    """The fixer did not fix it, and no reviewer after the first speaks of it."""
    bench.play(fresh("mean", "page", times=1), fresh(), fixer(fix("mean", "deferred", "later")))
    run = bench.run("converge")
    last = document(bench, 3)
    assert "- **Critical:** 1\n- **Important:** 1\n- **Minor:** 0\n" in last
    assert last.count("**History:** reported in an earlier round") == 2
    assert "- Critical: 1\n- Important: 1\n- Minor: 0" in run.waiting_for.question
    assert len(run.position.rounds) == 2, "two rounds are over, the third waits for an answer"


def test_one_more_round_tries_what_was_called_blocked_once_more(bench):
    bench.play(
        fresh("page", times=3),
        fresh(),
        fixer(fix("page", "blocked", "would take too long"), times=2),
        fixer(fix("page")),
    )
    bench.run("converge")
    run = bench.answer("c")
    assert run.items[1].status is Status.FIXED
    assert Fact.REOPENED in {attempt.fact for attempt in run.items[1].attempts}


def test_what_was_called_blocked_can_be_accepted_on_a_person_s_word(bench):
    bench.play(fresh("mean"), fixer(fix("mean", "blocked", "would take too long")))
    bench.run("converge")
    run = bench.answer("b", by="kim")
    assert (run.items[1].status, run.items[1].attempts[-1].by) == (Status.DISMISSED, "kim")
