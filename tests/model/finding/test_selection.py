"""Which rules a pattern names, and which selection holds in a folder."""

import pytest

from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.selection import FolderSelection, Selection, find_selection, names_rule
from punchlist.model.finding.severity import Severity


def found(rule="F401", source="ruff", path="a.py", severity=Severity.MINOR, **more):
    spot = Spot(path=path, line=1)
    return Finding(
        id="1", source=source, title="t", spot=spot, severity=severity, rule=rule, **more
    )


@pytest.mark.parametrize(
    ("pattern", "rule", "named"),
    [
        ("F401", "F401", True),
        ("F4*", "F401", True),
        ("F4", "F401", True),
        ("F", "F401", True),
        ("F40", "F541", False),
        ("I", "ISC001", False),
        ("ruff:F401", "F401", True),
        ("ruff:F", "F401", True),
        ("bandit:F401", "F401", False),
        ("ruff:*", "F401", True),
        ("f401", "F401", False),
        ("A", "Awkward", False),
        ("", "F401", False),
    ],
)
def test_a_pattern_names_rules_by_name_glob_or_group(pattern, rule, named):
    assert names_rule([pattern], found(rule)) is named


def test_a_finding_without_a_rule_goes_by_its_category():
    told = found("", "technical", category="security")
    assert names_rule(["security"], told)
    assert names_rule(["technical:*"], told)
    assert not names_rule(["F401"], told)


def test_each_key_leaves_out_what_it_says():
    major = found(severity=Severity.MAJOR)
    assert Selection(exclude=("a.py",)).find_reason(major) == "exclude"
    assert Selection(select=("E",)).find_reason(major) == "select"
    assert Selection(ignore=("F",)).find_reason(major) == "ignore"
    assert Selection(min_severity=Severity.CRITICAL).find_reason(major) == "min-severity"
    assert Selection(min_severity=Severity.MAJOR).find_reason(major) == ""


def test_the_nearest_folder_decides():
    folders = {
        "": FolderSelection(Selection(ignore=("A",))),
        "lib": FolderSelection(Selection(ignore=("B",))),
        "lib/deep": FolderSelection(Selection(ignore=("C",))),
    }
    nearest = {
        path: find_selection(folders, path).selection.ignore
        for path in ("x.py", "lib/x.py", "lib/deep/er/x.py", "library/x.py")
    }
    assert nearest == {
        "x.py": ("A",),
        "lib/x.py": ("B",),
        "lib/deep/er/x.py": ("C",),
        "library/x.py": ("A",),
    }
