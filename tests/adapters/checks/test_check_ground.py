"""What a remembered result stands on: it is the same until a program, an environment or a leftover of the checkout changes."""

import os
import subprocess
import sys

import pytest

from punchlist.adapters.checks import environment_stamp as stamp
from punchlist.model.checks.check import Check

CHECK = Check(name="tests", command=(sys.executable, "-m", "pytest"))


@pytest.fixture
def ground(checked):
    """A repository that ignores a few things, and what its checks stand on at the moment."""
    subprocess.run(["git", "init", "--quiet", checked.checkout], check=True)
    (checked.checkout / ".gitignore").write_text(
        "*.flag\nbuild/\n.venv/\nnode_modules/\n__pycache__/\n*.log\n"
    )
    for folder in ("build/lib", ".venv/lib/python3.11/site-packages", "node_modules"):
        (checked.checkout / folder).mkdir(parents=True)
    (checked.checkout / "build/lib/product.so").write_text("old")
    (checked.checkout / ".venv/pyvenv.cfg").write_text("home = /usr\n")
    (checked.checkout / "node_modules/.package-lock.json").write_text("{}")
    return lambda check=CHECK: checked.hash_environment(check)


def later(path):
    """As if written at another time, whatever the clock's grain."""
    os.utime(path, ns=(1, 1))


def test_what_did_not_change_is_the_same_ground(ground):
    assert ground() == ground()


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "service.flag").touch(),
        lambda root: (root / "build/lib/product.so").write_text("another"),
        lambda root: (root / "build/lib/more.so").touch(),
        lambda root: (root / "build/lib/product.so").unlink(),
        lambda root: later(root / ".venv/pyvenv.cfg"),
        lambda root: (root / ".venv/lib/python3.11/site-packages/new.dist-info").mkdir(),
        lambda root: (root / ".venv/lib/python3.11/site-packages/it.pth").write_text(
            "/elsewhere\n"
        ),
        lambda root: later(root / "node_modules/.package-lock.json"),
    ],
    ids=[
        "a file",
        "a product",
        "a new product",
        "a lost product",
        "a venv",
        "a package",
        "an editable",
        "modules",
    ],
)
def test_what_is_lent_to_a_check_is_part_of_the_ground(checked, ground, change):
    before = ground()
    change(checked.checkout)
    assert ground() != before


@pytest.mark.parametrize("name", ["build/lib/__pycache__", "note.log", "committed.py"])
def test_what_is_not_lent_is_not(checked, ground, name):
    later(checked.checkout / "build/lib")
    before = ground()
    (checked.checkout / name).mkdir() if name.endswith("__") else (checked.checkout / name).touch()
    later(checked.checkout / "build/lib")
    assert ground() == before


def test_the_program_is_part_of_the_ground_by_what_it_is_and_not_by_its_name_alone(checked, ground):
    program = checked.base / "bin/judge"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    check = Check(name="tests", command=(str(program),))
    before = ground(check)
    program.write_text("#!/bin/sh\nexit 1\n")
    assert ground(check) != before


def test_packages_beside_the_program_are_part_of_the_ground(checked, ground):
    program = checked.base / "env/bin/python"
    packages = checked.base / "env/lib/python3.11/site-packages"
    program.parent.mkdir(parents=True)
    packages.mkdir(parents=True)
    program.symlink_to(sys.executable)
    check = Check(name="tests", command=(str(program), "-m", "pytest"))
    before = ground(check)
    (packages / "new.dist-info").mkdir()
    assert ground(check) != before


def test_with_walls_and_without_is_not_the_same_ground(ground, monkeypatch):
    monkeypatch.setattr(stamp, "sandbox_kind", lambda: "bubblewrap")
    before = ground()
    monkeypatch.setattr(stamp, "sandbox_kind", lambda: "none")
    assert ground() != before


def test_a_checkout_with_very_many_leftovers_is_looked_at_only_so_far(checked, ground, monkeypatch):
    seen = []
    honest = stamp._stamp_path
    monkeypatch.setattr(stamp, "_LIMIT", 5)
    monkeypatch.setattr(stamp, "_stamp_path", lambda path: seen.append(path) or honest(path))
    for number in range(50):
        (checked.checkout / f"build/{number}").touch()
    before = ground()
    assert len([path for path in seen if path.is_relative_to(checked.checkout / "build/")]) <= 6
    (checked.checkout / "service.flag").touch()
    assert ground() != before, "what is lent by its own name is looked at all the same"
