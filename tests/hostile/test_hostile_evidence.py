"""Forged commits and evidence: no forger gets the agreement of a user who proves in a clone of their own, and honest commits still do."""

import json
import subprocess
from pathlib import Path
from random import Random

import forgeries
import pytest
from forgeries import CLASSES, Forger, git, make_origin, start, try_forgery, weaker_tests

from needs import rarely


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A repository with an honest run, and its evidence; never changed."""
    return make_origin(tmp_path_factory.mktemp("honest"))


def prove(clone: Path, home: Path, *arguments: str, code: int) -> dict:
    ran = start(clone, home, "prove", *arguments, "--yes", "--json")
    assert ran.returncode == code, ran.stdout + ran.stderr
    return json.loads(ran.stdout)


def make_forger(honest, folder: Path, nth: int = 0) -> Forger:
    repo, evidence = honest
    return Forger(repo, folder / "clone", evidence, Random(nth), nth)


@pytest.mark.parametrize(
    "kind",
    [weaker_tests, *rarely(*(kind for kind in CLASSES if kind is not weaker_tests))],
    ids=lambda kind: kind.__name__,
)
def test_a_forgery_of_each_class_is_not_agreed_to(honest, tmp_path, kind):
    outcome = try_forgery(honest, tmp_path, kind, 0, seed=11)
    assert outcome.code in (1, 2, 3), outcome
    assert outcome.verdict != "agree", outcome
    assert outcome.why, outcome


def test_the_forger_can_write_evidence_that_fits_so_only_what_is_forged_is_refused(
    honest, tmp_path
):
    """Whoever rewrites everything and changes nothing is agreed to: the forgeries fail for what they do."""
    forger = make_forger(honest, tmp_path)
    forger.forge({}, whole=True)
    report = prove(forger.clone, tmp_path / "home", "--evidence", str(forger.write()), code=0)
    assert report["verdict"] == "agree"
    assert report["commits"][0]["faults"] == []


def test_the_reason_names_what_the_verifying_clone_chose(honest, tmp_path):
    forger = make_forger(honest, tmp_path)
    main = forger.git("rev-parse", "origin/main")
    forgeries.old_base(forger)
    report = prove(forger.clone, tmp_path / "home", "--evidence", str(forger.write()), code=1)
    assert (report["base"], report["analyzers"]) == (main, ["ruff"])
    assert "origin/main" in report["chosen"]
    (commit,) = report["commits"]
    assert any("newly failing" in each for each in commit["faults"]), commit
    assert any("its run had the base" in each for each in commit["noted"]), commit


def test_a_tail_that_was_written_anew_for_another_diff_is_seen_by_the_patches_before_the_anchor(
    honest, tmp_path
):
    forger = make_forger(honest, tmp_path)
    forger.forge({"shop/prices.py": forger.read("shop/prices.py") + "\n\nBACK = 'door'\n"})
    report = prove(forger.clone, tmp_path / "home", "--evidence", str(forger.write()), code=1)
    (commit,) = report["commits"]
    assert "was made anew" in commit["faults"][0]


@pytest.mark.parametrize(
    ("nth", "said"), [(0, "new at the end of the range"), *rarely((2, "hides findings"))]
)
def test_a_new_finding_is_named_also_if_a_comment_suppresses_it(honest, tmp_path, nth, said):
    forger = make_forger(honest, tmp_path, nth)
    forgeries.new_findings(forger)
    report = prove(forger.clone, tmp_path / "home", "--evidence", str(forger.write()), code=1)
    reasons = [*report["faults"], *report["commits"][0]["faults"]]
    assert any(said in each and "ruff" in each for each in reasons), reasons


@pytest.mark.parametrize("allowed", [False, *rarely(True)])
def test_commits_that_claim_nothing_are_exit_3_unless_the_user_leaves_them_out(
    honest, tmp_path, allowed
):
    forger = make_forger(honest, tmp_path)
    (forger.clone / "notes.txt").write_text("notes\n")
    forger.git("add", "-A")
    forger.git("commit", "-qm", "notes")
    given = ("origin/main..HEAD", "--evidence", str(forger.write()))
    if not allowed:
        report = prove(forger.clone, tmp_path / "home", *given, code=3)
        assert report["skipped"] == len(report["unclaimed"]) == 1
        assert "--allow-unclaimed" in report["faults"][0]
        return
    attested = tmp_path / "attested.json"
    more = ("--allow-unclaimed", "--attest", str(attested))
    report = prove(forger.clone, tmp_path / "home", *given, *more, code=0)
    assert report["verdict"] == "agree"
    names = [
        each["name"] for each in json.loads(attested.read_bytes())["predicate"]["configuration"]
    ]
    assert {"base chosen here", "analyzer ruff"} <= set(names)
    assert "commits that claim nothing, left out here" in names


@pytest.mark.soak
def test_a_run_that_was_reviewed_against_another_base_is_agreed_to_with_ours(tmp_path):
    repo = tmp_path / "first"
    repo.mkdir()
    made = make_origin(repo, "--base", "main~1")
    forger = make_forger(made, tmp_path)
    given = ("origin/main..HEAD", "--evidence", str(forger.write()))
    report = prove(forger.clone, tmp_path / "home", *given, code=0)
    assert report["base"] == forger.git("rev-parse", "origin/main")
    assert all("its run had the base" in each["noted"][0] for each in report["commits"])


@pytest.mark.soak
def test_commits_are_agreed_to_after_main_was_rebased_or_has_taken_them(honest, tmp_path):
    forger = make_forger(honest, tmp_path)
    given = ("--evidence", str(forger.write()))
    branch = forger.git("rev-parse", "--abbrev-ref", "HEAD")
    old = forger.git("rev-parse", "origin/main")
    tree = forger.git("rev-parse", "origin/main^{tree}")
    rebased = forger.git("commit-tree", tree, "-p", "origin/main~1", "-m", "the same, later")
    forger.git("update-ref", "refs/remotes/origin/main", rebased)
    report = prove(forger.clone, tmp_path / "home", f"{old}..{branch}", *given, code=0)
    assert report["base"] == forger.git("rev-parse", f"{old}~1")
    forger.git("update-ref", "refs/remotes/origin/main", forger.tip)
    report = prove(forger.clone, tmp_path / "home", f"{old}..{branch}", *given, code=0)
    assert (report["base"], "has already" in report["chosen"]) == (old, True)


@pytest.mark.soak
def test_a_range_of_several_runs_is_agreed_to_with_their_notes(tmp_path):
    folder = tmp_path / "first"
    folder.mkdir()
    repo, _ = make_origin(folder, "--select", "F401")
    home = folder / "home-of-the-run"
    assert start(repo, home, "export", "last", "--note").returncode == 0
    (branch,) = git(repo, "branch", "--format=%(refname:short)", "--list", "punchlist/*").split()
    git(repo, "checkout", "-q", "-b", "work", branch)
    ran = start(repo, home, "run", "--all", "--yes", "--quiet")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert start(repo, home, "export", "last", "--note").returncode == 0
    tips = git(repo, "branch", "--format=%(refname:short)", "--list", "punchlist/*").split()
    (second,) = set(tips) - {branch}
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "-b", second, str(repo), str(clone)], check=True)
    git(clone, "remote", "set-head", "origin", "main")
    git(clone, "fetch", "-q", "origin", "refs/notes/punchlist:refs/notes/punchlist")
    report = prove(clone, tmp_path / "home", f"origin/main..{second}", code=0)
    assert len({each["run"] for each in report["commits"]}) == 2


def test_a_squashed_commit_is_not_agreed_to_whatever_trailers_it_keeps(honest, tmp_path):
    """It has another id than any commit of the ledger, and no claim says what its diff is of; the originals can be proven."""
    for nth in (0, 2):
        folder = tmp_path / str(nth)
        folder.mkdir()
        forger = make_forger(honest, folder, nth)
        forgeries.squashed_range(forger)
        given = (forger.named, "--evidence", str(forger.write()))
        report = prove(forger.clone, folder / "home", *given, code=3)
        assert "knows no such commit" in report["commits"][0]["said"]


def test_a_feature_with_findings_of_its_own_can_be_proven_against_a_base_that_the_user_names(
    honest, tmp_path
):
    """The base here lacks what came before the range: that is said, with the way on."""
    repo, _ = honest
    origin = tmp_path / "origin"
    subprocess.run(["git", "clone", "-q", str(repo), str(origin)], check=True)
    git(origin, "checkout", "-q", "-b", "feature", "origin/main")
    (origin / "shop" / "more.py").write_text(
        "def add(item, to=[]):\n    to.append(item)\n    return to\n"
    )
    git(origin, "add", "-A")
    git(origin, *forgeries.IDENTITY, "commit", "-qm", "a feature with a finding")
    home = tmp_path / "home"
    start(origin, home, "run", "--all", "--yes", "--quiet", "--select", "F401")
    (branch,) = git(origin, "branch", "--format=%(refname:short)", "--list", "punchlist/*").split()
    said = prove(origin, home, f"feature..{branch}", code=3)["faults"]
    assert any("the range stands on" in each and "--base" in each for each in said), said
    report = prove(origin, home, f"feature..{branch}", "--base", "feature", code=0)
    assert report["chosen"] == "--base feature"
