"""Evidence is what a runner said about the tests that failed, not whatever it said last."""

from punchlist.model.checks.excerpt import excerpt

UNITTEST = """..FF
======================================================================
FAIL: test_new (tests.test_shop.Shop.test_new)
----------------------------------------------------------------------
Traceback (most recent call last):
AssertionError: 1 != 2

======================================================================
FAIL: test_old (tests.test_shop.Shop.test_old)
----------------------------------------------------------------------
AssertionError: old news

----------------------------------------------------------------------
Ran 4 tests in 0.001s

FAILED (failures=2)
"""
PYTEST = """=================================== FAILURES ===================================
________________________________ Shop.test_new _________________________________
tests/test_shop.py:3: in test_new
E   AssertionError: 1 != 2
_________________________________ test_old[a] __________________________________
E   old news
=========================== short test summary info ============================
FAILED tests/test_shop.py::Shop::test_new - AssertionError
"""


def test_the_section_of_the_test_that_broke_is_shown_and_the_others_are_not():
    for output, test in (
        (UNITTEST, "tests.test_shop.Shop.test_new"),
        (PYTEST, "tests/test_shop.py::Shop::test_new"),
    ):
        said = excerpt(output, [test])
        assert "1 != 2" in said
        assert "old news" not in said
        assert "FAILED (" not in said


def test_a_parametrised_test_is_found_by_its_name():
    assert excerpt(PYTEST, ["tests/test_shop.py::test_old[a]"]).splitlines()[1] == "E   old news"


def test_without_a_section_the_end_of_the_output_is_shown():
    assert excerpt("something\nelse\n", ["a::b"]) == "something\nelse\n"
    assert excerpt("x" * 9000 + "end", []).endswith("end")
    assert len(excerpt("x" * 9000, [])) == 6000
