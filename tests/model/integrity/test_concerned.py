"""Which tests speak of the code that a finding is about."""

import pytest

from punchlist.model.integrity.code_names import find_code_names
from punchlist.model.integrity.related_tests import find_mentions, select_related

MODULE = """
NUMERALS = [(10, "X"), (1, "I")]


def to_roman(number):
    return [letter for value, letter in NUMERALS]


def other():
    return 1


class Cache:
    def get(self, key):
        return None

    def put(self, key):
        return _clean(key)


def _clean(key):
    return key
"""
TESTS = """
import unittest

import pytest
from app.roman import Cache, other, to_roman as roman_of
from app import roman


def shown(number):
    return roman_of(number)


@pytest.fixture
def cache():
    return Cache()


def test_nine():
    assert roman_of(9) == "IX"


def test_by_module():
    assert roman.to_roman(4) == "IV"


def test_by_helper():
    assert shown(4) == "IV"


def test_other():
    assert other() == 1


def test_get(cache):
    assert cache.get("a") is None


class Put(unittest.TestCase):
    def setUp(self):
        self.cache = Cache()

    def test_put(self):
        self.assertEqual(self.cache.put("a"), "a")
"""
ROMAN = {"test_nine", "test_by_module", "test_by_helper"}
ALL = {*ROMAN, "test_other", "test_get", "Put::test_put"}


def concerned(line, words="", *, tests=ALL, path="app/roman.py", text=TESTS, elsewhere=None):
    names = find_code_names(path, MODULE, line, words)
    ids = [f"tests/t.py::{test}" for test in tests]
    more = [elsewhere] if elsewhere else []
    found = select_related(find_mentions(ids, text, path, *more), names)
    return {test.removeprefix("tests/t.py::") for test in found.tests}, found.direct


@pytest.mark.parametrize(
    ("line", "tests"),
    [(6, ROMAN), (9, {"test_other"}), (15, {"test_get"}), (18, {"Put::test_put"}), (2, ROMAN)],
    ids=["function", "other function", "method", "other method", "table"],
)
def test_the_definition_around_a_line_is_what_tests_call(line, tests):
    assert concerned(line) == (tests, True)


@pytest.mark.parametrize("line", [None, 999, 3], ids=["none", "beyond", "outside any function"])
def test_without_a_place_all_tests_of_the_file_count(line):
    assert concerned(line) == (ALL, False)


def test_without_a_place_the_words_say_what_is_meant():
    assert concerned(None, "to_roman() forgets the nines") == (ROMAN, True)


def test_code_that_no_test_names_is_judged_by_what_uses_it():
    assert concerned(22) == ({"test_get", "Put::test_put"}, False)
    assert concerned(15, tests={"Put::test_put"}) == ({"Put::test_put"}, False)


def test_code_in_a_function_is_not_judged_by_tests_of_other_functions():
    assert concerned(9, tests=ROMAN) == (set(), True)


def test_cases_of_a_parametrised_test_and_dotted_names_are_found():
    ids = ("tests/t.py::test_nine[a-b::c]", "tests.t.Put.test_put")
    found = find_mentions(ids, TESTS, "app/roman.py")
    assert "to_roman" in found[ids[0]]
    assert {"Cache", "put"} <= found[ids[1]]


def test_a_name_that_comes_from_another_file_is_not_this_one():
    others = {("app.roman", "to_roman"), ("app.roman", "other"), ("app.roman", "Cache")}
    found, _ = concerned(6, path="app/greek.py", elsewhere=lambda *each: each in others)
    assert found == set()
    facade = TESTS.replace("app.roman", "app").replace("from app import roman", "")
    assert concerned(9, text=facade)[0] == {"test_other"}, "the package may hand it on"


def test_a_file_that_does_not_name_the_package_is_not_concerned():
    text = "from shop import other\n\n\ndef test_other():\n    assert other() == 1\n"
    assert concerned(9, text=text)[0] == set()


def test_what_cannot_be_read_concerns_nobody():
    assert find_mentions(["tests/t.py::test_nine"], "def (", "app/roman.py") == {}
    assert find_code_names("app/roman.py", "X = (\n", 1)[-1].sets == ({"roman"},)


MEAN = "def mean(xs):\n    return sum(xs)\n\n\ndef line(xs):\n    return f'{mean(xs)}'\n\n\ndef rest(xs):\n    return xs\n"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("For no values `mean` should be None, and `line` should say so", {"mean", "line"}),
        ("mean() of nothing fails, and so does line()", {"mean", "line"}),
        ("This line is wrong", {"mean"}),
        ("`rest` has nothing to do with it", {"mean"}),
    ],
)
def test_what_uses_the_function_is_meant_where_the_finding_names_it(words, names):
    assert find_code_names("app/m.py", MEAN, 2, words)[0].sets == (names,)
