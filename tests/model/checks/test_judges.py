"""A check vouches for the kinds of source in which it was seen to notice a failure, and for nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.model.checks.coverage import FAMILIES, explain_unjudged, find_families, find_judges
from punchlist.model.checks.protected import Protected
from punchlist.model.ledger.events import Baselined

PYTHON = Baselined(check="tests", judges=(".py",))
SCRIPTS = Baselined(check="js", judges=(".js", ".ts"))
UNLOADED = Baselined(check="tests", judges=(".py",), unloaded=("b/tests/test_m.py",))
BLIND = Baselined(check="blind", judges=(".py", ".js"), unusable="it timed out")

KINDS = [".py", ".js", ".go", ".md"]
paths = st.lists(st.sampled_from(KINDS).map(lambda kind: f"a{kind}"), max_size=4)
baselines = st.dictionaries(
    st.sampled_from("xyz"),
    st.builds(
        Baselined,
        check=st.just("c"),
        judges=st.lists(st.sampled_from(KINDS), max_size=3).map(tuple),
        unusable=st.sampled_from(["", "it timed out"]),
        unloaded=st.sampled_from([(), ("tests/test_a.py",)]),
        lines_unknown=st.sampled_from(["", "coverage.py is not installed"]),
    ),
)


@pytest.mark.parametrize(
    ("touched", "names"),
    [
        (["a.py"], ("tests",)),
        (["a.js", "b.ts"], ("js",)),
        (["a.py", "a.js"], ("tests", "js")),
        (["tests/test_a.py"], ("tests",)),
        (["a.py", "run.sh"], ()),
        (["README.md"], ()),
        (["Makefile"], ()),
        (["a.pyi"], ()),
        ([], ()),
    ],
)
def test_every_file_of_a_fix_needs_a_check_that_judges_its_kind(touched, names):
    assert find_judges(touched, {"tests": PYTHON, "js": SCRIPTS, "blind": BLIND}) == names


def test_a_check_for_javascript_says_nothing_of_python():
    assert find_judges(["m.py"], {"js": SCRIPTS}) == ()
    assert (
        explain_unjudged(["m.py"], {"js": SCRIPTS})
        == "no check was seen to notice a failure in .py files"
    )


def test_why_nobody_judges_is_said():
    assert (
        explain_unjudged(["a.py", "b.sh", "Makefile"], {"tests": PYTHON})
        == "no check was seen to notice a failure in .sh, Makefile files"
    )
    assert explain_unjudged(["a.py"], {"blind": BLIND}) == "blind: it timed out"
    assert explain_unjudged(["a.py"], {}) == "no check was run"
    assert explain_unjudged(["a.py"], {"tests": PYTHON}) == ""


def test_a_check_that_lacks_a_test_file_judges_only_where_the_executed_lines_are_known():
    assert find_judges(["b/m.py"], {"tests": UNLOADED}) == ("tests",)
    unknown = replace(UNLOADED, lines_unknown="coverage.py is not installed")
    assert find_judges(["b/m.py"], {"tests": unknown}) == ()
    assert explain_unjudged(["b/m.py"], {"tests": unknown}) == (
        "tests: b/tests/test_m.py could not be loaded, and which lines the other tests execute"
        " is not known (coverage.py is not installed)"
    )


@given(paths, baselines)
def test_who_is_judged_has_a_usable_check_for_each_file_and_who_is_not_has_a_reason(touched, known):
    names = find_judges(touched, known)
    assert bool(names) is not bool(explain_unjudged(touched, known))
    assert not any(known[name].unusable for name in names)
    if names:
        assert all(any(path[1:] in known[name].judges for name in names) for path in touched)


def test_a_tree_has_the_families_of_its_own_sources():
    files = [
        "a.py",
        "tests/web.js",
        "setup.py",
        "README.md",
        "web/a.tsx",
        "web/b.js",
        "web/b.test.js",
        "gulpfile.js",
    ]
    assert find_families(files, Protected()) == ((".py",), (".js", ".tsx"))
    assert find_families(["tests/test_a.py", "conftest.py", "README.md"], Protected()) == ()


def test_no_kind_is_in_two_families():
    kinds = [kind for family in FAMILIES for kind in family]
    assert len(kinds) == len(set(kinds))
