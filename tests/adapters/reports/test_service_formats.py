"""Formats for the services of others: each is read as its service reads it, whatever texts say."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from msgspec.structs import replace

from made import made_run
from punchlist.adapters.reports import ON_DEMAND, REPORTS
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item
from punchlist.views.review.diagnostics import count_rules, list_diagnostics

DATA = Path(__file__).parents[2] / "data"
RDJSON = json.loads((DATA / "rdjson.json").read_text())
SARIF = json.loads((DATA / "sarif-2.1.0.json").read_text())
TEXTS = (
    "two\nlines\r\nand\rthree",
    "::error file=x::injected",
    "a\n::stop-commands::token",
    "##[set-env name=PATH]evil",
    "100% sure, a:b, c=d;e %0A%0D%25",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x00 \x08 \x85 \u2028 \u202e",
    "\udcff\udc80 not UTF-8",
    "]]> <x a='b'> & \"quoted\" \\ \\n",
    " ",
)


def finding(**fields):
    usual = {"source": "tool", "title": "Odd", "spot": Spot("a.py", 1), "severity": Severity.MINOR}
    return Finding(**usual | fields)


def hostile_run():
    """One item for each text, which is in every field that a reviewer fills."""
    items = {}
    for number, text in enumerate(TEXTS, 1):
        spot = Spot(f"src/{text}.py", number, number + number % 2, 2, 5 + number)
        found = finding(
            id=f"x:{number}",
            source=text,
            title=text,
            rule=text,
            detail=text,
            spot=spot,
            severity=list(Severity)[number % 3],
            url=text,
            code=text,
        )
        items[number] = Item(number=number, fingerprint=text, findings=(found,))
    return made_run(id="r-hostile", items=items, ended="leftovers")


HOSTILE = hostile_run()


def render(form: str, run) -> bytes:
    formats = {report.name: report for report in (*REPORTS.values(), *ON_DEMAND.values())}
    return formats[form](run)


def parse_commands(content: bytes) -> list[tuple[str, dict[str, str], str]]:
    """Read the lines as the runner of GitHub Actions does (its ActionCommand.TryParseV2)."""
    parsed = []
    for line in content.decode().splitlines():
        assert line.startswith("::")
        end = line.index("::", 2)
        level, _, rest = line[2:end].partition(" ")
        properties = {}
        for pair in rest.split(","):
            name, separator, value = pair.partition("=")
            assert separator
            assert not re.search(r"[\r\n:,]|%(?!25|0D|0A|3A|2C)", value)
            for code, char in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n")):
                value = value.replace(code, char)
            properties[name] = value.replace("%25", "%")
        data = line[end + 2 :]
        assert not re.search(r"%(?!25|0D|0A)", data)
        data = data.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
        parsed.append((level, properties, data))
    return parsed


def test_each_item_is_one_annotation_of_github_and_no_text_makes_another():
    commands = parse_commands(render("github", HOSTILE))
    items = [each for each in commands if "file" in each[1]]
    assert len(items) == len(TEXTS)
    assert {level for level, _, _ in commands} <= {"error", "warning", "notice"}
    for _, properties, _ in items:
        assert properties.keys() <= {"file", "line", "endLine", "col", "endColumn", "title"}
        assert int(properties["line"]) <= int(properties["endLine"])
    messages = [message for _, _, message in items]
    assert any("::error file=x::injected" in message for message in messages)
    assert any("100% sure, a:b, c=d;e %0A%0D%25" in message for message in messages)


def test_a_multi_line_annotation_has_no_end_column_which_github_would_refuse():
    for _, properties, _ in parse_commands(render("github", HOSTILE)):
        if properties.get("endLine") != properties.get("line"):
            assert "endColumn" not in properties


def check_gitlab(content: bytes) -> list[dict]:
    """Check what GitLab wants of a code quality report."""
    issues = json.loads(content)
    assert isinstance(issues, list)
    for issue in issues:
        assert issue.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert re.fullmatch(r"[0-9a-f]{64}", issue["fingerprint"])
        assert issue["description"].strip()
        assert re.fullmatch(r"\S+", issue["check_name"])
        location = issue["location"]
        assert location["path"]
        assert not location["path"].startswith(("./", "/"))
        assert location["lines"]["begin"] >= 1
        assert location["lines"].get("end", 9**9) > location["lines"]["begin"]
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    return issues


def test_each_item_is_one_issue_of_gitlabs_code_quality_report():
    issues = check_gitlab(render("gitlab", HOSTILE))
    assert len([each for each in issues if each["location"]["path"] != "(no file)"]) == len(TEXTS)


def check_sast(content: bytes) -> dict:
    """Check what GitLab's schema 15 wants of a SAST report."""
    report = json.loads(content)
    assert report.keys() == {"version", "vulnerabilities", "scan"}
    assert re.fullmatch(r"15\.\d+\.\d+", report["version"])
    scan = report["scan"]
    assert scan.keys() == {"start_time", "end_time", "status", "type", "analyzer", "scanner"}
    assert scan["type"] == "sast"
    assert scan["status"] in {"success", "failure"}
    for name in ("start_time", "end_time"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", scan[name])
    for tool in (scan["analyzer"], scan["scanner"]):
        assert all(tool[name] for name in ("id", "name", "version"))
        assert tool["vendor"]["name"]
    for each in report["vulnerabilities"]:
        assert 0 < len(each["name"]) <= 255
        assert 0 < len(each["description"]) <= 1_048_576
        assert each["severity"] in {"Info", "Unknown", "Low", "Medium", "High", "Critical"}
        assert each["identifiers"]
        for identifier in each["identifiers"]:
            assert all(identifier[name] for name in ("type", "name", "value"))
            assert re.match(r"https?://", identifier.get("url", "https://"))
        assert each["location"]["file"]
        assert each["location"].get("start_line", 1) >= 1
    names = [each["id"] for each in report["vulnerabilities"]]
    assert len(set(names)) == len(names)
    return report


def test_what_is_about_security_is_in_gitlabs_sast_report():
    found = [replace(item.findings[0], category="security") for item in HOSTILE.items.values()]
    items = {
        number: replace(item, findings=(finding,))
        for (number, item), finding in zip(HOSTILE.items.items(), found, strict=True)
    }
    items |= {99: Item(number=99, fingerprint="style", findings=(finding(id="x:99"),))}
    content = render("gitlab-sast", made_run(id="r", items=items, ended="leftovers"))
    assert len(check_sast(content)["vulnerabilities"]) == len(TEXTS), "and not what is style"
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", content.decode())


def test_a_sast_report_in_which_a_reviewer_failed_says_so(run):
    assert check_sast(render("gitlab-sast", run))["scan"]["status"] == "failure"
    assert check_sast(render("gitlab-sast", HOSTILE))["scan"]["status"] == "success"


def test_two_items_of_the_same_kind_have_two_fingerprints_in_gitlab():
    items = {
        number: Item(number=number, fingerprint="same", findings=(finding(id=f"x:{number}"),))
        for number in (1, 2)
    }
    run = made_run(id="r", items=items, ended="leftovers")
    first, second = (each["fingerprint"] for each in check_gitlab(render("gitlab", run))[:2])
    assert first != second


def test_each_item_is_one_diagnostic_of_reviewdog():
    result = json.loads(render("rdjson", HOSTILE))
    jsonschema.Draft4Validator(RDJSON).validate(result)
    found = [each for each in result["diagnostics"] if each["location"]["path"]]
    assert len(found) == len(TEXTS)
    for each in found:
        start, end = (each["location"]["range"].get(name) for name in ("start", "end"))
        assert start["line"] >= 1
        assert end is None or ("column" in end) == ("column" in start)


def test_reviewdogs_columns_count_bytes_so_there_are_none_where_a_line_is_not_ascii():
    def range_of(code: str):
        found = finding(id="x:1", code=code, spot=Spot("a.py", 1, 1, 3, 5))
        items = {1: Item(number=1, fingerprint="f", findings=(found,))}
        run = made_run(id="r", items=items, ended="leftovers")
        return json.loads(render("rdjson", run))["diagnostics"][0]["location"]["range"]

    assert range_of("x = y") == {"start": {"line": 1, "column": 3}, "end": {"line": 1, "column": 5}}
    for unknown in ("ü = y", ""):
        assert range_of(unknown) == {"start": {"line": 1}, "end": {"line": 1}}


@pytest.mark.parametrize("form", ["github", "gitlab", "rdjson"])
def test_a_path_keeps_its_spaces_and_stays_on_one_line(form):
    spots = (Spot("a  b/ c.py", 1), Spot("new\nline\t.py", 1))
    items = {
        number: Item(number=number, fingerprint=f"{number}", findings=(finding(id="x", spot=spot),))
        for number, spot in enumerate(spots, 1)
    }
    text = render(form, made_run(id="r", items=items, ended="leftovers")).decode()
    assert "a  b/ c.py" in text
    assert "new\u2039U+000A\u203aline\u2039U+0009\u203a.py" in text


def test_a_rule_in_the_title_is_not_told_twice():
    for title in ("E1 odd", "E1: odd", "odd"):
        found = finding(id="x", title=title, rule="E1")
        items = {1: Item(number=1, fingerprint="f", findings=(found,))}
        (line,) = list_diagnostics(made_run(id="r", items=items))
        assert (line.rule, line.message) == ("E1", "odd")


def test_sarif_and_junit_hold_the_same_texts():
    jsonschema.validate(json.loads(render("sarif", HOSTILE)), SARIF)
    root = ET.fromstring(render("junit", HOSTILE))
    suite = next(each for each in root if each.get("name") == "punchlist.items")
    assert int(suite.get("tests")) == int(suite.get("failures")) == len(TEXTS)


@pytest.mark.parametrize("form", ["sarif", "github", "gitlab", "rdjson", "junit"])
def test_no_format_for_a_service_holds_a_control_character_or_what_is_not_utf_8(form):
    text = render(form, HOSTILE).decode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)


@pytest.mark.parametrize("form", ["github", "gitlab", "rdjson"])
def test_a_review_in_which_a_reviewer_failed_never_looks_clean(form, run):
    text = render(form, run).decode()
    assert "semgrep failed" in text
    assert "timed out after 30 s" in text


@pytest.mark.parametrize("form", ["github", "gitlab", "rdjson"])
def test_what_is_fixed_or_dismissed_is_not_reported(form, run):
    text = render(form, run).decode()
    wanted = {each.number for each in list_diagnostics(run)}
    for item in run.items.values():
        assert (item.lead.title in text) == (item.number in wanted), item.number


def test_statistics_count_all_items_and_put_the_most_frequent_rule_first(run):
    counts = count_rules(list_diagnostics(run))
    assert sum(each.count for each in counts) == len(list_diagnostics(run))
    assert [each.count for each in counts] == sorted((each.count for each in counts), reverse=True)
    assert all(0 <= each.fixable <= each.count for each in counts)
