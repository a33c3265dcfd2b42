"""What the tests of the command line share: the real command, started in a real repository, with a home of its own."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typed_command import CART, SOURCE, Punchlist


@pytest.fixture
def cart(repo):
    """One commit with four defects: two unused imports, a comparison to None, an eval."""
    repo.commit({"cart.py": CART})
    return repo


@pytest.fixture
def make_punchlist(tmp_path: Path) -> Callable[[Path], Punchlist]:
    return lambda folder: Punchlist(tmp_path / "state", folder)


@pytest.fixture
def punchlist(make_punchlist, cart) -> Punchlist:
    return make_punchlist(cart.root)


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Punchlist:
    """A repository in which `punchlist run --all` has been; only for tests that change nothing."""
    folder = tmp_path_factory.mktemp("done")
    punchlist = Punchlist(folder / "state", folder / "repo")
    punchlist.analyzers = ""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "XDG_", "PUNCHLIST_"))
    }
    punchlist.env = {
        **clean,
        "HOME": str(folder),
        "PUNCHLIST_HOME": str(punchlist.home),
        "COLUMNS": "100",
        "PYTHONPATH": SOURCE,
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    punchlist.folder.mkdir()
    (punchlist.folder / "cart.py").write_text(CART)
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for arguments in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "--all"],
        [*identity, "commit", "--quiet", "--message", "cart"],
    ):
        subprocess.run(["git", *arguments], cwd=punchlist.folder, env=punchlist.env, check=True)
    ran = punchlist("run", "--all")
    assert ran.returncode == 1, ran.stderr
    punchlist.ran = ran
    return punchlist
