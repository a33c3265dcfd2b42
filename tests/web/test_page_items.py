"""What the pages of items, questions and comparisons show: pure views over runs that really happened."""

import pytest

pytest.importorskip("litestar")
from test_api_runs import READY
from workbench import fix, fixer, homes, review, scores

from made import made_run
from punchlist.app.session import Session
from punchlist.model.item.batch import AGENT, Batch
from punchlist.model.item.claim import ClaimOutcome, ItemClaim
from punchlist.model.item.item import Status
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.round_history import PastEvent
from punchlist.views.run_diff import ItemFate, compare_items, items_by_round
from punchlist.web.pages.item.attempts import list_attempts
from punchlist.web.pages.item.page import build_view, find_neighbours
from punchlist.web.pages.run.compare import group_changes
from punchlist.web.pages.run.questions import build_panel, parse_answers

ASKED = {
    "role": "clarifier",
    "times": 1,
    "answer": {
        "has_questions": True,
        "questions_by_issue": [
            {
                "issue_code": "F001",
                "questions": [{"id": "F001-q1", "question": "Pages from 1?", "context": "unclear"}],
            }
        ],
        "ready_to_plan": False,
    },
}
TODO = {
    "role": "planner",
    "answer": {
        "issues": [
            {
                "issue_code": "F001",
                "plan": {"approach": "patch", "steps": ["count from one"]},
                "files": [],
            }
        ]
    },
}


@pytest.fixture
def told(bench, monkeypatch):
    """A run whose first fix of page() scores low, and whose second one lands; mean() is put off."""
    homes(bench.folder, monkeypatch)
    second = {
        **fix("page"),
        "edits": [{"path": "shop/pages.py", "replace": "rows[number", "with": "rows[(number - 1)"}],
    }
    bench.play(
        review("mean", "page"),
        ASKED,
        READY,
        TODO,
        fixer(fix("page"), fix("mean", "deferred", "tried, and did not find the cause"), round=1),
        fixer(second, fix("mean", "deferred", "tried, and did not find the cause")),
        scores(times=1, F001=40),
        scores(F001=95),
        agents=("robot", "critic"),
    )
    return bench


def test_an_item_shows_its_code_its_attempts_its_judges_and_its_proof(told):
    waiting = told.run("challenged")
    asked = build_panel(waiting)
    assert asked.waits
    assert [(each.id, each.question, each.context, each.number) for each in asked.open] == [
        ("F001-q1", "Pages from 1?", "unclear", 1)
    ]
    waiting = told.answer({"F001-q1": "yes"}, resume=True)
    asked = build_panel(waiting)
    assert [choice.key for choice in asked.choices] == ["a", "b"]
    assert next((each.code, each.todo.approach, each.todo.steps) for each in asked.plan) == (
        "F001",
        "patch",
        ("count from one",),
    )
    run = told.answer("a")
    assert not build_panel(run).waits
    view = build_view(run, 1, driven=False)
    assert (view.status, view.code, view.row.title) == (
        Status.FIXED,
        "F001",
        "page() skips the first page",
    )
    assert [(line.number, line.kind) for line in view.excerpt.lines if line.kind] == [(5, "h")]
    first, last = view.efforts
    assert (
        first.round,
        first.outcome,
        first.landed,
        first.judged.score.score,
        first.judged.approved,
    ) == (1, ClaimOutcome.FIXED, False, 40, False)
    assert (last.round, last.landed, last.judged.score.score, last.judged.approved) == (
        2,
        True,
        95,
        True,
    )
    assert first.judged.score.feedback == "worth 40"
    assert [line.kind for line in last.code[0].lines if line.kind] == ["d", "a"]
    assert first.trials[0].command.endswith("-m unittest")
    assert "reviewed" in [proof.kind for proof in view.row.proofs]
    assert view.row.landed
    assert not view.can_dismiss
    other = build_view(run, 2, driven=False)
    assert other.status is not Status.FIXED
    assert [effort.outcome for effort in other.efforts] == [ClaimOutcome.DEFERRED] * len(
        other.efforts
    )
    assert other.can_dismiss
    assert not build_view(run, 2, driven=True).can_dismiss, (
        "while somebody drives the run, nothing may be said"
    )
    assert (find_neighbours(run, run.items[1]), find_neighbours(run, run.items[2])) == (
        (0, 2),
        (1, 0),
    )


def test_two_rounds_say_what_was_fixed_in_between(told):
    told.run("challenged")
    told.answer({"F001-q1": "yes"})
    run = told.answer("a")
    rounds = told.do(lambda app: _rounds(app, run.id))
    groups = {
        group.key: group
        for group in group_changes(
            compare_items(rounds[1], rounds[2]), 10, first=run.id, second=run.id
        )
    }
    assert [line.change.item.number for line in groups[ItemFate.FIXED].lines] == [1]
    assert sum(group.total for group in groups.values()) == 2


async def _rounds(app: Session, run: str):
    return items_by_round(run, app.store.read(run))


def test_work_that_another_batch_was_built_on_is_judged_and_lands_with_it():
    one, both = (
        Batch(number=n, items=items, fixer=AGENT, title="x", paths=("a.py",))
        for n, items in ((1, (1,)), (2, (1, 2)))
    )
    events = (
        ev.Attempted(
            fixer=AGENT,
            agent="robot",
            batches=(one,),
            reports=(ItemClaim(1, ClaimOutcome.FIXED, "done"),),
        ),
        ev.Attempted(
            fixer=AGENT,
            agent="robot",
            batches=(both,),
            absorbed={1: 2},
            reports=(ItemClaim(2, ClaimOutcome.FIXED),),
        ),
        ev.Examined(batch=2, noted=("looked at",)),
        ev.Committed(branch="b", tip="c", landed=(ev.Landed(2, "c"),)),
    )
    run = made_run(id="r", history=tuple(PastEvent(1, 0, event) for event in events))
    first = list_attempts(run, 1)[0]
    assert (first.outcome, first.landed, first.seen) == (ClaimOutcome.FIXED, True, ("looked at",))


def test_what_is_left_empty_is_no_answer():
    assert parse_answers({"answer-F001-q1": " yes ", "answer-F001-q2": "  ", "choice": "a"}) == {
        "F001-q1": "yes"
    }
