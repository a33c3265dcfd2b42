"""Files where punchlist looks for something, and is met by something else: links in a circle, locked folders, pipes, sockets, devices."""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import chdir, suppress
from pathlib import Path

import pytest

from needs import rarely
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.checks.untracked_needs import find_untracked

PLACES = """
    .venv .venv/bin .venv/bin/python .venv/bin/pytest .venv/pyvenv.cfg .venv/lib venv env .tox .nox
    node_modules node_modules/.bin node_modules/.bin/eslint package.json pyproject.toml ruff.toml
    setup.cfg setup.py tox.ini noxfile.py Makefile .pre-commit-config.yaml .github .github/workflows
    poetry.lock uv.lock Pipfile requirements.txt environment.yml .python-version .pdm-python .bandit
    sgconfig.yml mypy.ini tests tests/conftest.py src .punchlist .punchlist/baseline .git/hooks
    .git/hooks/pre-commit .git/info .git/info/exclude .git/info/attributes .git/MERGE_HEAD
    .git/objects/info/alternates .git/modules .gitignore .gitattributes .env data.bin sub/dir b.py
""".split()
"""Names that punchlist, git or a tool looks for; each group of them is in a repository of its own,
so that no place hides all others.
"""
GROUPS = [PLACES[first::3] for first in range(3)]
OF_GIT = (".git/", ".gitignore", ".gitattributes")
"""What git itself reads. A pipe or an endless file there stops every git command; neither a commit
nor a check can put one there.
"""


def link_in_a_circle(path: Path) -> None:
    path.symlink_to(path.name)


def link_to_where_no_user_may_look(path: Path) -> None:
    locked = path.parent / f"{path.name} locked"
    locked.mkdir()
    path.symlink_to(locked / "deeper" / "thing")
    locked.chmod(0)


def locked_folder(path: Path) -> None:
    path.mkdir()
    (path / "x").write_text("x")
    path.chmod(0)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def locked_file(path: Path) -> None:
    path.write_text("x = 1\n")
    path.chmod(0)


def listening_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made, chdir(path.parent):
        made.bind(path.name)


def link_to_nothing(path: Path) -> None:
    path.symlink_to("nowhere")


def empty_folder(path: Path) -> None:
    path.mkdir()


def link_that_is_too_long(path: Path) -> None:
    path.symlink_to("x" * 3000)


def link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_the_root(path: Path) -> None:
    path.symlink_to("/")


def link_to_its_own_folder(path: Path) -> None:
    path.symlink_to(".")


def all_bytes(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 4)


MAKERS = (
    link_in_a_circle,
    link_to_where_no_user_may_look,
    locked_folder,
    pipe,
    locked_file,
    listening_socket,
    link_to_nothing,
    empty_folder,
    link_that_is_too_long,
    link_to_a_device,
    link_to_the_root,
    link_to_its_own_folder,
    all_bytes,
)
CASES = [(make, names) for make in MAKERS for names in GROUPS]
SHOWN = CASES[0:8:4]


@pytest.mark.parametrize(
    ("make", "names"),
    [*SHOWN, *rarely(*(case for case in CASES if case not in SHOWN))],
    ids=lambda part: part.__name__ if callable(part) else part[0],
)
def test_a_strange_thing_in_a_usual_place_ends_no_command(
    make: Callable[[Path], None], names, repo, ground
):
    repo.commit(
        {
            "a.py": "def f():\n    return 1\n",
            "test_a.py": "import a\n\n\ndef test_f():\n    a.f()\n",
        }
    )
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit({"c.py": "import os\n\n\ndef g(x=None):\n    return x == None\n"})
    for name in names:
        if make in {pipe, link_to_a_device} and name.startswith(OF_GIT):
            continue
        path = repo.root / name
        with suppress(OSError):  # it lies in another one of these, or is there
            path.parent.mkdir(parents=True, exist_ok=True)
            make(path)
    told_of = set()
    for command in (("doctor",), ("run", "--dry-run"), ("review",), ("run", "--yes")):
        told = ground(*command)
        said = told.stdout + told.stderr
        assert told.code != 70, said
        assert "Traceback" not in said, said
        told_of |= {command[0]} if "F401" in said else set()
    assert "review" in told_of


@pytest.mark.parametrize("link", [".venv", ".venv/bin/python", "node_modules", "venv/bin/python"])
@pytest.mark.parametrize("leads", ["", "..", ".ssh"], ids=["home", "above it", "keys"])
def test_no_link_of_a_checkout_shows_children_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: str, leads: str
):
    home, checkout = tmp_path / "users" / "ann", tmp_path / "checkout"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id").write_text("key")
    (checkout / link).parent.mkdir(parents=True)
    (checkout / link).symlink_to(home / leads)
    monkeypatch.setenv("HOME", str(home))
    shown = [path.resolve() for path in Kit(checkout=checkout).find_needs(())]
    assert not [path for path in shown if (home / ".ssh/id").is_relative_to(path)]
    assert link not in asyncio.run(find_untracked(checkout))
