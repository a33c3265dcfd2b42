"""The seeded bugs are what they say: tests, reproducers and oracles tell the bug, its right fix and the wrong ones apart."""

from collections import defaultdict

import pytest
from corpus import bugs
from oracle import judged, right
from repository import files, run_tests, written

BUGS = bugs()
NAMES = [bug.name for bug in BUGS]
KINDS = ("tests", "covering", "reproducer")


@pytest.fixture(scope="module")
def verdicts():
    """By bug: what the oracle says of every form of its code."""
    forms = [(bug, form, code) for bug in BUGS for form, code in _forms(bug)]
    said = judged([(code, bug.oracle) for bug, _, code in forms])
    found = defaultdict(dict)
    for (bug, form, _), lines in zip(forms, said, strict=True):
        found[bug.name][form] = right(lines)
    return found


def _forms(bug):
    yield from (("bug", bug.code), ("fix", bug.fix), ("special", bug.special))
    yield from ((f"wrong {number}", code) for number, code in enumerate(bug.wrong))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """By form of the code, kind of test and bug: which of those tests pass."""
    codes = {
        "bug": {},
        "fix": {bug.name: bug.fix for bug in BUGS},
        "special": {bug.name: bug.special for bug in BUGS},
    }
    return {form: _passing(tmp_path_factory.mktemp(form), codes[form]) for form in codes}


def _passing(folder, codes):
    written(folder, files(BUGS, covered=False, codes=codes))
    for bug in BUGS:
        kinds = {"tests": bug.tests, "covering": bug.covering, "reproducer": bug.reproducer}
        written(
            folder,
            {
                f"tests/{kind}/test_{kind}_{bug.name}.py": bug.headed(text)
                for kind, text in kinds.items()
            },
        )
    _, cases = run_tests(folder, *(f"tests/{kind}" for kind in KINDS))
    found = {kind: {bug.name: [] for bug in BUGS} for kind in KINDS}
    for name, passed in cases.items():
        kind, module = name.split("::")[0].split(".")[1:3]
        found[kind][module.removeprefix(f"test_{kind}_")].append(passed)
    return found


def green(found):
    return [bug for bug, passed in found.items() if passed and all(passed)]


def test_there_are_at_least_forty_and_each_has_two_wrong_fixes():
    assert len(BUGS) >= 40
    assert all(len(bug.wrong) >= 2 for bug in BUGS)
    assert all(bug.at in bug.code.splitlines()[bug.line - 1] for bug in BUGS)


def test_the_oracle_accepts_the_right_fix_alone(verdicts):
    wrongly = {
        name: [form for form, said in by.items() if said != (form == "fix")]
        for name, by in verdicts.items()
    }
    assert {name: forms for name, forms in wrongly.items() if forms} == {}


def test_visible_tests_are_green_with_the_bug_and_with_its_fix(outcomes):
    assert green(outcomes["bug"]["tests"]) == green(outcomes["fix"]["tests"]) == NAMES


@pytest.mark.parametrize("kind", ["covering", "reproducer"])
def test_what_sees_the_bug_is_red_with_it_and_green_with_its_fix(outcomes, kind):
    assert green(outcomes["bug"][kind]) == []
    assert all(outcomes["bug"][kind].values())
    assert green(outcomes["fix"][kind]) == NAMES


def test_an_answer_made_for_the_visible_tests_passes_them(outcomes):
    assert green(outcomes["special"]["tests"]) == green(outcomes["special"]["covering"]) == NAMES
