"""The cause of a check that could run nothing is read from what its runner printed."""

import pytest

from punchlist.model.checks.check import Check
from punchlist.model.checks.failure_cause import (
    MADE_BY_SETUP,
    find_cause,
    find_outside_cause,
    find_python,
    suggest_remedy,
)

PY = ("/opt/my env/bin/python3.12", "-m", "pytest")


@pytest.mark.parametrize(
    ("output", "cause", "remedy"),
    [
        (
            ("slug.py:3: in <module>\n    import unidecode\nE   ModuleNotFoundError: No module named 'unidecode'\n\n"
            "During handling of the above exception, another exception occurred:\n"
            "E   ModuleNotFoundError: No module named 'text_unidecode'\n"
            "ERROR test.py - ModuleNotFoundError: No module named 'text_unidecode'\n"),
            "ModuleNotFoundError: No module named 'text_unidecode'",
            "'/opt/my env/bin/python3.12' -m pip install -e .",
        ),
        (
            ("ImportError while loading conftest '/w/conftest.py'.\nconftest.py:1: in <module>\n"
            "    import hypothesis\nE   ModuleNotFoundError: No module named 'hypothesis'\n"),
            "ModuleNotFoundError: No module named 'hypothesis'",
            "pip install",
        ),
        ("/usr/bin/python3: No module named pytest\n", "No module named pytest", "pip install"),
        (
            ("ImportError: Failed to import test module: test_a\nTraceback (most recent call last):\n"
            "ImportError: cannot import name 'Mapping' from 'collections'\n"),
            "ImportError: cannot import name 'Mapping' from 'collections'",
            "pip install",
        ),
        (
            "ERROR: usage: python -m pytest [options]\npython -m pytest: error: unrecognized arguments: --cov=app\n",
            "error: unrecognized arguments: --cov=app",
            "pip install",
        ),
        ("E       fixture 'mocker' not found\n", "fixture 'mocker' not found", "pip install"),
        (
            "node:internal/modules/cjs/loader:1147\n  throw err;\nError: Cannot find module 'vitest'\n",
            "Error: Cannot find module 'vitest'",
            "npm ci",
        ),
        ("sh: 1: vitest: not found\n", "vitest: not found", "install the program"),
        (
            "  File 'a.py', line 3\nE   SyntaxError: invalid syntax\n",
            "SyntaxError: invalid syntax",
            "-m pytest'",
        ),
        ("all is said and nothing is told\n", "", "[[checks]]"),
    ],
)  # fmt: skip
def test_the_most_telling_error_is_the_cause_and_has_a_remedy(output, cause, remedy):
    assert find_cause(output) == cause
    command = PY if "'" not in remedy or "opt" in remedy else ("sh", "-c", "python -m pytest")
    assert remedy in suggest_remedy(cause, Check(name="tests", command=command))


def test_setup_is_the_remedy_where_punchlist_chose_a_python_that_lacks_a_package():
    cause = "ModuleNotFoundError: No module named 'text_unidecode'"
    chosen = Check(name="tests", command=PY, python_from="on PATH")
    assert suggest_remedy(cause, chosen).startswith("`punchlist setup` makes an environment")
    made = Check(name="tests", command=PY, python_from=MADE_BY_SETUP)
    assert suggest_remedy(cause, made).startswith("name what is missing in the project's files")
    assert "setup" not in suggest_remedy("SyntaxError: invalid syntax", chosen)


@pytest.mark.parametrize(
    ("command", "python"),
    [(PY, PY[0]), (("pypy3", "-m", "pytest"), "pypy3"), (("pytest",), ""), (("make", "test"), "")],
)
def test_the_python_of_a_command_is_the_one_it_names(command, python):
    assert find_python(command) == python


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        ("E   ModuleNotFoundError: No module named 'numpy'", "a module is not installed"),
        ("ModuleNotFoundError: No module named 'app.new'", ""),
        ("E   fixture 'mocker' not found", "a fixture is not installed"),
        ("requests.ConnectionError: Failed to resolve 'a.b'", "the network cannot be reached from here"),
        ("OSError: [Errno 101] Network is unreachable", "the network cannot be reached from here"),
        ("ConnectionRefusedError: [Errno 111] Connection refused", ""),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/x/tests/a.json'", "a file of the tests is missing"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'out.txt'", ""),
        ("in _execute_child\nFileNotFoundError: [Errno 2] No such file or directory: 'pandoc'", "a program is not installed"),
        ("socket.gaierror: x\nDuring handling of the above exception, another exception occurred:\nTypeError", ""),
        ("E   assert 3 == 4", ""),
    ],
)  # fmt: skip
def test_what_is_missing_around_the_code_is_told_from_what_the_code_does(failure, expected):
    said = find_outside_cause(failure, lambda name: name == "app", lambda path: "/tests/" in path)
    assert said == expected
