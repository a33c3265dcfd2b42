"""unified: one reviewer with experts of its own, one fixer that gets everything, excuses counted, leftovers filed."""

import json

from watching import Watch
from workbench import FAULTS, finding, fix, fixer

from punchlist.model.item.item import Fact, Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.events import Attempted


def grouped(*groups):
    """What a unified reviewer says: findings in groups that can be fixed apart from each other."""
    said = [
        {"description": f"group {n}", "findings": [_short(name) for name in names]}
        for n, names in enumerate(groups)
    ]
    return {"role": "unified", "answer": {"groups": said}}


def _short(name):
    title, path, line, severity = FAULTS[name]
    return {
        "id": f"F{line:03}", "file": path, "line": f"{line}-{line + 1}", "issue": title, "severity": severity,
        "category": "clean_code", "fix_hint": "think",
    }  # fmt: skip


def test_one_call_gets_all_findings_in_the_reviewers_groups_and_all_land(bench):
    bench.play(grouped(["mean", "cheapest"], ["page"], ["initials"]), fixer(*map(fix, FAULTS)))
    run = bench.run("unified")
    assert {item.status for item in run.items.values()} == {Status.FIXED}
    assert bench.calls == [("robot", "unified"), ("robot", "fixer")]
    assert len(run.landing.landed) == 3, "a commit for each group"
    assert "if prices else None" in bench.landed("shop/prices.py")
    assert run.ended == "fixed"


def test_a_finding_the_fixer_does_not_mention_is_deferred_and_comes_back(bench):
    bench.play(
        grouped(["mean"], ["page"]),
        fixer(fix("page"), fix("mean", outcome="fixed"), times=0)
        | {"fixes": [fix("page")], "round": 1},
        fixer(fix("mean")),
    )
    run = bench.run("unified")
    first = next(item for item in run.items.values() if "mean" in item.lead.title)
    assert [attempt.fact for attempt in first.attempts][:2] == [Fact.SAID_DEFERRED, Fact.SAID_FIXED]
    assert first.attempts[0].why == "no status was given"
    assert first.status is Status.FIXED


def test_what_is_deferred_three_times_is_blocked_and_filed_with_its_history(bench):
    bench.play(
        grouped(["mean"]),
        fixer(fix("mean", "deferred", "the database must be migrated by its owner first")),
    )
    run = bench.run("unified")
    item = run.items[1]
    assert [attempt.fact for attempt in item.attempts] == [
        Fact.SAID_DEFERRED, Fact.SAID_DEFERRED, Fact.SAID_DEFERRED, Fact.SAID_BLOCKED, Fact.FILED,
    ]  # fmt: skip
    assert item.status is Status.FILED
    assert (
        "migrated by its owner"
        in next((bench.folder / "state").glob("repos/*/issues/major-*.md")).read_text()
    )


def test_a_claim_is_trusted_here_but_never_without_a_change(bench):
    bench.play(grouped(["mean"], ["page"]), fixer(fix("mean", edit=False), fix("page")))
    run = bench.run("unified")
    by_title = {item.lead.title: item for item in run.items.values()}
    assert by_title[FAULTS["page"][0]].status is Status.FIXED
    assert {proof.kind for proof in by_title[FAULTS["page"][0]].proofs} >= {ProofClass.CLAIM}
    assert by_title[FAULTS["mean"][0]].status is Status.FILED
    assert any(
        "no change was made" in attempt.why for attempt in by_title[FAULTS["mean"][0]].attempts
    )


def test_a_file_that_is_gone_blocks_its_finding_without_asking_anybody(bench):
    (bench.folder / "findings.json").write_text(
        json.dumps([finding("mean", file_path="shop/gone.py")])
    )
    bench.play({"role": "unified", "answer": {"groups": []}}, fixer())
    run = bench.run("unified", findings=(str(bench.folder / "findings.json"),))
    assert run.items[1].attempts[0].why == "Referenced file deleted"
    assert bench.calls == [("robot", "unified")]


def test_the_attempt_keeps_what_the_agent_said(bench):
    bench.play(grouped(["page"]), fixer(fix("page", explanation="off by one")))
    watch = Watch()
    bench.run("unified", watch=watch)
    (attempt,) = watch.of(Attempted)
    assert attempt.agent == "robot"
    assert attempt.reports[0].why == "off by one"
