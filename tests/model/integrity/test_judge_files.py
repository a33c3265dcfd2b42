"""The judge is what the tests load: what is theirs, what is the code's, and what would get in their way."""

import pytest

from punchlist.model.checks.loads import Loads
from punchlist.model.checks.protected import Protected
from punchlist.model.integrity.judge_files import JudgeFiles, find_test_files

TEXTS = {
    "app/__init__.py": "",
    "app/m.py": "from app.h import clean\nfrom vendor import fast\nRATES = open('rates.csv')\n",
    "app/h.py": "def clean(x):\n    return x\n",
    "app/sibling.py": "",
    "vendor/fast.py": "",
    "tools/convert.py": "",
    "support/build.py": "import support.more\nCASES = open('cases/build.json')\n",
    "support/more.py": "",
    "cases/build.json": "[]",
    "cases/m.json": "[]",
    "app/testdata/wide.json": "[]",
    "locale/en.json": "{}",
    "input/sample.txt": "",
    "rates.csv": "",
    "helpers.py": "",
    "qa/test_m.py": "from app import m\nfrom helpers import h\nm.read('sample.txt')\n",
    "qa/loader.py": "",
    "qa/test_convert.py": "",
}
FILES = {
    "qa/test_m.py": ("",),
    "qa/test_convert.py": ("",),
    "qa/loader.py": ("qa/test_m.py",),
    "app/__init__.py": ("qa/test_m.py",),
    "app/m.py": ("qa/test_m.py",),
    "app/h.py": ("app/m.py",),
    "app/sibling.py": ("qa/test_m.py",),
    "vendor/fast.py": ("qa/test_m.py",),
    "tools/convert.py": ("qa/test_convert.py",),
    "helpers.py": ("qa/test_m.py",),
    "support/build.py": ("qa/test_m.py",),
    "support/more.py": ("support/build.py",),
    "cases/build.json": ("support/build.py",),
    "cases/m.json": ("qa/loader.py",),
    "app/testdata/wide.json": ("qa/test_m.py",),
    "locale/en.json": ("qa/test_m.py", "app/m.py"),
    "input/sample.txt": ("app/m.py",),
    "rates.csv": ("qa/test_m.py",),
}
MODULES = {"app": "app/__init__.py", "app.m": "app/m.py", "helpers": "helpers.py", "numpy": "", "json": "", "lib_m": "src/lib_m.py"}  # fmt: skip
LOADS = Loads(FILES, MODULES, ("", "qa"))


@pytest.fixture
def judges():
    return JudgeFiles(
        LOADS,
        tests={"qa/test_m.py", "qa/test_convert.py"},
        protected=Protected(),
        subjects={"app/m.py"},
        read=lambda path: TEXTS.get(path, ""),
    )


@pytest.mark.parametrize(
    "path",
    [
        "cases/m.json",
        "cases/build.json",
        "app/testdata/wide.json",
        "input/sample.txt",
        "qa/loader.py",
        "helpers.py",
        "support/build.py",
        "support/more.py",
    ],
)
def test_what_only_tests_load_is_theirs(judges, path):
    assert judges.holds(path)


@pytest.mark.parametrize(
    "path",
    [
        "app/m.py",
        "app/__init__.py",
        "app/h.py",
        "app/sibling.py",
        "vendor/fast.py",
        "tools/convert.py",
        "locale/en.json",
        "rates.csv",
        "README.md",
    ],
)
def test_what_the_code_loads_too_or_is_tested_itself_is_not(judges, path):
    assert not judges.holds(path)


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("json.py", "", "instead of json"),
        ("numpy/__init__.py", "", "instead of numpy"),
        ("app.py", "", "instead of app"),
        ("app/m/__init__.py", "", "instead of app/m"),
        ("app/m.cpython-311-x86_64-linux-gnu.so", "", "by itself"),
        ("app/m.pyc", "", "by itself"),
        ("qa/helpers.py", "", "instead of helpers"),
        ("qa/string.py", "", "instead of string"),
        ("lib_m.py", "", "instead of lib_m"),
        ("fast.pth", "import os\n", "by itself"),
        ("qa/more.py", "X = 1\n", "no test"),
        ("qa/m.json", "[]", "no test"),
        ("cases/new.json", "[]", "no test"),
        ("tests/data.csv", "", "no test"),
        ("tests/__init__.py", "", "no test"),
    ],
)
def test_a_new_file_that_gets_in_the_way_of_the_tests_is_refused(judges, path, text, said):
    files = {*TEXTS, "tests/test_old.py", "src/lib_m.py"}
    assert said in judges.find_intruder(path, text, files)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("app/steps.py", ""),
        ("app/json.py", ""),
        ("steps.py", ""),
        ("qa/test_new.py", "def test_it(): ...\n"),
        ("qa/check_new.py", "def test_it(): ...\n"),
        ("tests/new/data.csv", ""),
        ("docs/more.md", ""),
        ("app/new/__init__.py", ""),
        ("tests/steps.rs", ""),
    ],
)
def test_other_new_files_are_welcome(judges, path, text):
    assert judges.find_intruder(path, text, {*TEXTS, "tests/test_old.py"}) == ""


def test_a_module_may_become_a_package_and_move(judges):
    assert judges.find_intruder("app/m/__init__.py", "", TEXTS, gone={"app/m.py"}) == ""
    assert judges.find_intruder("lib_m.py", "", TEXTS, gone={"src/lib_m.py"}) == ""


def test_code_beside_its_tests_is_still_code():
    inline = Loads({"pkg/a.py": ("pkg/test_a.py",), "pkg/test_a.py": ("",)}, {}, ("",))
    judges = JudgeFiles(
        inline, tests={"pkg/test_a.py"}, protected=Protected(), subjects={"pkg/a.py"}, read=lambda _: ""
    )  # fmt: skip
    assert judges.find_intruder("pkg/b.py", "", ["pkg/a.py", "pkg/test_a.py"]) == ""
    assert not judges.holds("pkg/a.py")


def test_the_files_of_tests_are_known_by_their_ids():
    ids = ["qa/test_m.py::T::test_a[x.y]", "unit.test_b.T.test_c", "unit.loader.Failed.test_z"]
    modules = {"unit": "unit/__init__.py", "unit.test_b": "unit/test_b.py", "T": ""}
    assert find_test_files(ids, modules) == {"qa/test_m.py", "unit/test_b.py"}
