"""The demo, from a folder with nothing in it to the end of the loop."""

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from punchlist.app.after.audit import Audit, audit_run
from punchlist.app.session import Session
from punchlist.app.start.demo import make_demo
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.start.start import start_run
from punchlist.model.item.item import Fact, Item, Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import ScopeKind

CULPRIT = "`stockroom.money.round_half_up` imported but unused"
RED_BEFORE = "test_a_discount_rounds_half_a_cent_up"


class Told(Struct, frozen=True):
    """What is looked at: the ended run, its ledger, and the repository before and after."""

    root: Path
    before: str
    run: Run
    entries: list[ev.Entry]
    audit: Audit

    def item(self, title: str) -> Item:
        (found,) = (
            item
            for item in self.run.items.values()
            if any(title in finding.title for finding in item.findings)
        )
        return found


class Nobody:
    def handle_start(self, place, action) -> None: ...

    def handle_output(self, label, piece):
        pass

    def handle_event(self, entry, run) -> None: ...


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, check=True, text=True
    ).stdout.strip()


def state_of(root: Path) -> str:
    """Everything of a person's that a run must leave alone."""
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git/" not in str(path)
    }
    asked = [
        ("status", "--porcelain", "--ignored"),
        ("rev-parse", "HEAD"),
        ("stash", "list"),
        ("symbolic-ref", "HEAD"),
        ("config", "--list", "--local"),
    ]
    index = (root / ".git/index").read_bytes()
    return repr((files, [git(root, *each) for each in asked], index))


def failing_tests(root: Path) -> list[str]:
    command = [sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests", "-t", "."]
    said = subprocess.run(command, cwd=root, capture_output=True, check=False, text=True).stderr
    return sorted(
        line.split()[1] for line in said.splitlines() if line.startswith(("FAIL:", "ERROR:"))
    )


async def played(folder: Path) -> Told:
    root, findings = await make_demo(folder)
    before = state_of(root)
    app = await Session.open(root)
    try:
        request = Request(kind=ScopeKind.ALL, findings=(str(findings),), allow_checks=True)
        run = await start_run(app, await prepare_run(app, request), Nobody())
        return Told(root, before, run, list(app.store.read(run.id)), audit_run(app, run.id))
    finally:
        app.close()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """One run, looked at from all sides."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PUNCHLIST_HOME", str(tmp_path_factory.mktemp("state")))
        patched.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        patched.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield asyncio.run(played(tmp_path_factory.mktemp("demo")))


def test_the_repository_is_the_same_wherever_it_is_made(tmp_path: Path):
    heads = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        root, findings = asyncio.run(make_demo(tmp_path / name))
        assert findings.is_file()
        assert not findings.is_relative_to(root)
        heads.append(git(root, "rev-parse", "HEAD"))
    assert heads[0] == heads[1]


def test_one_of_its_tests_is_red_before_anything_was_touched(tmp_path: Path):
    root, _ = asyncio.run(make_demo(tmp_path))
    assert failing_tests(root) == [RED_BEFORE]


class TestTheLoop:
    def test_it_ends_with_leftovers_and_in_time(self, told: Told):
        assert told.run.ended == "leftovers"
        assert not told.run.trouble
        assert not told.run.checks.unverified
        assert told.run.active < 60

    def test_eight_items_are_fixed_and_each_has_its_proof(self, told: Told):
        fixed = told.run.find_items(Status.FIXED)
        assert sorted(item.lead.rule for item in fixed) == [
            "B006",
            "E711",
            "F401",
            "F541",
            "SIM118",
            "UP006",
            "UP032",
            "UP035",
        ]
        for item in fixed:
            kinds = {proof.kind for proof in item.proofs}
            # UP035 went by itself when the import did: nobody made a fix for it that the checks could have judged.
            assert kinds == (
                {ProofClass.RECHECKED}
                if item.lead.rule == "UP035"
                else {ProofClass.RECHECKED, ProofClass.CHECKED}
            )

    def test_a_fix_that_leaves_an_import_unused_removes_it_in_the_same_round(self, told: Told):
        item = told.item("Use `dict` instead")
        assert {attempt.round for attempt in item.attempts} == {1}
        shown = git(told.root, "show", f"{told.run.landing.branch}:{item.lead.spot.path}")
        assert "Dict" not in shown

    def test_the_fix_that_breaks_a_test_is_named_and_left_out(self, told: Told):
        item = told.item(CULPRIT)
        (rejected,) = (attempt for attempt in item.attempts if attempt.fact is Fact.REJECTED)
        assert item.status is Status.FILED
        assert "test_half_a_cent_goes_up" in rejected.why
        assert "has no attribute 'round_half_up'" in rejected.evidence
        assert "round_half_up" in git(
            told.root, "show", f"{told.run.landing.branch}:stockroom/invoices.py"
        )

    def test_nobody_else_is_rejected_and_the_red_test_is_held_against_nobody(self, told: Told):
        rejected = [
            item.lead.title
            for item in told.run.items.values()
            if any(a.fact is Fact.REJECTED for a in item.attempts)
        ]
        assert rejected == [CULPRIT]
        (baseline,) = told.run.checks.baselines.values()
        assert (baseline.passed, baseline.failed) == (15, 1)
        assert baseline.sentinel == "a planted failure was seen"
        tried = [entry.event for entry in told.entries if isinstance(entry.event, ev.Tried)]
        assert not any(
            RED_BEFORE in name
            for event in tried
            for verdict in event.verdicts
            for name in verdict.failing
        )

    def test_a_finding_in_a_deleted_file_is_blocked_and_filed(self, told: Told):
        item = told.item("The old price list is unpickled")
        assert (item.attempts[0].fact, item.attempts[0].why) == (
            Fact.SAID_BLOCKED,
            "Referenced file deleted",
        )
        assert item.status is Status.FILED

    def test_what_three_reviewers_report_is_one_item(self, told: Told):
        assert {finding.source for finding in told.item("SQL injection in search").findings} == {
            "ruff",
            "bandit",
            "file:review.json",
        }
        assert {finding.rule for finding in told.item("shell=True").findings} == {"S602", "B602"}

    def test_every_finding_is_accounted_for(self, told: Told):
        audit = told.audit
        assert audit.ok, audit.problems
        assert audit.reported == audit.items + audit.merged + audit.seen_again
        assert audit.items == audit.fixed + audit.filed == 16
        issues = [Path(item.issue) for item in told.run.find_items(Status.FILED)]
        assert len(set(issues)) == len(issues) == 8
        assert all(issue.is_file() for issue in issues)

    def test_the_checkout_is_as_it_was(self, told: Told):
        assert state_of(told.root) == told.before
        assert git(told.root, "for-each-ref", "--format=%(refname:short)").split() == [
            "main",
            told.run.landing.branch,
        ]

    def test_each_commit_of_the_branch_names_its_items_in_trailers(self, told: Told):
        log = "--format=%H %(trailers:key=Punchlist-Run,valueonly,separator=%x2C) %(trailers:key=Punchlist-Items,valueonly,separator=%x2C)"
        commits = [
            line.split()
            for line in git(
                told.root, "log", "--reverse", log, f"main..{told.run.landing.branch}"
            ).splitlines()
        ]
        assert [sha for sha, *_ in commits] == list(told.run.landing.commits)
        assert {run for _, run, *_ in commits} == {told.run.id}
        named = Counter(int(n.strip(",")) for _, _, *numbers in commits for n in numbers)
        assert named == Counter(
            item.number for item in told.run.find_items(Status.FIXED) if item.lead.rule != "UP035"
        )

    def test_the_tests_on_the_branch_are_as_green_as_before(self, told: Told, tmp_path: Path):
        git(
            told.root,
            "worktree",
            "add",
            "--quiet",
            "--detach",
            str(tmp_path / "branch"),
            told.run.landing.branch,
        )
        try:
            assert failing_tests(tmp_path / "branch") == [RED_BEFORE]
        finally:
            git(told.root, "worktree", "remove", "--force", str(tmp_path / "branch"))
