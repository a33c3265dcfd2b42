"""What tests of the server share: servers of their own, with a repository and scripted agents."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import workbench
from sites import Site


@pytest.fixture
def site(tmp_path) -> Iterator[Site]:
    """One for a test alone; it is not started yet."""
    site = Site(tmp_path)
    yield site
    site.end()


@pytest.fixture(scope="module")
def house(tmp_path_factory) -> Iterator[Site]:
    """One for a whole module, started, with an empty repository."""
    folder = tmp_path_factory.mktemp("house")
    quiet = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for command in (
        ("init", "--quiet"),
        ("commit", "--quiet", "--allow-empty", "--message", "first"),
    ):
        subprocess.run(
            ["git", *who, *command],
            cwd=_made(folder / "repo"),
            env={**os.environ, **quiet},
            check=True,
        )
    site = Site(folder).start()
    site.repository = site.register(folder / "repo")
    yield site
    site.end()


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def bench(repo, tmp_path, site: Site) -> workbench.Workbench:
    """A branch with four faults that no tool sees, to be played on by a script."""
    return workbench.Workbench(repo, tmp_path)
