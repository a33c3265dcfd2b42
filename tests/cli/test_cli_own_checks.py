"""A project's own arguments, its formatter and its doctests judge the fixes: what is green on the base stays green."""

import json
import subprocess
import sys

TOX = """\
[testenv]
changedir = .tox
deps = pytest
commands = coverage run --parallel -m pytest -vv --doctest-modules {envsitepackagesdir}/shop {posargs}

[testenv:style]
commands =
    ruff format --check {toxinidir}
    isort-not-there --check . | tee style.txt
    black-not-there .

[testenv:imports]
commands = yapf --diff .

[pytest]
addopts = --disable-plugin-autoload
"""
PATHS = '''\
"""Paths.

>>> os.sep
'/'
"""

import os
import sys


def join(*parts):
    """Join the parts.

    >>> join("a", "b")
    'a/b'
    """
    return "/".join(parts)
'''
WIDE = 'def wide(name):\n    return " ".join(\n        (name, f"{}")\n    )\n'
"""With one letter less it would stand on one line."""
LABEL = 'import os\n\n\ndef label(name):\n    return name + f" sold"\n\n\n'
TEST = "from shop.label import label\n\n\ndef test_label():\n    assert label('a') == 'a sold'\n"
RUFF = ("--set", "analyzers.enabled=ruff", "--set", "analyzers.select=F")


def test_what_the_project_keeps_green_is_green_on_the_branch(repo, make_punchlist):
    wide = WIDE.format("x" * (89 - len('    return " ".join((name, f""))')))
    files = {"shop/paths.py": PATHS, "shop/label.py": LABEL + wide, "shop/__init__.py": ""}
    repo.commit({"tox.ini": TOX, "shop/test_label.py": TEST.replace("'", '"'), **files})
    gates = (
        ["ruff", "format", "--check", "."],
        ["pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules", "shop"],
    )
    assert [judge(repo.root, gate) for gate in gates] == [0, 0], "they are green on the base"
    punchlist = make_punchlist(repo.root)
    ran = punchlist("run", "--all", "--yes", "-v", *RUFF)
    report = json.loads(punchlist("status", "--json").stdout)["report"]
    checks = {check["check"]["name"]: check["check"] for check in report["checks"]}
    assert checks["pytest"]["command"][1:] == ["-m", "pytest", "--doctest-modules", "shop"]
    assert checks["pytest"]["origin"] == "arguments of tox.ini [testenv]"
    assert checks["ruff format"]["command"][1:] == ["format", "--check", "."]
    assert {(item["path"], item["line"], item["status"]) for item in report["items"]} == {
        ("shop/paths.py", 7, "filed"),  # a doctest needs it
        ("shop/paths.py", 8, "fixed"),
        ("shop/label.py", 1, "fixed"),
        ("shop/label.py", 5, "fixed"),
        ("shop/label.py", 10, "fixed"),  # and the formatter joins the lines
    }
    repo.git("checkout", "--quiet", report["run"]["branch"])
    assert [judge(repo.root, gate) for gate in gates] == [0, 0], "and on the branch"
    said = " ".join(ran.stdout.split())
    assert "green as before: ruff format" in said
    assert "`yapf --diff .` (tox.ini [testenv:imports]) is not run: yapf is not installed" in said
    assert "black-not-there . (tox.ini [testenv:style])" in said
    (number,) = [item["number"] for item in report["items"] if item["line"] == 10]
    shown = " ".join(punchlist("show", "last", str(number)).stdout.split())
    assert "+ return" in shown, "the change is shown as it landed"


def judge(folder, arguments):
    return subprocess.run([sys.executable, "-m", *arguments], cwd=folder, check=False).returncode
