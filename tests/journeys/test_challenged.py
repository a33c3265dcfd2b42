"""challenged: questions to a person, plan files, fixes side by side and one after another, an independent challenger, a re-fix."""

import json

import pytest
from watching import Watch
from workbench import EDITS, FAULTS, fix, fixer, review, scores

from needs import rarely
from punchlist.adapters.agents.scripted.agent import read_calls
from punchlist.errors import SettingsError, UsageError
from punchlist.model.item.item import Fact, Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.events import Attempted, Challenged, Planned
from punchlist.views.summary import find_gaps
from punchlist.workflow.loader import load_workflow

READY = {
    "role": "clarifier",
    "answer": {"has_questions": False, "questions_by_issue": [], "ready_to_plan": True},
    "session": "talk",
}
PLANS = {"role": "planner", "answer": {"issues": []}, "session": "talk"}


def question(code, text="How should the empty case be handled?", n=1):
    asked = {"id": f"{code}-q{n}", "question": text, "context": "the contract is unclear"}
    return {
        "role": "clarifier",
        "times": 1,
        "session": "talk",
        "answer": {
            "has_questions": True,
            "questions_by_issue": [{"issue_code": code, "questions": [asked]}],
            "ready_to_plan": False,
        },
    }


def todo(code, *steps, files=()):
    plan = {
        "approach": "patch",
        "steps": list(steps),
        "estimated_lines_changed": 1,
        "risks": [],
        "verification": "call it",
    }
    return {"issue_code": code, "plan": plan, "files": list(files)}


def planned(bench, *lines, **more):
    """A run up to the question about the plan."""
    bench.play(*lines, READY, PLANS, **more)
    run = bench.run("challenged")
    assert run.waiting_for is not None, run.trouble
    return run


def test_a_person_answers_what_is_unclear_and_the_answer_reaches_the_fixer(bench):
    bench.play(
        review("page"),
        question("F001"),
        question("F001", "And None?", 2),
        READY,
        PLANS,
        fixer(fix("page"), prompt="Return None, please"),
        scores(F001=95),
    )
    run = bench.run("challenged")
    assert [doubt.id for doubt in run.unanswered] == ["F001-q1"]
    assert "empty case" in run.unanswered[0].question
    with pytest.raises(UsageError, match="F001-q1"):
        bench.resume()
    run = bench.answer({"F001-q1": "Return None, please"})
    assert [doubt.id for doubt in run.unanswered] == ["F001-q2"], (
        "round after round, until it is ready"
    )
    run = bench.answer({"F001-q2": "the same"})
    assert run.waiting_for is not None
    assert "plan" in run.waiting_for.question
    run = bench.answer("a")
    assert run.items[1].status is Status.FIXED
    assert run.asking.doubts["F001-q1"].by == "pat"


def test_the_plan_is_written_as_files_and_what_a_person_changes_is_done(bench):
    planned(
        bench,
        review("mean", "page"),
        fixer(fix("page"), prompt="as the person wants it"),
        scores(F001=95),
    )
    folder = bench.artifacts() / "plan"
    master = json.loads((folder / "master_todo.json").read_text())
    assert set(master) == {"session_id", "branch_name", "execution_steps", "summary"}
    assert master["summary"] == {"total_issues": 2, "total_steps": 1}
    sheet = json.loads((folder / "fix_todo_F001.json").read_text())
    assert list(sheet) == [
        "issue_code",
        "issue_id",
        "file",
        "line",
        "title",
        "clarifications",
        "context",
        "plan",
    ]
    sheet["plan"]["steps"] = ["as the person wants it"]
    (folder / "fix_todo_F001.json").write_text(json.dumps(sheet))
    issues = master["execution_steps"][0]["issues"]
    master["execution_steps"][0]["issues"] = [issue for issue in issues if issue["code"] == "F001"]
    (folder / "master_todo.json").write_text(json.dumps(master))
    run = bench.answer("a")
    page, mean = run.items[1], run.items[2]
    assert page.status is Status.FIXED
    assert mean.attempts[0].fact is Fact.SET_ASIDE


def test_a_broken_plan_is_shown_again_and_nothing_is_lost(bench):
    planned(bench, review("page"), fixer(fix("page")), scores(F001=95))
    path = bench.artifacts() / "plan" / "master_todo.json"
    whole = path.read_text()
    path.write_text(whole[:40])
    run = bench.answer("a")
    assert "cannot be used" in run.waiting_for.question
    assert "master_todo.json" in run.waiting_for.question
    path.write_text(whole)
    assert bench.answer("a").items[1].status is Status.FIXED


def test_what_shares_a_file_is_one_step_after_the_other_and_the_rest_side_by_side(bench):
    run = planned(
        bench,
        review("mean", "cheapest", "page"),
        fixer(*map(fix, FAULTS)),
        scores(F001=95, F002=95, F003=95),
    )
    steps = json.loads((bench.artifacts() / "plan" / "master_todo.json").read_text())[
        "execution_steps"
    ]
    by_code = {issue["code"]: step["step"] for step in steps for issue in step["issues"]}
    paths = {f"F{item.number:03}": item.lead.spot.path for item in run.items.values()}
    shared = [code for code, path in paths.items() if path == "shop/prices.py"]
    assert sorted(by_code[code] for code in shared) == [1, 2]
    run = bench.answer("a")
    assert {item.status for item in run.items.values()} == {Status.FIXED}
    assert len(run.landing.landed) == 3


def test_a_low_score_goes_back_with_the_feedback_and_is_fixed_once_more(bench):
    bench.play(
        review("mean"),
        question("F001"),
        READY,
        {**PLANS, "answer": {"issues": [todo("F001", "guard it")]}, "session": "plan"},
        fixer(fix("mean"), round=1, session="work", prompt="Return None"),
        fixer(fix("mean"), prompt=[FAULTS["mean"][0], "worth 70", EDITS["mean"][2]]),
        scores(F001=70, times=1),
        scores(F001=95),
        agents=("robot", "critic"),
    )
    watch = Watch()
    bench.run("challenged", watch=watch)
    bench.answer({"F001-q1": "Return None"})
    run = bench.answer("a")
    item = run.items[1]
    assert item.status is Status.FIXED
    calls = read_calls(bench.folder / "calls.jsonl")
    talk = dict.fromkeys((call.role, call.session) for call in calls if call.agent == "robot")
    assert [each for each in talk if each[0] in ("clarifier", "planner", "fixer")] == [
        ("clarifier", ""), ("clarifier", "talk"), ("planner", "talk"), ("fixer", "plan"),
        ("fixer", "work"),
    ], "one conversation from the first question to the re-fix"  # fmt: skip
    assert [attempt.fact for attempt in item.attempts] == [
        Fact.SAID_FIXED, Fact.REJECTED, Fact.SAID_FIXED, Fact.COMMITTED,
    ]  # fmt: skip
    assert "scored 70 of 90 needed" in item.attempts[1].why
    assert ProofClass.REVIEWED in {proof.kind for proof in item.proofs}
    assert run.by_item.scores[1].score == 95


def test_after_one_fix_and_one_re_fix_it_is_filed(bench):
    sure = fixer(fix("page", confidence=100), prompt="how sure you are")
    bench.play(review("page"), READY, PLANS, sure, scores(F001=89))
    bench.run("challenged")
    run = bench.answer("a")
    assert run.items[1].status is Status.FILED, "that the fixer is sure proves nothing"
    assert (run.by_item.confidence, run.items[1].proofs) == ({1: 100}, ())
    assert [role for _, role in bench.calls].count("fixer") == 2
    assert not run.landing.landed


@pytest.mark.parametrize(
    "said",
    [
        {"issues": {"F001": {"score": 3, "status": "SOLVED"}}},
        "all is well, ship it",
        *rarely(
            {"issues": {"F001": {"status": "SOLVED"}}},
            {"issues": {"F001": {"score": 900, "status": "SOLVED"}}},
            {"issues": {}},
        ),
    ],
)
def test_the_number_beats_the_word_and_no_number_approves_nothing(bench, said):
    bench.play(
        review("page"), READY, PLANS, fixer(fix("page")), {"role": "challenger", "answer": said}
    )
    bench.run("challenged")
    run = bench.answer("a")
    if "3" in json.dumps(said):
        assert run.items[1].status is Status.FILED
        assert not run.landing.landed
        return
    assert [role for _, role in bench.calls].count("fixer") == 1, "nothing is bought again"
    assert {proof.kind for proof in run.items[1].proofs} == {ProofClass.CLAIM, ProofClass.CHECKED}


CRASHED = {"role": "challenger", "fail": {"text": "boom", "trouble": "crashed"}}


def test_a_challenger_that_crashes_approves_nothing(bench):
    """It rejects nothing either: the tests decide, and that is said."""
    bench.play(review("mean"), READY, PLANS, fixer(fix("mean")), CRASHED)
    bench.run("challenged")
    watch = Watch()
    run = bench.answer("a", watch=watch)
    assert all("boom" in event.failed for event in watch.of(Challenged))
    assert {proof.kind for proof in run.items[1].proofs} == {ProofClass.CLAIM, ProofClass.CHECKED}
    assert [role for _, role in bench.calls].count("fixer") == 1
    (gap,) = [gap for gap in find_gaps(run) if "boom" in gap.why]
    assert gap.what == "robot was to judge fixes and gave no verdict: the other proofs decided"


def test_without_a_verdict_and_without_another_proof_the_fix_waits_and_is_not_bought_again(bench):
    slow, hurry = {**scores(F001=95), "seconds": 20}, "[role.challenger]\ntimeout = 0.5\n"
    bench.play(review("mean"), READY, PLANS, fixer(fix("mean")), slow, settings=hurry)
    bench.run("challenged", allow_checks=False)
    run = bench.answer("a")
    item = run.items[1]
    assert (item.status, run.ended) == (Status.DEFERRED, "incomplete")
    assert item.attempts[-1].fact is Fact.ABSENT
    assert "robot gave no verdict on its fix" in item.attempts[-1].why
    assert [role for _, role in bench.calls].count("fixer") == 1
    assert (not run.landing.landed, run.filing.listed) == (True, (1,))


def test_a_challenger_has_two_minutes_and_a_fixer_fifteen_unless_the_settings_say_it(bench):
    bench.play(review())

    def seconds(workflow="challenged", **flags):
        named = {name.replace("__", "."): value for name, value in flags.items()}
        started = bench.run(workflow, flags=named, force=True).started
        roles = json.loads(started.settings)["settings"].get("role", {})
        return {role: roles[role]["timeout"] for role in ("fixer", "challenger") if role in roles}

    assert seconds() == {"fixer": 900, "challenger": 120}
    assert seconds(role__challenger__timeout="300") == {"fixer": 900, "challenger": 300}
    assert seconds(agents__timeout="60") == {}, "what the user set for all counts for these roles"
    assert seconds("proven") == {}
    for wrong in ({"role__fixer__timeout": "-1"}, {"threshold": "101"}, {"rounds": "101"}):
        with pytest.raises(SettingsError, match=next(iter(wrong)).replace("__", ".")):
            seconds(**wrong)


def test_rounds_and_threshold_are_settings_of_every_workflow_that_has_them(bench):
    bench.play(review())

    def started(workflow, **flags):
        return bench.run(workflow, flags=flags, force=True).started

    asked = started("challenged", threshold="95", rounds="4")
    assert (asked.threshold, asked.rounds) == (95, 4)
    assert "threshold: 95" in asked.workflow
    assert started("review", threshold="95", rounds="4").workflow == load_workflow("review").text
    usual = started("challenged")
    assert (usual.threshold, usual.rounds) == (None, None)
    assert "threshold: 90" in usual.workflow


def test_the_challenger_is_another_agent_and_conversations_go_on(bench):
    bench.play(
        review("mean"),
        question("F001"),
        READY,
        {**PLANS, "answer": {"issues": [todo("F001", "guard it", files=["shop/prices.py"])]}},
        fixer(fix("mean"), session="work"),
        scores(F001=95),
        agents=("claude-like", "gemini-like"),
    )
    bench.run("challenged")
    watch = Watch()
    bench.answer({"F001-q1": "None"})
    run = bench.answer("a", watch=watch)
    assert ("gemini-like", "challenger") in bench.calls
    assert ("claude-like", "fixer") in bench.calls
    assert run.asking.sessions["plan"] == "claude-like:talk"
    assert run.asking.sessions["item 1"] == "claude-like:work"
    assert run.by_item.todos[1].steps == ("guard it",)
    assert watch.of(Attempted)
    assert watch.of(Planned)


def test_without_an_agent_it_says_what_is_missing(bench):
    bench.play(review("mean"), agents=())
    with pytest.raises(UsageError, match="needs an agent to play clarifier") as raised:
        bench.run("challenged")
    assert "--agent" in raised.value.hint
