"""A workflow for one run: with other rounds, with another threshold, without fixes."""

import pytest

from punchlist.errors import UsageError
from punchlist.workflow.adjust import adjust_workflow
from punchlist.workflow.language import Do, Repeat
from punchlist.workflow.loader import builtin_names, load_builtin, parse_workflow

SHORT = """
steps:
  - review
  - consolidate
  - challenge
  - repeat: {steps: [plan, fix, verify, challenge, commit, {stop-when: settled}]}
  - report
"""


def steps(workflow) -> list[Do]:
    return [
        step
        for outer in workflow.steps
        for step in (outer.steps if isinstance(outer, Repeat) else (outer,))
        if isinstance(step, Do)
    ]


@pytest.mark.parametrize(
    ("name", "asked", "said"),
    [
        ("verified", {"rounds": -1}, "rounds: -1 is not a number from 0 to 100"),
        ("verified", {"rounds": 101}, "rounds: 101 is not a number from 0 to 100"),
        ("challenged", {"threshold": 0}, "threshold: 0 is not a score from 1 to 100"),
        ("challenged", {"threshold": 101}, "threshold: 101 is not a score from 1 to 100"),
        ("verified", {"threshold": 90}, "no agent scores fixes in the workflow verified"),
        ("challenged", {"threshold": 90, "rounds": 0}, "no agent scores fixes"),
        ("review", {"rounds": 2}, "the workflow review has no rounds"),
        ("review", {"rounds": 0}, "the workflow review has no rounds"),
        ("converge", {"rounds": 0}, "converge reviews within its rounds"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason_and_what_to_do(name, asked, said):
    with pytest.raises(UsageError, match=said) as refused:
        adjust_workflow(load_builtin(name), **asked)
    assert refused.value.hint


def test_what_was_not_asked_for_stays_as_it_is():
    for name in builtin_names():
        workflow = load_builtin(name)
        assert adjust_workflow(workflow) is workflow


@pytest.mark.parametrize("name", ["unified", "accountable", "challenged", "verified", "proven"])
def test_without_rounds_a_workflow_reviews_and_reports_and_asks_for_no_fix(name):
    verbs = [step.verb for step in steps(adjust_workflow(load_builtin(name), rounds=0))]
    assert verbs == ["review", "consolidate", "report"]


@pytest.mark.parametrize(
    ("workflow", "attempts"),
    [
        (load_builtin("verified"), 7),
        (load_builtin("challenged"), 7),
        (parse_workflow(SHORT, "short", "short"), 7),
        (load_builtin("unified"), 3),
        (load_builtin("proven"), 3),
    ],
)
def test_an_item_may_be_tried_in_every_round_where_it_could_before(workflow, attempts):
    asked = adjust_workflow(workflow, rounds=7)
    assert [step.rounds for step in asked.steps if isinstance(step, Repeat)] == [7]
    (plan,) = (step.options for step in steps(asked) if step.verb == "plan")
    assert plan.attempts == attempts
    assert parse_workflow(asked.text, asked.name, "pinned").steps == asked.steps


@pytest.mark.parametrize("text", [SHORT, load_builtin("challenged").text])
def test_the_threshold_is_that_of_every_challenge_and_is_in_the_text_that_a_run_pins(text):
    asked = adjust_workflow(parse_workflow(text, "mine", "mine"), threshold=95)
    scored = [step.options for step in steps(asked) if step.verb == "challenge"]
    assert {options.threshold for options in scored} == {95}
    assert parse_workflow(asked.text, "mine", "pinned").steps == asked.steps
