"""Which packages a project's files name for its tests, in the tables of any tool."""

import pytest

from punchlist.adapters.environments.make_environment import _is_supported
from punchlist.adapters.environments.named_packages import decides, find_included, read_packages

BUILD = '[build-system]\nrequires = ["x"]\n'
UV_LOCK = """\
[[package]]
name = "mine"
version = "1.0"
source = { editable = "." }
[[package]]
name = "idna"
version = "3.7"
source = { registry = "https://example.org/simple" }
[[package]]
name = "numpy"
version = "1.0"
[[package]]
name = "numpy"
version = "2.0"
"""
POETRY_LOCK = (
    '[[package]]\nname = "six"\nversion = "1.16"\n[[package]]\nname = "ours"\nversion = "2"\n'
    '[package.source]\ntype = "git"\nurl = "https://example.org"\n'
)


@pytest.mark.parametrize(
    ("pyproject", "expected"),
    [
        (
            ('[dependency-groups]\ndev = ["b", {include-group = "more"}]\nmore = ["c>=1"]\ndocs = ["sphinx"]\n'
            'more2 = [{include-group = "more2"}]\n'),
            ("b", "c>=1"),
        ),
        ('[tool.uv]\ndev-dependencies = ["u"]\n', ("u",)),
        ('[tool.pdm.dev-dependencies]\ntest = ["p"]\nlint = ["ruff"]\n', ("p",)),
        (
            ('[tool.poetry.dev-dependencies]\nold = "^1.2"\nz = "^0.3.1"\nt = "~1.2.3"\n[tool.poetry.group.test.dependencies]\n'
            'a = "*"\nb = {version = "2.0", extras = ["x"]}\ne = "=1.3"\nf = "~=1.4, !=1.5"\ng = "1|2"\nc = {path = "../c"}\n'
            '[tool.poetry.group.docs.dependencies]\nsphinx = "*"\n'),
            ("old>=1.2,<2", "z>=0.3.1,<0.4", "t>=1.2.3,<1.3", "a", "b[x]==2.0", "e==1.3", "f~=1.4,!=1.5", "g"),
        ),
        ('[tool.hatch.envs.hatch-test]\nextra-dependencies = ["h"]\n', ("h",)),
        ('[tool.tox.env_run_base]\ndeps = ["t>1"]\n', ("t>1",)),
        (
            '[project]\ndependencies = ["d"]\n[project.optional-dependencies]\ntests = ["e"]\ndocs = ["f"]\n',
            ("d", "e"),
        ),
        ('[dependency-groups]\ntest = ["--index-url=http://evil", "fine"]\n', ("fine",)),
        ("= broken", ()),
    ],
)  # fmt: skip
def test_pyproject_names_packages_for_tests_in_any_tool_s_table(pyproject, expected):
    assert read_packages({"pyproject.toml": pyproject}).requirements == expected


@pytest.mark.parametrize(
    ("texts", "extras"),
    [
        ({"pyproject.toml": BUILD}, ()),
        ({"pyproject.toml": BUILD + "[project.optional-dependencies]\ntest = []\ndoc = []\n"}, ("test",)),
        ({"setup.cfg": "[metadata]\n[options.extras_require]\ntesting = x\n"}, ("testing",)),
        ({"setup.py": "setup(extras_require={...})"}, ("dev", "test", "tests", "testing")),
        ({"pyproject.toml": BUILD + "[tool.poetry]\npackage-mode = false\n"}, None),
        ({"pyproject.toml": "[project]\nname = 'x'\n"}, None),
        ({"requirements.txt": "x"}, None),
    ],
)  # fmt: skip
def test_a_project_that_is_built_is_installed_with_its_extras_for_tests(texts, extras):
    assert read_packages(texts).project == extras


def test_requirement_files_for_tests_are_taken_and_others_are_not():
    taken = ["requirements.txt", "dev.requirements.txt", "requirements/test.txt", "tests/requirements.txt", "test_requirements.txt"]  # fmt: skip
    others = ["requirements-docs.txt", "requirements/base.txt", "constraints-test.txt"]
    assert all(map(decides, (*taken, *others)))
    texts = dict.fromkeys((*taken, *others), "x\n")
    assert sorted(read_packages(texts).requirement_files) == sorted(taken)
    assert not any(map(decides, ("app.py", "docs/a/requirements.txt", "notes.txt")))
    assert find_included("requirements/test.txt", "-r base.txt\n-c ../pins.txt\nx\n") == [
        "requirements/base.txt",
        "pins.txt",
    ]


def test_tox_names_packages_files_and_extras():
    tox = "[tox]\n[testenv]\nextras = speed\ndeps =\n  -r{toxinidir}/needs.txt\n  py38: old\n  {[base]deps}\n  pytest-cov\n"
    texts = {
        "tox.ini": tox,
        "needs.txt": "x\n",
        "pyproject.toml": BUILD + "[project.optional-dependencies]\nspeed = []\n",
    }
    assert "needs.txt" in find_included("tox.ini", tox)
    named = read_packages(texts)
    assert (named.requirements, named.requirement_files) == (("pytest-cov",), ("needs.txt",))
    assert named.project == ("speed",)


def test_lock_files_pin_what_comes_from_a_registry_in_one_version():
    texts = {"uv.lock": UV_LOCK, "poetry.lock": POETRY_LOCK}
    assert read_packages(texts).pins == ("idna==3.7", "six==1.16")


@pytest.mark.parametrize(
    ("supported", "fits"),
    [
        ("", True),
        (">=3.9,<4", True),
        (">=3.12", False),
        ("^3.9.1", True),
        ("~=3.11.0", True),
        ("~=3.9.0", False),
        ("==3.11.*", True),
        ("<3.11", False),
        ("!=3.11", False),
    ],
)
def test_a_python_is_chosen_that_the_project_supports(supported, fits):
    assert _is_supported("3.11.7", supported) is fits
