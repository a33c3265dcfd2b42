"""A fresh clone without its dependencies: nothing is checked, the summary says what to do, and `punchlist setup` does it."""

import json

import pytest

import fresh_clone
import needs

RUFF = ("--set", "analyzers.enabled=ruff", "--set", "analyzers.select=F,E7")


@pytest.fixture(params=["uv", *needs.rarely("pip")])
def clone(request, repo, make_punchlist, tmp_path):
    """A fresh clone, and an installer that finds what it needs without the network."""
    repo.commit(fresh_clone.FILES)
    punchlist = make_punchlist(repo.root)
    punchlist.env |= fresh_clone.write_registry(tmp_path / "registry")
    if request.param == "uv":
        programs = fresh_clone.write_installer(tmp_path / "tools/bin")
        punchlist.env["PATH"] = f"{programs}:{punchlist.env['PATH']}"
    return punchlist


def find_proofs(punchlist):
    report = json.loads(punchlist("status", "--json").stdout)["report"]
    proofs = {
        item["findings"][0]["rule"]: {proof["kind"] for proof in item["proofs"]}
        for item in report["items"]
    }
    return proofs, report["checks"][0]["check"]


def test_what_a_fresh_clone_lacks_is_said_and_setup_brings_it(repo, clone):
    before = clone("run", "--all", "--yes", *RUFF)
    first = " ".join(before.stdout.split()).partition(" Found ")[0]
    assert "No module named" in first
    assert "Next: punchlist setup   makes an environment" in before.stdout
    assert find_proofs(clone)[0]["F401"] == {"rechecked"}

    refused = clone("setup")
    assert refused.returncode == 2
    assert "nothing was installed" in refused.stderr
    shown = clone.json("setup", "--show")
    assert (shown["made"], shown["files"]) == (False, ["pyproject.toml"])
    assert shown["commands"][0][1:3] == ["-m", "venv"]
    assert shown["commands"][1][-2:] == ["-e", ".[test]"]

    # What the user has not committed judges nothing: checks import the tree.
    repo.write("lib/slugs.py", "raise RuntimeError('the checkout itself was imported')\n")
    made = clone("setup", "--yes")
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("made ")
    assert " -e '.[test]'" in made.stderr, "each command is said as it begins"
    assert clone("setup").stdout.startswith("already made: ")

    after = clone("run", "--all", "--committed", "--yes", "-v", *RUFF)
    said = "".join(after.stdout.split())  # a long path is told on two lines
    assert f"{shown['folder']}/bin/python(madeby`punchlistsetup`)" in said
    proofs, check = find_proofs(clone)
    assert proofs["F401"] == {"rechecked", "checked"}
    assert proofs["E711"] == {"rechecked", "checked"}
    assert check["python_from"] == "made by `punchlist setup`"
    assert after.returncode == 0

    assert "removed 1 environment" in clone("clean", "--environments").stdout
    assert not clone.json("setup", "--show")["made"]


def test_where_nothing_is_named_there_is_nothing_to_set_up(punchlist):
    done = punchlist("setup", "--yes")
    assert done.returncode == 2
    assert "there is nothing to install" in done.stderr
