"""An environment that punchlist made has what a project needs, and never the project's own code."""

import asyncio
import os
import sys

import pytest

import fresh_clone
from punchlist.adapters.checks.environment import CheckoutContext
from punchlist.adapters.environments.make_environment import (
    BasePython,
    EnvironmentMaker,
    SetupPlan,
    SetupStep,
    plan_steps,
)
from punchlist.adapters.environments.named_packages import read_packages
from punchlist.adapters.environments.tree_links import read_note
from punchlist.errors import ToolError
from punchlist.model.checks.check import Check, CheckKind


@pytest.fixture
def make(checked, tmp_path, monkeypatch):
    """Makes an environment from a tree with some steps, and returns its folder and what was said."""
    for name, value in fresh_clone.write_registry(tmp_path / "registry").items():
        monkeypatch.setenv(name, value)
    programs = fresh_clone.write_installer(tmp_path / "tools/bin")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    folder = checked.base / "state/environments/made"

    def make_from(files, steps=()):
        tree, said = checked.tree(files, "source"), []
        texts = {path: text for path, text in files.items() if path.endswith(".txt")}
        base = BasePython(sys.executable, "3")
        *named, coverage = plan_steps(read_packages(texts), texts, folder, base, pytest=False)
        assert coverage.optional
        plan = SetupPlan(
            folder=folder, commit="", tree="", python=base, files=(), steps=steps or tuple(named)
        )
        ground = CheckoutContext(checkout=checked.checkout, hidden=(checked.base / "state",))
        asyncio.run(EnvironmentMaker(plan, tree, ground).make(said.append))
        return folder, said

    return make_from


def test_checks_judge_the_tree_and_no_copy_of_the_project_that_was_installed(walls, checked, make):
    copied = {**fresh_clone.FILES, "requirements-dev.txt": "."}
    folder, said = make(copied)
    assert any("--force-reinstall -e" in line for line in said), "the copy became a link first"
    assert read_note(folder).folders == ("lib",)
    packages = next(folder.glob("lib/python*/site-packages"))
    assert (packages / "text_folding.py").exists()
    assert (packages / "slugs-1.0.dist-info/METADATA").exists()
    assert not [path for path in packages.glob("*slugs*") if path.suffix != ".dist-info"]
    assert ".making" not in (folder / "bin/activate").read_text()
    python = str(folder / "bin/python")
    check = Check(
        name="unit",
        command=(python, "-m", "unittest", "discover", "-s", "tests"),
        kind=CheckKind.UNITTEST,
    )
    good = checked.tree(fresh_clone.FILES, "good")
    wrong = fresh_clone.CODE.replace('"-"', '"+"')
    bad = checked.tree({**fresh_clone.FILES, "lib/slugs.py": wrong}, "bad")
    (checked.checkout / "lib").mkdir()
    (checked.checkout / "lib/slugs.py").write_text(fresh_clone.CODE)
    assert set(checked.run(check, good).tests.values()) == {"passed"}
    assert set(checked.run(check, bad).tests.values()) == {"failed"}


def test_what_cannot_be_installed_leaves_nothing_and_no_login_is_shown(checked, make):
    script = "echo cannot reach https://ada:hunter22@example.org/simple >&2; exit 1"
    refused = SetupStep(("/bin/sh", "-c", script))
    with pytest.raises(ToolError, match=r"reach https://example\.org/simple") as failed:
        make({}, (refused,))
    assert "nothing was kept" in failed.value.hint
    assert list((checked.base / "state/environments").iterdir()) == []


@pytest.mark.parametrize("walls", ["bubblewrap"], indirect=True)
def test_what_is_installed_sees_registries_and_no_keys_and_cannot_lead_out(
    walls, checked, make, monkeypatch, isolated
):
    (isolated / ".ssh").mkdir()
    (isolated / ".ssh/key").write_text("private")
    (isolated / "note").write_text("mine")
    monkeypatch.setenv("UV_PUBLISH_TOKEN", "secret")
    monkeypatch.setenv("UV_INDEX_WORK_PASSWORD", "word")
    env = checked.base / "state/environments/made"
    script = f"""
        test -z "$UV_PUBLISH_TOKEN" -a "$UV_INDEX_WORK_PASSWORD" = word || exit 3
        ls "$PIP_FIND_LINKS"/*.whl >/dev/null || exit 4
        test ! -e {isolated}/.ssh/key || exit 5
        touch {checked.checkout}/mine || exit 6
        mkdir -p {env}/bin {env}/lib/python3/site-packages; touch {env}/bin/python
        ln -s {isolated}/note {env}/punchlist-environment.json
    """
    make({}, (SetupStep(("/bin/sh", "-c", script)),))
    assert (isolated / "note").read_text() == "mine"
    assert not (checked.checkout / "mine").exists()
