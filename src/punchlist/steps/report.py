"""report: file unresolved items with their history, and write the reports."""

import asyncio
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from punchlist.errors import StoreError, ToolError
from punchlist.model.dedup.merge import MergeRule
from punchlist.model.item.item import ENDED, Fact, Item, Move, Status, reading_order
from punchlist.model.ledger.commit_trailers import render_comment
from punchlist.model.ledger.earlier_runs import Debt
from punchlist.model.ledger.events import Filed, Kept, Reported, Surveyed
from punchlist.model.ledger.outcome import run_outcome
from punchlist.model.ledger.run import Run
from punchlist.ports.artifacts import Artifacts
from punchlist.ports.results import ResultStore
from punchlist.ports.world import World
from punchlist.steps.support.analyze import Analyze, run_analyzer
from punchlist.steps.support.files import write_files
from punchlist.steps.support.item_matching import Sort, sort_findings
from punchlist.steps.support.unseen_files import find_unseen_files
from punchlist.steps.verb import Action, Verb, VerbOptions, select_pending
from punchlist.views.issue_text import IssueText, render_issue

CHUNK = 500


class FilingScope(StrEnum):
    ALL = "all"
    MUST_FIX = "must-fix"
    NONE = "none"


class Options(VerbOptions, frozen=True):
    """`file`: which unresolved items go to the tracker; the others are only listed."""

    file: FilingScope = FilingScope.ALL


class File(Struct, frozen=True):
    items: tuple[int, ...]


class Settle(Struct, frozen=True):
    """File unresolved items that earlier runs could not file."""

    owed: tuple[Debt, ...]


class WriteReports(Struct, frozen=True):
    pass


class Survey(Struct, frozen=True):
    """Find the program files that no reviewer looked at."""


class Keep(Struct, frozen=True):
    """Copy the run's files to the store that the settings name."""


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    """Return one action at a time: first a last look at the tip by the analyzers that reported what
    is left, then findings that are not yet items, then filing, debts, the survey, reports.
    """
    wanted = [
        item.number
        for item in sorted(run.left, key=reading_order)
        if _should_file(item, options) and item.number not in run.filing.unfiled
    ]
    actions = [
        Action(f"look {name}", Analyze(name, run.landing.tip, place), f"{name} looks once more")
        for name in _find_last_lookers(run, wanted)
    ]
    if run.reviewing.fresh or run.reviewing.fresh_from:
        actions.append(Action("items", Sort(MergeRule.SMART), "findings become items"))
    for start in range(0, len(wanted), CHUNK):
        chunk = tuple(wanted[start : start + CHUNK])
        # Named by its first item: fewer items are left after each chunk, so numbers would repeat.
        actions.append(Action(f"file {chunk[0]}", File(chunk), f"{len(chunk)} items are filed"))
    owed = run.started.owed
    if owed and options.file is not FilingScope.NONE:
        about = f"{len(owed)} items of earlier runs are filed"
        actions.append(Action("debts", Settle(owed), about))
    if not run.started.issue_ids:  # chosen issues are worked on: nothing is under review
        actions.append(Action("survey", Survey(), "files without a reviewer are listed"))
    actions.append(Action("report", WriteReports(), "reports are written"))
    if to := run.started.keep:
        actions.append(Action("keep", Keep(), f"results are copied to {to}"))
    return select_pending(run, *actions)[:1]


def _find_last_lookers(run: Run, wanted: Sequence[int]) -> list[str]:
    """Return the analyzers that reported what is to be filed, if fixes landed since they looked."""
    sources = {finding.source for number in wanted for finding in run.items[number].sighted}
    names = [name for name in run.started.reviewers if name in sources]
    reviews = run.reviewing.reviews
    stale = any(name not in reviews or reviews[name].commit != run.landing.tip for name in names)
    begun = any(f"look {name}" in run.position.here for name in names)
    return names if run.landing.landed and (stale or begun) else []


def _should_file(item: Item, options: Options) -> bool:
    """Return whether to file it; what only waits for an agent's answer is listed."""
    if item.awaits_agent:
        return False
    if options.file is FilingScope.MUST_FIX:
        return item.must_fix
    return options.file is FilingScope.ALL


async def file_items(task: File, run: Run, world: World) -> Filed:
    anchor = render_comment(run.id, run.head)
    issues = [render_issue(run.items[number], run.id, anchor) for number in task.items]
    refs, failed = await _file_issues(issues, world)
    moves = tuple(
        Move(number, Fact.FILED, by=world.tracker.name, why="left over", ref=ref)
        for number, ref in refs.items()
    )
    return Filed(tracker=world.tracker.name, moves=moves, failed=failed)


async def settle_debts(task: Settle, run: Run, world: World) -> Filed:
    """File the debts under their own run and number, except items fixed or dismissed by now."""
    done = {item.fingerprint for item in run.find_items(Status.FIXED, Status.DISMISSED)}
    settled = {debt.name: "" for debt in task.owed if debt.item.fingerprint in done}
    owed: dict[str, str] = {}
    anchor = render_comment(run.id, run.head)
    for run_id in dict.fromkeys(debt.run for debt in task.owed):
        items = [debt.item for debt in task.owed if debt.run == run_id]
        unsettled = [item for item in items if item.fingerprint not in done]
        due = [render_issue(item, run_id, anchor) for item in unsettled]
        refs, failed = await _file_issues(due, world)
        settled |= {f"{run_id}/{number}": ref for number, ref in refs.items()}
        owed |= {f"{run_id}/{number}": why for number, why in failed.items()}
    return Filed(tracker=world.tracker.name, settled=settled, owed=owed)


async def _file_issues(
    issues: Sequence[IssueText], world: World
) -> tuple[dict[int, str], dict[int, str]]:
    """Return by item the issue reference, and by item the error; an item the tracker does not
    mention is an error.
    """
    silence = "the tracker did not answer for it"
    try:
        filings = await world.tracker.file(issues) if issues else ()
    except ToolError as error:
        filings, silence = (), str(error)
    refs = {filing.item: filing.ref for filing in filings if not filing.failed}
    errors = {filing.item: filing.failed for filing in filings if filing.failed}
    numbers = [issue.item.number for issue in issues]
    failed = {number: errors.get(number, silence) for number in numbers if number not in refs}
    return {number: refs[number] for number in numbers if number in refs}, failed


async def survey_files(task: Survey, run: Run, world: World) -> Surveyed:
    async with world.trees.open_tree(run.landing.tip, shared=True) as tree:
        return await asyncio.to_thread(find_unseen_files, run, world, tree)


async def write_reports(task: WriteReports, run: Run, world: World) -> Reported:
    """Render the reports as of the end of the run."""
    listed = tuple(item.number for item in run.items.values() if item.status not in ENDED)
    filing = replace(run.filing, listed=listed)
    ended = replace(run, filing=filing, ended=run_outcome(run).value)
    rendered = {name: render(ended) for name, render in world.reports.items()}
    files = {name: content for name, content in rendered.items() if content}
    return Reported(artifacts=await write_files(files, world), listed=listed)


async def keep_results(task: Keep, run: Run, world: World) -> Kept:
    """Copy the run's files, and see that they are there."""
    store, artifacts = world.results, world.artifacts
    if store is None:
        return Kept(to=run.started.keep, failed="the settings do not name it any more")
    try:
        names = await asyncio.to_thread(_copy_files, run.id, artifacts, store)
        there = await asyncio.to_thread(store.list_names, run.id)
    except StoreError as error:
        return Kept(to=store.where, failed=str(error))
    missing = sorted(names - there)
    failed = f"{len(missing)} files are not there, {missing[0]} for one" if missing else ""
    return Kept(to=store.where, files=len(names) - len(missing), failed=failed)


def _copy_files(run: str, artifacts: Artifacts, store: ResultStore) -> set[str]:
    contents = ((name, artifacts.read(name)) for name in artifacts.list_sizes())
    copied = set()
    for name, content in contents:
        if content is not None:
            store.put(run, name, content)
            copied.add(name)
    return copied


VERB = Verb(
    "unresolved items are filed, and reports are written",
    Options,
    step,
    {
        Analyze: run_analyzer,
        Sort: sort_findings,
        File: file_items,
        Settle: settle_debts,
        Survey: survey_files,
        WriteReports: write_reports,
        Keep: keep_results,
    },
    last=True,
)
