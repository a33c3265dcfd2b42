"""The repository in which all bugs live: one module and one test file each, and the configuration of its checks."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from corpus import PACKAGE

PYPROJECT = f"""[project]
name = "{PACKAGE}"
version = "1.0"

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]
"""
FILES = {
    "pyproject.toml": PYPROJECT,
    "README.md": "# Toolbox\n\nSmall functions that many projects need.\n",
    f"{PACKAGE}/__init__.py": '"""Small functions that many projects need."""\n',
    "tests/conftest.py": '"""What all tests share."""\n',
    "tests/test_package.py": f"import {PACKAGE}\n\n\ndef test_it_says_what_it_is():\n    assert {PACKAGE}.__doc__\n",
}


def files(bugs, *, covered, codes=None):
    """Path to content; `codes` are modules that are not as seeded, by the bug's name."""
    tree = dict(FILES)
    for bug in bugs:
        tree[bug.path] = (codes or {}).get(bug.name, bug.code)
        tree[bug.test_path] = bug.test_file(covered=covered)
    return tree


def written(root, tree):
    for path, content in tree.items():
        file = Path(root) / path
        if content is None:
            file.unlink(missing_ok=True)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, "utf-8")


def committed(root):
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(
        root,
        "-c",
        "user.name=bench",
        "-c",
        "user.email=bench@localhost",
        "commit",
        "-q",
        "-m",
        "As it is",
    )


def git(root, *words):
    done = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout


def run_tests(root, *words, timeout=120, python=sys.executable):
    """pytest's exit code, and by test whether it passed. Nothing of this is safe from what is tested; it is for policies and the corpus."""
    report = Path(root) / ".junit.xml"
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    env.pop("PYTEST_ADDOPTS", None)
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
        *words,
    ]
    try:
        code = subprocess.run(
            command, cwd=root, env=env, capture_output=True, check=False, timeout=timeout
        ).returncode
    except subprocess.TimeoutExpired:
        return -1, {}
    if not report.exists():
        return code, {}
    cases = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        bad = any(child.tag in ("failure", "error") for child in case)
        cases[f"{case.get('classname')}::{case.get('name')}"] = not bad
    report.unlink()
    return code, cases
