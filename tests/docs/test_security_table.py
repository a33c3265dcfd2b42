"""What the page about dangers says is done about a danger names the tests that show it, and they exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for line in (ROOT / "docs/explanation/dangers.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and "`tests/" in line
]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_row_has_a_danger_what_is_done_and_its_tests():
    rows = [
        line
        for line in (ROOT / "docs/explanation/dangers.md").read_text("utf-8").splitlines()
        if line.startswith("| ")
    ]
    assert len(TABLE) == len(rows) - 1, "a row without a test"
    assert all(len(row) == 3 and all(row) for row in TABLE)


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_the_tests_of_a_row_exist(row):
    named = TEST.findall(row[-1])
    assert named
    assert re.sub(r"[\s,]", "", TEST.sub("", row[-1])) == "", "something else than tests"
    for path, name in named:
        assert re.search(
            rf"^(?:async )?def {name}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE
        ), name


def test_the_page_for_people_in_a_hurry_stays_short():
    assert len((ROOT / "SECURITY.md").read_bytes()) <= 6000
