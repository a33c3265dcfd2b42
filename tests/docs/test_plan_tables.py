"""Each table of a plan behind a workflow names tests that exist, and says where punchlist deviates and why."""

import re

import pytest
from test_conformance_table import NAMED, TABLE, absent

SECTION = re.compile(
    r"^## The plan behind the workflow (\w+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL
)
PLANS = dict(SECTION.findall(TABLE.read_text("utf-8")))
ROWS = [
    (name, line)
    for name, text in PLANS.items()
    for line in text.splitlines()
    if line.startswith("| ") and not line.startswith("| requirement")
]

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("row", [line for _, line in ROWS], ids=[name for name, _ in ROWS])
def test_every_requirement_has_tests_that_exist_and_says_how_it_deviates(row):
    requirement, shown, differs = (part.strip() for part in row.strip("| ").split(" | "))
    assert requirement
    assert NAMED.search(shown)
    assert absent(shown) == []
    assert differs == "-" or differs.startswith(("adds: ", "deviates: "))


def test_all_five_plans_are_there_and_few_requirements_are_met_in_another_way():
    assert set(PLANS) == {"unified", "accountable", "challenged", "converge", "verified"}
    assert sum("| deviates: " in row for _, row in ROWS) <= 15
