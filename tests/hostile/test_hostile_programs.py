"""Everything of a repository that is a program, or makes one run its code: none of it runs outside of the sandbox.

A program that does run leaves a mark beside the repository, where no sandbox lets it write.
"""

import os
import sys
from pathlib import Path

import pytest
from hostile_ground import Ground, needs_walls

import fresh_clone
import needs

pytestmark = needs_walls

COMMANDS = (
    ("run", "--dry-run"),
    ("doctor",),
    ("review",),
    ("run", "--yes", "--set", "sandbox.required=true"),
)
OTHERS = [("doctor", "--security"), ("setup", "--show"), ("run",), ("list",)]
both = pytest.mark.parametrize(
    "commands", [COMMANDS, *needs.rarely(OTHERS)], ids=["usual", "others"]
)
TOOLS = "python python3 ruff bandit mypy pyright ty ast-grep semgrep shellcheck eslint biome pytest"
ON_PATH = f"{TOOLS} git uv pip bwrap sh node gh claude codex gemini openssl ps xdg-open"


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "ran outside"


def python_payload(mark: Path) -> str:
    return f"try:\n    open({str(mark)!r}, 'a').write(__file__)\nexcept OSError:\n    pass\n"


def write_script(path: Path, mark: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{mark}' 2>/dev/null\nexit 0\n")
    path.chmod(0o755)


def make_environment(folder: Path) -> Path:
    """Make what `python -m venv` makes, without starting it; return the folder of its packages."""
    version = f"python3.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "pyvenv.cfg").write_text(
        f"home = {sys.base_prefix}/bin\ninclude-system-site-packages = false\n"
        f"version = {sys.version.split()[0]}\n"
    )
    for name in ("python", "python3", version):
        (folder / "bin" / name).symlink_to(Path(sys.base_prefix) / "bin" / version)
    return packages


def in_environment(repo, mark):
    packages = make_environment(repo.root / ".venv")
    (packages / "zz.pth").write_text(
        f"import os; exec({python_payload(mark)!r}, dict(__file__='pth'))\n"
    )
    (packages / "sitecustomize.py").write_text(python_payload(mark))
    (packages / "long.pth").write_text(f"{'x' * 5000}\n")


def behind_an_editable_install(repo, mark):
    packages = make_environment(repo.root / ".venv")
    (packages / "__editable__.pkg-0.1.pth").write_text(f"{repo.root}/src\n")
    for name in ("sitecustomize", "usercustomize", "pytest", "ruff", "bandit"):
        repo.write(f"src/{name}.py", python_payload(mark))
    repo.commit({}, "the branch brings what Python imports by itself")


def as_interpreter_and_scripts(repo, mark):
    packages = make_environment(repo.root / ".venv")
    (packages / "pytest").mkdir()
    for name in TOOLS.split():
        write_script(repo.root / ".venv/bin" / name, mark)


def as_node_packages(repo, mark):
    for name in TOOLS.split():
        write_script(repo.root / "node_modules/.bin" / name, mark)
    repo.commit({"package.json": '{"scripts": {"test": "eslint"}}', "a.js": "var a = 1\n"})


def as_modules_of_the_root(repo, mark):
    names = "json re site sitecustomize usercustomize runpy pip venv pytest ruff bandit punchlist"
    repo.commit({f"{name}.py": python_payload(mark) for name in names.split()})


def in_other_environments(repo, mark):
    for folder in ("venv", "env", ".tox/py311", ".nox/tests"):
        packages = make_environment(repo.root / folder)
        (packages / "zz.pth").write_text(
            f"import os; exec({python_payload(mark)!r}, dict(__file__='x'))\n"
        )
        (packages / "pytest").mkdir()
    repo.write(".pdm-python", f"{repo.root}/env/bin/python\n")


PLACES = (
    in_environment,
    behind_an_editable_install,
    as_interpreter_and_scripts,
    as_node_packages,
    as_modules_of_the_root,
    in_other_environments,
)


@pytest.fixture
def branch(repo):
    """A branch with a change to review, and tests that could be run."""
    test = "from a import f\n\n\ndef test_f():\n    assert f() == 1\n"
    repo.commit(
        {
            ".gitignore": ".venv\nvenv\nenv\n.tox\n.nox\nnode_modules\n.pdm-python\n",
            "a.py": "def f():\n    return 1\n",
            "test_a.py": test,
            "pyproject.toml": '[project]\nname = "a"\nversion = "1"\n[tool.mypy]\n[tool.ruff]\n',
        },
        "base",
    )
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit({"a.py": "def f(x=None):\n    if x == None:\n        return 1\n    return 1\n"})
    return repo


@both
@pytest.mark.parametrize(
    "plant", [*PLACES[:2], *needs.rarely(*PLACES[2:])], ids=lambda plant: plant.__name__
)
def test_nothing_of_a_checkout_runs_outside_of_the_sandbox_on_any_command(
    plant, commands, branch, ground, mark
):
    plant(branch, mark)
    for command in commands:
        told = ground(*command)
        assert not mark.exists(), f"{command}: {mark.read_text()}"
        assert told.code != 70, told


@both
@pytest.mark.parametrize("entry", ["link", *needs.rarely("tools/bin", ".venv/bin", ".")])
def test_programs_on_a_path_inside_the_repository_are_not_the_users(
    entry, commands, branch, ground, mark, tmp_path
):
    folder = branch.root / (entry if entry != "link" else "tools/bin")
    for name in ON_PATH.split():
        write_script(folder / name, mark)
    outside = tmp_path / "link"
    outside.symlink_to(folder)
    first = {"link": str(outside), ".": "."}.get(entry, str(folder))
    for command in commands:
        told = ground(*command, PATH=f"{first}:{os.environ['PATH']}")
        assert not mark.exists(), f"{command}: {mark.read_text()}"
        assert told.code != 70, told


@pytest.fixture
def clone(repo, tmp_path):
    """A project whose own build backend runs when `punchlist setup` installs it."""
    repo.commit(fresh_clone.FILES)
    ground = Ground(repo.root, tmp_path / "state")
    programs = fresh_clone.write_installer(tmp_path / "tools/bin")
    more = fresh_clone.write_registry(tmp_path / "registry")
    more["PATH"] = f"{programs}:{os.environ['PATH']}"
    return lambda *words: ground(*words, **more)


def find_environments(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "state").glob("repos/*/environments/*"))


def test_what_setup_installed_never_runs_outside_of_the_sandbox(clone, repo, mark, tmp_path):
    assert clone("setup", "--yes").code == 0
    (made,) = find_environments(tmp_path)
    (packages,) = made.glob("lib/python3*/site-packages")
    (packages / "zz.pth").write_text(
        f"import os; exec({python_payload(mark)!r}, dict(__file__='x'))\n"
    )
    (packages / "sitecustomize.py").write_text(python_payload(mark))
    for command in COMMANDS:
        clone(*command)
        assert not mark.exists(), f"{command}: {mark.read_text()}"


def test_an_environment_made_from_a_branch_serves_that_very_tree_and_never_the_base(
    clone, repo, tmp_path
):
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit({"lib/slugs.py": fresh_clone.CODE + "\n\nx = 1\n"}, "a branch")
    assert clone("setup", "--yes").code == 0
    (made,) = find_environments(tmp_path)

    def find_python() -> str:
        (check,) = clone("run", "--dry-run", "--json", "--yes").json["checks"]
        return check["command"][0]

    assert find_python() == f"{made}/bin/python"
    repo.commit({"lib/slugs.py": fresh_clone.CODE + "\n\nx = 2\n"}, "another tree")
    assert find_python() != f"{made}/bin/python"
    repo.git("checkout", "--quiet", "main")
    repo.git("checkout", "--quiet", "-b", "other")
    repo.commit({"lib/slugs.py": fresh_clone.CODE + "\n\nx = 3\n"}, "another branch")
    assert find_python() != f"{made}/bin/python"


def test_an_environment_of_the_main_branch_serves_branches_until_their_packages_differ(
    clone, repo, tmp_path
):
    assert clone("setup", "--yes").code == 0
    (made,) = find_environments(tmp_path)
    repo.commit({"lib/slugs.py": fresh_clone.CODE + "\n\nx = 1\n"}, "main goes on")
    assert clone("setup").stdout.startswith("already made: ")
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit({"lib/slugs.py": fresh_clone.CODE + "\n\nx = 2\n"}, "a branch")
    (check,) = clone("run", "--dry-run", "--json", "--yes").json["checks"]
    assert check["command"][0] == f"{made}/bin/python"
