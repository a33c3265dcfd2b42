"""The table of behaviours names tests that exist, and leaves no behaviour out."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "conformance.md"
ROW = re.compile(
    r"^\| (?P<number>[A-Z]\d+a?) \| (?P<behaviour>[^|]+) \| (?P<shown>[^|]+) \|$", re.MULTILINE
)
NAMED = re.compile(r"`(?P<file>[\w/]+\.py)::(?P<name>\w+)`")
ROWS = {row["number"]: row["shown"] for row in ROW.finditer(TABLE.read_text("utf-8"))}


@cache
def names_in(file: Path) -> frozenset[str]:
    """The names of the tests in a file, also of those in classes."""
    tree = ast.parse(file.read_text("utf-8"))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    )


def absent(shown: str) -> list[str]:
    named = [(found["file"], found["name"]) for found in NAMED.finditer(shown)]
    files = {file: ROOT / "tests" / file for file, _ in named}
    return [
        f"{file}::{name}"
        for file, name in named
        if not files[file].is_file() or name not in names_in(files[file])
    ]


def test_every_behaviour_has_a_row():
    assert [number for number in ROWS if number.startswith(("C", "L"))] == [
        "L1",
        "L2",
        *(f"C{n}" for n in range(1, 35)),
        "C34a",
        *(f"C{n}" for n in range(35, 49)),
    ]


@pytest.mark.parametrize("number", ROWS)
def test_every_row_names_tests_and_all_of_them_exist(number):
    assert NAMED.search(ROWS[number])
    assert absent(ROWS[number]) == []


def test_every_test_that_is_named_anywhere_on_the_page_exists():
    assert absent(TABLE.read_text("utf-8")) == []


def test_a_name_that_is_not_there_is_noticed():
    assert absent("`model/dedup/test_merge.py::test_nothing_of_the_kind`") == [
        "model/dedup/test_merge.py::test_nothing_of_the_kind"
    ]
    assert absent("`nowhere/test_x.py::test_y`") == ["nowhere/test_x.py::test_y"]
