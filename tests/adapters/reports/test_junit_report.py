"""JUnit XML, as a build server would read it."""

from xml.etree import ElementTree as ET

import pytest

from punchlist.adapters.reports import junit
from punchlist.model.item.item import Status


def cases(run, suite: str):
    root = ET.fromstring(junit.render(run))
    return list(root.find(f"testsuite[@name='punchlist.{suite}']"))


def test_there_is_one_case_for_each_item_and_each_reviewer(run):
    assert len(cases(run, "items")) == len(run.items)
    assert [case.get("name") for case in cases(run, "reviewers")] == list(run.reviewing.reviews)


def test_only_what_is_fixed_with_a_proof_passes(run):
    passed = {
        case.get("name").split(":")[0]
        for case in cases(run, "items")
        if case.find("failure") is None and case.find("skipped") is None
    }
    assert passed == {f"item {item.number}" for item in run.find_items(Status.FIXED)}


def test_a_filed_item_fails_because_it_is_still_in_the_code(run):
    filed = next(case for case in cases(run, "items") if case.get("name").startswith("item 1:"))
    assert filed.find("failure").get("message").startswith("filed as .punchlist/issues/0001.md")
    assert filed.find("failure").get("type") == "critical"


def test_a_failed_reviewer_is_an_error(run):
    failed = [
        case.get("name") for case in cases(run, "reviewers") if case.find("error") is not None
    ]
    assert failed == ["semgrep"]


def test_the_tallies_add_up(run):
    root = ET.fromstring(junit.render(run))
    for tally, tag in (
        ("tests", None),
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ):
        counted = (
            len(root.findall(".//testcase")) if tag is None else len(root.findall(f".//{tag}"))
        )
        assert int(root.get(tally)) == counted


@pytest.mark.parametrize("suite", ["items", "reviewers"])
def test_hostile_text_leaves_the_xml_well_formed(nasty, suite):
    assert cases(nasty, suite)
