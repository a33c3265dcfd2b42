"""The planted failure: it shows whether a check judges the work tree, or a copy that happens to be installed."""

import shutil
import sys
import venv
from pathlib import Path

import pytest

from punchlist.model.checks.check import Check, CheckKind

SOURCES = {
    "src/thing/__init__.py": "from __future__ import annotations\n\ndef answer():\n    return 42\n",
    "tests/test_thing.py": "from thing import answer\n\ndef test_answer():\n    assert answer() == 42\n",
    "conftest.py": "",
}
FLAT = {
    "thing.py": "def answer():\n    return 42\n",
    "tests/test_thing.py": SOURCES["tests/test_thing.py"],
}
ODD = {**SOURCES, "python/lib/thing/__init__.py": SOURCES["src/thing/__init__.py"]}
ODD.pop("src/thing/__init__.py")


@pytest.fixture
def environment(checked):
    """A real virtual environment in the checkout, which also sees the pytest that runs us."""
    venv.create(checked.checkout / ".venv", with_pip=False, symlinks=True)
    packages = next((checked.checkout / ".venv/lib").glob("python*/site-packages"))
    (packages / "_pytest_of_ours.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    return packages


def lay(checked, files):
    for path, content in files.items():
        target = checked.checkout / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)


def own_pytest(checked, program="python"):
    base = (
        str(checked.checkout / ".venv/bin" / program),
        *(("-m", "pytest") if program == "python" else ()),
    )
    return Check(
        name="pytest",
        command=(*base, "--disable-plugin-autoload"),
        kind=CheckKind.PYTEST,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("files", "folder"), [(SOURCES, "src"), (ODD, "python/lib")], ids=["src", "elsewhere"]
)
def test_a_check_with_an_editable_install_of_the_checkout_judges_the_tree(
    checked, walls, environment, files, folder
):
    lay(checked, files)
    (environment / "__editable__.thing.pth").write_text(f"{checked.checkout / folder}\n")
    assert checked.run_sentinel(own_pytest(checked), checked.tree(files)) == ""
    assert checked.run(own_pytest(checked), checked.tree(files, "again")).green


def test_a_check_with_an_editable_finder_judges_the_tree(checked, walls, environment):
    lay(checked, ODD)
    finder = (
        f"MAPPING = {{'thing': '{checked.checkout}/python/lib/thing'}}\n"
        "import sys, importlib.util\n"
        "class Finder:\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n"
        "        if name in MAPPING:\n"
        "            return importlib.util.spec_from_file_location(name, MAPPING[name] + '/__init__.py')\n"
        "def install():\n    sys.meta_path.append(Finder)\n"
    )
    (environment / "__editable___thing_finder.py").write_text(finder)
    (environment / "__editable__.thing.pth").write_text(
        "import __editable___thing_finder; __editable___thing_finder.install()\n"
    )
    assert checked.run_sentinel(own_pytest(checked), checked.tree(ODD)) == ""


def test_an_installed_copy_does_not_win_over_a_tree_in_a_usual_layout(checked, walls, environment):
    shutil.copytree(checked.tree(SOURCES).root / "src/thing", environment / "thing")
    assert checked.run_sentinel(own_pytest(checked), checked.tree(SOURCES, "again")) == ""


def test_an_installed_copy_of_an_unusual_layout_is_unusable_and_said_so(
    checked, walls, environment
):
    shutil.copytree(checked.tree(ODD).root / "python/lib/thing", environment / "thing")
    reason = checked.run_sentinel(own_pytest(checked), checked.tree(ODD, "again"))
    assert (
        reason
        == "still green with all 1 source files broken: it judges an installed copy, not the work tree"
    )


def test_a_check_that_names_the_checkout_by_its_path_is_right_only_behind_walls(checked, walls):
    files = {"app.py": "print('fine')\n"}
    lay(checked, files)
    check = Check(name="absolute", command=(sys.executable, str(checked.checkout / "app.py")))
    reason = checked.run_sentinel(check, checked.tree(files))
    expected = {
        "bubblewrap": "",
        "landlock": "it went red, but not because of the failure planted in 1 source files",
        "none": "still green with all 1 source files broken: it judges an installed copy, not the work tree",
    }
    assert reason.partition(":")[0] == expected[walls].partition(":")[0]


def test_unittest_sees_the_planted_failure(checked, walls):
    tests = "import unittest, thing\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(thing.answer(), 42)\n"
    check = Check(
        name="unittest",
        command=(sys.executable, "-m", "unittest", "discover", "-s", "tests"),
        kind=CheckKind.UNITTEST,
    )
    assert checked.run_sentinel(check, checked.tree({**FLAT, "tests/test_thing.py": tests})) == ""


def test_a_check_that_runs_nothing_of_the_project_is_unusable(checked):
    assert "still green" in checked.run_sentinel(
        Check(name="true", command=("true",)), checked.tree(FLAT)
    )


def test_a_check_that_was_red_before_is_not_taken_for_one_that_saw_it(checked):
    check = Check(name="false", command=("sh", "-c", "echo disk full; false"))
    assert checked.run_sentinel(check, checked.tree(FLAT)).endswith("... disk full")


def test_a_check_that_cannot_run_is_unusable(checked):
    check = Check(name="gone", command=("no-such-command",))
    assert (
        checked.run_sentinel(check, checked.tree(FLAT))
        == "it could not be run: command not found: no-such-command"
    )


def test_a_check_that_swallows_the_failure_is_unusable(checked):
    check = Check(name="pytest", command=("sh", "-c", f"{sys.executable} thing.py || true"))
    assert "does not report what fails" in checked.run_sentinel(check, checked.tree(FLAT))


def test_a_tree_without_sources_has_nothing_to_judge(checked):
    tree = checked.tree({"tests/test_it.py": "def test_it():\n    pass\n", "README": ""})
    assert checked.run_sentinel(own_pytest(checked), tree).startswith(
        "nothing to plant a failure in"
    )


def test_tests_and_configuration_are_left_alone(checked):
    tree = checked.tree(SOURCES)
    checked.run_sentinel(Check(name="true", command=("true",)), tree)
    assert tree.text("tests/test_thing.py") == SOURCES["tests/test_thing.py"]
    assert tree.text("conftest.py") == ""
    assert "punchlist_sentinel_" in tree.text("src/thing/__init__.py")


def test_a_failure_is_planted_in_the_kinds_that_are_asked_for_and_no_others(checked):
    files = {**FLAT, "a.js": "ok\n", "web/b.ts": "ok\n"}
    check = Check(name="js", command=("sh", "-c", "grep -q ok a.js || { cat a.js; exit 1; }"))
    assert checked.run_sentinel(check, checked.tree(files, "scripts"), ".js", ".ts") == ""
    tree = checked.tree(files, "python")
    assert checked.run_sentinel(check, tree, ".py").startswith(
        "still green with all 1 source files broken"
    )
    assert (tree.text("a.js"), tree.text("web/b.ts")) == ("ok\n", "ok\n")


def test_javascript_sees_it_too(checked, walls, on_path):
    on_path("node")
    files = {
        "lib.mjs": "export const answer = 42;\n",
        "run.test.mjs": "import { answer } from './lib.mjs';\nif (answer !== 42) process.exit(1);\n",
    }
    check = Check(name="node", command=("node", "run.test.mjs"))
    assert checked.run(check, checked.tree(files)).green
    assert checked.run_sentinel(check, checked.tree(files, "again")) == ""
