"""Which Python judges: the environments of a project, wherever its tools keep them, and none that comes with a commit."""

import asyncio
import base64
import os
import shutil
import sys
from hashlib import sha256

import pytest

from punchlist.adapters.environments.find_pythons import (
    ProjectPlace,
    find_missing,
    find_pythons,
    list_pythons,
)
from punchlist.adapters.environments.named_packages import list_declared
from punchlist.adapters.environments.python_facts import read_facts
from punchlist.adapters.environments.tree_links import find_import_folders, find_main_root
from punchlist.model.checks.failure_cause import MADE_BY_SETUP


def make_python(prefix):
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/python").symlink_to(sys.executable)
    return str(prefix / "bin/python")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(shutil.which("git"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))  # no other Python is there
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def find(checkout, texts=None, **place):
    found = list_pythons(ProjectPlace(checkout=checkout, **place), (texts or {}).get)
    assert found.pop().path == sys.executable
    return [(each.path, each.where) for each in found]


def code(path):
    return base64.urlsafe_b64encode(sha256(str(path).encode()).digest()).decode()[:8]


@pytest.mark.parametrize(
    ("folder", "where"),
    [
        ("{checkout}/.venv", ".venv in your checkout"),
        ("{checkout}/env", "env in your checkout"),
        (
            "{home}/.cache/pypoetry/virtualenvs/my-project-{code}-py3.12",
            "poetry's environment my-project-{code}-py3.12",
        ),
        ("{home}/.local/share/hatch/env/virtual/it/{code}/hatch-test.py3.12", "hatch's environment hatch-test.py3.12"),
        ("{checkout}/.tox/py312", "tox's environment py312"),
        ("{checkout}/.nox/tests-3-12", "nox's environment tests-3-12"),
        ("{home}/miniforge3/envs/lab", "conda environment lab of environment.yml"),
    ],
)  # fmt: skip
def test_the_environment_of_any_tool_is_found_and_said(checkout, tmp_path, folder, where):
    facts = {"checkout": checkout, "home": tmp_path / "home", "code": code(checkout)}
    python = make_python(checkout / folder.format(**facts))
    found = find(checkout, {"environment.yml": "name: lab\ndependencies: []\n"})
    assert found == [(python, where.format(**facts))]


@pytest.mark.parametrize(
    ("variable", "where"),
    [
        ("VIRTUAL_ENV", "the active virtual environment"),
        ("CONDA_PREFIX", "the active conda environment"),
        ("UV_PROJECT_ENVIRONMENT", "UV_PROJECT_ENVIRONMENT"),
    ],
)
def test_the_active_environment_is_found(checkout, tmp_path, monkeypatch, variable, where):
    python = make_python(tmp_path / "active")
    monkeypatch.setenv(variable, str(tmp_path / "active"))
    assert find(checkout) == [(python, where)]


def test_what_setup_made_is_used_alone(checkout, tmp_path):
    make_python(checkout / ".venv")
    made = make_python(tmp_path / "made")
    found = list_pythons(ProjectPlace(checkout=checkout, made=tmp_path / "made"), {}.get)
    assert [(each.path, each.where) for each in found] == [(made, MADE_BY_SETUP)]


def test_pdm_names_its_python_in_a_file_that_no_commit_may_bring(checkout, tmp_path):
    noted = make_python(tmp_path / "pdm")
    (checkout / ".pdm-python").write_text(noted)
    assert find(checkout) == [(noted, ".pdm-python in your checkout")]
    assert find(checkout, tracked=[".pdm-python"]) == []
    (checkout / ".pdm-python").write_text("")
    assert find(checkout) == []


@pytest.mark.parametrize(
    "tracked",
    [".venv/bin/python", ".venv/lib/python3.11/site-packages/sitecustomize.py", ".VENV/bin/python"],
)
def test_an_environment_with_files_of_a_commit_is_never_run(checkout, tracked):
    make_python(checkout / ".venv")
    assert find(checkout, tracked=[tracked, "app.py"]) == []


def test_a_link_of_a_commit_leads_to_no_environment(checkout, tmp_path):
    make_python(checkout / "tools/env")
    (checkout / ".venv").symlink_to("tools/env")
    assert find(checkout, tracked=[".venv"]) == [], (
        "a link or a submodule is tracked by its own path"
    )
    assert find(checkout, tracked=["tools/env/bin/python"]) == [], "an own link into tracked files"
    (checkout / ".venv").unlink()
    make_python(tmp_path / "elsewhere/.tox/py311")
    (checkout / ".tox").symlink_to(tmp_path / "elsewhere/.tox")
    assert find(checkout, tracked=[".tox"]) == []
    assert len(find(checkout, tracked=["tox.ini"])) == 1, "the user's own link is"


def test_a_linked_work_tree_uses_the_main_one_s_environment_and_its_own_code(
    repo, tmp_path, checkout
):
    repo.commit({"lib/app/__init__.py": ""})
    linked = tmp_path / "linked"
    repo.git("worktree", "add", "--quiet", str(linked))
    main = find_main_root(linked)
    assert (main, find_main_root(repo.root)) == (repo.root, None)
    python = make_python(repo.root / ".venv")
    assert find(linked, main=main) == [(python, ".venv in the main work tree")]
    packages = repo.root / ".venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (packages / "__editable__.app.pth").write_text(f"{repo.root}/lib\n{repo.root}-other/lib\n")
    assert find_import_folders([repo.root / ".venv"], [repo.root], linked) == [linked / "lib"]


def test_what_the_files_name_and_a_python_lacks_is_told():
    texts = {
        "pyproject.toml": '[project]\ndependencies = ["PyTest>=1", "no.such_package"]\n',
        "requirements.txt": "-e .\n./local\nother; sys_platform == 'win32'\nMsgSpec\n# note\n",
    }
    names = list_declared(texts)
    assert names == ["pytest", "no.such_package", "msgspec"]
    assert find_missing(sys.executable, names) == ("no.such_package",)
    assert find_missing("/bin/false", names) == ()


@pytest.mark.parametrize(("chosen", "expected"), [(None, "{program}"), ("3.12", "{script}")])
def test_a_script_that_starts_a_python_is_left_unless_the_project_says_which(
    checkout, tmp_path, chosen, expected
):
    script = tmp_path / "bin/python3"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    script.chmod(0o755)
    place = ProjectPlace(checkout=checkout)
    found = asyncio.run(find_pythons(place, {".python-version": chosen}.get))
    assert (found[0].path, found[0].where) == (
        expected.format(program=sys.executable, script=script),
        "on PATH",
    )


def test_pipes_in_the_place_of_an_environment_s_files_are_not_waited_for(tmp_path):
    packages = tmp_path / "lib/python3.12/site-packages"
    (packages / "pytest").mkdir(parents=True)
    for pipe in (tmp_path / "pyvenv.cfg", packages / "a.pth"):
        os.mkfifo(pipe)
    facts = read_facts(str(tmp_path / "bin/python"))
    assert facts.has_module("pytest")
