"""Lets an agent fix batches in a tree of its own: the patch is read from the tree, its answer holds
claims.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.integrity.patch_ownership import (
    OwnPatch,
    find_absorbed,
    find_extra_files,
    find_refusal,
    separate_own,
    split_patch,
    update_batch,
)
from punchlist.model.integrity.weak_excuses import find_excuse
from punchlist.model.item.batch import Batch
from punchlist.model.item.claim import ClaimOutcome, ItemClaim
from punchlist.model.item.item import Fact, Move
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import Attempted
from punchlist.model.ledger.run import Run
from punchlist.model.patch.hunk import OriginalFile, make_hunks
from punchlist.model.patch.patch import Patch
from punchlist.ports.roles import Claims, RoleTask
from punchlist.ports.world import World
from punchlist.steps.support.project_context import load_background

NO_CHANGE = "no change was made"
NO_STATUS = "no status was given"


class AgentFix(Struct, frozen=True):
    """`label` names the call for good. `fork`: others go on with the same conversation side by
    side.
    """

    batches: tuple[int, ...]
    label: str
    fork: bool = False
    sessions: bool = True


class _AgentWork(Struct, frozen=True):
    """Result of the agent: its claims, and the changes in the tree."""

    claims: Claims
    work: OwnPatch
    before: Mapping[str, str]
    present: frozenset[str]


class _Record(Struct, frozen=True):
    """Stored with the answer, so that a kill loses neither."""

    claims: Claims
    total: Patch


async def fix_with_agent(task: AgentFix, run: Run, world: World) -> Attempted:
    began = world.clock()
    batches = [run.work.batches[number] for number in task.batches]
    laid = _find_overlapping(batches, run)
    handed = await _work_in_tree(task, batches, laid, run, world)
    claims = handed.claims
    parts = {} if claims.failed else _divide_patch(handed, batches)
    stays = {number: why for number, patch in parts.items() if (why := find_refusal(patch))}
    patches = {
        number: patch
        for number, patch in parts.items()
        if number not in stays and _is_claimed(number, batches, claims)
    }
    moves = tuple(move for batch in batches for move in _build_moves(batch, claims, patches, stays))
    originals = {path: OriginalFile(path, text) for path, text in handed.before.items()}
    turned_out = [
        update_batch(b, patches[b.number], world.protected, handed.present)
        for b in batches
        if b.number in patches
    ]
    seconds = world.clock() - began
    return Attempted(
        fixer="agent",
        agent=claims.agent,
        patches=patches,
        refused=_refusal_reasons(batches, patches, claims, stays),
        hunks={number: make_hunks(patch, originals) for number, patch in patches.items()},
        reports=claims.reports,
        noted=_collect_notes(batches, patches, claims, handed, world),
        batches=tuple(turned_out),
        absorbed=find_absorbed(laid, patches) if handed.work.over else {},
        left_out=claims.left_out,
        sessions={item: claims.session for batch in batches for item in batch.items}
        if claims.session
        else {},
        transcript=claims.transcript,
        failed=claims.failed,
        moves=moves,
        usage=replace(claims.usage, seconds=seconds),
    )


def _find_overlapping(batches: Sequence[Batch], run: Run) -> dict[int, Patch]:
    """Return this round's other patches to the same files; they are applied to the agent's tree."""
    files = {path for batch in batches for path in batch.paths}
    ours = {batch.number for batch in batches}
    return {
        number: patch
        for number, patch in run.work.patches.items()
        if number not in ours and files & set(patch.paths)
    }


async def _work_in_tree(
    task: AgentFix, batches: Sequence[Batch], laid: Mapping[int, Patch], run: Run, world: World
) -> _AgentWork:
    # By what lies below it, too: what was done on other ground than this is of no use here.
    name = f"{run.id}/{task.label}/{sorted(laid)}"
    fresh = not world.answered(task.label)
    async with world.trees.resume_tree(run.landing.tip, name, laid.values(), fresh=fresh) as tree:
        asked = await _build_task(task, batches, run, world)
        fixer = world.crew.fixer
        claims = (
            await fixer.fix(asked, tree)
            if fixer
            else Claims(failed="no agent plays the fixer any more")
        )
        total = _load_patch(claims, name, world) or await world.trees.collect_changes(tree)
        _save_record(claims, total, name, world)
        present = frozenset(tree.files())
    paths = {*total.paths, *(path for patch in laid.values() for path in patch.paths)}
    texts = {path: await world.repository.text(run.landing.tip, path) for path in sorted(paths)}
    before = {path: text for path, text in texts.items() if text is not None}
    return _AgentWork(claims, separate_own(total, list(laid.values()), before), before, present)


def _load_patch(claims: Claims, name: str, world: World) -> Patch | None:
    """Return the recorded patch if it belongs to these claims, else None; a kill may come before
    the event.
    """
    content = world.artifacts.read(_record_name(name))
    try:
        record = wire.decode(content, _Record) if content is not None else None
    except msgspec.MsgspecError:  # of another version: then the tree tells
        return None
    return record.total if record is not None and record.claims == claims else None


def _save_record(claims: Claims, total: Patch, name: str, world: World) -> None:
    if not claims.failed:  # a failure is not kept either: it is asked again
        world.artifacts.write(_record_name(name), wire.encode(_Record(claims, total)))


def _record_name(name: str) -> str:
    return f"work/{sha256(name.encode()).hexdigest()[:20]}.json"


async def _build_task(task: AgentFix, batches: Sequence[Batch], run: Run, world: World) -> RoleTask:
    numbers = tuple(number for batch in batches for number in batch.items)
    return RoleTask(
        label=task.label,
        items=tuple(run.items[number] for number in numbers),
        told=await load_background(run, world),
        batches=tuple(batches),
        doubts=tuple(
            doubt for doubt in run.asking.doubts.values() if doubt.item in numbers and doubt.answer
        ),
        todos={
            number: run.by_item.todos[number] for number in numbers if number in run.by_item.todos
        },
        session=_find_session(numbers, run) if task.sessions else "",
        fork=task.fork,
    )


def _find_session(numbers: Iterable[int], run: Run) -> str:
    """Return the last conversation about one of the items, else that of the planner, or ''."""
    known = [
        run.asking.sessions[f"item {number}"]
        for number in numbers
        if f"item {number}" in run.asking.sessions
    ]
    return known[-1] if known else run.asking.sessions.get("plan", "")


def _divide_patch(handed: _AgentWork, batches: Sequence[Batch]) -> dict[int, Patch]:
    patch = handed.work.patch
    if not patch:
        return {}
    return (
        {batches[0].number: patch}
        if len(batches) == 1
        else split_patch(patch, batches, handed.claims.reports)
    )


def _is_claimed(number: int, batches: Sequence[Batch], claims: Claims) -> bool:
    """Return whether a report says that the batch fixes an item; other patches are dropped."""
    items = next(batch.items for batch in batches if batch.number == number)
    return any(
        report.outcome is ClaimOutcome.FIXED and report.item in items for report in claims.reports
    )


def _refusal_reasons(
    batches: Sequence[Batch], patches: Mapping[int, Patch], claims: Claims, stays: Mapping[int, str]
) -> dict[int, str]:
    return {
        batch.number: claims.failed or stays.get(batch.number) or NO_CHANGE
        for batch in batches
        if batch.number not in patches
    }


def _collect_notes(
    batches: Sequence[Batch],
    patches: Mapping[int, Patch],
    claims: Claims,
    handed: _AgentWork,
    world: World,
) -> dict[int, tuple[str, ...]]:
    """Return notes for the user that decide nothing."""
    odd = tuple(f"{name}: reported on, and no item is called that" for name in claims.unknown)
    cut = tuple(f"did not fit into the prompt: {what}" for what in claims.cut)
    found: dict[int, tuple[str, ...]] = {}
    for batch in batches:
        patch = patches.get(batch.number)
        extra = find_extra_files(batch, patch, handed.present, world.protected) if patch else ()
        if notes := (*extra, *odd, *cut):
            found[batch.number] = notes
    return found


def _build_moves(
    batch: Batch, claims: Claims, patches: Mapping[int, Patch], stays: Mapping[int, str]
) -> Iterator[Move]:
    said = {report.item: report for report in claims.reports}
    by = claims.agent or "agent"
    for number in batch.items:
        if number in claims.left_out:
            continue  # nobody was asked about it: no attempt of its own, and it comes next
        if claims.failed:
            yield Move(
                number,
                Fact.SAID_DEFERRED,
                by=by,
                why=f"the agent failed: {claims.failed}",
                evidence=claims.transcript,
            )
        elif number in claims.contradicted:
            yield Move(number, Fact.SAID_DEFERRED, by=by, why="two answers contradict each other")
        elif number not in said:
            yield Move(number, Fact.SAID_DEFERRED, by=by, why=NO_STATUS)
        else:
            yield from _apply_report(
                said[number], by, batch.number in patches, stays.get(batch.number, "")
            )


def _apply_report(report: ItemClaim, by: str, changed: bool, stays: str) -> Iterator[Move]:  # noqa: FBT001 - one fact of four
    number, why = report.item, report.why
    match report.outcome:
        case ClaimOutcome.FIXED if changed:
            yield Move(number, Fact.SAID_FIXED, by=by, why=why)
        case ClaimOutcome.FIXED:
            said = f" (it said: {why})" if why else ""
            yield Move(number, Fact.SAID_DEFERRED, by=by, why=f"{stays or NO_CHANGE}{said}")
        case ClaimOutcome.BLOCKED if why:
            flag = f'blocked for a weak reason: "{excuse}"' if (excuse := find_excuse(why)) else ""
            yield Move(number, Fact.SAID_BLOCKED, by=by, why=why, flag=flag)
        case ClaimOutcome.CONTESTED if why:
            yield Move(number, Fact.CONTESTED, by=by, why=why)
        case ClaimOutcome.BLOCKED | ClaimOutcome.CONTESTED:
            yield Move(
                number, Fact.SAID_DEFERRED, by=by, why=f"{report.outcome}, and no reason was given"
            )
        case ClaimOutcome.DEFERRED:
            yield Move(
                number, Fact.SAID_DEFERRED, by=by, why=why or "deferred, and no reason was given"
            )
            if excuse := find_excuse(why):
                yield Move(
                    number,
                    Fact.EXCUSE_REFUSED,
                    by="punchlist",
                    why=f'that was not accepted: "{excuse}"',
                )
