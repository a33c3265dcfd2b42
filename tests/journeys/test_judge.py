"""The change under review does not choose its judge: neither by what it adds to it, nor by what it makes of its files."""

import sys

import pytest
from shop import Watch

from punchlist.model.item.item import Fact, Status
from punchlist.model.ledger.events import Tried
from punchlist.model.patch.change import ScopeKind
from punchlist.steps.judging.excused_tests import is_in_file

PYTEST = f"""
[[checks]]
name = "tests"
command = ["{sys.executable}", "-m", "pytest", "--disable-plugin-autoload"]
kind = "pytest"
"""
CASE = "import unittest\n\nfrom pkg import mod\n\n\nclass T(unittest.TestCase):\n"
BASE = {
    "pkg/__init__.py": "",
    "pkg/mod.py": "import os\n\n\ndef two():\n    return 2\n",
    "tests/__init__.py": "",
    "tests/test_a.py": f"{CASE}    def test_two(self):\n        assert mod.two() == 2\n",
    "tests/test_core.py": f'{CASE}    def test_core(self):\n        assert hasattr(mod, "os")\n',
    "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
}
CHANGED = {"pkg/mod.py": "import os  # as ever\nimport re\n\n\ndef two():\n    return 1 + 1\n"}
"""Removing `os` breaks test_core, which is the base's; removing `re` breaks nothing."""


@pytest.fixture
def branch(place):
    """A run over a branch that makes these files of the base's."""

    def run(files, watch=None):
        place.repo.git("rm", "-r", "--quiet", "shop", "tests")
        place.repo.commit(BASE)
        place.repo.git("switch", "--quiet", "--create", "topic")
        place.repo.commit(files)
        return place.run(watch, kind=ScopeKind.BRANCH, flags={"analyzers.select": "F"})

    return run


def refused(run):
    return [
        attempt.why
        for item in run.items.values()
        for attempt in item.attempts
        if attempt.fact is Fact.REJECTED
    ]


def fixed(run):
    return sorted((item.lead.spot.path, item.lead.title) for item in run.find_items(Status.FIXED))


def test_a_branch_cannot_bring_along_what_turns_off_the_bases_tests(branch, tmp_path, monkeypatch):
    """Any one of the three would do it: options, a collector, and a module that passes for the runner."""
    config = tmp_path / "pytest.toml"
    config.write_text(PYTEST)
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(config))
    evil = {
        "pytest.ini": "[pytest]\naddopts = --ignore=tests/test_core.py\n",
        "tests/conftest.py": 'collect_ignore = ["test_core.py"]\n',
        "pytest.py": "import sys\n\nsys.exit(0)\n",
    }
    run = branch({**CHANGED, **evil})
    assert (run.checks.baselines["tests"].passed, run.checks.baselines["tests"].unusable) == (2, "")
    assert refused(run) == ["breaks tests/test_core.py::T::test_core"]
    assert fixed(run) == [("pkg/mod.py", "`re` imported but unused")]
    assert "no other: pytest.ini, pytest.py, tests/conftest.py" in " ".join(
        run.started.change.notes
    )


def test_opening_one_test_file_for_a_fix_leaves_the_rest_of_the_judge_the_bases(branch):
    """With the branch's emptied test_core, removing `os` would be green as soon as the fix in test_a is tried along with it."""
    weak = {
        "tests/test_core.py": "import unittest  # noqa: F401\n",
        "tests/test_a.py": "import os\n" + BASE["tests/test_a.py"],
    }
    run = branch({**CHANGED, **weak})
    assert refused(run) == ["breaks tests.test_core.T.test_core"]
    assert fixed(run) == [
        ("pkg/mod.py", "`re` imported but unused"),
        ("tests/test_a.py", "`os` imported but unused"),
    ]


def test_what_a_branch_did_to_its_tests_is_not_held_against_a_fix_in_their_file_and_what_the_fix_does_is(
    branch,
):
    renamed = (
        f"import os\n{CASE}    def test_renamed(self):\n        assert mod.two() == 2\n\n"
        "    def test_of_work_to_come(self):\n        assert mod.two() == 3\n"
    )
    needed = f'import re\n{BASE["tests/test_core.py"]}        assert "re" in globals()\n'
    watch = Watch()
    run = branch({"tests/test_a.py": renamed, "tests/test_core.py": needed}, watch)
    assert fixed(run) == [("tests/test_a.py", "`os` imported but unused")]
    assert refused(run) == ["breaks tests.test_core.T.test_core"]
    green = [
        entry.event.verdicts[0]
        for entry in watch.entries
        if isinstance(entry.event, Tried) and entry.event.complete
    ]
    assert "; 2 that the change itself renamed, skipped or broke do not count" in green[-1].why


@pytest.mark.parametrize(
    ("test", "path", "is_there"),
    [
        ("tests/test_a.py::T::test_x[1-2]", "tests/test_a.py", True),
        ("other/tests/test_a.py::test_x", "tests/test_a.py", False),
        ("tests.test_a.T.test_x", "tests/test_a.py", True),
        ("test_a.T.test_x", "tests/test_a.py", True),
        ("tests.test_ab.T.test_x", "tests/test_a.py", False),
        ("tests.test_a", "tests/conftest.py", False),
    ],
)
def test_a_test_is_known_to_be_of_a_file_by_its_id(test, path, is_there):
    assert is_in_file(test, path) is is_there
