"""An agent works on batches in a tree of its own: the patch is read from the tree, its words are
recorded as claims.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.integrity.patch_ownership import (
    Own,
    as_it_turned_out,
    beside,
    own,
    refused,
    shared_out,
    taken_in,
)
from punchlist.model.integrity.weak_excuses import weak
from punchlist.model.item.batch import Batch
from punchlist.model.item.claim import Outcome, Report
from punchlist.model.item.item import Fact, Move
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import Attempted
from punchlist.model.ledger.run import Run
from punchlist.model.patch.hunk import Original, hunks
from punchlist.model.patch.patch import Patch
from punchlist.ports.roles import Claims, Task
from punchlist.ports.world import World
from punchlist.steps.support.project_context import background

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


class _Handed(Struct, frozen=True):
    """What came back: claims, and what was seen in the tree."""

    claims: Claims
    work: Own
    before: Mapping[str, str]
    present: frozenset[str]


class _Record(Struct, frozen=True):
    """Kept beside the answer, so that neither is worth less than what was paid for it."""

    claims: Claims
    total: Patch


async def fix_with_agent(task: AgentFix, run: Run, world: World) -> Attempted:
    began = world.clock()
    batches = [run.work.batches[number] for number in task.batches]
    laid = _below(batches, run)
    handed = await _worked(task, batches, laid, run, world)
    claims = handed.claims
    parts = {} if claims.failed else _parts(handed, batches)
    stays = {number: why for number, patch in parts.items() if (why := refused(patch))}
    patches = {
        number: patch
        for number, patch in parts.items()
        if number not in stays and _claimed(number, batches, claims)
    }
    moves = tuple(move for batch in batches for move in _moves(batch, claims, patches, stays))
    originals = {path: Original(path, text) for path, text in handed.before.items()}
    turned_out = [
        as_it_turned_out(b, patches[b.number], world.protected, handed.present)
        for b in batches
        if b.number in patches
    ]
    seconds = world.clock() - began
    return Attempted(
        fixer="agent",
        agent=claims.agent,
        patches=patches,
        refused=_refused(batches, patches, claims, stays),
        hunks={number: hunks(patch, originals) for number, patch in patches.items()},
        reports=claims.reports,
        noted=_noted(batches, patches, claims, handed, world),
        batches=tuple(turned_out),
        absorbed=taken_in(laid, patches) if handed.work.over else {},
        left_out=claims.left_out,
        sessions={item: claims.session for batch in batches for item in batch.items}
        if claims.session
        else {},
        transcript=claims.transcript,
        failed=claims.failed,
        moves=moves,
        usage=replace(claims.usage, seconds=seconds),
    )


def _below(batches: Sequence[Batch], run: Run) -> dict[int, Patch]:
    """What others did this round in the same files; the agent finds it in its tree."""
    files = {path for batch in batches for path in batch.paths}
    ours = {batch.number for batch in batches}
    return {
        number: patch
        for number, patch in run.work.patches.items()
        if number not in ours and files & set(patch.paths)
    }


async def _worked(
    task: AgentFix, batches: Sequence[Batch], laid: Mapping[int, Patch], run: Run, world: World
) -> _Handed:
    # By what lies below it, too: what was done on other ground than this is of no use here.
    name = f"{run.id}/{task.label}/{sorted(laid)}"
    fresh = not world.answered(task.label)
    async with world.trees.kept(run.landing.tip, name, laid.values(), fresh=fresh) as tree:
        asked = await _asked(task, batches, run, world)
        fixer = world.crew.fixer
        claims = (
            await fixer.fix(asked, tree)
            if fixer
            else Claims(failed="no agent plays the fixer any more")
        )
        total = _done(claims, name, world) or await world.trees.changes(tree)
        _record(claims, total, name, world)
        present = frozenset(tree.files())
    paths = {*total.paths, *(path for patch in laid.values() for path in patch.paths)}
    texts = {path: await world.repository.text(run.landing.tip, path) for path in sorted(paths)}
    before = {path: text for path, text in texts.items() if text is not None}
    return _Handed(claims, own(total, list(laid.values()), before), before, present)


def _done(claims: Claims, name: str, world: World) -> Patch | None:
    """What was seen in the tree when these very claims were made: a kill may come between the
    tree's end and the event.
    """
    content = world.artifacts.read(_file(name))
    try:
        record = wire.decode(content, _Record) if content is not None else None
    except msgspec.MsgspecError:  # of another version: then the tree tells
        return None
    return record.total if record is not None and record.claims == claims else None


def _record(claims: Claims, total: Patch, name: str, world: World) -> None:
    if not claims.failed:  # a failure is not kept either: it is asked again
        world.artifacts.write(_file(name), wire.encode(_Record(claims, total)))


def _file(name: str) -> str:
    return f"work/{sha256(name.encode()).hexdigest()[:20]}.json"


async def _asked(task: AgentFix, batches: Sequence[Batch], run: Run, world: World) -> Task:
    numbers = tuple(number for batch in batches for number in batch.items)
    return Task(
        label=task.label,
        items=tuple(run.items[number] for number in numbers),
        told=await background(run, world),
        batches=tuple(batches),
        doubts=tuple(
            doubt for doubt in run.asking.doubts.values() if doubt.item in numbers and doubt.answer
        ),
        todos={
            number: run.by_item.todos[number] for number in numbers if number in run.by_item.todos
        },
        session=_session(numbers, run) if task.sessions else "",
        fork=task.fork,
    )


def _session(numbers: Iterable[int], run: Run) -> str:
    """The conversation in which one of the items was worked on last, else that in which they were
    planned.
    """
    known = [
        run.asking.sessions[f"item {number}"]
        for number in numbers
        if f"item {number}" in run.asking.sessions
    ]
    return known[-1] if known else run.asking.sessions.get("plan", "")


def _parts(handed: _Handed, batches: Sequence[Batch]) -> dict[int, Patch]:
    patch = handed.work.patch
    if not patch:
        return {}
    return (
        {batches[0].number: patch}
        if len(batches) == 1
        else shared_out(patch, batches, handed.claims.reports)
    )


def _claimed(number: int, batches: Sequence[Batch], claims: Claims) -> bool:
    """Whether anybody says that the patch fixes something; a change that nobody claims anything for
    is not kept.
    """
    items = next(batch.items for batch in batches if batch.number == number)
    return any(
        report.outcome is Outcome.FIXED and report.item in items for report in claims.reports
    )


def _refused(
    batches: Sequence[Batch], patches: Mapping[int, Patch], claims: Claims, stays: Mapping[int, str]
) -> dict[int, str]:
    return {
        batch.number: claims.failed or stays.get(batch.number) or NO_CHANGE
        for batch in batches
        if batch.number not in patches
    }


def _noted(
    batches: Sequence[Batch],
    patches: Mapping[int, Patch],
    claims: Claims,
    handed: _Handed,
    world: World,
) -> dict[int, tuple[str, ...]]:
    """What is worth a look and decides nothing."""
    odd = tuple(f"{name}: reported on, and no item is called that" for name in claims.unknown)
    cut = tuple(f"did not fit into the prompt: {what}" for what in claims.cut)
    found: dict[int, tuple[str, ...]] = {}
    for batch in batches:
        patch = patches.get(batch.number)
        extra = beside(batch, patch, handed.present, world.protected) if patch else ()
        if notes := (*extra, *odd, *cut):
            found[batch.number] = notes
    return found


def _moves(
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
            yield from _by_word(
                said[number], by, batch.number in patches, stays.get(batch.number, "")
            )


def _by_word(report: Report, by: str, changed: bool, stays: str) -> Iterator[Move]:  # noqa: FBT001 - one fact of four
    number, why = report.item, report.why
    match report.outcome:
        case Outcome.FIXED if changed:
            yield Move(number, Fact.SAID_FIXED, by=by, why=why)
        case Outcome.FIXED:
            said = f" (it said: {why})" if why else ""
            yield Move(number, Fact.SAID_DEFERRED, by=by, why=f"{stays or NO_CHANGE}{said}")
        case Outcome.BLOCKED if why:
            flag = f'blocked for a weak reason: "{excuse}"' if (excuse := weak(why)) else ""
            yield Move(number, Fact.SAID_BLOCKED, by=by, why=why, flag=flag)
        case Outcome.CONTESTED if why:
            yield Move(number, Fact.CONTESTED, by=by, why=why)
        case Outcome.BLOCKED | Outcome.CONTESTED:
            yield Move(
                number, Fact.SAID_DEFERRED, by=by, why=f"{report.outcome}, and no reason was given"
            )
        case Outcome.DEFERRED:
            yield Move(
                number, Fact.SAID_DEFERRED, by=by, why=why or "deferred, and no reason was given"
            )
            if excuse := weak(why):
                yield Move(
                    number,
                    Fact.EXCUSE_REFUSED,
                    by="punchlist",
                    why=f'that was not accepted: "{excuse}"',
                )
