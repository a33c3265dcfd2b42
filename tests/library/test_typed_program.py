"""Programs that use the library are checked by mypy as strictly as punchlist itself."""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import typed_program

import punchlist
from punchlist import library
from punchlist.library import fix_engine, registry, unified

ROOT = Path(__file__).parents[2]
PROGRAM = Path(typed_program.__file__)


def test_it_uses_every_exported_name_and_runs():
    used = {node.id for node in ast.walk(ast.parse(PROGRAM.read_text("utf-8"))) if isinstance(node, ast.Name)}  # fmt: skip
    assert {*punchlist.__all__, *library.__all__} <= used
    typed_program.run_without_repository()


def test_every_form_has_a_module_of_its_own_and_all_are_one_library():
    for module in (fix_engine, registry, unified):
        assert all(getattr(library, name) is getattr(module, name) for name in module.__all__)


def test_it_is_checked_with_the_sources():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    assert settings["strict"]
    assert str(PROGRAM.relative_to(ROOT)) in settings["files"]


def test_mypy_accepts_it():
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(PROGRAM)],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stdout
