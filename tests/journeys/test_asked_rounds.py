"""--rounds, --max-fix-cycles and --threshold: how often is tried, and which score approves."""

import json

import pytest
from workbench import SCORED, fix, fixer, review, scores

BREAKS = {"path": "shop/prices.py", "replace": "sum(prices)", "with": "sum(prices) + 1"}
NO_TOOLS = ("--set", "analyzers.enabled=")


def breaking(**more):
    """A fix that breaks a test."""
    wrong = fix("mean")
    return fixer({**wrong, "edits": [*wrong["edits"], BREAKS]}, **more)


def run(bench, *arguments):
    return bench.type("run", "--yes", *NO_TOOLS, *arguments)


def document(bench) -> dict:
    return json.loads(bench.type("status", "--json").out)["report"]


def cycles(bench) -> dict:
    return json.loads((bench.artifacts() / "cycles.json").read_text())


@pytest.mark.parametrize(("flag", "most"), [("--max-fix-cycles", 1), ("--rounds", 4)])
def test_as_many_cycles_as_asked_for_and_the_summary_and_the_ledger_say_so(bench, flag, most):
    bench.play(review("mean"), breaking())
    told = run(bench, "--workflow", "verified", flag, str(most))
    assert told.code == 1
    assert f"of at most {most}, as asked for" in told.out
    report = cycles(bench)
    assert (report["total_cycles"], report["final_status"]) == (most, "failed")
    started = json.loads(bench.type("audit", "--export", "-").out.splitlines()[0])["event"]
    assert started["rounds"] == most
    assert f"rounds: {most}" in started["workflow"]
    assert document(bench)["run"]["rounds"] == most


def test_no_rounds_review_fix_nothing_and_say_so_and_are_never_passed(bench):
    bench.play(review("mean"), fixer(fix("mean")))
    told = run(bench, "--workflow", "verified", "--max-fix-cycles", "0")
    assert told.code == 1
    assert "0 rounds were asked for: no fix was tried" in told.out
    assert [role for _, role in bench.calls] == ["technical"]
    report = cycles(bench)
    assert (report["cycles"], report["total_cycles"], report["fixes_applied"]) == ([], 0, 0)
    assert report["final_status"] != "passed"
    assert "0 rounds were asked for" in report["note"]
    assert "passed" not in (bench.artifacts() / "cycles.md").read_text()
    (item,) = document(bench)["items"]
    assert item["status"] == "filed"
    assert document(bench)["outcome"] == "leftovers"


def test_a_score_below_the_threshold_that_was_asked_for_is_no_approval(bench):
    (bench.folder / "scored.yaml").write_text(SCORED)
    second = scores(F001=94)
    bench.play(review("page"), fixer(fix("page")), second, agents=("robot", "second"))
    asked = ("--workflow", str(bench.folder / "scored.yaml"), "--threshold", "95", "--rounds", "1")
    told = run(bench, *asked, "--set", "role.challenger.agents=second")
    assert "95  the least score that approves a fix, as asked for" in told.out
    report = document(bench)
    assert report["run"]["threshold"] == 95
    assert report["items"][0]["status"] == "filed"
    assert report["items"][0]["score"]["score"] == 94


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--rounds", "-1"), "rounds: -1 is not a number from 0 to 100"),
        (("--max-fix-cycles", "many"), "'many' is not a valid integer"),
        (("--threshold", "101"), "threshold: 101 is not a score from 1 to 100"),
    ],
)
def test_what_cannot_be_is_a_usage_error_that_says_what_can(bench, arguments, said):
    bench.play(review("mean"), fixer(fix("mean")))
    told = run(bench, "--workflow", "verified", *arguments)
    assert told.code == 2
    assert said in told.err
    assert bench.calls == []
