"""punchlist as a library: one call, typed, and the same laws as on the command line."""

import asyncio
import inspect
import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import punchlist
from punchlist import ReviewFixResult, review_and_fix
from punchlist.app.after.replay import replay_run
from punchlist.app.session import Session
from punchlist.errors import PunchlistError, UsageError, WorkflowError
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.model.ledger import events as ev
from punchlist.views.what_if import ReplayFate, ReplayRules
from punchlist.workflow.language import Repeat
from punchlist.workflow.loader import load_builtin, with_rounds

SHOP = """\
def mean(prices):
    return sum(prices) / len(prices)


def rebate(total):
    return total * 0.9
"""
REVIEW = {
    "groups": [
        {
            "description": "all in one file",
            "findings": [
                {
                    "id": "F001", "file": "shop.py", "line": "2", "issue": "mean of no prices divides by zero", "severity": "critical",
                    "category": "correctness", "fix_hint": "return 0",
                },
                {
                    "id": "F002", "file": "shop.py", "line": "6", "issue": "rebate ignores the customer", "severity": "major",
                    "category": "spec_gap", "fix_hint": "",
                },
            ],
        }
    ]
}  # fmt: skip
SCRIPT = [
    {"role": "unified", "answer": REVIEW},
    {
        "role": ["fixer", "re-fixer"],
        "fixes": [
            {
                "when": "divides by zero",
                "edits": [
                    {
                        "path": "shop.py",
                        "replace": "    return sum(prices) / len(prices)",
                        "with": "    return sum(prices) / len(prices) if prices else 0",
                    }
                ],
            },
            {
                "when": "rebate ignores",
                "outcome": {
                    "outcome": "blocked",
                    "explanation": "the specification does not name the rates",
                },
            },
        ],
    },
]


@pytest.fixture
def shop(repo, tmp_path, monkeypatch):
    """A branch with two flaws, and an agent that knows of one what to do."""
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    repo.commit(
        {"README.md": "a shop\n", "specs/rebates/spec.md": "Every customer has a rebate.\n"}
    )
    repo.git("checkout", "--quiet", "-b", "rebates")
    repo.commit({"shop.py": SHOP})
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    repo.settings = {"agent.helper.kind": "scripted", "agent.helper.script": str(script)}
    return repo


def ask(feature: str, rounds: int = 5, **more) -> ReviewFixResult:
    return asyncio.run(review_and_fix(feature, rounds, **more))


def test_every_finding_is_fixed_filed_or_dismissed_and_counted(shop):
    heard = []
    assert inspect.signature(review_and_fix).parameters["max_iterations"].default == 5
    result = ask(
        "rebates",
        repository=shop.root,
        agents=["helper"],
        settings=shop.settings,
        on_event=lambda entry, run: heard.append(entry),
    )
    assert (result.total_findings, result.fixed, result.blocked, result.dismissed) == (2, 1, 1, 0)
    assert result.outcome == "leftovers"
    fixed, blocked = sorted(result.items, key=lambda item: item.lead.spot.line or 0)
    assert (fixed.status, blocked.status) == (Status.FIXED, Status.FILED)
    assert fixed.proofs
    (issue,) = result.issues_created
    assert "the specification does not name the rates" in Path(issue).read_text()
    assert "if prices else 0" in shop.git("show", f"{result.branch}:shop.py")
    assert (shop.root / "shop.py").read_text() == SHOP
    started = heard[0].event
    assert isinstance(started, ev.Started)
    assert started.specification == ("specs/rebates/spec.md",)
    assert "rebates" in started.notes
    assert isinstance(heard[-1].event, ev.Ended)
    assert [entry.run for entry in heard] == [result.run] * len(heard)


def test_such_a_run_is_told_cycle_by_cycle_and_can_be_replayed(shop, tmp_path):
    result = ask("rebates", repository=shop.root, agents=["helper"], settings=shop.settings)
    folder = tmp_path / "state" / "runs" / result.run
    report = json.loads((folder / "cycles.json").read_text())
    assert (report["fixes_applied"], report["cycles"][0]["agents"][0]["agent"]) == (1, "helper")
    assert "if prices else 0" in report["cycles"][0]["diff"]
    assert "# Fix report of run" in (folder / "cycles.md").read_text()

    async def replayed():
        app = await Session.open(shop.root, readonly=True)
        with closing(app):
            return replay_run(app, result.run, ReplayRules(floor=Severity.CRITICAL))

    told = asyncio.run(replayed())
    assert (told.same, told.whole) == (True, True), told
    assert [(each.item, each.fate, each.why) for each in told.differences] == [
        (1, ReplayFate.UNSURE, "its patch was made together with item 2, which is not worked on"),
        (2, ReplayFate.LEFT, "it is major, below the floor critical"),
    ]


def test_analyzers_alone_do_as_well_and_findings_may_be_given(shop, tmp_path):
    (tmp_path / "review.md").write_text(
        "## Important\n\n1. **[Naming]:** rebate is a bad name\n   - **File:** shop.py:5\n"
    )
    result = ask(
        "",
        1,
        repository=shop.root,
        workflow="proven",
        findings=[tmp_path / "review.md"],
        base="main",
        allow_checks=False,
    )
    assert (result.total_findings, result.fixed, result.blocked) == (1, 0, 1)
    assert len(result.issues_created) == 1


def test_what_keeps_a_run_from_beginning_is_told_with_a_remedy(shop, tmp_path):
    with pytest.raises(UsageError, match="needs an agent to play"):
        ask("rebates", repository=shop.root)
    with pytest.raises(UsageError, match="without a round"):
        ask("rebates", 0, repository=shop.root)
    with pytest.raises(PunchlistError):
        ask("rebates", repository=tmp_path / "nowhere")


def test_whoever_cancels_has_what_was_done_by_then(shop):
    async def cancelled() -> ReviewFixResult:
        task = None

        def stop(entry, run):
            if isinstance(entry.event, ev.Consolidated):
                task.cancel()

        task = asyncio.create_task(
            review_and_fix(
                "rebates",
                repository=shop.root,
                agents=["helper"],
                settings=shop.settings,
                on_event=stop,
            )
        )
        return await task

    result = asyncio.run(cancelled())
    assert (result.interrupted, result.total_findings, result.fixed, result.outcome) == (
        True,
        2,
        0,
        "incomplete",
    )


def test_a_run_that_wants_to_know_something_says_so_and_is_not_done(shop, tmp_path):
    asking = tmp_path / "asking.yaml"
    text = load_builtin("unified").text.replace("plan: {", "plan: {files: true, ask: true, ")
    asking.write_text(text)
    result = ask(
        "rebates",
        repository=shop.root,
        workflow=str(asking),
        agents=["helper"],
        settings=shop.settings,
    )
    assert "The plan is in" in result.waiting_for
    assert (result.outcome, result.fixed, result.blocked) == ("incomplete", 0, 2)
    plan = tmp_path / "state" / "runs" / result.run / "plan"
    assert [issue["code"] for step in json.loads((plan / "master_todo.json").read_text())["execution_steps"] for issue in step["issues"]] == [
        "F001",
        "F002",
    ]  # fmt: skip


def test_the_number_of_rounds_is_that_of_the_call_and_is_pinned():
    unified = load_builtin("unified")
    (loop,) = (step for step in with_rounds(unified, 7).steps if isinstance(step, Repeat))
    assert (loop.rounds, loop.hard_cap) == (7, 7)
    assert with_rounds(unified, 7).steps[0] == unified.steps[0]
    assert "rounds: 7" in with_rounds(unified, 7).text
    assert with_rounds(unified, 4) is unified
    with pytest.raises(WorkflowError, match="prove nothing"):
        with_rounds(unified, 0)


def test_the_package_gives_the_library_only_to_those_who_ask():
    code = "import sys, punchlist; print('punchlist.library' in sys.modules); from punchlist import review_and_fix; print(review_and_fix.__module__)"
    source = str(Path(punchlist.__file__).parents[1])
    said = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == ["False", "punchlist.library.run"]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = punchlist.nothing
