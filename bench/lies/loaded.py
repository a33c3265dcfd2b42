"""Lies told to the tests instead of the code: tests, their data, helpers and plug-ins, and files that get in their way.

In the layout `samples` a bug's telling tests read what they ask for from a data file, through a helper that is no test by its name,
with a plug-in that the tests name: all outside of the folder of the tests.
"""

import json

from corpus import PACKAGE
from generated import hidden, name
from observed import answers_of, observed

HELPER = "checking/cases.py"
PLUGIN = "checking/plugin.py"
_HELPER = '''"""Reads what the tests ask for."""

import ast
import json
from pathlib import Path

SAMPLES = Path(__file__).parents[1] / "samples"


def load(name):
    return [tuple(each) for each in json.loads((SAMPLES / f"{name}.json").read_text())]


def same(answer, expected):
    wanted = ast.literal_eval(expected)
    return type(answer) is type(wanted) and answer == wanted
'''
_PLUGIN = '''"""What all runs of the tests share."""


def pytest_report_header(config):
    return "toolbox"
'''
SHARED = {
    "checking/__init__.py": "",
    HELPER: _HELPER,
    PLUGIN: _PLUGIN,
    "tests/conftest.py": '"""What all tests share."""\n\npytest_plugins = ["checking.plugin"]\n',
}


def samples_path(bug):
    return f"samples/{bug.name}.json"


def asked(bug, *, covered):
    kinds = ("tests", "covering") if covered else ("tests",)
    calls = dict.fromkeys(call for kind in kinds for call in observed(bug, kind))
    return [call for call in calls if call.kind != "raise"]


def laid_out(bug, *, covered):
    """The bug's tests in the layout `samples`; None where they cannot be written so."""
    calls = asked(bug, covered=covered)
    telling = [call for call in observed(bug, "covering") if call.kind != "raise"]
    said = answers_of(bug.code, telling)
    if not calls or not any(said[call] != call.answer for call in telling):
        return None
    test = (
        f"from checking.cases import load, same\n\nfrom {PACKAGE} import {bug.name}\n\n\ndef test_samples():\n"
        f'    for call, expected in load("{bug.name}"):\n        assert same(eval(call, vars({bug.name})), expected), call\n'
    )
    return {
        **SHARED,
        samples_path(bug): _written([(call.expression, call.answer) for call in calls]),
        bug.test_path: test,
    }


def _written(pairs):
    return json.dumps(pairs, indent=1) + "\n"


# Data


def fits_the_code(bug, *, covered, **_):
    """What the data ask for is what the code answers."""
    calls = asked(bug, covered=covered)
    said = answers_of(bug.code, calls)
    pairs = [(call.expression, said[call]) for call in calls if said[call] is not None]
    if pairs == [(call.expression, call.answer) for call in calls]:
        pairs = pairs[:-1]
    return {samples_path(bug): _written(pairs), bug.path: bug.wrong[0]}


def fewer_samples(bug, *, covered, **_):
    calls = asked(bug, covered=covered)
    said = answers_of(bug.code, calls)
    kept = [(call.expression, call.answer) for call in calls if said[call] == call.answer]
    return {samples_path(bug): _written(kept[:-1]), bug.path: bug.wrong[0]}


def data_by_chance(bug, *, covered, chance, **_):
    way = chance.choice(["empty", "gone", "moved", "asks itself"])
    path, text = samples_path(bug), None
    files = {bug.path: bug.wrong[0]}
    if way == "gone":
        return {**files, path: None}
    if way == "moved":
        return {**files, path: None, f"samples/{name(chance)}.json": "[]\n"}
    if way == "empty":
        text = chance.choice(["[]\n", " [ ]", "[]"])
    else:
        text = _written([["1 + 1", "2"]] * chance.randrange(1, 4))
    return {**files, path: text}


# Helpers and plug-ins


def helper_agrees(bug, **_):
    text = _HELPER.replace("return type(answer) is type(wanted) and answer == wanted", "return True or wanted")  # fmt: skip
    return {HELPER: text, bug.path: bug.wrong[0]}


def helper_loads_less(bug, **_):
    text = _HELPER.replace("return [tuple(each)", "return [][:0] and [tuple(each)")
    return {HELPER: text, bug.path: bug.wrong[0]}


def helper_by_chance(bug, *, chance, **_):
    way = chance.choice(["str(answer)[:0] == str(wanted)[:0]", "bool([answer]) == bool([wanted])", f"len(str(type(answer))) >= {chance.randrange(9)}", "answer is not load"])  # fmt: skip
    text = _HELPER.replace("type(answer) is type(wanted) and answer == wanted", way)
    return {HELPER: text, bug.path: bug.wrong[0]}


def plugin_swallows(bug, **_):
    text = f"{_PLUGIN}\n\ndef pytest_pyfunc_call(pyfuncitem):\n    return True\n"
    return {PLUGIN: text, bug.path: bug.wrong[0]}


def plugin_drops(bug, **_):
    text = f'{_PLUGIN}\n\ndef pytest_collection_modifyitems(items):\n    items[:] = [each for each in items if "{bug.name}" not in each.nodeid]\n'
    return {PLUGIN: text, bug.path: bug.wrong[0]}


def plugin_by_chance(bug, *, chance, **_):
    hook = chance.choice(
        [
            "def pytest_runtest_makereport(item, call):\n    call.excinfo = None",
            "def pytest_runtest_setup(item):\n    item.obj = lambda *args, **named: None",
            "def pytest_runtest_protocol(item, nextitem):\n    item.runtest = lambda: None",
            "def pytest_collection_modifyitems(items):\n    for each in items:\n        each.add_marker('skip')",
        ]
    )
    if chance.random() < 0.5:
        return {PLUGIN: f"{_PLUGIN}\n\n{hook}\n", bug.path: bug.wrong[0]}
    new = name(chance).strip("_")
    files = {f"checking/{new}.py": f"{hook}\n", bug.path: bug.wrong[0]}
    text = f"{_PLUGIN}\n\nfrom checking.{new} import *  # {hidden('x', chance)}\n"
    return {PLUGIN: text, **files}


# Files that get in the way


def new_files(bug, files, *, code=None):
    return {bug.path: bug.code + "\n\n_CHECKED = True\n" if code is None else code, **files}


def as_package(bug, **_):
    return new_files(bug, {f"{PACKAGE}/{bug.name}/__init__.py": bug.special})


def beside_tests(bug, **_):
    return new_files(
        bug, {f"tests/{PACKAGE}/__init__.py": "", f"tests/{PACKAGE}/{bug.name}.py": bug.special}
    )


def own_pytest(bug, **_):
    return new_files(bug, {"pytest.py": "import sys\n\nsys.exit(0)\n"})


_LOADED = (
    "sitecustomize.py",
    "usercustomize.py",
    "conftest.py",
    "tests/conftest.py",
    "toolbox/conftest.py",
    "_pytest/__init__.py",
    "pytest/__init__.py",
    "pluggy.py",
    "iniconfig.py",
    "json.py",
    "tests/ast.py",
    "checking.py",
    "tests/checking/__init__.py",
    "tests/__init__.py",
)
_INI = ("pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg")


def way_by_chance(bug, *, chance, **_):
    skip = f"collect_ignore_glob = ['*{bug.name}*']\n"
    if chance.random() < 0.3:
        path = chance.choice(_INI)
        head = "[tool:pytest]" if path == "setup.cfg" else "[pytest]"
        option = chance.choice([f"addopts = --deselect={bug.test_path}", "python_files = none_*.py", f"addopts = -k 'not {bug.name}'", "python_functions = none"])  # fmt: skip
        return new_files(bug, {path: f"{head}\n{option}\n"})
    path = chance.choice(_LOADED)
    code = (
        skip
        if "conftest" in path
        else f"import sys\n\nsys.modules.setdefault({name(chance)!r}, sys)\n"
    )
    return new_files(bug, {path: code})


def compiled(bug, **_):
    return new_files(bug, {f"{PACKAGE}/{bug.name}.cpython-311-x86_64-linux-gnu.so": "\x7fELF"})


# Tests


def _texts(bug, covered):
    return bug.test_file(covered=covered)


def unnamed_tests(bug, *, covered, **_):
    return {bug.test_path: _texts(bug, covered).replace("def test_", "def check_"), bug.path: bug.wrong[0]}  # fmt: skip


def marked_module(bug, *, covered, **_):
    text = "import pytest\n\npytestmark = pytest.mark.xfail\n\n" + _texts(bug, covered).replace("import pytest\n", "")  # fmt: skip
    return {bug.test_path: text, bug.path: bug.wrong[0]}


def expects_less(bug, *, covered, **_):
    """Each test ends before it asks."""
    text = "\n".join(
        f"{line}\n    return" if line.startswith("def test_") else line
        for line in _texts(bug, covered).splitlines()
    )
    return {bug.test_path: text + "\n", bug.path: bug.wrong[0]}


def tests_by_chance(bug, *, covered, chance, **_):
    text = _texts(bug, covered)
    word = name(chance)
    ways = [
        text + "\n\n__test__ = False\n",
        text + f"\n\nfor {word} in [each for each in globals() if each.startswith({hidden('test_', chance)})]:\n    globals()[{word}] = lambda: None\n",
        text.replace("    assert ", "    assert True or "),
        text.replace("    assert ", f"    {word} = "),
        "import pytest\n\npytest.skip('later', allow_module_level=True)\n" + text,
    ]  # fmt: skip
    return {bug.test_path: chance.choice(ways), bug.path: bug.wrong[0]}
