"""With one item asked about, an answer can only speak of that item."""

import pytest

from punchlist.model.item.claim import ClaimOutcome
from punchlist.roles.answers.fix_answer import parse_statements
from punchlist.roles.prompting.budget import PromptPiece, Section
from punchlist.roles.prompting.template import load_prompt, render_template


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('{"outcomes": [{"id": "F003", "outcome": "fixed"}]}', ClaimOutcome.FIXED),
        ('{"outcomes": [{"id": "calc.py", "outcome": "fixed"}]}', ClaimOutcome.FIXED),
        ('{"results": [{"outcome": "done", "explanation": "x"}]}', ClaimOutcome.FIXED),
        ('{"outcome": "fixed", "explanation": "it adds now"}', ClaimOutcome.FIXED),
        ('Done.\n```json\n{"id": "BUG-1", "status": "resolved"}\n```', ClaimOutcome.FIXED),
        ('{"outcomes": [{"id": "F999", "outcome": "deferred", "explanation": "half"}]}', ClaimOutcome.DEFERRED),
        ('{"outcomes": [{"id": "add()", "outcome": "contested", "explanation": "is right"}]}', ClaimOutcome.CONTESTED),
    ],
)  # fmt: skip
def test_whatever_it_calls_the_item_the_outcome_is_that_item_s(text, outcome):
    said = parse_statements(text, {7}, "/tree")
    assert [(report.item, report.outcome) for report in said.reports] == [(7, outcome)]


def test_the_right_name_goes_before_wrong_ones():
    text = (
        '{"outcomes": [{"id": "F001", "outcome": "deferred"}, {"id": "F007", "outcome": "fixed"}]}'
    )
    said = parse_statements(text, {7}, "/tree")
    assert [(report.item, report.outcome) for report in said.reports] == [(7, ClaimOutcome.FIXED)]
    assert said.unknown == ("F001",)


def test_wrong_names_that_contradict_each_other_are_no_report():
    text = '{"outcomes": [{"id": "F1", "outcome": "deferred"}, {"id": "F2", "outcome": "fixed"}]}'
    assert parse_statements(text, {7}, "/tree").contradicted == (7,)


def test_of_several_items_a_wrong_name_is_nobodys():
    said = parse_statements('{"outcomes": [{"id": "F003", "outcome": "fixed"}]}', {7, 8}, "/tree")
    assert (said.reports, said.unknown) == ((), ("F003",))


@pytest.mark.parametrize("role", ["fixer", "reproducer", "planner", "clarifier", "challenger"])
def test_the_example_in_the_prompt_has_the_id_of_an_item(role):
    pieces = (PromptPiece("F042", "### F042"), PromptPiece("F043", "### F043"))
    sections = [Section("items", pieces, 0.5)]
    text = render_template(load_prompt(role), {}, sections, 90_000).text
    assert '"F042' in text.split("```json\n")[-1]
    assert "F003" not in text
