"""Runs and items as API answers; pure functions of a run."""

from msgspec import convert
from msgspec.structs import asdict

from punchlist.model.item.item import Item
from punchlist.model.ledger.run import Run
from punchlist.views import run_line as views
from punchlist.views.item_list import ItemFilter, filter_items
from punchlist.views.plans.plan_forms import issue_code, issue_id
from punchlist.views.run_state import State
from punchlist.views.summary import summarize_run
from punchlist.web.schemas import ItemLine, ItemPage, RunLine, RunPart

_STATES = {
    State.ENDED: "ended",
    State.UNDER_WAY: "running",
    State.WAITING: "waiting",
    State.STOPPED: "stopped",
    State.KILLED: "stopped",
    State.QUEUED: "stopped",
}


def name_state(state: State, *, interrupted: bool = False) -> str:
    """Return the API's name of a state; `interrupted`: the run was stopped, and not answered."""
    return "interrupted" if interrupted and state is State.STOPPED else _STATES[state]


def run_line(line: views.RunLine, repository: str) -> RunLine:
    own = {"repository_id": repository, "state": name_state(line.state)}
    return convert(asdict(line) | own, RunLine)


def run_part(run: Run, repository: str, state: State) -> RunPart:
    summary = summarize_run(run)
    return RunPart(
        id=run.id,
        repository_id=repository,
        workflow=run.started.workflow_name,
        state=name_state(state, interrupted=run.interrupted),
        seq=run.seq,
        started_at=run.started_at,
        seconds=round(run.active, 3),
        branch=run.landing.branch,
        tip=run.landing.shown_tip,
        outcome=summary.outcome.value if run.ended else "",
        headline=summary.headline,
        advice=summary.advice,
        round=run.position.round,
        counts=summary.numbers,
        by_status=summary.by_status,
        asked=len(run.asking.questions),
        question=run.waiting_for,
        doubts=tuple(run.asking.doubts.values()),
        not_checked=summary.gaps,
        usage=run.usage,
        trouble=run.trouble,
        story=run.started.story.label,
        documents=run.filing.placed,
    )


def item_page(run: Run, wanted: ItemFilter, offset: int, limit: int) -> ItemPage:
    found = filter_items(run, wanted)
    lines = (_item_line(item, run) for item in found[offset : offset + limit])
    return ItemPage(total=len(found), items=tuple(lines))


def _item_line(item: Item, run: Run) -> ItemLine:
    score = run.by_item.scores.get(item.number)
    return ItemLine.of(
        item,
        id=f"{run.id}/{item.number}",
        proofs=tuple(proof.kind.value for proof in item.proofs),
        score=score.score if score else None,
        tries=item.tries,
        commit=item.commit,
        issue=item.issue,
        issue_id=issue_id(run, item.number),
        issue_code=issue_code(run, item.number),
        category=item.lead.category,
        confidence=run.by_item.confidence.get(item.number),
    )
