"""The table of the workflows' features names tests that exist."""

from pathlib import Path

import pytest
from test_conformance_table import NAMED, absent

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "five-workflows.md"
ROWS = [
    line
    for line in PAGE.read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| feature", "|---"))
]


@pytest.mark.parametrize("row", ROWS)
def test_every_feature_names_tests_that_exist(row):
    assert NAMED.search(row)
    assert absent(row) == []


def test_all_five_are_there():
    text = PAGE.read_text("utf-8")
    assert all(
        f"\n## {name}\n" in text
        for name in ("unified", "accountable", "challenged", "converge", "verified")
    )
