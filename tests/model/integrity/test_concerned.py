"""Which tests speak of the code that a finding is about."""

from punchlist.model.integrity.related_tests import find_names, find_related

MODULE = """
NUMERALS = [(10, "X"), (1, "I")]


def to_roman(number):
    return [letter for value, letter in NUMERALS]


def other():
    return 1


class Cache:
    def get(self, key):
        return None
"""
TESTS = """
from app.roman import Cache, other, to_roman
from app import roman


def test_nine():
    assert to_roman(9) == "IX"


def test_by_module():
    assert roman.to_roman(4) == "IV"


def test_other():
    assert other() == 1


class TestCache:
    def test_get(self):
        assert Cache().get("a") is None
"""
IDS = (
    "tests/t.py::test_nine",
    "tests/t.py::test_by_module",
    "tests/t.py::test_other",
    "tests/t.py::TestCache::test_get",
)


def test_the_outermost_definition_around_a_line_is_what_tests_call():
    assert find_names("app/roman.py", MODULE, 6) == {"to_roman"}
    assert find_names("app/roman.py", MODULE, 15) == {"Cache"}


def test_what_uses_a_table_is_meant_by_the_table():
    assert find_names("app/roman.py", MODULE, 2) == {"NUMERALS", "to_roman"}


def test_without_a_line_in_the_file_nothing_is_meant():
    assert (
        find_names("app/roman.py", MODULE, None)
        == find_names("app/roman.py", MODULE, 999)
        == frozenset()
    )
    assert find_names("app/roman.py", MODULE, 3) == frozenset()


def test_tests_that_name_the_code_are_concerned_and_others_are_not():
    assert find_related(IDS, TESTS, "app/roman.py", frozenset({"to_roman"})) == {IDS[0], IDS[1]}
    assert find_related(IDS, TESTS, "app/roman.py", frozenset({"Cache"})) == {IDS[3]}


def test_cases_of_a_parametrised_test_and_dotted_names_are_found():
    ids = ("tests/t.py::test_nine[a-b::c]", "tests.t.TestCache.test_get")
    assert find_related(ids, TESTS, "app/roman.py", frozenset({"to_roman", "Cache"})) == set(ids)


def test_a_file_that_does_not_name_the_module_is_not_concerned():
    assert find_related(IDS, TESTS, "app/greek.py", frozenset({"to_roman"})) == frozenset()


def test_what_cannot_be_read_concerns_nobody():
    assert find_related(IDS, "def (", "app/roman.py", frozenset({"to_roman"})) == frozenset()
    assert find_names("app/roman.py", "X = (\n", 1) == frozenset()
