"""Lets an agent fix batches in a tree of its own; the patch is read from the tree, the claims from
its answer.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.errors import RepositoryError
from punchlist.model.integrity.hunk_ownership import AskedItem, SplitPatch, split_by_claim
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
from punchlist.ports.agent import AgentTrouble
from punchlist.ports.roles import Claims, RoleTask
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.support.batching import ALONE
from punchlist.steps.support.project_context import find_answered, load_background
from punchlist.steps.support.wording import join_few
from punchlist.views.fix_report import render_hunks
from punchlist.views.plans.plan_forms import item_code

NO_CHANGE = "no change was made"
NO_STATUS = "no status was given"
UNREAD = "its answer names no outcome that could be read; the change itself was judged"


class AgentFix(Struct, frozen=True):
    """`label` identifies the call. `fork`: other calls continue the conversation in parallel."""

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
    """The answer and the changes, stored as one object: a kill loses both or neither."""

    claims: Claims
    total: Patch


async def fix_with_agent(task: AgentFix, run: Run, world: World) -> Attempted:
    began = world.clock()
    batches = [run.work.batches[number] for number in task.batches]
    below = _find_overlapping(batches, run)
    handed = await _work_in_tree(task, batches, below, run, world)
    claims = handed.claims
    parts, dropped, apart = _keep_fixed(handed, batches, run)
    refused = {number: why for number, patch in parts.items() if (why := find_refusal(patch))}
    refused |= {number: explain_apart(others) for number, others in apart.items()}
    patches = {
        number: patch
        for number, patch in parts.items()
        if number not in refused and _is_claimed(run.work.batches[number], claims)
    }
    originals = {path: OriginalFile(path, text) for path, text in handed.before.items()}
    updated = (
        update_batch(batch, patches[batch.number], world.protected, handed.present)
        for batch in batches
        if batch.number in patches
    )
    items = [item for batch in batches for item in batch.items]
    return Attempted(
        fixer="agent",
        agent=claims.agent,
        patches=patches,
        refused={
            batch.number: claims.failed or refused.get(batch.number) or NO_CHANGE
            for batch in batches
            if batch.number not in patches
        },
        hunks={number: make_hunks(patch, originals) for number, patch in patches.items()},
        dropped={number: make_hunks(patch, originals) for number, patch in dropped.items()},
        reports=claims.reports,
        noted=_collect_notes(batches, patches, handed, world),
        batches=tuple(updated),
        absorbed=find_absorbed(below, patches) if handed.work.over else {},
        left_out=claims.left_out,
        sessions=dict.fromkeys(items, claims.session) if claims.session else {},
        transcript=claims.transcript,
        failed=claims.failed,
        moves=tuple(
            _add_denials(move, claims)
            for batch in batches
            for move in _build_moves(batch, claims, patches, refused, apart)
        ),
        usage=replace(claims.usage, seconds=world.clock() - began),
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
    task: AgentFix, batches: Sequence[Batch], below: Mapping[int, Patch], run: Run, world: World
) -> _AgentWork:
    # The patches below are part of the name: work on top of others is of no use here.
    name = f"{run.id}/{task.label}/{sorted(below)}"
    artifact = f"work/{sha256(name.encode()).hexdigest()[:20]}.json"
    patches = list(below.values())
    record = await _load_record(artifact, world)
    fresh = record is not None or not await asyncio.to_thread(world.answered, task.label)
    async with world.trees.resume_tree(run.landing.tip, name, patches, fresh=fresh) as tree:
        if record is None:
            if not fresh and not tree.resumed:  # an answer without its changes is of no use
                await asyncio.to_thread(world.forget_answer, task.label)
            asked = await _build_task(task, batches, run, world)
            record = await _ask_for_work(asked, artifact, tree, world)
        present = frozenset(tree.files())
    claims, total = record.claims, record.total
    paths = {*total.paths, *(path for patch in patches for path in patch.paths)}
    texts = {path: await world.repository.text(run.landing.tip, path) for path in sorted(paths)}
    before = {path: text for path, text in texts.items() if text is not None}
    work = separate_own(total, patches, before)
    return _AgentWork(_add_missing_claim(claims, work.patch, batches), work, before, present)


def _add_missing_claim(claims: Claims, patch: Patch, batches: Sequence[Batch]) -> Claims:
    """Return the claims; for a single item that the answer says nothing of, the change counts as
    the claim: it can be about nothing else.
    """
    numbers = [number for batch in batches for number in batch.items]
    asked = [number for number in numbers if number not in claims.left_out]
    silent = claims.unread or not (claims.failed or claims.reports or claims.contradicted)
    if not patch or not silent or len(asked) != 1:
        return claims
    claim = ItemClaim(asked[0], ClaimOutcome.FIXED, UNREAD)
    return replace(claims, failed="", reports=(claim,))


async def _ask_for_work(asked: RoleTask, artifact: str, tree: Tree, world: World) -> _Record:
    """Ask the fixer; store its claims and its changes as one object, which a resumed run takes."""
    gone = "no agent plays the fixer any more"
    claims = Claims(failed=gone, trouble=AgentTrouble.MISSING)
    if world.crew.fixer:
        claims = await world.crew.fixer.fix(asked, tree)
    try:
        record = _Record(claims, await world.trees.collect_changes(tree))
    except RepositoryError as error:  # it wrote more than is read
        return _Record(replace(claims, failed=str(error), unread=False), Patch())
    if not claims.failed or claims.unread:  # after a failure the agent is asked again
        return await _store_record(record, artifact, world)
    return record


async def _store_record(record: _Record, artifact: str, world: World) -> _Record:
    """Store the record; return it, or that which another process has stored for the same call."""
    content = wire.encode(record)
    there = await asyncio.to_thread(world.artifacts.create, artifact, content)
    if there is None:
        return record
    if stored := _decode_record(there):
        return stored
    await asyncio.to_thread(world.artifacts.write, artifact, content)
    return record


async def _load_record(artifact: str, world: World) -> _Record | None:
    """Return what was stored before a kill, or None."""
    return _decode_record(await asyncio.to_thread(world.artifacts.read, artifact))


def _decode_record(content: bytes | None) -> _Record | None:
    try:
        return wire.decode(content, _Record) if content is not None else None
    except msgspec.MsgspecError:  # written by another version: the tree has the changes
        return None


async def _build_task(task: AgentFix, batches: Sequence[Batch], run: Run, world: World) -> RoleTask:
    numbers = tuple(number for batch in batches for number in batch.items)
    todos = run.by_item.todos
    return RoleTask(
        label=task.label,
        items=tuple(run.items[number] for number in numbers),
        told=await load_background(run, world),
        batches=tuple(batches),
        doubts=find_answered(numbers, run),
        todos={number: todos[number] for number in numbers if number in todos},
        session=_find_session(numbers, run) if task.sessions else "",
        fork=task.fork,
        rejected=dict(_list_rejected(numbers, run)),
    )


def _list_rejected(numbers: Sequence[int], run: Run) -> Iterator[tuple[int, str]]:
    """Yield items whose last fix was rejected, with its diff."""
    for number in numbers:
        attempts, diff = run.items[number].attempts, run.by_item.diffs.get(number)
        if diff and not diff.dropped and attempts and attempts[-1].fact is Fact.REJECTED:
            yield number, render_hunks(diff.hunks)


def _find_session(numbers: Sequence[int], run: Run) -> str:
    """Return the last conversation about one of the items, else that of the planner, or ''."""
    names = (*(f"item {number}" for number in reversed(numbers)), "plan")
    return next((run.asking.sessions[name] for name in names if name in run.asking.sessions), "")


def _keep_fixed(
    handed: _AgentWork, batches: Sequence[Batch], run: Run
) -> tuple[dict[int, Patch], dict[int, Patch], dict[int, tuple[int, ...]]]:
    """Return by batch what belongs to items called fixed, by item what is left out because the
    item was not fixed, and by batch the items whose changes cannot be told apart.
    """
    if handed.claims.failed or not handed.work.patch:
        return {}, {}, {}
    said = {report.item: report for report in handed.claims.reports}
    asked = {
        batch.number: [
            AskedItem(number, run.items[number].current.spot, said.get(number))
            for number in batch.items
        ]
        for batch in batches
    }
    parts: dict[int, Patch] = {}
    dropped: dict[int, Patch] = {}
    apart: dict[int, tuple[int, ...]] = {}
    for number, part in _divide_patch(handed, batches, asked).items():
        split = split_by_claim(part, asked[number], handed.before)
        if split.dropped and handed.work.over:  # what is dropped may be another batch's work
            split = SplitPatch(Patch(), unclear=tuple(split.dropped))
        parts[number] = split.kept
        dropped |= split.dropped
        if split.unclear:
            apart[number] = split.unclear
    return {number: part for number, part in parts.items() if part}, dropped, apart


def _divide_patch(
    handed: _AgentWork, batches: Sequence[Batch], asked: Mapping[int, Sequence[AskedItem]]
) -> dict[int, Patch]:
    patch = handed.work.patch
    if len(batches) == 1:
        return {batches[0].number: patch}
    return split_patch(patch, batches, asked, handed.before)


def explain_apart(others: Sequence[int]) -> str:
    codes = ", ".join(map(item_code, others))
    return (
        f"its change cannot be told apart from that of {codes}, which is not fixed; it is asked"
        " for again alone"
    )


def _is_fixed(number: int, claims: Claims) -> bool:
    fixed = (each.item for each in claims.reports if each.outcome is ClaimOutcome.FIXED)
    return number in fixed


def _is_claimed(batch: Batch, claims: Claims) -> bool:
    """Return whether a report says that the batch fixes an item; other patches are dropped."""
    return any(_is_fixed(number, claims) for number in batch.items)


def _collect_notes(
    batches: Sequence[Batch], patches: Mapping[int, Patch], handed: _AgentWork, world: World
) -> dict[int, tuple[str, ...]]:
    """Return notes for the user that decide nothing."""
    claims = handed.claims
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
    batch: Batch,
    claims: Claims,
    patches: Mapping[int, Patch],
    refused: Mapping[int, str],
    apart: Collection[int],
) -> Iterator[Move]:
    ref = ALONE if batch.number in apart else ""
    reports = {report.item: report for report in claims.reports}
    by = claims.agent or "agent"
    unchanged = "" if batch.number in patches else refused.get(batch.number, NO_CHANGE)
    for number in batch.items:
        if number in claims.left_out:
            continue  # the agent was not asked about it: that is no attempt
        if claims.failed and claims.trouble is not None:
            why = f"the agent gave no answer: {claims.failed}"
            ref, evidence = claims.trouble.value, claims.transcript
            yield Move(number, Fact.ABSENT, by=by, why=why, evidence=evidence, ref=ref)
        elif claims.failed:
            why = f"the agent failed: {claims.failed}"
            evidence = claims.transcript
            yield Move(number, Fact.SAID_DEFERRED, by=by, why=why, evidence=evidence)
        elif number in claims.contradicted:
            yield Move(number, Fact.SAID_DEFERRED, by=by, why="two answers contradict each other")
        elif number not in reports:
            yield Move(number, Fact.SAID_DEFERRED, by=by, why=NO_STATUS)
        else:
            yield from apply_report(reports[number], by, unchanged, ref)


def _add_denials(move: Move, claims: Claims) -> Move:
    """Return the agent's move with the tool calls that its own program refused."""
    if not claims.denied or move.by != (claims.agent or "agent"):
        return move
    refused = f"the agent's own program refused: {join_few(claims.denied)}"
    return replace(move, why=f"{move.why} ({refused})" if move.why else refused)


def apply_report(report: ItemClaim, by: str, unchanged: str, ref: str) -> Iterator[Move]:
    """Yield the moves of one report; `unchanged` is why there is no patch, or ''."""
    number, why = report.item, report.why
    no_reason = f"{report.outcome}, and no reason was given"
    match report.outcome:
        case ClaimOutcome.FIXED if unchanged:
            said = f" (it said: {why})" if why else ""
            yield Move(number, Fact.SAID_DEFERRED, by=by, why=f"{unchanged}{said}", ref=ref)
        case ClaimOutcome.FIXED:
            yield Move(number, Fact.SAID_FIXED, by=by, why=why)
        case ClaimOutcome.BLOCKED if why:
            flag = f'blocked for a weak reason: "{excuse}"' if (excuse := find_excuse(why)) else ""
            yield Move(number, Fact.SAID_BLOCKED, by=by, why=why, flag=flag)
        case ClaimOutcome.CONTESTED if why:
            yield Move(number, Fact.CONTESTED, by=by, why=why)
        case ClaimOutcome.BLOCKED | ClaimOutcome.CONTESTED:
            yield Move(number, Fact.SAID_DEFERRED, by=by, why=no_reason)
        case ClaimOutcome.DEFERRED:
            yield Move(number, Fact.SAID_DEFERRED, by=by, why=why or no_reason)
            if excuse := find_excuse(why):
                refusal = f'that was not accepted: "{excuse}"'
                yield Move(number, Fact.EXCUSE_REFUSED, by="punchlist", why=refusal)
