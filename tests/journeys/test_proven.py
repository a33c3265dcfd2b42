"""The default workflow on a small real project, from the first finding to the last."""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import shop
from shop import Watch

from punchlist.app.drive.answers import answer_run
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.start.start import start_run
from punchlist.errors import AlreadyRunning, UsageError
from punchlist.model.item.item import Fact, Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger import verify_ledger
from punchlist.model.patch.change import ScopeKind

LEDGER = Path(verify_ledger.__file__)


@pytest.fixture(scope="module")
def whole(shared_repo, tmp_path_factory):
    """The shop after one run with all defaults, for tests that only look at what came of it."""
    folder = tmp_path_factory.mktemp("whole")
    homes = {
        "PUNCHLIST_HOME": str(folder / "state"),
        "PUNCHLIST_CONFIG": str(shop.settings(folder / "settings.toml")),
    }
    shop.written(shared_repo.root)
    shared_repo.commit(message="the shop")
    before = everything_but_the_branch(shared_repo.root)
    place = shop.Place(shared_repo)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in homes.items():
            patch.setenv(name, value)
        run = place.run()
    assert everything_but_the_branch(shared_repo.root) == before
    return place, run, homes


@pytest.fixture
def ran(whole, monkeypatch):
    place, run, homes = whole
    for name, value in homes.items():
        monkeypatch.setenv(name, value)
    return place, run


def by_rule(run, rule):
    return [item for item in run.items.values() if item.lead.rule == rule]


def everything_but_the_branch(root: Path) -> str:
    """A hash of the user's files, index, configuration, hooks and refs."""
    sums = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).as_posix()
        if path.is_file() and not inside.startswith(
            (".git/objects/", ".git/refs/heads/punchlist/", ".git/logs/")
        ):
            sums.update(inside.encode() + path.read_bytes())
    return sums.hexdigest()


def test_what_can_be_proven_lands_and_the_rest_is_filed(ran):
    place, run = ran
    fixed = run.find_items(Status.FIXED)
    assert {item.lead.rule for item in fixed} >= {"F401", "E711", "UP032"}
    for item in fixed:
        assert {proof.kind for proof in item.proofs} == {ProofClass.RECHECKED, ProofClass.CHECKED}
        assert item.commit
    assert all(item.status in (Status.FIXED, Status.FILED) for item in run.items.values())
    assert place.audit().ok
    assert run.ended == "leftovers"


def test_the_fix_that_breaks_a_test_is_named_and_left_out(ran):
    place, run = ran
    (culprit,) = [
        item
        for item in by_rule(run, "F401")
        if item.lead.spot.path == "shop/compat.py" and "dumps" in item.lead.title
    ]
    assert culprit.status is Status.FILED
    rejected = [attempt for attempt in culprit.attempts if attempt.fact is Fact.REJECTED]
    assert [attempt.why for attempt in rejected] == [
        "breaks tests.test_shop.Shop.test_the_old_name_still_works"
    ]
    (neighbour,) = [item for item in by_rule(run, "F401") if "os.path" in item.lead.title]
    assert neighbour.status is Status.FIXED
    assert "test_the_old_name_still_works" in rejected[0].evidence
    assert "dumps" in place.repo.git("show", f"{run.landing.branch}:shop/compat.py")


def test_a_test_that_failed_before_is_held_against_nobody(ran):
    place, run = ran
    baseline = run.checks.baselines["tests"]
    assert (baseline.passed, baseline.failed, baseline.unusable) == (4, 1, "")
    assert baseline.sentinel == "a planted failure was seen"
    place.repo.git("switch", "--quiet", run.landing.branch)
    told = subprocess.run(
        [sys.executable, "-m", "unittest"],
        cwd=place.repo.root,
        capture_output=True,
        text=True,
        check=False,
    ).stderr
    assert "FAILED (failures=1)" in told
    assert "test_that_fails_already" in told


def test_each_batch_is_one_commit_with_trailers_and_only_its_own_paths(place):
    run = place.run(flags={"commits": "item"})
    commits = place.repo.git(
        "log", "--reverse", "--format=%H", f"main..{run.landing.branch}"
    ).split()
    assert commits == list(run.landing.commits)
    for commit in commits:
        trailers = place.repo.git("show", "-s", "--format=%(trailers:only)", commit)
        assert f"Punchlist-Run: {run.id}" in trailers
        numbers = [
            line.split(": ")[1]
            for line in trailers.splitlines()
            if line.startswith("Punchlist-Items")
        ]
        items = [run.items[int(number)] for number in numbers[0].split(", ")]
        paths = place.repo.git("show", "--name-only", "--format=", commit).split()
        assert {item.lead.spot.path for item in items} == set(paths)
        assert all(item.commit == commit for item in items)


def test_the_ledger_can_be_verified_without_punchlist(ran, tmp_path):
    place, run = ran

    async def export(app):
        return b"".join(
            line if line.endswith(b"\n") else line + b"\n" for line in app.export(run.id)
        )

    exported = tmp_path / "ledger.jsonl"
    exported.write_bytes(place.do(export))
    done = subprocess.run(
        [sys.executable, "-I", str(LEDGER), str(exported)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    exported.write_bytes(exported.read_bytes().replace(b'"F401"', b'"F402"', 1))
    assert (
        subprocess.run(
            [sys.executable, "-I", str(LEDGER), str(exported)], capture_output=True, check=False
        ).returncode
        == 1
    )


def test_nobody_allowed_the_checks_so_only_safe_fixes_land_and_it_is_said(place, monkeypatch):
    monkeypatch.delenv("PUNCHLIST_CONFIG")
    run = place.run(allow_checks=False)
    assert "not allowed to run" in run.checks.unverified
    assert all(
        item.proofs[0].kind is ProofClass.RECHECKED and len(item.proofs) == 1
        for item in run.find_items(Status.FIXED)
    )
    (unsafe,) = by_rule(run, "E711")
    assert unsafe.status is Status.FILED
    assert "fix, not applied: " in unsafe.attempts[1].why
    assert run.checks.baselines == {}


def test_a_second_run_files_nothing_twice(ran):
    place, _ = ran
    state = Path(os.environ["PUNCHLIST_HOME"])
    issues = sorted(state.glob("repos/*/issues/*.md"))
    place.run()
    assert issues
    assert sorted(state.glob("repos/*/issues/*.md")) == issues


def test_a_run_that_was_stopped_goes_on_where_it_was(place):
    def stop(entry, run):
        if entry.place == "3.1.1":
            asyncio.current_task().cancel()

    stopped = place.run(Watch(stop))
    assert stopped.interrupted
    assert not stopped.ended
    watch = Watch()
    run = place.resume(watch)
    assert run.ended == "leftovers"
    assert "recheck" in watch.began_keys
    assert "ruff" not in watch.began_keys[:1], "the first review is not paid for twice"
    assert place.audit().ok


def test_a_time_limit_halts_the_run_and_what_is_left_is_still_filed(place):
    run = place.run(flags={"limits.time": "0.05"})
    assert run.halted == "time limit of 0.05 s reached"
    assert run.ended == "incomplete"
    assert not run.find_items(Status.FIXED)
    assert place.audit().ok


def test_the_same_request_twice_at_once_is_refused_with_the_id_of_the_first(place):
    async def both(app):
        ready = await prepare_run(app, Request(kind=ScopeKind.ALL, allow_checks=False))
        begun = asyncio.Event()
        first = asyncio.create_task(start_run(app, ready, Watch(lambda entry, run: begun.set())))
        await begun.wait()
        with pytest.raises(AlreadyRunning) as refused:
            await start_run(app, ready, Watch())
        return await first, refused.value

    run, refused = place.do(both)
    assert refused.run == run.id


def test_a_run_that_ended_is_not_driven_again(place):
    run = place.run(allow_checks=False)
    again = place.resume()
    assert again == run


def test_an_answer_to_no_question_is_refused(place):
    place.run(allow_checks=False)
    with pytest.raises(UsageError, match="has no open question"):
        place.do(lambda app: answer_run(app, "last", "a", "ada"))


def test_a_refusing_hook_keeps_everything_out_and_is_told(place):
    hook = place.repo.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no commits on a Sunday\nexit 1\n")
    hook.chmod(0o755)
    run = place.run()
    assert run.landing.landed == ()
    assert not run.find_items(Status.FIXED)
    assert "no commits on a Sunday" in " ".join(run.trouble)
    assert run.ended == "incomplete"
    assert place.audit().ok


def test_the_reports_on_disk_tell_the_run_as_it_ended(place, tmp_path):
    run = place.run(allow_checks=False)
    folder = tmp_path / "state" / "runs" / run.id
    assert {path.name for path in folder.glob("report*")} == {
        "report.html",
        "report.json",
        "report.junit.xml",
        "report.md",
        "report.sarif",
    }
    document = json.loads((folder / "report.json").read_bytes())
    assert (document["run"]["ended"], document["outcome"]) == (True, run.ended)
    sarif = json.loads((folder / "report.sarif").read_bytes())
    assert all(
        invocation["executionSuccessful"]
        for each in sarif["runs"]
        for invocation in each["invocations"]
    )


TYPED = '''"""Types that were imported, and an answer to each."""

import os
import sys
from typing import Dict, List, Optional, Union

__all__ = ["main", "Late", "Early"]


class Early(object):
    def one(self, rows: List[int]) -> Dict[str, int]:
        return dict((str(row), row) for row in rows)


class Late(Early):
    def one(self, rows: List[int], size: Union[int, str] = 1) -> Dict[str, int]:
        return super(Late, self).one(rows)

    def two(self, size: Optional[int] = None) -> Union[int, str]:
        return "{}".format(size) if size == None else size
'''


def test_analyzers_tell_what_a_fix_brings_about_and_no_more_is_left_than_the_tool_alone_leaves(
    place,
):
    """In an `__init__.py` ruff reports imports that became unused, and has no fix for them."""
    place.repo.git("rm", "-r", "--quiet", "shop", "tests")
    place.repo.commit({"pkg/__init__.py": TYPED, "pkg/typed.py": TYPED})
    run = place.run(flags={"analyzers.select": "F,UP,C4,RUF022,E711"}, allow_checks=False)
    ruff = [str(Path(sys.executable).with_name("ruff")), "check", "--isolated", "--no-cache", "-q"]
    ruff += ["--select=F,UP,C4,RUF022,E711", "--exit-zero"]

    def count_left(commit: str, *options: str) -> int:
        place.repo.git("checkout", "--quiet", commit)
        told = subprocess.run(
            [*ruff, "--output-format=json", *options, "."], cwd=place.repo.root, capture_output=True, check=True
        )  # fmt: skip
        return len(json.loads(told.stdout))

    ours = count_left(run.landing.shown_tip)
    assert ours <= count_left("main", "--fix")
    reasons = {
        item.lead.title: attempt.why
        for item in run.items.values()
        for attempt in item.attempts
        if attempt.fact is Fact.REJECTED and "brings about" in attempt.why
    }
    assert len(reasons) == 4, "one for each name that would be left over in __init__.py"
    for name in ("Dict", "List", "Optional", "Union"):
        assert sum(f"`typing.{name}` imported but unused" in why for why in reasons.values()) == 1
    typed = place.repo.git("show", f"{run.landing.branch}:pkg/typed.py")
    assert "typing" not in typed, "where the import can go, it goes with what made it unused"
