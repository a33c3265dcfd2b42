"""What may be called a fix: a real change, within the rules, of the right item, by somebody who gave an answer."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import (
    CRITICAL,
    MAJOR,
    MINOR,
    SUPPRESSIONS,
    Bench,
    Judge,
    MemoryTree,
    Said,
    Watch,
    Words,
    finding,
)

from made import made_run
from punchlist.adapters.fixers import EditFixer
from punchlist.adapters.reports import REPORTS
from punchlist.cli.drawing import draw_lines
from punchlist.cli.show.item import render_item
from punchlist.errors import RepositoryError
from punchlist.model.checks.protected import Protected
from punchlist.model.finding.finding import Fix, Splice
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Item, Status
from punchlist.model.ledger.outcome import RunOutcome
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, LineRange, ScopeKind
from punchlist.model.patch.patch import Patch, apply_splices, combine_patches
from punchlist.ports.analyzer import Analysis
from punchlist.ports.fixer import BatchFix
from punchlist.steps.judging.recheck import NO_OP
from punchlist.steps.plan import GONE, Options, plan_batches
from punchlist.steps.support.project_context import select_files
from punchlist.views.summary import find_gaps

FLOOR = """steps: [review, consolidate, {repeat: {steps: [
  {plan: {floor: %s}}, fix, verify, commit, {review: {again: true}}, consolidate, {stop-when: settled}]}}, report]"""


def the(run: Run, rule: str) -> Item:
    (item,) = [
        item for item in run.items.values() if item.lead.rule == rule or rule in item.lead.title
    ]
    return item


def test_an_item_whose_file_is_gone_is_blocked_and_no_fixer_is_asked(make_bench):
    class Nobody(EditFixer):
        async def fix(self, batches, items, tree):
            raise AssertionError(f"asked about {batches}")

    bench = make_bench({"a.py": "fine\n"})
    bench.fixer = Nobody(SUPPRESSIONS)
    fix = Fix((Splice("gone.py", 0, 1, "x"),))
    bench.documents = {
        "document": Said(finding(1, "gone.py", fix=fix), finding(2, "also/gone.py", line=None))
    }
    run = bench.run()
    for item in run.items.values():
        assert (item.attempts[0].fact, item.attempts[0].why) == (Fact.SAID_BLOCKED, GONE)
        assert item.status is Status.FILED
    assert bench.audit(run.id).ok


@pytest.mark.parametrize(
    ("floor", "fixed"),
    [("critical", {"worst"}), ("major", {"worst", "bad"}), ("minor", {"worst", "bad", "odd"})],
)
def test_only_items_at_or_above_the_floor_are_worked_on_and_the_others_are_filed(
    make_bench, floor, fixed
):
    bench = make_bench(
        {"a.py": "worst\nbad\nodd\n"},
        Words(worst=(CRITICAL, "x"), bad=(MAJOR, "y"), odd=(MINOR, "z")),
    )
    run = bench.run(FLOOR % floor)
    assert {item.lead.rule for item in run.find_items(Status.FIXED)} == fixed
    assert {item.lead.rule for item in run.find_items(Status.FILED)} == {
        "worst",
        "bad",
        "odd",
    } - fixed
    assert bench.audit(run.id).ok


class Odd(EditFixer):
    """A fixer that answers as it was told: a function of the batches."""

    def __init__(self, answers) -> None:
        self.answers = answers

    async def fix(self, batches, items, tree):
        return self.answers(batches)


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (lambda _: [], "no status was given"),
        (lambda batches: [BatchFix(batch=99, patch=batches[0].patch)], "no status was given"),
        (
            lambda batches: [BatchFix(batch=b.number, patch=Patch()) for b in batches],
            "no change was made",
        ),
        (lambda batches: [BatchFix(batch=b.number) for b in batches], "no change was made"),
        (
            lambda batches: [
                f
                for b in batches
                for f in (
                    BatchFix(batch=b.number, patch=b.patch),
                    BatchFix(batch=b.number, refused="cannot"),
                )
            ],
            "two answers contradict each other",
        ),
    ],
)
def test_an_answer_that_is_none_fixes_nothing_however_green_the_checks_are(
    make_bench, answers, why
):
    bench = make_bench({"a.py": "bad\n"}, Words(bad=(MAJOR, "good")))
    bench.fixer = Odd(answers)
    run = bench.run()
    (item,) = run.items.values()
    assert (item.attempts[0].fact, item.attempts[0].why) == (Fact.SAID_DEFERRED, why)
    assert item.status is Status.FILED
    assert not run.landing.landed
    assert bench.audit(run.id).ok


def test_a_fixer_that_planned_a_cure_and_wrote_a_comment_has_fixed_nothing(make_bench):
    bench = make_bench({"a.py": "x = 1\n", "b.py": "y = 2\n"})
    bench.documents = {"document": Said(finding(1, "a.py", fix=Fix((Splice("a.py", 4, 5, "2"),))))}
    comments = Patch(splices=(Splice("b.py", 5, 5, "  # better"),))
    bench.fixer = Odd(lambda batches: [BatchFix(batch=b.number, patch=comments) for b in batches])
    run = bench.run()
    (item,) = run.items.values()
    assert NO_OP in [attempt.why for attempt in item.attempts]
    assert item.status is Status.FILED
    assert not run.landing.landed


def refusal(
    text: str, splice: Splice, *more: Splice, path: str = "a.py", about: str = "a.py"
) -> str:
    """What the fixer that applies tools' edits says to one of them."""
    item = Item(number=1, fingerprint="f", findings=(finding(1, about, fix=Fix((splice, *more))),))
    patch = Patch(splices=(splice, *more))
    batch = Batch(
        number=1,
        items=(1,),
        fixer="edits",
        title="t",
        paths=patch.paths,
        protected=Protected().holds(splice.path),
        patch=patch,
    )
    (fixed,) = asyncio.run(
        EditFixer(SUPPRESSIONS).fix([batch], {1: item}, MemoryTree("base", {path: text}))
    )
    return fixed.refused


@pytest.mark.parametrize(
    ("text", "splice"),
    [
        ("import os\n", Splice("a.py", 9, 9, "  # noqa: F401")),
        ("import os  # \n", Splice("a.py", 13, 13, "noqa")),
        ("x = eval(y)\n", Splice("a.py", 11, 11, "  # nosec")),
        ("x: int = ''\n", Splice("a.py", 11, 11, "  # type: ignore[assignment]")),
        ("def f(): ...\n", Splice("a.py", 0, 0, "# pylint: disable=all\n")),
        ("let x = 1\n", Splice("a.js", 0, 0, "// eslint-disable-next-line\n")),
        ("def test_it(): ...\n", Splice("a.py", 0, 0, "@pytest.mark.skip\n")),
        ("def test_it(): ...\n", Splice("a.py", 0, 0, "@unittest.skip('later')\n")),
        ("rm -rf $x\n", Splice("a.sh", 0, 0, "# shellcheck disable=SC2086\n")),
    ],
)
def test_an_edit_that_only_hides_the_finding_is_no_fix(text, splice):
    assert (
        refusal(text, splice, path=splice.path, about=splice.path) == "it only adds a suppression"
    )


def test_an_edit_that_leaves_a_suppression_as_it_was_is_a_fix():
    text = "import os, sys  # noqa: E401\n"
    assert refusal(text, Splice("a.py", 9, 14, "")) == ""


def test_an_edit_that_changes_nothing_is_no_fix():
    assert refusal("bad\n", Splice("a.py", 0, 3, "bad")) == "no change was made"


def test_an_edit_outside_the_file_or_that_breaks_it_is_no_fix():
    assert "outside" in refusal("bad\n", Splice("a.py", 2, 40, "x"))
    assert "does not parse" in refusal("x = 1\n", Splice("a.py", 4, 5, "("))


def test_edits_of_one_fix_that_overlap_are_no_fix():
    assert (
        refusal("x = 1\n", Splice("a.py", 0, 3, "y"), Splice("a.py", 2, 4, "z"))
        == "the proposed edits overlap"
    )
    assert (
        refusal("x = 1\n", Splice("a.py", 0, 3, "y"), Splice("a.py", 1, 1, "z"))
        == "the proposed edits overlap"
    )
    assert refusal("x = 1\n", Splice("a.py", 0, 1, "y"), Splice("a.py", 1, 1, "z")) == ""


@given(st.lists(st.tuples(st.integers(-2, 8), st.integers(-2, 8)), min_size=1, max_size=4))
def test_no_edits_however_malformed_stop_the_fixer(spans):
    """Law: edits that fit into one text together are applied, all others are refused in words."""
    splices = [Splice("a.txt", start, end, "new") for start, end in spans]
    refused = refusal("abcdef", *splices, path="a.txt", about="a.txt")
    try:
        fits = apply_splices("abcdef", splices)
    except ValueError:
        fits = ""
    assert bool(refused) is not bool(fits)


@pytest.mark.parametrize(
    "judge", ["tests/test_a.py", "conftest.py", "pyproject.toml", ".github/workflows/ci.yml"]
)
def test_a_fix_may_not_touch_the_judge_s_files_for_a_finding_elsewhere(judge):
    said = refusal(
        "assert x == 1\n", Splice(judge, 0, 13, "assert True"), path=judge, about="src/a.py"
    )
    assert said == "it would change tests or CI configuration that the finding is not about"


@pytest.fixture
def judged(make_bench):
    """A fix in a test file, because the finding is about that very file, beside an ordinary one."""
    bench = make_bench({"tests/test_a.py": "bad\n", "a.py": "bad\n"}, Words(bad=(MAJOR, "good")))
    run = bench.run()
    touching, plain = sorted(run.items.values(), key=lambda item: item.lead.spot.path, reverse=True)
    return bench, run, touching, plain


FLAG = "changes tests or CI configuration: review it"


def test_a_fix_of_the_judge_s_own_file_is_flagged_for_a_person(judged):
    _, run, touching, plain = judged
    assert touching.status is plain.status is Status.FIXED
    assert touching.flags == (FLAG,)
    assert plain.flags == ()
    assert [gap.why for gap in find_gaps(run) if gap.about == "flag"] == [FLAG]


@pytest.mark.parametrize(
    "form", [form for form in REPORTS if not form.endswith("xml")]
)  # JUnit has no place for it
def test_every_report_shows_the_flag(judged, form):
    _, run, *_ = judged
    assert "changes tests or CI" in REPORTS[form](run).decode()


def test_showing_the_item_shows_the_flag(judged):
    _, run, touching, _ = judged
    shown = draw_lines(render_item(touching, run.by_item.diffs.get(touching.number)), 200)
    assert f"flag: {FLAG}" in "\n".join(shown)


def test_a_test_that_passed_cannot_be_turned_off_by_a_fix_of_its_own_file(make_bench):
    bench = make_bench({"tests/test_a.py": "bad\n"}, Words(bad=(MAJOR, "good")))
    bench.judge = Judge(test_a=lambda tree: "bad" in tree.texts["tests/test_a.py"])
    run = bench.run()
    assert not run.landing.landed
    assert the(run, "bad").attempts[1].why == "breaks test_a"


texts = st.lists(
    st.sampled_from(["bad", "bad bad", "fine", "worse-bad", "(bad)"]), min_size=1, max_size=6
).map("\n".join)


@given(st.lists(texts, min_size=1, max_size=3), st.booleans())
def test_what_is_worked_on_at_once_never_overlaps_and_what_does_waits(files, wide):
    """Some fixes replace a word, some (wide) also what stands around it: the batches of one round can always be combined."""
    tree = MemoryTree("base", {f"{n}.py": text for n, text in enumerate(files)})
    found = asyncio.run(
        Words(bad=(MAJOR, "good"), worse=(MAJOR, "better")).analyze(tree, None)
    ).findings
    items = {}
    for number, each in enumerate(found, 1):
        (splice,) = each.fix.splices
        around = Splice(splice.path, max(0, splice.start - 4 * wide), splice.end, splice.text)
        fixes = finding(number, splice.path, fix=Fix((around,)))
        items[number] = Item(number=number, fingerprint=str(number), findings=(fixes,))
    plan = plan_batches(
        made_run(id="r", items=items), Options(), Protected(), frozenset(tree.files())
    )
    in_work = [number for batch in plan.batches for number in batch.items]
    assert len(in_work) == len(set(in_work))
    assert len(in_work) + plan.waiting == len(items)
    combine_patches([batch.patch for batch in plan.batches], tree.texts)  # raises where two overlap


def test_items_with_one_and_the_same_fix_are_one_batch():
    fix = Fix((Splice("a.py", 0, 3, "good"),))
    items = {n: Item(number=n, fingerprint=str(n), findings=(finding(n, fix=fix),)) for n in (1, 2)}
    (batch,) = plan_batches(
        made_run(id="r", items=items), Options(), Protected(), frozenset({"a.py"})
    ).batches
    assert batch.items == (1, 2)


def test_without_findings_nothing_is_started_but_the_review_and_the_report(make_bench):
    bench = make_bench({"a.py": "fine\n"}, Words(bad=(MAJOR, "good")))
    watch = Watch()
    run = bench.run(watch=watch)
    assert watch.began_keys == ["words", "items", "survey", "report"]
    assert bench.judge.runs == []
    assert run.ended == RunOutcome.CLEAN


def test_a_reviewer_that_did_not_look_again_has_not_seen_that_it_is_gone(make_bench):
    class Lazy(Words):
        async def analyze(self, tree, paths):
            return (
                await super().analyze(tree, paths)
                if tree.commit == "base" and "bad" in tree.texts["a.py"]
                else Analysis(skipped="nothing to do")
            )

    bench = make_bench({"a.py": "bad\n"}, Lazy(bad=(MAJOR, "good")))
    run = bench.run()
    assert not run.landing.landed
    assert the(run, "bad").attempts[1].why == "words could not look again: nothing to do"
    assert the(run, "bad").status is Status.FILED


def test_an_item_whose_reviewer_had_nothing_to_do_later_is_not_gone(make_bench):
    class Leaves(Words):
        async def analyze(self, tree, paths):
            return (
                await super().analyze(tree, paths)
                if tree.commit == "base"
                else Analysis(skipped="nothing to do")
            )

    bench = make_bench(
        {"a.py": "bad\nodd\n"}, Words(bad=(MAJOR, "good")), Leaves("leaves", odd=(MAJOR, None))
    )
    run = bench.run()
    assert the(run, "bad").status is Status.FIXED
    assert the(run, "odd").status is Status.FILED


def test_a_round_that_cannot_be_planned_does_not_do_the_last_one_s_work_again(make_bench):
    bench = make_bench(
        {"a.py": "one\nmore\n"},
        Words("first", one=(MAJOR, "two"), more=(MAJOR, None)),
        Words("then", two=(MAJOR, "three")),
    )
    asked, at = [], bench.git.open_tree

    def failing(commit, patches=(), **more):
        if bench.git.actions and asked and asked[-1] == "batches":
            raise RepositoryError("no room for a work tree")
        return at(commit, patches, **more)

    bench.git.open_tree = failing
    watch = Watch()
    watch.began_keys = asked
    run = bench.run(FLOOR % "minor", watch=watch)
    assert len(run.landing.landed) == len(bench.git.messages) == 1
    assert run.ended == RunOutcome.INCOMPLETE
    assert asked.count("land") == 1
    assert bench.audit(run.id).ok


def test_an_item_stays_in_view_even_where_its_file_is_not_part_of_the_change():
    change = Change(kind=ScopeKind.BRANCH, base="b", head="h", files={"a.py": (LineRange(1, 9),)})
    item = Item(number=1, fingerprint="f", findings=(finding(1, "c.py", source="words"),))
    bench = Bench.__new__(Bench)
    bench.change, bench.reviewers, bench.documents, bench.checks, bench.allowed = (
        change,
        {"words": None},
        {},
        (),
        False,
    )
    run = Run(id="r", items={1: item}, started=bench.started(""))
    assert select_files(change, run, MemoryTree("h", {"a.py": "", "b.py": "", "c.py": ""})) == [
        "a.py",
        "c.py",
    ]


def test_what_no_analyzer_looks_at_again_is_not_fixed_by_a_fix_that_overlaps_its_own(make_bench):
    bench = make_bench({"a.py": "bad text\n"}, Words(bad=(MAJOR, "good")))
    fix = Fix((Splice("a.py", 0, 8, "other text"),))
    said = finding(1, "a.py", fix=fix, severity=MINOR)
    bench.documents = {"document": Said(said)}
    run = bench.run()
    (mine,) = [item for item in run.items.values() if item.lead.source == "words"]
    (theirs,) = [item for item in run.items.values() if item is not mine]
    assert mine.status is Status.FIXED
    assert theirs.commit != mine.commit
