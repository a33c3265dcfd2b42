"""Build the tools' outputs from a run; pure functions."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import convert
from msgspec.structs import asdict

from punchlist.mcp.outputs import Evidence, ItemDetail, ListedItem, RunStatus, TaskDetail
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import Moment
from punchlist.ports.agent import Task
from punchlist.views.item_words import find_proofs, format_proofs, unfixed_reason
from punchlist.views.plans.plan_forms import item_code
from punchlist.views.report_document import make_item_part
from punchlist.views.run_state import State
from punchlist.views.summary import summarize_run

FIXER = "fixer"
_LONGEST_PROMPT = 40_000
"""Characters; clients cut, or refuse, answers that are much longer."""
_LAST_MOMENTS = 15
"""Moments of the story in an answer to a request without `after`."""


def build_status(
    run: Run, repository: str, state: State, tasks: int, story: Iterable[Moment] | None = None
) -> RunStatus:
    summary = summarize_run(run)
    return RunStatus(
        id=run.id,
        repository=repository,
        workflow=run.started.workflow_name,
        state=state,
        seq=run.seq,
        outcome=summary.outcome.value if run.ended else "",
        headline=summary.headline,
        next=suggest_next(run, state, tasks),
        round=run.position.round,
        branch=run.landing.branch if run.landing.landed else "",
        counts=summary.numbers,
        by_status=summary.by_status,
        tasks=tasks,
        question=run.waiting_for,
        doubts=tuple(run.unanswered),
        not_checked=summary.gaps,
        trouble=run.trouble,
        story=tuple(run.timeline[-_LAST_MOMENTS:] if story is None else story),
    )


def suggest_next(run: Run, state: State, tasks: int) -> str:
    match state:
        case State.ENDED if run.landing.landed:
            return (
                "it has ended; ask_for_proof shows what stands behind each fix, and branch"
                f" {run.landing.branch} has the commits"
            )
        case State.ENDED:
            return "it has ended; list_items has the items, and ask_for_proof what was seen of each"
        case State.WAITING:
            return (
                "a person is asked: put the question to your user, and answer_question with what"
                " they say"
            )
        case State.STOPPED | State.KILLED:
            return (
                "no process drives it: resume_run goes on, and does nothing again that was recorded"
            )
        case State.UNDER_WAY if tasks:
            return "a task lies there for you: next_task"
        case State.UNDER_WAY | State.QUEUED:
            return (
                "it goes on by itself; call again with wait_seconds, or next_task if you play a"
                " role"
            )


def summarize_item(item: Item) -> ListedItem:
    return ListedItem.of(item, proof=" + ".join(find_proofs(item)), why=unfixed_reason(item))


def build_detail(item: Item, run: Run) -> ItemDetail:
    part = asdict(make_item_part(item, run))
    return convert({**part, "run": run.id, "code": item_code(item.number)}, ItemDetail)


def build_task(task: Task, run: Run, file: Path) -> TaskDetail:
    prompt = task.prompt
    if len(prompt) > _LONGEST_PROMPT:
        rest = f"\n\n[It goes on in {file}: read it there before you begin.]"
        prompt = prompt[:_LONGEST_PROMPT] + rest
    return TaskDetail(
        task=f"{run.id}/{task.id}",
        run=run.id,
        role=task.role,
        folder=task.folder,
        writes=task.writes,
        items=tuple(summarize_item(run.items[each]) for each in task.items if each in run.items),
        prompt=prompt,
        prompt_file=str(file),
        schema=task.schema or {},
        answer_with="report_outcomes" if task.role == FIXER else "answer_task",
    )


def collect_evidence(item: Item, run: Run) -> Evidence:
    return Evidence(
        number=item.number,
        code=item_code(item.number),
        title=item.lead.title,
        status=item.status,
        proven=is_proven(item),
        said=_describe_evidence(item, run),
        proofs=item.proofs,
        commit=item.commit,
        branch=run.landing.branch if item.commit else "",
        attempts=run.list_attempts(item),
    )


def is_proven(item: Item) -> bool:
    return item.status is Status.FIXED and bool(item.proofs) and bool(item.commit)


def _describe_evidence(item: Item, run: Run) -> str:
    if is_proven(item):
        return f"fixed by {item.commit[:12]} on {run.landing.branch}: {format_proofs(item)}"
    match item.status:
        case Status.CLAIMED:
            return "claimed: the fixer says that it is fixed, and it is not judged yet"
        case Status.DISMISSED:
            return f"dismissed, not fixed: {unfixed_reason(item)}"
        case _:
            return f"{item.status}, no proof: {unfixed_reason(item) or 'no fix was tried'}"
