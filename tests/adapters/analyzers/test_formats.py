"""Formats that any tool may write: SARIF, reviewdog's, and lines."""

import json
import time

import pytest

from punchlist.adapters.analyzers.formats import lines, rdjson, sarif
from punchlist.adapters.analyzers.formats.rdjson import ALTERNATIVES
from punchlist.intake.source_files import LOST_FIX, NO_SUCH_LINE, TORN_FIX, UNTRACKED, Sources
from punchlist.model.finding.finding import Safety
from punchlist.model.finding.paths import OUTSIDE
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.patch import apply_splices

TEXT = 'x = "é😀"; eval(x)\r\nprint(1)\n'


def region(line, start=None, end=None, **more):
    return {
        "startLine": line,
        **({"startColumn": start} if start else {}),
        **({"endColumn": end} if end else {}),
        **more,
    }


def at(uri, where=None, **more):
    return [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": uri, **more},
                **({"region": where} if where else {}),
            }
        }
    ]


def log(*results, **run):
    return json.dumps(
        {
            "version": "2.1.0",
            "runs": [{"tool": {"driver": {"name": "t"}}, "results": list(results), **run}],
        }
    ).encode()


@pytest.fixture
def sources(grown):
    return Sources(grown({"src/a b.py": TEXT, "src/c.py": "pass\n"}))


def test_a_sarif_result_is_read_with_its_rule(sources):
    rules = [
        {
            "id": "R1",
            "helpUri": "https://r",
            "properties": {"security-severity": "9.1", "tags": ["security"]},
        },
        5,
        {"id": "R3"},
    ]
    results = [
        {
            "ruleId": "R1",
            "message": {"text": "bad\nvery"},
            "locations": at("src/a%20b.py", region(1, 11, 18)),
        },
        {
            "ruleIndex": 2,
            "level": "note",
            "message": {"text": "m"},
            "locations": at("src/a%20b.py", region(2)),
        },
    ]
    analysis = sarif.parse(
        log(*results, tool={"driver": {"name": "t", "rules": rules}}), sources, "scan"
    )
    first, second = analysis.findings
    assert (first.id, first.source, first.spot.path, first.spot.column, first.spot.end_column) == (
        "scan:1",
        "scan",
        "src/a b.py",
        11,
        18,
    )
    assert (first.severity, first.category, first.url, first.title) == (
        Severity.CRITICAL,
        "security",
        "https://r",
        "bad",
    )
    assert (second.rule, second.severity, second.marks) == ("R3", Severity.MINOR, ())


def test_sarif_columns_may_be_utf_16(sources):
    result = {"message": {"text": "m"}, "locations": at("src/a b.py", region(1, 12, 19))}
    (finding,) = sarif.parse(log(result, columnKind="utf16CodeUnits"), sources).findings
    assert TEXT[finding.spot.column - 1 : finding.spot.end_column - 1] == "eval(x)"


def test_a_sarif_fix_is_several_replacements(sources):
    replacements = [
        {"deletedRegion": region(1, 11, 15), "insertedContent": {"text": "safe"}},
        {"deletedRegion": region(2), "insertedContent": {"text": "log(1)"}},
        {"deletedRegion": {"charOffset": 0, "charLength": 1}, "insertedContent": {"text": "y"}},
    ]
    fix = {
        "artifactChanges": [
            {"artifactLocation": {"uri": "src/a b.py"}, "replacements": replacements}
        ],
        "description": {"text": "d"},
    }
    (finding,) = sarif.parse(log({"message": {"text": "m"}, "fixes": [fix]}), sources).findings
    assert apply_splices(TEXT, finding.fix.splices) == 'y = "é😀"; safe(x)\r\nlog(1)\n'
    assert (finding.fix.safety, finding.fix.title) == (Safety.UNSAFE, "d")


def test_a_sarif_fix_at_odds_with_itself_is_left_out_and_said(sources):
    def fix(*regions):
        replacements = [
            {"deletedRegion": each, "insertedContent": {"text": "z"}} for each in regions
        ]
        return {
            "artifactChanges": [
                {"artifactLocation": {"uri": "src/a b.py"}, "replacements": replacements}
            ]
        }

    def read(*fixes):
        result = {
            "message": {"text": "m"},
            "locations": at("src/a b.py", region(1)),
            "fixes": fixes,
        }
        return sarif.parse(log(result), sources).findings[0]

    torn = fix(region(1, 1, 4), region(1, 2, 5))
    assert (read(torn).fix, read(torn).marks) == (None, (TORN_FIX,))
    assert read(torn, fix(region(1, 1, 4))).fix is not None, (
        "of several fixes, the first that can be made is taken"
    )


def test_sarif_paths_come_through_bases_and_indexes(sources):
    base = {"SRC": {"uri": "src/"}}
    results = [
        {"message": {"text": "1"}, "locations": at("c.py", region(1), uriBaseId="SRC")},
        {
            "message": {"text": "2"},
            "locations": [{"physicalLocation": {"artifactLocation": {"index": 0}}}],
        },
    ]
    artifacts = [{"location": {"uri": "src/c.py"}}]
    analysis = sarif.parse(log(*results, originalUriBaseIds=base, artifacts=artifacts), sources)
    assert [f.spot.path for f in analysis.findings] == ["src/c.py", "src/c.py"]


def test_odd_places_are_kept_and_marked(sources):
    results = [
        {"message": {"text": "m"}, "locations": at("/etc/passwd", region(1))},
        {"message": {"text": "m"}, "locations": at("gone.py", region(1))},
        {"message": {"text": "m"}, "locations": at("src/c.py", region(99))},
        {"message": {"text": "m"}, "level": "weird", "locations": at("src/c.py", region(1))},
    ]
    by_mark = {mark: f for f in sarif.parse(log(*results), sources).findings for mark in f.marks}
    weird = 'severity "weird" is not known, ranked major'
    assert by_mark.keys() == {OUTSIDE, UNTRACKED, NO_SUCH_LINE, weird}
    assert by_mark[weird].severity is Severity.MAJOR


def test_suppressed_results_are_marked_bad_ones_refused_and_passes_are_no_findings(sources):
    results = [
        {"message": {"text": "m"}, "suppressions": [{"kind": "inSource", "justification": "old"}]},
        {"message": {"text": "m"}, "suppressions": [{"kind": "external", "status": "rejected"}]},
        {"message": {"text": "m"}, "kind": "pass"},
        {"message": {}},
        None,
        {"message": {"text": "m"}, "locations": 4},
    ]
    analysis = sarif.parse(log(*results), sources)
    kept, open_again = analysis.findings
    assert "suppressed in the report (inSource): old" in kept.marks
    assert not any("suppressed" in mark for mark in open_again.marks)
    assert len(analysis.refused) == 3


def test_a_result_without_words_is_named_after_its_rule(sources):
    (finding,) = sarif.parse(log({"ruleId": "R9", "message": {}}), sources).findings
    assert (finding.title, finding.rule) == ("R9", "R9")


def test_a_log_of_which_no_result_can_be_read_is_a_failure(sources):
    assert "none of its 2 entries could be read" in sarif.parse(log(3, None), sources).failed


def test_a_log_nested_beyond_reason_is_a_failure(sources):
    assert "nested too deeply" in sarif.parse(b'{"runs": [' + b"[" * 200_000, sources).failed


def test_a_failed_run_says_why(sources):
    report = log(
        invocations=[{"executionSuccessful": False, "exitCodeDescription": "out of memory"}]
    )
    assert "did not succeed: out of memory" in sarif.parse(report, sources).failed


@pytest.mark.parametrize(
    "report",
    [
        b"",
        b"{}",
        b'{"runs": []}',
        b'{"runs": [3]}',
        b'{"runs": [{"tool": {"driver": {"name": "x"}}}]}',
        log(invocations=[{"executionSuccessful": False}]),
    ],
)
def test_a_log_that_does_not_vouch_is_a_failure(sources, report):
    assert sarif.parse(report, sources).failed


def test_a_failed_run_keeps_its_results(sources):
    analysis = sarif.parse(
        log({"message": {"text": "m"}}, invocations=[{"executionSuccessful": False}]), sources
    )
    assert analysis.failed
    assert len(analysis.findings) == 1


@pytest.mark.serial
def test_a_large_truncated_log_fails_quickly(sources):
    report = log(
        *[{"message": {"text": "m" * 500}, "locations": at("src/c.py", region(1))}] * 20_000
    )[:-10]
    before = time.monotonic()
    assert sarif.parse(report, sources).failed
    assert time.monotonic() - before < 5


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("src/c.py:1: message", (1, None, "message", "", Severity.MAJOR)),
        ("./src/c.py:1:5: error: no such name", (1, 5, "no such name", "", Severity.CRITICAL)),
        ("src/c.py:1:5: warning: odd [some-rule]", (1, 5, "odd", "some-rule", Severity.MAJOR)),
        ("src/c.py:1:5: E501 line too long", (1, 5, "line too long", "E501", Severity.MAJOR)),
        ("src/c.py:1: note: see there", (1, None, "see there", "", Severity.MINOR)),
        (
            "src\\c.py(1,5): error TS2322: wrong type",
            (1, 5, "wrong type", "TS2322", Severity.CRITICAL),
        ),
        (
            "src/c.py:1:5: error[invalid-type] wrong",
            (1, 5, "wrong", "invalid-type", Severity.CRITICAL),
        ),
        ("src/c.py:1:5-9: fatal error: gone", (1, 5, "gone", "", Severity.CRITICAL)),
        (
            "\x1b[1msrc/c.py:1:\x1b[0m \x1b[31merror:\x1b[0m red",
            (1, None, "red", "", Severity.CRITICAL),
        ),
        (
            "src/c.py:1:5: Errors are not words of severity",
            (1, 5, "Errors are not words of severity", "", Severity.MAJOR),
        ),
    ],
)
def test_a_line_is_read_however_tools_write_it(sources, line, expected):
    (finding,) = lines.parse(line.encode(), sources).findings
    assert (
        finding.spot.line,
        finding.spot.column,
        finding.title,
        finding.rule,
        finding.severity,
    ) == expected
    assert finding.spot.path == "src/c.py"


def test_lines_that_name_no_place_are_kept(sources):
    output = (
        b"Checking...\nsrc/c.py:1: error: bad\n    because of this\nFound 1 error.\nhttp://x:80/\n"
    )
    analysis = lines.parse(output, sources, "mine")
    assert [(f.title, f.detail) for f in analysis.findings] == [("bad", "because of this")]
    (refused,) = analysis.refused
    assert "Checking..." in refused.raw
    assert "Found 1 error." in refused.raw


def test_a_message_with_a_form_feed_in_it_is_one_line(sources):
    analysis = lines.parse("src/a b.py:2: error: found '\x0c\u2028' here\n".encode(), sources)
    assert [finding.title for finding in analysis.findings] == ["found '\x0c\u2028' here"]
    assert analysis.refused == ()


def test_a_configured_severity_beats_the_words(sources):
    (finding,) = lines.parse(b"src/c.py:1: error: bad", sources, "mine", Severity.MINOR).findings
    assert finding.severity is Severity.MINOR


def diagnostic(**more):
    place = {"start": {"line": 1, "column": 15}, "end": {"line": 1, "column": 22}}
    return {
        "message": "m",
        "location": {"path": "src/a b.py", "range": place},
        "severity": "ERROR",
        **more,
    }


def test_reviewdogs_columns_are_bytes(sources):
    span = {"start": {"line": 1, "column": 15}, "end": {"line": 1, "column": 19}}
    entry = diagnostic(
        code={"value": "R", "url": "https://r"}, suggestions=[{"range": span, "text": "safe"}]
    )
    report = json.dumps({"diagnostics": [entry, {"message": 1}], "severity": "INFO"}).encode()
    analysis = rdjson.parse(report, sources)
    (finding,) = analysis.findings
    assert TEXT[finding.spot.column - 1 : finding.spot.end_column - 1] == "eval(x)"
    assert apply_splices(TEXT, finding.fix.splices) == TEXT.replace("eval", "safe")
    assert (finding.rule, finding.url, finding.severity) == ("R", "https://r", Severity.CRITICAL)
    assert len(analysis.refused) == 1


def test_a_suggestion_without_columns_replaces_lines_and_alternatives_are_left_to_a_person(sources):
    whole = {"range": {"start": {"line": 1}, "end": {"line": 1}}, "text": "pass"}
    one, several = diagnostic(suggestions=[whole]), diagnostic(suggestions=[whole, whole])
    first, second = rdjson.parse(
        json.dumps({"diagnostics": [one, several]}).encode(), sources
    ).findings
    assert apply_splices(TEXT, first.fix.splices) == "pass\r\nprint(1)\n"
    assert (second.fix, second.marks) == (None, (ALTERNATIVES,))


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ({"start": {"line": 2}}, "new\n"),
        ({"start": {"line": 2}, "end": {"line": 2}}, "new\n"),
        ({"start": {"line": 2}, "end": {"line": 3, "column": 1}}, "new"),
        ({"start": {"line": 2, "column": 1}}, "newprint(1)\n"),
        ({"start": {"line": 2, "column": 6}, "end": {"line": 2}}, "printnew\n"),
        ({"start": {"line": 2, "column": 1}, "end": {"line": 2, "column": 6}}, "new(1)\n"),
    ],
)
def test_a_suggestion_reaches_as_far_as_its_range_says(sources, span, expected):
    report = {"diagnostics": [diagnostic(suggestions=[{"range": span, "text": "new"}])]}
    (finding,) = rdjson.parse(json.dumps(report).encode(), sources).findings
    assert apply_splices(TEXT, finding.fix.splices) == TEXT.replace("print(1)\n", expected)


def test_a_suggestion_without_text_deletes_and_one_without_a_place_is_left_out_and_said(sources):
    span = {"start": {"line": 2, "column": 6}, "end": {"line": 2, "column": 9}}
    entries = [diagnostic(suggestions=[{"range": span}]), diagnostic(suggestions=[{"text": "x"}])]
    deleting, placeless = rdjson.parse(
        json.dumps({"diagnostics": entries}).encode(), sources
    ).findings
    assert apply_splices(TEXT, deleting.fix.splices) == TEXT.replace("(1)", "")
    assert (placeless.fix, placeless.marks) == (None, (LOST_FIX,))


def test_no_diagnostics_are_written_as_null_by_some(sources):
    analysis = rdjson.parse(b'{"diagnostics": null}', sources)
    assert (analysis.findings, analysis.failed) == ((), "")


def test_each_line_of_rdjsonl_stands_alone(sources):
    output = "\n".join(
        [json.dumps(diagnostic()), "oops", "", json.dumps(diagnostic(severity=2))]
    ).encode()
    analysis = rdjson.parse_lines(output, sources)
    assert [f.severity for f in analysis.findings] == [Severity.CRITICAL, Severity.MAJOR]
    assert [entry.raw for entry in analysis.refused] == ["oops"]


@pytest.mark.parametrize("garbage", [b"", b"[]", b"{}", b"oops"])
def test_a_document_that_is_none_is_a_failure(sources, garbage):
    assert rdjson.parse(garbage, sources).failed
