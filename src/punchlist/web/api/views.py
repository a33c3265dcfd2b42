"""Runs and items as API answers; pure functions of a run."""

from collections.abc import Iterable

from punchlist.model.item.item import Item, reading_order
from punchlist.model.ledger.run import Run
from punchlist.views import run_line as views
from punchlist.views.item_filter import ItemFilter, matches_filter
from punchlist.views.plans.plan_forms import item_code
from punchlist.views.run_state import State
from punchlist.views.summary import summarize_run
from punchlist.web.schemas import ItemLine, ItemPage, RunLine, RunPart

_STATES = {
    State.ENDED: "ended",
    State.UNDER_WAY: "running",
    State.WAITING: "waiting",
    State.STOPPED: "stopped",
    State.KILLED: "stopped",
}


def name_state(state: State, *, interrupted: bool = False) -> str:
    """Return the API's name of a state; `interrupted`: the run was stopped, and not answered."""
    return "interrupted" if interrupted and state is State.STOPPED else _STATES[state]


def run_line(line: views.RunLine, repository: str) -> RunLine:
    return RunLine(
        id=line.id,
        repository_id=repository,
        workflow=line.workflow,
        state=name_state(line.state),
        outcome=line.outcome,
        started_at=line.started_at,
        last_at=line.last_at,
        seconds=line.seconds,
        entries=line.entries,
    )


def run_part(run: Run, repository: str, state: State) -> RunPart:
    told = summarize_run(run)
    return RunPart(
        id=run.id,
        repository_id=repository,
        workflow=run.started.workflow_name,
        state=name_state(state, interrupted=run.interrupted),
        seq=run.seq,
        started_at=run.started_at,
        seconds=round(run.active, 3),
        branch=run.landing.branch,
        tip=run.landing.tip,
        outcome=told.outcome.value if run.ended else "",
        headline=told.headline,
        advice=told.advice,
        round=run.position.round,
        counts=told.numbers,
        by_status=told.by_status,
        asked=len(run.asking.questions),
        question=run.waiting_for,
        doubts=tuple(run.asking.doubts.values()),
        not_checked=told.gaps,
        usage=run.usage,
        trouble=run.trouble,
    )


def item_page(run: Run, wanted: ItemFilter, offset: int, limit: int) -> ItemPage:
    found = [
        item
        for item in sorted(run.items.values(), key=reading_order)
        if matches_filter(item, wanted)
    ]
    return ItemPage(total=len(found), items=tuple(_item_lines(found[offset : offset + limit], run)))


def _item_lines(items: Iterable[Item], run: Run) -> Iterable[ItemLine]:
    for item in items:
        score = run.by_item.scores.get(item.number)
        yield ItemLine(
            id=f"{run.id}/{item.number}",
            number=item.number,
            code=item_code(item.number),
            title=item.lead.title,
            severity=item.severity,
            status=item.status,
            in_scope=item.in_scope,
            path=item.lead.spot.path,
            line=item.lead.spot.line,
            proofs=tuple(proof.kind.value for proof in item.proofs),
            score=score.score if score else None,
            tries=item.tries,
            commit=item.commit,
            issue=item.issue,
        )
