"""A demanded test coverage: under it nothing lands and no run is clean, in whatever workflow."""

import pytest
from scripted import MAJOR, Words

from punchlist.model.checks.changed_lines import ExecutedLines
from punchlist.model.item.item import Status
from punchlist.steps.judging.gates.coverage import Coverage


@pytest.fixture
def bench(make_bench):
    """The tests execute the first line of the one file."""

    def make(fixed: str, text: str = "x = bad\n"):
        bench = make_bench({"a.py": text}, Words(bad=(MAJOR, fixed)))
        bench.coverage = 80
        bench.judge.lines = measure
        return bench

    return make


def measure(tree) -> ExecutedLines:
    lines = range(1, len(tree.text("a.py").splitlines()) + 1)
    return ExecutedLines({"a.py": (1,)}, statements={"a.py": tuple(lines)})


def test_a_fix_that_keeps_the_coverage_lands(bench):
    run = bench("good").run()
    assert (run.items[1].status, run.ended) == (Status.FIXED, "fixed")


@pytest.mark.parametrize(
    ("fixed", "why"),
    [
        ("good\ny = 1", "test coverage would be 50% (1 of 2 lines), and at least 80% is demanded"),
        ("good  # pragma: no cover", "it only adds a suppression"),
    ],
)
def test_a_fix_with_which_the_coverage_is_under_the_figure_does_not_land(bench, fixed, why):
    run = bench(fixed).run()
    assert (run.items[1].status, run.landing.landed) == (Status.FILED, ())
    assert why in [attempt.why for attempt in run.items[1].attempts]


def test_under_the_figure_no_run_is_clean_although_no_reviewer_found_anything(bench):
    run = bench("good", "x = 1\ny = 2\n").run()
    (item,) = run.items.values()
    assert item.lead.title == "Test coverage is under the demanded 80%"
    assert item.lead.detail == "It is 50% (1 of 2 lines). Least covered: a.py (1 of 2 lines)."
    assert (item.must_fix, item.status, run.ended) == (True, Status.FILED, "leftovers")


def test_a_coverage_that_cannot_be_measured_is_said_and_nothing_is_clean(bench):
    quiet = bench("good", "x = 1\n")
    quiet.allowed = False
    run = quiet.run()
    assert run.ended == "incomplete"
    assert "could not be measured: the checks were not allowed to run" in run.blind[0]


def test_the_figure_is_reached_or_not_and_never_rounded_up():
    assert Coverage({"a.py": (4, 5)}).reaches(80)
    almost = Coverage({"a.py": (79_999, 100_000)})
    assert (almost.reaches(80), almost.words) == (False, "79.9% (79,999 of 100,000 lines)")
