"""What runs may cost together, over a month, a repository and a pull request."""

import asyncio
import time
from contextlib import closing
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from made import STARTED
from punchlist.app.drive.budget import (
    find_spent,
    limit_start,
    list_budgets,
    start_of_month,
    watch_budgets,
)
from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Halted
from punchlist.model.patch.change import ScopeKind
from punchlist.settings import LoadedSettings, Settings, decode_settings, encode_settings

PULL = "https://github.example/acme/shop/pull/7"


@pytest.fixture
def opened(repo, tmp_path, monkeypatch):
    """Opens a session with settings, and records runs with their cost in its store."""
    repo.commit({"a.py": "X = 1\n"})
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))

    def open_with(**limits) -> Session:
        flags = {f"limits.{name.replace('_', '-')}": str(value) for name, value in limits.items()}
        return asyncio.run(Session.open(repo.root, flags))

    def record(run, cost, *, pull="", other=False, at=None, unpriced=0):
        with closing(open_with()) as session:
            pinned = encode_settings(LoadedSettings(Settings(), {}))
            where = "/elsewhere" if other else session.repository
            begun = replace(STARTED, repository=where, pull=pull, settings=pinned, crew={"fixer": ("a",)})  # fmt: skip
            at = time.time() if at is None else at
            session.store.append(run, "start", "started", begun, at)
            usage = Usage(dollars=cost, unpriced=unpriced)
            session.store.append(run, "limit", "halted", Halted(limit="x", usage=usage), at)

    open_with.record = record
    return open_with


def test_each_budget_counts_its_own_runs_and_only_these(opened):
    last_month = start_of_month(time.time()) - 60
    opened.record("r1", 1, pull=PULL)
    opened.record("r2", 2)
    opened.record("r3", 4, other=True)
    opened.record("r4", 8, pull=PULL, at=last_month)
    with closing(opened(monthly=100, repository=100, pull_request=100)) as session:
        spent = {each.setting: each.spent.dollars for each in list_budgets(session, PULL)}
        assert spent == {"limits.monthly": 7, "limits.repository": 3, "limits.pull-request": 9}
        assert find_spent(session, PULL) == ""
    with closing(opened(pull_request=9)) as session:
        assert find_spent(session, PULL) == (
            "the budget of $9 for this pull request (limits.pull-request) is spent"
        )
        assert find_spent(session, "") == ""
    opened.record("r5", 0, unpriced=1)
    with closing(opened(repository=100)) as session:
        assert "cannot be kept" in find_spent(session)


def test_a_run_gets_what_is_left_of_the_least_budget_and_sees_what_others_spend(opened):
    opened.record("r1", 3, pull=PULL)
    with closing(opened(monthly=10, pull_request=5)) as session:
        run = session.load("r1")
        pinned = decode_settings(limit_start(session, run).settings).settings
        assert pinned.limits.dollars == 5, "its own 3, and 2 that are left"
        look = watch_budgets(session, run)
        assert look() == ""
        opened.record("r2", 7, other=True)
        assert look() == "the budget of $10 a month (limits.monthly) is spent"
        spent = decode_settings(limit_start(session, run).settings).settings.limits.dollars
        assert 0 < spent <= 3, "none is left, and 0 would be no limit"


def test_a_month_begins_at_its_first_midnight_in_utc():
    def at(*parts):
        return datetime(*parts, tzinfo=UTC).timestamp()

    assert start_of_month(at(2026, 3, 31, 23, 59, 59)) == at(2026, 3, 1)
    assert start_of_month(at(2027, 1, 1)) == at(2027, 1, 1)


def test_where_a_budget_is_spent_the_analyzers_review_alone_and_that_is_said(opened, tmp_path):
    script = tmp_path / "script.json"
    script.write_text('{"lines": []}')

    def prepare(workflow, **limits):
        with closing(opened(**limits)) as session:
            session.flags |= {"agents.use": "a", "agent.a.kind": "scripted", "agent.a.script": str(script), "analyzers.enabled": "ruff"}  # fmt: skip
            request = Request(kind=ScopeKind.ALL, workflow=workflow, pull=PULL)
            return asyncio.run(prepare_run(session, request))

    opened.record("r1", 3, pull=PULL)
    within = prepare("converge", pull_request=4)
    assert "fixer" in within.crew
    over = prepare("converge", pull_request=3)
    assert (over.crew, over.workflow.name) == ({}, "review"), "converge cannot be without agents"
    assert prepare("proven", pull_request=3).workflow.name == "proven", "tools fix there"
    said = (
        "No agent was asked: the budget of $3 for this pull request (limits.pull-request) is spent"
    )
    assert said in over.change.notes
    assert said not in within.change.notes
