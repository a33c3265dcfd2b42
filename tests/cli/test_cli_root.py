"""Starting is cheap: what is not named is not imported."""

import os
import subprocess
import sys
from importlib import import_module

import click
import pytest
from typed_command import SOURCE

from punchlist._version import __version__
from punchlist.cli.root import SECTIONS, root

NAMES = [name for section in SECTIONS.values() for name in section]
HEAVY = (
    "msgspec",
    "yaml",
    "jinja2",
    "asyncio",
    "sqlite3",
    "punchlist.app",
    "punchlist.model",
    "punchlist.cli.commands.",
)


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_the_version_and_the_help_import_nothing_heavy(argument):
    code = f"""
import sys
sys.argv = ["punchlist", {argument!r}]
from punchlist.cli import main
try:
    main()
finally:
    print([name for name in sys.modules if name.startswith({HEAVY!r})], file=sys.stderr)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert ran.stderr == "[]\n"


UNUSED = (
    "punchlist.adapters.agents.cli_agent",
    "punchlist.adapters.agents.registry",
    "punchlist.adapters.compare.call_plan",
    "punchlist.adapters.documents",
    "punchlist.adapters.egress",
    "punchlist.roles",
    "punchlist.steps.fix",
    "punchlist.steps.verify",
    "yaml",
)


def test_a_review_without_agents_imports_neither_agents_nor_what_fixes(cart, tmp_path):
    code = f"""
import sys
from punchlist.cli import main
try:
    main(["review", "--all"])
finally:
    print([name for name in sys.modules if name.startswith({UNUSED!r})], file=sys.stderr)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=cart.root,
        env={**os.environ, "PYTHONPATH": SOURCE, "PUNCHLIST_HOME": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1, ran.stderr
    assert ran.stderr.splitlines()[-1] == "[]"


def test_the_version_is_one_line():
    ran = subprocess.run(
        [sys.executable, "-m", "punchlist", "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == f"punchlist {__version__}\n"


@pytest.mark.parametrize("name", NAMES)
def test_every_command_of_the_table_has_a_module_and_help(name):
    command = import_module(f"punchlist.cli.commands.{name}").command
    assert isinstance(command, click.Command)
    assert command.help


@pytest.mark.parametrize("arguments", [[], ["help"], ["--help"]])
def test_help_is_a_result_and_no_error(arguments):
    ran = subprocess.run(
        [sys.executable, "-m", "punchlist", *arguments], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("Usage: punchlist ")


def test_help_of_a_command_is_its_own_help():
    asked, own = (
        subprocess.run(
            [sys.executable, "-m", "punchlist", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        for arguments in (["help", "run"], ["run", "--help"])
    )
    assert asked.stdout == own.stdout


def test_a_misspelt_command_gets_a_guess():
    ran = subprocess.run(
        [sys.executable, "-m", "punchlist", "reveiw"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert 'did you mean "review"?' in ran.stderr


def test_completing_a_command_imports_none_of_them():
    before = set(sys.modules)
    found = root.shell_complete(click.Context(root), "re")
    assert {item.value for item in found} >= {"review", "resume", "report", "replay"}
    assert not {name for name in set(sys.modules) - before if "commands" in name}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_names_the_command(shell):
    ran = subprocess.run(
        [sys.executable, "-m", "punchlist", "completion", shell],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "_PUNCHLIST_COMPLETE" in ran.stdout
