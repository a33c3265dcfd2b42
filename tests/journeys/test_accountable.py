"""accountable: two reviewers side by side, every finding reported on, excuses refused, issues with the whole history."""

import json

import pytest
from watching import Watch
from workbench import FAULTS, finding, fix, fixer, review

from needs import rarely
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Fact, Status
from punchlist.model.ledger.events import Attempted, Reviewed


def spec(*names, **more):
    return review(*names, role="spec", **more)


def issue(bench) -> str:
    return next((bench.folder / "state").glob("repos/*/issues/*-*.md")).read_text()


def test_two_reviewers_look_side_by_side_and_near_duplicates_become_one_of_the_higher_severity(
    bench,
):
    near = {
        "role": "spec",
        "answer": {"findings": [finding("mean", line_start=11, line_end=12, severity="critical")]},
    }
    bench.play(near, review("mean", "page"), fixer(*map(fix, FAULTS)))
    run = bench.run("accountable")
    assert len(run.items) == 2
    both = next(item for item in run.items.values() if len(item.findings) == 2)
    assert {each.source for each in both.findings} == {"spec", "technical"}
    assert both.severity is Severity.CRITICAL
    assert sorted(role for _, role in bench.calls[:2]) == ["spec", "technical"]


def test_the_spec_reviewer_is_shown_what_the_change_is_meant_to_do(bench):
    bench.repo.commit({"specs/mean.md": "The mean of nothing is None.\n"}, "a spec")
    bench.play(spec(prompt="The mean of nothing is None."), review())
    run = bench.run("accountable", specification=("specs",))
    assert not run.blind


def test_one_reviewer_fails_the_others_findings_are_kept_and_the_run_is_not_clean(bench):
    bench.play(
        {"role": "spec", "answer": "sorry, quota exceeded"}, review("page"), fixer(fix("page"))
    )
    run = bench.run("accountable")
    assert run.items[1].status is Status.FIXED
    assert run.ended == "incomplete"
    assert run.blind


def test_a_reviewer_that_approves_beside_a_critical_finding_has_not_approved(bench):
    both = {"role": "technical", "answer": {"findings": [finding("page")], "summary": "APPROVED"}}
    bench.play(spec(), both, fixer(fix("page", "blocked", "needs a decision of the product owner")))
    run = bench.run("accountable")
    assert run.ended == "leftovers"


@pytest.mark.parametrize(
    "excuse", ["this is out of scope", *rarely("Pre-existing issue.", "would take too long", "")]
)
def test_a_weak_excuse_is_refused_and_sent_back_with_its_history(bench, excuse):
    bench.play(
        spec(),
        review("page"),
        fixer(fix("page", "deferred", excuse), round=1),
        fixer(fix("page"), prompt="not accepted"),
    )
    run = bench.run("accountable")
    item = run.items[1]
    facts = [attempt.fact for attempt in item.attempts]
    assert facts[:3] == [Fact.SAID_DEFERRED, Fact.EXCUSE_REFUSED, Fact.SAID_FIXED]
    assert item.status is Status.FIXED


def test_a_weak_reason_for_blocking_stays_blocked_and_is_flagged_in_the_issue(bench):
    bench.play(spec(), review("mean"), fixer(fix("mean", "blocked", "too complex for this change")))
    run = bench.run("accountable")
    assert run.items[1].status is Status.FILED
    assert "too complex" in run.items[1].flags[0]
    assert "too complex" in issue(bench)
    assert [role for _, role in bench.calls].count("fixer") == 1, (
        "blocked items do not go round again"
    )


def test_an_issue_tells_every_attempt(bench):
    reasons = (
        "the schema is owned by another team",
        "the owner has not answered",
        "still no answer",
    )
    bench.play(
        spec(),
        review("mean"),
        *(
            fixer(fix("mean", "deferred", reason), round=turn)
            for turn, reason in enumerate(reasons, 1)
        ),
    )
    run = bench.run("accountable")
    text = issue(bench)
    assert all(reason in text for reason in reasons)
    assert (
        text.startswith("# [MAJOR] mean() fails for no prices")
        or "[MAJOR] mean() fails for no prices" in text
    )
    assert run.items[1].status is Status.FILED


def test_answers_in_any_case_unknown_ids_and_contradictions(bench):
    answer = {
        "outcomes": [
            {"id": "f001", "outcome": " Fixed ", "explanation": "done"},
            {"id": "F777", "outcome": "fixed", "explanation": "who?"},
            {"id": "F002", "outcome": "fixed", "explanation": "yes"},
            {"id": "F002", "outcome": "blocked", "explanation": "no"},
        ]
    }
    edits = [
        {
            "path": "shop/pages.py",
            "replace": "number * size : number * size + size",
            "with": "(number - 1) * size : number * size",
        }
    ]
    bench.play(
        spec(),
        review("page", "mean"),
        {"role": "fixer", "answer": answer, "edits": edits, "round": 1},
        fixer(fix("mean")),
    )
    watch = Watch()
    run = bench.run("accountable", watch=watch)
    page, mean = run.items[1], run.items[2]
    assert page.status is Status.FIXED
    assert mean.attempts[0].why == "two answers contradict each other"
    assert any("F777" in note for notes in watch.of(Attempted)[0].noted.values() for note in notes)


def test_an_answer_that_does_not_fit_is_asked_for_again_once_then_the_items_are_deferred(bench):
    bench.play(spec(), review("mean"), {"role": "fixer", "answer": "I fixed everything!"})
    run = bench.run("accountable")
    asked = [role for _, role in bench.calls].count("fixer")
    assert asked == 2 * 3, "three rounds, each asked twice"
    assert run.items[1].status is Status.FILED
    assert run.items[1].attempts[0].fact is Fact.SAID_DEFERRED


def test_only_what_is_at_or_above_the_floor_goes_to_the_fixer_and_the_rest_is_filed(bench):
    text = bench.folder / "floor.yaml"
    text.write_text(
        "about: a floor\nsteps:\n  - review: {by: [technical], analyzers: false}\n  - consolidate: {}\n"
        "  - plan: {floor: major}\n  - fix: {}\n  - verify: {}\n  - commit: {needs: claim}\n  - report: {}\n"
    )
    bench.play(review("initials", "page"), fixer(*map(fix, FAULTS)))
    run = bench.run(str(text))
    by_severity = {item.severity: item for item in run.items.values()}
    assert by_severity[Severity.CRITICAL].status is Status.FIXED
    assert by_severity[Severity.MINOR].status is Status.FILED


def test_a_contested_finding_is_open_again_unless_somebody_agrees(bench):
    bench.play(
        spec(),
        review("mean"),
        fixer(fix("mean", "contested", "callers never pass an empty list: see shop/pages.py")),
    )
    run = bench.run("accountable")
    assert run.items[1].status is Status.FILED
    assert run.items[1].attempts[0].fact is Fact.CONTESTED


def test_no_findings_start_no_fixer(bench):
    bench.play(spec(), review())
    run = bench.run("accountable")
    assert [role for _, role in bench.calls] == ["spec", "technical"] or [
        role for _, role in bench.calls
    ] == ["technical", "spec"]
    assert run.ended == "clean"


def test_what_a_reviewer_says_is_kept_whole_with_who_said_it(bench):
    bench.play(
        spec(),
        review("mean", usage={"input_tokens": 1000, "output_tokens": 50, "dollars": 0.02}),
        fixer(fix("mean")),
    )
    watch = Watch()
    run = bench.run("accountable", watch=watch)
    said = {event.reviewer: event for event in watch.of(Reviewed)}
    assert said["technical"].agent == "robot"
    assert run.usage.input_tokens == 1000
    assert run.usage.dollars == pytest.approx(0.02)
    assert json.dumps(FAULTS["mean"][0])[1:-1] in run.items[1].lead.title
