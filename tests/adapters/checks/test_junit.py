"""JUnit files: read for what they say, refused when they are cut, malformed or dangerous."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.adapters.checks import junit
from punchlist.adapters.checks.junit import JunitCase, parse_report, read_report
from punchlist.adapters.checks.test_ids import ModuleNames
from punchlist.model.checks.check import TestOutcome as Outcome

REPORT = (
    b'<?xml version="1.0"?><testsuites><testsuite tests="4">'
    b'<testcase classname="tests.test_a.TestA" name="test_one"/>'
    b'<testcase classname="tests.test_a" name="test_two[x.y]"><failure message="m">text</failure><error/></testcase>'
    b'<testcase classname="" name="tests.test_b"><error>collection</error></testcase>'
    b'<testcase classname="other" name="skips" file="spec/other.rb"><skipped/></testcase>'
    b"</testsuite></testsuites>"
)


def test_cases_outcomes_and_failures_are_counted():
    report = parse_report(REPORT)
    assert [case.outcome for case in report.cases] == [
        Outcome.PASSED,
        Outcome.FAILED,
        Outcome.FAILED,
        Outcome.SKIPPED,
    ]
    assert (report.failures, report.declared, report.trouble) == (3, 4, "")


def test_ids_are_made_of_the_files_the_tree_has():
    names = ModuleNames(["tests/test_a.py", "tests/test_b.py", "tests/__init__.py"])
    assert list(names.collect_outcomes(parse_report(REPORT).cases)) == [
        "tests/test_a.py::TestA::test_one",
        "tests/test_a.py::test_two[x.y]",
        "tests/test_b.py",
        "spec/other.rb::skips",
    ]


def test_a_test_listed_twice_has_its_worst_outcome():
    cases = [JunitCase("a", "t", "", outcome) for outcome in (Outcome.FAILED, Outcome.PASSED)]
    assert ModuleNames([]).collect_outcomes(cases) == {"a::t": Outcome.FAILED}


@given(st.integers(0, len(REPORT) - 1))
def test_a_report_cut_anywhere_is_trouble(length):
    assert parse_report(REPORT[:length]).trouble


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer(data):
    report = parse_report(data)
    assert report.trouble or not report.cases


@pytest.mark.parametrize(
    "data",
    [
        b'<!DOCTYPE t [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>',
        b'<!DOCTYPE t SYSTEM "file:///etc/passwd"><testsuite/>',
        b'<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite name="x">&x;</testsuite>',
    ],
)
def test_entities_and_document_types_are_refused(data):
    assert "a document type is not accepted" in parse_report(data).trouble


def test_a_missing_or_oversized_file_is_trouble(tmp_path, monkeypatch):
    assert "ended early" in read_report(tmp_path / "gone.xml").trouble
    assert "cannot be read" in read_report(tmp_path).trouble
    monkeypatch.setattr(junit, "LIMIT", 100)
    (tmp_path / "big.xml").write_bytes(REPORT)
    assert "its report of the tests is over" in read_report(tmp_path / "big.xml").trouble
