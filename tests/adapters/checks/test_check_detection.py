"""Which checks a project is found to have."""

import asyncio
import sys

import pytest

from punchlist.adapters.checks.detect import detect
from punchlist.adapters.checks.kept_output import trim_output
from punchlist.adapters.environments.find_pythons import ProjectPlace
from punchlist.model.checks.check import CheckKind

TEST = {"tests/test_app.py": "def test_it():\n    pass\n"}
UNIT = {"tests/test_app.py": "import unittest\n\nclass TestIt(unittest.TestCase):\n    pass\n"}
PACKAGE = '{"scripts": {"test": "jest"}}'


@pytest.fixture
def found(checked, tmp_path, monkeypatch):
    """Detects with only our own Python on PATH, and tools that are there by name only."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("npm", "pnpm", "cargo", "go", "make", "tox", "nox"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))

    def detect_checks(files, **place):
        tree = checked.tree(files)
        known = ProjectPlace(checkout=checked.checkout, tracked=tree.files(), **place)
        return asyncio.run(detect(tree, known))

    return detect_checks


@pytest.mark.parametrize(
    ("files", "origin"),
    [
        ({"pyproject.toml": "[tool.pytest.ini_options]\n", **TEST}, "pyproject.toml [tool.pytest]"),
        ({"pytest.ini": "[pytest]\n", **TEST}, "pytest.ini [pytest]"),
        ({"tox.ini": "[tox]\n[pytest]\n", **TEST}, "tox.ini [pytest]"),
        ({"setup.cfg": "[tool:pytest]\n", **TEST}, "setup.cfg [tool:pytest]"),
        ({"tests/conftest.py": "", **TEST}, "tests/conftest.py"),
        (TEST, "tests/test_app.py"),
        (UNIT, "tests/test_app.py"),
    ],
)
def test_pytest_is_found_by_its_configuration_or_its_tests(found, files, origin):
    (check,) = found(files)
    assert (check.command, check.kind) == ((sys.executable, "-m", "pytest"), CheckKind.PYTEST)
    assert check.origin == f"detected by {origin}"


def test_the_project_s_own_environment_comes_first(checked, found):
    python = checked.checkout / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    (checked.checkout / ".venv/lib/python3.12/site-packages/pytest").mkdir(parents=True)
    (check,) = found(TEST)
    assert check.command == (str(python), "-m", "pytest")
    assert check.python_from == ".venv in your checkout"


def test_an_environment_that_is_in_git_is_never_run(checked, found):
    python = checked.checkout / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\ntouch {checked.base}/ran\n")
    python.chmod(0o755)
    assert found({**TEST, ".venv/bin/python": "#!/bin/sh\n"})[0].command[0] == sys.executable
    assert not (checked.base / "ran").exists()


def test_without_pytest_unittest_runs_the_tests_written_for_it(checked, found, monkeypatch):
    python = checked.base / "bin/python3"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    (check,) = found(UNIT)
    assert (check.command, check.kind) == (
        (str(python), "-m", "unittest", "discover", "-s", "tests"),
        CheckKind.UNITTEST,
    )
    (check,) = found({**UNIT, "tests/__init__.py": ""})
    assert check.command[-4:] == ("-s", "tests", "-t", ".")


def test_without_pytest_its_tests_are_a_check_that_says_so_unless_another_runs_them(
    checked, found, monkeypatch
):
    python = checked.base / "bin/python3"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    (check,) = found({"tests/test_app.py": "import pytest\n"})
    assert (check.command, check.python_from) == ((str(python), "-m", "pytest"), "on PATH")
    (check,) = found({"tests/test_app.py": "import pytest\n", "tox.ini": "[tox]\n"})
    assert check.name == "tox"


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        ({"package.json": PACKAGE}, [("npm", "test")]),
        ({"package.json": PACKAGE, "pnpm-lock.yaml": ""}, [("pnpm", "test")]),
        ({"package.json": PACKAGE, "yarn.lock": ""}, []),  # yarn is not installed
        (
            {
                "package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'
            },
            [],
        ),
        ({"package.json": "not json"}, []),
        ({"package.json": '{"scripts": []}'}, []),
        ({"Cargo.toml": "", "go.mod": ""}, [("cargo", "test"), ("go", "test", "./...")]),
        ({"tox.ini": "[tox]\n"}, [("tox",)]),
        ({"noxfile.py": ""}, [("nox",)]),
        ({"Makefile": "all:\n\ttrue\ntest: all\n\ttrue\n"}, [("make", "test")]),
        ({"Makefile": "all:\n\ttrue\n"}, []),
        ({"go.mod": "", "Makefile": "test:\n"}, [("go", "test", "./...")]),
        ({"pyproject.toml": "= broken", "setup.cfg": "no section", "README": ""}, []),
    ],
)
def test_other_languages_and_wrappers_are_found_by_their_manifests(found, files, commands):
    assert [check.command for check in found(files)] == commands


def test_evidence_starts_where_the_failures_start():
    output = "lots\nof\nprogress\n=========== FAILURES ===========\n___ test ___\nassert 0\n"
    assert trim_output(output).startswith("=========== FAILURES")
    assert trim_output("no mark at all\n") == "no mark at all\n"
    unit = "....F\n" + "=" * 70 + "\nFAIL: test_it\n"
    assert trim_output(unit).startswith("=====")


def test_evidence_over_a_mebibyte_keeps_both_ends():
    output = "".join(f"line {n}\n" for n in range(200_000))
    kept = trim_output(output).splitlines()
    assert kept[0] == "line 0"
    assert kept[-1] == "line 199999"
    assert len(kept) == 2 * 512 + 1
