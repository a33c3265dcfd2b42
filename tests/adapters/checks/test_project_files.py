"""How a project checks itself, read from its own files."""

import asyncio

import pytest

import needs
from punchlist.adapters.checks.project_files.find import find_project_checks
from punchlist.adapters.environments.find_pythons import ProjectPlace
from punchlist.model.checks.check import CheckKind

TEST = {"tests/test_app.py": "def test_it():\n    pass\n", "app/core.py": "x = 1\n"}
PYTEST = "-m pytest"
GITHUB = """
jobs:
  test:
    steps:
      - uses: actions/checkout@v4
      - uses: psf/black@stable
      - run: pip install . && {}
      - run: flake8 app
        continue-on-error: true
"""
HOOKS = """
repos:
  - repo: https://example.org/ruff
    hooks:
      - id: ruff
        args: [--fix, --exit-non-zero-on-fix]
      - id: trailing-whitespace
  - repo: local
    hooks:
      - {id: types, entry: mypy app, language: system, pass_filenames: false}
"""
NOX = """
import nox
PLACES = ["app", "tests"]

@nox.session
def lint(session):
    session.install("flake8")
    places = session.posargs or PLACES
    session.run("flake8", *places)
    session.run("black", f"--check{1}", *PLACES)

@nox.session(python=["3.11"])
def tests(session):
    session.run("coverage", "run", "-m", "pytest", "-W", "error", "tests", *session.posargs)
"""


@pytest.fixture
def found(checked, tmp_path, monkeypatch):
    """Finds checks; tools are there by name only."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("flake8", "black", "isort", "mypy", "npm", "make", "tox"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))

    def find(files, **options):
        seen = asyncio.run(
            find_project_checks(
                checked.tree(files), ProjectPlace(checkout=checked.checkout), **options
            )
        )
        commands = {}
        for check in seen.checks:
            program, *rest = check.command
            commands[check.name] = " ".join((program.rpartition("/")[2], *rest)).partition(" ")[2]
        return commands, seen

    return find


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("pytest --doctest-modules {envsitepackagesdir}/app tests", "--doctest-modules app tests"),
        ("py3,py4: coverage run --rcfile {toxinidir}/c -p -m pytest {posargs:-k 'not slow'} tests", "-k not slow tests"),
        ("{envpython} -m pytest -q --cov=app --cov-report term -n auto -W error -rsx {posargs}", "-W error"),
        *needs.rarely(
            ("{[base]run} --ignore=tests/slow", "--strict-markers --ignore=tests/slow tests"),
            ("{envbindir}/py.test -x --tb short {env:WHERE:tests/}", "tests"),
            ("pytest --runslow --unheard=1 -p no:randomly -p xdist gone/", "--runslow -p no:randomly"),
            ("pytest \\\n    --import-mode importlib \\\n    tests/test_app.py", "--import-mode importlib tests/test_app.py"),
        ),
    ],
)  # fmt: skip
def test_pytest_is_run_with_the_arguments_that_decide_what_is_tested(found, line, arguments):
    tox = f"[base]\nrun = pytest --strict-markers tests\n[testenv]\ncommands =\n    {line}\n"
    conftest = {"tests/conftest.py": 'parser.addoption("--runslow")\n', "tests/slow/x.py": ""}
    commands, seen = found({**TEST, **conftest, "tox.ini": tox})
    assert commands == {"pytest": f"-m pytest {arguments}"}
    assert seen.checks[0].origin == "arguments of tox.ini [testenv]"


def test_commands_of_several_environments_are_run_together(found):
    tox = """
    [testenv]
    commands = pytest -m "not slow" tests
    [testenv:slow]
    commands = pytest -m slow tests
    [testenv:docs]
    commands = pytest --doctest-modules app
    """
    commands, _ = found({**TEST, "tox.ini": "\n".join(map(str.strip, tox.splitlines()))})
    assert commands == {"pytest": "-m pytest --doctest-modules tests app"}


def test_a_command_for_the_examples_of_the_package_and_one_for_all_tests_are_two_checks(found):
    """Merged, the examples of everything would be loaded, scripts that exit among it."""
    tox = "[testenv]\ncommands =\n  pytest --doctest-modules app\n  pytest -W error\n"
    files = {**TEST, "dev/bump.py": "raise SystemExit\n", "tox.ini": tox}
    commands, _ = found(files)
    assert commands == {
        "pytest": "-m pytest -W error",
        "pytest #2": "-m pytest --doctest-modules app",
    }


def test_a_command_for_few_of_the_tests_does_not_keep_the_others_from_running(found):
    bench = {"bench/test_speed.py": "", "tests/test_b.py": "", "tests/test_c.py": ""}
    files = {".github/workflows/speed.yml": GITHUB.format("pytest bench"), **TEST, **bench}
    assert found(files)[0]["pytest"] == PYTEST


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        (
            {"tox.ini": "[testenv:style]\ncommands =\n  black .\n  isort -c app\n  - flake8\n"},
            {"pytest": PYTEST, "black": "--check .", "isort": "-c app"},
        ),
        ({"noxfile.py": NOX}, {"pytest": f"{PYTEST} -W error tests", "flake8": "app tests"}),
        (
            {".github/workflows/ci.yml": GITHUB.format("uv run --group dev python -m pytest tests")},
            {"pytest": f"{PYTEST} tests", "black": "--check ."},
        ),
        ({".pre-commit-config.yaml": HOOKS}, {"pytest": PYTEST, "ruff check": "check --force-exclude --exit-non-zero-on-fix", "mypy": "app"}),
        (
            {"setup.cfg": "[flake8]\nmax-line-length = 99\n", "pyproject.toml": "[tool.black]\n", "tox.ini": "[testenv]\ncommands = black app\n"},
            {"pytest": PYTEST, "black": "--check app", "flake8": "--extend-exclude=.venv,venv,node_modules ."},
        ),
        *needs.rarely(
            ({"Makefile": "V = .venv\nB := $(V)/bin\nlint:\n\t@$(B)/python -m flake8 app && $(B)/black --check app\n\tcat x\n"}, {"pytest": PYTEST, "flake8": "app", "black": "--check app"}),
            ({"pyproject.toml": '[tool.hatch.envs.dev.scripts]\nstyle = ["black {args:.}", "mypy app"]\n'}, {"pytest": PYTEST, "black": "--check .", "mypy": "app"}),
            ({"tox.toml": '[env.a]\ncommands = [["black", { replace = "posargs", default = ["app"] }]]\n'}, {"pytest": PYTEST, "black": "--check app"}),
            ({".gitlab-ci.yml": "style:\n  script:\n    - mypy app\nnever:\n  allow_failure: true\n  script: [black .]\n"}, {"pytest": PYTEST, "mypy": "app"}),
        ),
    ],
)  # fmt: skip
def test_linters_and_formatters_are_gates_and_change_no_file(found, files, commands):
    got, seen = found({**TEST, **files})
    assert got == commands
    assert {check.kind for check in seen.checks[1:]} == {CheckKind.GATE}
    assert found({**TEST, **files}, gates=False)[0].keys() == {"pytest"}


def test_scripts_of_package_json_that_only_look_are_gates(checked, found):
    (checked.checkout / "node_modules/.bin").mkdir(parents=True)
    scripts = '{"scripts": {"lint": "eslint src/*.ts && tsc --noEmit", "fix": "prettier --write .", "go": "webpack"}}'
    assert found({"package.json": scripts})[0] == {"lint": "run lint"}


def test_what_is_left_out_is_named(found):
    tox = "[testenv]\ncommands =\n  yapf -i app\n  check-manifest\n  black . > out\n  flake8 {envtmpdir}\n"
    ci = GITHUB.format("ls; mypy $WHERE || true")
    _, seen = found({**TEST, "tox.ini": tox, ".github/workflows/ci.yml": ci})
    assert seen.left_out == (
        "`yapf -i app` (tox.ini [testenv]) is not run: yapf is not installed",
        "`black . > out` (tox.ini [testenv]) is not run: it needs a shell",
        "`flake8 ...` (tox.ini [testenv]) is not run: it has a value that punchlist does not know",
        "`mypy $WHERE || true` (.github/workflows/ci.yml: test) is not run: it needs a shell",
        "not run of the project's own commands: check-manifest (tox.ini [testenv])",
    )


def test_examples_in_docstrings_are_a_check_unless_the_project_runs_them(found):
    code = {"app/core.py": '"""\n>>> 1 + 1\n2\n"""\n'}
    commands, seen = found({**TEST, **code})
    assert commands == {"pytest": PYTEST, "doctest": f"{PYTEST} --doctest-modules"}
    assert (seen.checks[1].kind, seen.checks[1].origin) == (
        CheckKind.DOCTEST,
        "examples in docstrings, such as app/core.py",
    )
    configured = {"pytest.ini": "[pytest]\naddopts = --doctest-modules\n"}
    assert found({**TEST, **code, **configured})[0] == {"pytest": PYTEST}
    assert found({**TEST, "tests/test_x.py": code["app/core.py"]})[0] == {"pytest": PYTEST}


def test_examples_that_no_pytest_runs_are_named(found):
    commands, seen = found({"app.py": '"""\n>>> 1\n1\n"""\n', "tox.ini": "# --doctest-modules\n"})
    assert commands == {}
    assert seen.left_out == (
        "examples in docstrings, such as app.py, are not run: no pytest was found for this project",
    )


@pytest.mark.parametrize(
    "text",
    ["\0", "[" * 900, "a = " + "[" * 9000, "a: &a [*a]", "- - -", "jobs: 3", "= [", "x" * 10],
)
def test_files_that_make_no_sense_are_passed_over(found, text):
    names = ("tox.ini", "tox.toml", "noxfile.py", "hatch.toml", ".gitlab-ci.yml", "Makefile")
    more = (".pre-commit-config.yaml", ".github/workflows/a.yml", "package.json", "setup.cfg")
    assert found({**TEST, **dict.fromkeys((*names, *more), text)})[0]["pytest"] == PYTEST


def test_small_files_that_would_become_large_are_read_in_no_time(found):
    grow = "".join(f"v{n} = {f'$(v{n + 1}) ' * 200}\n" for n in range(9))
    nox = "".join(f"v{n} = [{f'v{n + 1}, ' * 300}]\n" for n in range(9)) + "v9 = []\n"
    tox = "".join(f"[s{n}]\nx = {f'{{[s{n + 1}]x}}' * 900}\n" for n in range(9))
    files = {
        "Makefile": f"{grow}v9 = x\nlint:\n\tflake8 $(v0)\n",
        "noxfile.py": f"{nox}def lint(session):\n    session.run('flake8', *v0)\n",
        "tox.ini": f"{tox}[s9]\nx = y\n[testenv]\ncommands = flake8 {{[s0]x}}\n",
        ".gitlab-ci.yml": f"a: &a\n  script: [{'1, ' * 9000}]\n"
        + "".join(f"j{n}: *a\n" for n in range(9000)),
    }
    commands, seen = found({**TEST, **files})
    assert commands == {"pytest": PYTEST}
    assert seen.left_out
