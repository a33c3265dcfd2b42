"""`checked` is said only of a fix whose changed lines the checks execute."""

import pytest
from scripted import MAJOR, MINOR, Judge, Words

from punchlist.model.checks.changed_lines import ExecutedLines
from punchlist.model.finding.finding import Safety
from punchlist.model.item.item import Status
from punchlist.model.item.proof import ProofClass
from punchlist.views.summary import find_gaps

FILES = {"a.py": "ran = bad\nidle = bad\nboth = (bad,\n  bad)\n"}


@pytest.fixture
def bench(make_bench):
    def make(safety, *lines, unknown=""):
        bench = make_bench(FILES, Words(safety=safety, bad=(MAJOR, "good")))
        bench.judge = Judge()
        bench.judge.lines = ExecutedLines({"a.py": lines} if lines else {}, unknown)
        return bench

    return make


def proofs(run) -> dict[int, list[ProofClass]]:
    return {
        item.lead.spot.line: [proof.kind for proof in item.proofs] for item in run.items.values()
    }


def test_a_safe_fix_that_no_test_executes_lands_and_is_not_called_checked(bench):
    run = bench(Safety.SAFE, 1, 3).run()
    both = [ProofClass.RECHECKED, ProofClass.CHECKED]
    assert proofs(run) == {1: both, 2: [ProofClass.RECHECKED], 3: both, 4: both}
    by_line = {item.lead.spot.line: item for item in run.items.values()}
    assert by_line[1].proofs[-1].said == (
        "tests: 1 tests as on the base, executing 1 of its 1 changed line"
    )
    assert by_line[2].proofs[0].said == (
        "no longer reported by words; no test executes its changed line"
    )


def test_an_unsafe_fix_that_no_test_executes_does_not_land(bench):
    run = bench(Safety.UNSAFE, 1, 3).run()
    (idle,) = run.find_items(Status.FILED)
    assert idle.lead.spot.line == 2
    assert idle.attempts[-2].why == ("unsafe fix, not applied: no test executes its changed line")


def test_later_rounds_know_the_lines_by_where_they_were_on_the_base(make_bench):
    first = Words("first", Safety.UNSAFE, bad=(MAJOR, "1\nz = poor"))
    then = Words("then", Safety.UNSAFE, poor=(MINOR, "good"))
    bench = make_bench({"a.py": "x = bad\ny = worse\n"}, first, then)
    bench.judge.lines = ExecutedLines({"a.py": (1,)})
    run = bench.run()
    assert len(run.landing.landed) == 2
    assert all(item.proofs[-1].kind is ProofClass.CHECKED for item in run.items.values())


def test_where_the_lines_are_unknown_that_is_said_and_the_checks_count_as_before(bench):
    run = bench(Safety.UNSAFE, unknown="coverage.py is not installed for python3").run()
    assert len(run.find_items(Status.FIXED)) == 4
    said = [(gap.what, gap.why) for gap in find_gaps(run) if "changed lines" in gap.what]
    assert said == [
        (
            "It is not known whether tests executes the changed lines",
            "coverage.py is not installed for python3",
        )
    ]
