"""SARIF in: all runs, results, rules, places and fixes; nothing odd in it costs the rest."""

import asyncio
import json

import pytest
from folder_tree import CODE

from punchlist.adapters.documents.document import FindingsDocument
from punchlist.model.finding.finding import Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.patch import apply_splices


@pytest.fixture
def reading(tmp_path, tree):
    def analysis(*results, **run):
        path = tmp_path / "x.sarif"
        run = {"tool": {"driver": {"name": "lint"}}, "results": list(results), **run}
        path.write_text(json.dumps({"version": "2.1.0", "runs": [run, *run.pop("more", [])]}))
        return asyncio.run(FindingsDocument.open(path).analyze(tree, None))

    return analysis


def result(uri="src/a.py", region=None, **more):
    where = {
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            **({"region": region} if region else {}),
        }
    }
    return {"ruleId": "R1", "message": {"text": "Bad thing"}, "locations": [where], **more}


def only(analysis):
    (finding,) = analysis.findings
    assert analysis.refused == ()
    return finding


def test_a_result_with_its_place(reading):
    finding = only(
        reading(
            result(
                region={"startLine": 5, "startColumn": 5, "endLine": 5, "endColumn": 10},
                level="error",
            )
        )
    )
    assert finding.spot == Spot("src/a.py", 5, 5, 5, 10)
    assert (finding.title, finding.rule, finding.severity, finding.source) == (
        "Bad thing",
        "R1",
        Severity.CRITICAL,
        "file:x.sarif",
    )
    assert finding.category == "lint"
    assert finding.context.span == "query"


def test_all_runs_are_read_and_their_findings_numbered_apart(reading):
    other = {"tool": {"driver": {"name": "other"}}, "results": [result(), result()]}
    analysis = reading(result(), more=[other])
    assert [f.category for f in analysis.findings] == ["lint", "other", "other"]
    assert len({f.id for f in analysis.findings}) == 3


@pytest.mark.parametrize(
    ("level", "rule", "severity"),
    [
        ("error", {}, Severity.CRITICAL),
        ("warning", {}, Severity.MAJOR),
        ("note", {}, Severity.MINOR),
        ("none", {}, Severity.MINOR),
        (None, {}, Severity.MAJOR),
        (None, {"defaultConfiguration": {"level": "note"}}, Severity.MINOR),
        ("warning", {"properties": {"security-severity": "9.8"}}, Severity.CRITICAL),
        ("error", {"properties": {"security-severity": "5.0"}}, Severity.MAJOR),
        ("error", {"properties": {"security-severity": 2}}, Severity.MINOR),
        ("error", {"properties": {"security-severity": "high?"}}, Severity.CRITICAL),
        ("dreadful", {}, Severity.MAJOR),
    ],
)
def test_levels_and_security_scores_are_ranks(reading, level, rule, severity):
    tool = {"driver": {"name": "lint", "rules": [{"id": "R1", **rule}]}}
    assert only(reading(result(level=level), tool=tool)).severity is severity


def test_rules_lend_texts_and_links(reading):
    rules = [
        None,
        {
            "id": "R1",
            "helpUri": "https://example.org/R1",
            "messageStrings": {"m": {"text": "{0} is {{bad}} at [here](1)"}},
        },
        {"id": "R2", "shortDescription": {"text": "Second rule"}},
    ]
    tool = {"driver": {"name": "lint", "rules": rules}}
    finding = only(reading(result(message={"id": "m", "arguments": ["x"]}), tool=tool))
    assert (finding.title, finding.url) == ("x is {bad} at here", "https://example.org/R1")
    by_index = result(message={}, ruleIndex=2)
    del by_index["ruleId"]
    finding = only(reading(by_index, tool=tool))
    assert (finding.title, finding.rule) == ("Second rule", "R2")


@pytest.mark.parametrize(
    "uri",
    [
        "src/with space.py",
        "src/with%20space.py",
        "./src/with%20space.py",
        "file:///home/ci/checkout/src/with%20space.py",
    ],
)
def test_uris_of_any_machine_are_paths_below_the_root(reading, uri):
    bases = {"SRCROOT": {"uri": "file:///home/ci/checkout/"}}
    finding = only(reading(result(uri), originalUriBaseIds=bases))
    assert (finding.spot.path, finding.marks) == ("src/with space.py", ())


def test_bases_may_stand_on_bases_and_go_in_circles(reading):
    bases = {
        "ROOT": {"uri": "file:///ci/"},
        "SRC": {"uri": "src/", "uriBaseId": "ROOT"},
        "A": {"uri": "x/", "uriBaseId": "A"},
    }
    where = {"physicalLocation": {"artifactLocation": {"uri": "a.py", "uriBaseId": "SRC"}}}
    assert (
        only(
            reading({**result(), "locations": [where]}, originalUriBaseIds={**bases, "ROOT": {}})
        ).spot.path
        == "src/a.py"
    )
    where = {"physicalLocation": {"artifactLocation": {"uri": "a.py", "uriBaseId": "A"}}}
    assert only(reading({**result(), "locations": [where]}, originalUriBaseIds=bases)).marks


def test_a_location_may_be_an_index_into_the_artifacts(reading):
    where = {"physicalLocation": {"artifactLocation": {"index": 1}}}
    artifacts = [{"location": {"uri": "x"}}, {"location": {"uri": "src/a.py"}}]
    assert (
        only(reading({**result(), "locations": [where]}, artifacts=artifacts)).spot.path
        == "src/a.py"
    )


def test_columns_in_utf16_are_columns_in_characters(reading):
    region = {"startLine": 1, "startColumn": 11, "endColumn": 12}
    assert (
        only(reading(result("src/emoji.py", region), columnKind="utf16CodeUnits")).spot.column == 10
    )
    assert (
        only(reading(result("src/emoji.py", region), columnKind="unicodeCodePoints")).spot.column
        == 11
    )


def test_a_region_of_characters_has_a_line(reading):
    assert (
        only(reading(result(region={"charOffset": CODE.index("query"), "charLength": 5}))).spot.line
        == 5
    )


def test_a_result_at_several_places_names_them(reading):
    more = (
        result(region={"startLine": 1})["locations"]
        + result("src/with space.py", {"startLine": 4})["locations"]
    )
    assert only(reading({**result(), "locations": more})).detail == "Also at src/with space.py:4"


def fix(*replacements, uri="src/a.py"):
    return {
        "description": {"text": "Replace it"},
        "artifactChanges": [{"artifactLocation": {"uri": uri}, "replacements": list(replacements)}],
    }


def test_plain_replacements_are_a_fix(reading):
    edits = [
        {
            "deletedRegion": {"startLine": 1, "startColumn": 8, "endColumn": 10},
            "insertedContent": {"text": "sys"},
        },
        {"deletedRegion": {"startLine": 6}, "insertedContent": {"text": "    return query"}},
        {"deletedRegion": {"charOffset": len(CODE)}, "insertedContent": {"text": "# end\n"}},
        {"deletedRegion": {"startLine": 2, "startColumn": 1, "endLine": 3, "endColumn": 1}},
    ]
    finding = only(reading(result(fixes=[fix(*edits)])))
    assert apply_splices(CODE, finding.fix.splices) == (
        "import sys\n\ndef search(name):\n    query = 'é' + name\n    return query\n# end\n"
    )
    assert finding.fix.title == "Replace it"


def test_a_fix_that_does_not_fit_or_is_binary_is_left_out_and_said(reading):
    binary = fix({"deletedRegion": {"startLine": 1}, "insertedContent": {"binary": "AAAA"}})
    beyond = fix({"deletedRegion": {"startLine": 100}, "insertedContent": {"text": "x"}})
    elsewhere = fix(
        {"deletedRegion": {"startLine": 1}, "insertedContent": {"text": "x"}}, uri="../x.py"
    )
    for proposal in (binary, beyond, elsewhere):
        finding = only(reading(result(fixes=[proposal])))
        assert finding.fix is None
        assert "left out" in finding.marks[0]


def test_a_suppressed_result_is_kept_and_marked(reading):
    finding = only(reading(result(suppressions=[{"kind": "inSource", "justification": "we know"}])))
    assert finding.marks == ("suppressed in the report (inSource): we know",)
    assert (
        only(reading(result(suppressions=[{"kind": "external", "status": "rejected"}]))).marks == ()
    )


def test_the_tools_fingerprint_is_the_label(reading):
    assert only(reading(result(partialFingerprints={"b": "2", "a": "1"}))).label == "1"
    assert (
        only(reading(result(fingerprints={"v": "9"}, partialFingerprints={"a": "1"}))).label == "9"
    )


def test_one_odd_result_never_costs_the_others(reading):
    analysis = reading(
        None,
        3,
        {},
        {"message": {"text": ""}},
        result(region={"startLine": "5"}),
        result(region={"startLine": 0}),
        result(fixes="none", suppressions=3),
        result(kind="pass"),
        result(baselineState="absent"),
        result(locations=None),
        {"message": {"text": "no rule, no place"}},
    )
    assert sorted(f.spot.line or 0 for f in analysis.findings) == [0, 0, 0, 0, 5]
    assert any("could not be read" in mark for f in analysis.findings for mark in f.marks)
    assert len(analysis.refused) == 4


def test_a_result_that_reports_no_problem_is_no_finding(reading):
    analysis = reading(
        result(kind="pass"), result(kind="notApplicable"), result(baselineState="absent")
    )
    assert (analysis.findings, analysis.refused, analysis.failed) == ((), (), "")


def test_half_a_character_costs_only_itself(reading):
    assert only(reading(result(message={"text": "caf\ud83d"}))).title == "caf\ufffd"


def test_a_rule_about_security_says_so(reading):
    for properties in ({"tags": ["security"]}, {"security-severity": "5"}):
        tool = {"driver": {"name": "lint", "rules": [{"id": "R1", "properties": properties}]}}
        assert only(reading(result(), tool=tool)).category == "security"


@pytest.mark.parametrize(
    ("run", "why"),
    [
        ({"results": None}, "nothing says that it looked"),
        ({"invocations": [{"executionSuccessful": False}]}, "did not succeed"),
        ({"tool": 3}, "in part only"),
    ],
)
def test_a_run_that_cannot_vouch_is_a_failure_and_its_findings_are_kept(reading, run, why):
    analysis = reading(result(), **run)
    assert why in analysis.failed
    assert len(analysis.findings) == (0 if "results" in run else 1)


def test_no_runs_are_never_clean(tmp_path, tree):
    (tmp_path / "x.sarif").write_text('{"version": "2.1.0", "runs": []}')
    assert (
        "nothing says"
        in asyncio.run(FindingsDocument.open(tmp_path / "x.sarif").analyze(tree, None)).failed
    )
    (tmp_path / "x.sarif").write_text('{"version": "1.0.0", "runs": [{}]}')
    assert (
        "SARIF 1.0.0"
        in asyncio.run(FindingsDocument.open(tmp_path / "x.sarif").analyze(tree, None)).failed
    )
