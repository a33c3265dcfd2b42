"""Which files of a project define a check."""

import asyncio

import pytest

from punchlist.model.checks.check import Check, CheckKind
from punchlist.model.checks.check_files import find_check_files
from punchlist.model.checks.protected import Protected, protect_files

FILES = {
    "Makefile": "test:\n\t./ci/all.sh && pytest src/app.py\n",
    "Justfile": "test:\n  pytest\n",
    "build/rules.mk": "all:\n",
    "ci/all.sh": "#!/bin/sh\n. ci/common.bash\npytest\n",
    "ci/common.bash": "set -e\n",
    "package.json": '{"scripts": {"test": "bash ci/all.sh"}}',
    "qa/nox_file.py": "",
    "qa/rows.toml": "",
    "run_tests.py": "import app\n",
    "src/app.py": "",
    "tests/test_app.py": "",
    "tox.ini": "[testenv]\ncommands = pytest\n",
}


@pytest.mark.parametrize(
    ("origin", "command", "expected"),
    [
        ("detected by Makefile: test", "make test", ["Makefile", "ci/all.sh", "ci/common.bash"]),
        ("detected by Justfile: test", "just test", ["Justfile"]),
        ("tox.ini [testenv]", "tox", ["tox.ini"]),
        ("package.json scripts.test", "npm test", ["package.json", "ci/all.sh", "ci/common.bash"]),
        ("/home/me/settings.toml", "./ci/all.sh -q", ["ci/all.sh", "ci/common.bash"]),
        ("settings", "/usr/bin/python3.12 -X dev run_tests.py src/app.py", ["run_tests.py"]),
        ("settings", "env CI=1 poetry run ./ci/common.bash", ["ci/common.bash"]),
        ("settings", "make -f build/rules.mk all", ["build/rules.mk"]),
        ("settings", "nox --noxfile=qa/nox_file.py", ["qa/nox_file.py"]),
        ("settings", "runner --config-file=./qa/rows.toml src/app.py", ["qa/rows.toml"]),
        ("settings", "python -m pytest src/app.py", []),
        ("settings", "pytest tests/test_app.py", []),
    ],
)
def test_where_it_was_found_what_it_runs_and_what_its_options_name(origin, command, expected):
    async def read(path):
        return FILES[path]

    check = Check(name="any", command=tuple(command.split()), origin=origin)
    assert list(asyncio.run(find_check_files(check, FILES, read))) == expected


def test_the_code_that_has_examples_is_no_file_that_defines_how_they_are_run():
    async def read(path):
        return FILES[path]

    check = Check(
        name="doctest",
        kind=CheckKind.DOCTEST,
        command=("python", "-m", "pytest", "--doctest-modules"),
        origin="examples in docstrings, such as src/app.py",
    )
    assert asyncio.run(find_check_files(check, FILES, read)) == ()


def test_such_a_file_is_protected_and_analyzers_see_it_as_it_is():
    usual = Protected()
    run = protect_files(usual, ["ci/all.sh", "pyproject.toml", "tests/test_app.py"])
    assert not usual.holds("ci/all.sh")
    assert run.holds("ci/all.sh")
    assert not run.holds("vendor/ci/all.sh")
    assert run.steering == usual.steering
    assert run.configuration == (*usual.configuration, "/ci/all.sh")
