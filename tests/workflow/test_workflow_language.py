"""The workflow language: small, and every mistake is named with file, path and remedy."""

import pytest
import yaml

from punchlist.errors import WorkflowError
from punchlist.steps.plan import Options as Plan
from punchlist.workflow.language import Do, OnLimit, Repeat, StopWhen, Until
from punchlist.workflow.loader import (
    builtin_names,
    hash_text,
    load_builtin,
    load_parsed,
    load_workflow,
    parse_workflow,
)

GOOD = """
about: a test
steps:
  - review
  - consolidate: {rule: near}
  - repeat:
      rounds: 3
      on_limit: ask
      steps:
        - plan: {floor: major}
        - fix: {}
        - stop-when: no-must-fix
  - report: {}
"""


def mistakes(text: str) -> str:
    with pytest.raises(WorkflowError) as caught:
        parse_workflow(text, "mine", "mine.yaml")
    return str(caught.value)


def test_a_file_is_verbs_one_loop_form_and_one_stop_form():
    workflow = parse_workflow(GOOD, "mine", "mine.yaml")
    loop = workflow.steps[2]
    assert isinstance(loop, Repeat)
    assert (loop.rounds, loop.on_limit, loop.hard_cap) == (3, OnLimit.ASK, 5)
    assert loop.steps[0] == Do("plan", Plan(floor="major"))
    assert loop.steps[2] == StopWhen(Until.NO_MUST_FIX)


@pytest.mark.parametrize("name", builtin_names())
def test_every_built_in_workflow_loads_and_says_what_it_is_about(name):
    assert load_builtin(name).about


def test_proven_is_built_in_and_a_path_loads_a_file(tmp_path):
    assert load_workflow("proven").name == "proven"
    (tmp_path / "mine.yaml").write_text(GOOD)
    assert load_workflow(str(tmp_path / "mine.yaml")).name == "mine"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "steps: [{reviw: {}}]",
            'mine.yaml: steps[0]: no verb is called "reviw"; did you mean "review"?',
        ),
        (
            "steps: [{plan: {flor: major}}]",
            'mine.yaml: steps[0].plan.flor: no such option; did you mean "floor"?',
        ),
        (
            "steps: [{plan: {attempts: many}}]",
            "mine.yaml: steps[0].plan.attempts: Expected `int`, got `str`",
        ),
        (
            "steps: [{plan: {floor: awful}}]",
            "mine.yaml: steps[0].plan.floor: Invalid enum value 'awful'",
        ),
        ("steps: [{repeat: {rounds: 2, steps: [plan]}}]", "needs exactly one `stop-when`, has 0"),
        (
            "steps: [{repeat: {rounds: 0, steps: [{stop-when: settled}]}}]",
            "rounds: must be at least 1",
        ),
        ("steps: [{stop-when: settled}]", "steps[0].stop-when: belongs only inside repeat"),
        (
            "steps: [{repeat: {steps: [{repeat: {steps: []}}, {stop-when: settled}]}}]",
            "belongs not inside another repeat",
        ),
        ("steps: [{repeat: {steps: [{stop-when: setled}]}}]", 'did you mean "settled"?'),
        ("steps: [{review: {}, plan: {}}]", "steps[0]: must be one `verb: {options}`"),
        ("step: []\nsteps: [review]", 'mine.yaml: step: unknown key; did you mean "steps"?'),
        ("steps: [review, consolidate]", "mine.yaml: steps: must end with `report`"),
        (
            "steps: [{repeat: {steps: [review, report, {stop-when: settled}]}}]",
            "mine.yaml: steps: must end with `report`",
        ),
        ("steps: []", "must be a list with at least one step"),
        ("- review", "must have `about` and `steps`"),
        ("steps: [review", "mine.yaml: line 1, column"),
        ("steps: [&a review, *a]", "aliases"),
        ("", "must have `about` and `steps`"),
    ],
)
def test_a_mistake_names_the_file_the_path_and_a_remedy(text, said):
    assert said in mistakes(text)


def test_all_mistakes_of_a_file_are_told_at_once():
    said = mistakes("steps: [{reviw: {}}, {plan: {flor: 1}}, {repeat: {steps: []}}]")
    assert len(said.splitlines()) == 3


def test_an_unknown_name_is_met_with_a_guess():
    with pytest.raises(WorkflowError, match='did you mean "proven"'):
        load_workflow("provn")


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(WorkflowError, match=r"gone\.yaml: cannot be read"):
        load_workflow(str(tmp_path / "gone.yaml"))
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WorkflowError, match="cannot be read"):
        load_workflow(str(tmp_path / "bytes.yaml"))


def test_a_huge_file_is_no_workflow():
    assert "is no workflow" in mistakes("a" * 100_000)


def test_what_is_kept_parsed_of_the_built_in_workflows_is_what_they_say():
    texts = [load_builtin(name).text for name in builtin_names()]
    said = {hash_text(text): yaml.safe_load(text) for text in texts}
    assert load_parsed() == said, "run: make reference"
