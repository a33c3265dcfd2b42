"""Apply the events of the work to a run: review, plan, fix, verify, commit and report."""

from collections.abc import Mapping
from typing import assert_never

from msgspec.structs import replace

from punchlist.model.item.batch import Batch
from punchlist.model.item.claim import ClaimOutcome
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Fact, Item
from punchlist.model.item.score import lowest_scores
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.paged_map import PagedMap
from punchlist.model.ledger.run import (
    Checking,
    FilingRecord,
    LatestReview,
    Reviewing,
    RoundWork,
    Run,
)
from punchlist.model.patch.hunk import Diff


def apply_work(run: Run, event: ev.WorkEvent) -> Run:  # noqa: C901, PLR0911, PLR0912 - one arm per event
    match event:
        case ev.Reviewed():
            return _reviewed(run, event)
        case ev.Clarified():
            doubts = run.asking.doubts | {doubt.id: doubt for doubt in event.doubts}
            sessions = _set_session(run, event.session)
            asking = replace(run.asking, doubts=doubts, clear=event.ready, sessions=sessions)
            return replace(run, asking=asking)
        case ev.Reproduced():
            reproductions = {**run.by_item.reproductions, event.item: event}
            return replace(run, by_item=replace(run.by_item, reproductions=reproductions))
        case ev.Examined():
            examined = {**run.work.examined, event.batch: event}
            return replace(run, work=replace(run.work, examined=examined))
        case ev.Challenged():
            return _challenged(run, event)
        case ev.Consolidated():
            return _consolidated(run, event)
        case ev.Planned():
            return _planned(run, event)
        case ev.Attempted():
            return _attempted(run, event)
        case ev.Baselined():
            return replace(run, checks=_add_baseline(run.checks, event))
        case ev.Rechecked():
            return _rechecked(run, event)
        case ev.Covered():
            return run
        case ev.Tried():
            flaky = run.checks.flaky.union(*(verdict.flaky for verdict in event.verdicts))
            varying = run.checks.varying.union(*(verdict.varying for verdict in event.verdicts))
            return replace(run, checks=replace(run.checks, flaky=flaky, varying=varying))
        case ev.Verified():
            return _verified(run, event)
        case ev.Committed():
            return _committed(run, event)
        case ev.Published():
            return _published(run, event)
        case ev.Filed():
            return replace(run, filing=_filed(run.filing, event))
        case ev.Surveyed():
            seen = replace(run.reviewing, surveyed=True, unseen=event.unseen)
            seen = replace(seen, left_out=event.left_out)
            seen = replace(seen, unknown=event.unknown, seen=event.seen)
            seen = replace(seen, missed=event.missed, excluded=event.excluded)
            seen = replace(seen, uncounted=event.uncounted, vendored=event.vendored)
            return replace(run, reviewing=seen)
        case ev.Reported():
            artifacts = tuple(dict.fromkeys((*run.filing.artifacts, *event.artifacts)))
            placed = tuple(dict.fromkeys((*run.filing.placed, *event.placed)))
            filing = replace(run.filing, artifacts=artifacts, listed=event.listed, placed=placed)
            return replace(run, filing=filing)
        case ev.Kept():
            return replace(run, filing=replace(run.filing, kept=event))
        case _:
            assert_never(event)


def _add_baseline(known: Checking, event: ev.Baselined) -> Checking:
    if event.gate:
        return replace(known, gates={**known.gates, event.check: event})
    return replace(known, baselines={**known.baselines, event.check: event})


def _challenged(run: Run, event: ev.Challenged) -> Run:
    work = replace(run.work, challenged=event, contested={})
    by_item = replace(run.by_item, scores=run.by_item.scores | lowest_scores(event.scores))
    absent = {event.agent: event.failed} if event.failed else {}
    checks = replace(run.checks, absent_judges={**run.checks.absent_judges, **absent})
    return replace(run, work=work, by_item=by_item, checks=checks)


def _verified(run: Run, event: ev.Verified) -> Run:
    noise = run.checks.noise or event.noise
    checks = replace(run.checks, unverified=event.unverified, noise=noise)
    return replace(run, work=replace(run.work, verified=event), checks=checks)


def _reviewed(run: Run, event: ev.Reviewed) -> Run:
    review = LatestReview(
        event.reviewer,
        event.commit,
        len(event.findings),
        event.looked_at,
        event.failed,
        event.skipped,
        event.unread,
        event.agent,
        event.missed,
        frozenset(event.left_out),
        event.left_out_by,
        event.given,
    )
    now = run.reviewing
    reviewing = replace(
        now,
        reported=now.reported + len(event.findings),
        fresh=(*now.fresh, *event.findings),
        fresh_from=(
            {**now.fresh_from, event.reviewer: event.commit}
            if not (event.failed or event.skipped)
            else now.fresh_from
        ),
        caused=now.caused.union(event.caused),
        old=now.old.union(event.old),
        refused=(*now.refused, *event.refused),
        reviews={**now.reviews, event.reviewer: review},
        hints=(*now.hints, *event.groups),
        opened=_opened_files(now, event),
        looked_over=(
            {**now.looked_over, event.reviewer: event.unopened} if event.agent else now.looked_over
        ),
    )
    return replace(run, reviewing=reviewing)


def _opened_files(now: Reviewing, event: ev.Reviewed) -> dict[str, frozenset[str]]:
    if event.opened is None:
        return now.opened
    named = (finding.spot.path for finding in event.findings)
    known = now.opened.get(event.reviewer, frozenset())
    return {**now.opened, event.reviewer: known.union(event.opened, named)}


def _consolidated(run: Run, event: ev.Consolidated) -> Run:
    items = {item.number: item for item in event.items}
    for sighting in event.sightings:
        known = items.get(sighting.item) or run.items[sighting.item]
        item = known.with_sighting(sighting.finding)
        items[sighting.item] = replace(item, in_scope=item.in_scope or sighting.ours)
    none = frozenset[str]()
    reviewing = replace(run.reviewing, fresh=(), fresh_from={}, caused=none, old=none)
    return replace(run, items=add_items(run.items, items), reviewing=reviewing)


def _set_session(run: Run, session: str) -> dict[str, str]:
    sessions = run.asking.sessions
    return {**sessions, "plan": session} if session else sessions


def _planned(run: Run, event: ev.Planned) -> Run:
    work = RoundWork(
        batches={batch.number: batch for batch in event.batches},
        waiting=event.waiting,
        after=event.after,
    )
    doubts = {**run.asking.doubts, **settled(run, event.answers, "the plan's files")}
    todos = run.by_item.todos | {todo.item: todo for todo in event.todos}
    return replace(
        run,
        work=work,
        last_batch=max((batch.number for batch in event.batches), default=run.last_batch),
        by_item=replace(run.by_item, todos=todos),
        asking=replace(run.asking, sessions=_set_session(run, event.session), doubts=doubts),
    )


def _attempted(run: Run, event: ev.Attempted) -> Run:
    """A batch that another has built over is judged with it."""
    patches = {
        number: patch
        for number, patch in {**run.work.patches, **event.patches}.items()
        if number not in event.absorbed
    }
    batches = run.work.batches | {batch.number: batch for batch in event.batches}
    for old, new in event.absorbed.items():
        gone = batches.pop(old)
        batches[new] = replace(batches[new], items=(*gone.items, *batches[new].items))
    contested = {move.item: move.why for move in event.moves if move.fact is Fact.CONTESTED}
    work = replace(
        run.work,
        batches=batches,
        patches=patches,
        noted={**run.work.noted, **event.noted},
        contested={**run.work.contested, **contested},
        reports=run.work.reports | {report.item: report for report in event.reports},
    )
    named = {f"item {item}": session for item, session in event.sessions.items()}
    sessions = run.asking.sessions | named
    diffs = {**run.by_item.diffs, **_item_diffs(batches, event)}
    sure = run.by_item.confidence | {each.item: each.confidence for each in event.reports}
    asking = replace(run.asking, sessions=sessions)
    by_item = replace(run.by_item, diffs=diffs, confidence=sure)
    return replace(run, work=work, asking=asking, by_item=by_item)


def _item_diffs(batches: dict[int, Batch], event: ev.Attempted) -> dict[int, Diff]:
    """Return what was tried for each item; of an agent's batch only for items called fixed."""
    known = {
        number: Diff(number, shown) for number, shown in event.hunks.items() if number in batches
    }
    unfixed = {each.item for each in event.reports if each.outcome is not ClaimOutcome.FIXED}
    shown = {
        item: diff
        for number, diff in known.items()
        for item in batches[number].items
        if item not in unfixed
    }
    batch_of = {item: batch.number for batch in batches.values() for item in batch.items}
    dropped = {
        item: Diff(batch_of.get(item, 0), hunks, dropped=True)
        for item, hunks in event.dropped.items()
    }
    return shown | dropped


def _rechecked(run: Run, event: ev.Rechecked) -> Run:
    unproven = {**run.reviewing.unproven, **event.unproven}
    reviewing = replace(run.reviewing, unproven=unproven)
    patches = {**run.work.patches, **event.formatted}
    shown = {
        item: replace(run.by_item.diffs[item], hunks=hunks)
        for number, hunks in event.hunks.items()
        for item in run.work.batches[number].items
        if (known := run.by_item.diffs.get(item))
        and (known.batch, known.dropped) == (number, False)
    }
    by_item = replace(run.by_item, diffs={**run.by_item.diffs, **shown})
    work = replace(run.work, rechecked=event, patches=patches)
    return replace(run, work=work, reviewing=reviewing, by_item=by_item)


def _committed(run: Run, event: ev.Committed) -> Run:
    known = run.work.batches
    titles = {each.batch: known[each.batch].title for each in event.landed if each.batch in known}
    patches = (run.work.patches.get(each.batch) for each in event.landed)
    now = run.landing
    landing = replace(
        now,
        tip=event.tip or now.tip,
        landed=(*now.landed, *event.landed),
        titles={**now.titles, **titles},
        written=now.written.union(*(patch.paths for patch in patches if patch)),
        unheard=event.unheard or now.unheard,
    )
    refusal = (f"a git hook refused: {event.refused}",) if event.refused else ()
    work = replace(run.work, landed=len(event.landed))
    return replace(run, landing=landing, work=work, trouble=(*run.trouble, *refusal))


def _published(run: Run, event: ev.Published) -> Run:
    """Record the branch; items point at the commits that stand for those of their fixes."""
    now = run.landing
    made = {each.batch: each.commit for each in now.landed}
    grouped = {made[n]: sha for sha, numbers in event.commits.items() for n in numbers if n in made}
    shown = {**now.shown, **grouped}
    landing = replace(
        now,
        published=now.published if event.failed else event.tip,
        unpublished=event.failed,
        arranged=event.tip,
        source=event.source or event.tip,
        shown=shown,
    )
    made_here = [item for item in run.items.values() if grouped and item.made_in in shown]
    items = {item.number: point_at_shown(item, shown) for item in made_here}
    return replace(run, landing=landing, items=add_items(run.items, items))


def add_items(known: Mapping[int, Item], items: Mapping[int, Item]) -> Mapping[int, Item]:
    """Return the items with those that are new or have changed."""
    if not items:
        return known
    paged = known if isinstance(known, PagedMap) else PagedMap[Item]().with_entries(known)
    return paged.with_entries(items)


def point_at_shown(item: Item, shown: Mapping[str, str]) -> Item:
    """Return the item with the commit on the run's branch that contains its fix."""
    there = shown.get(item.made_in, item.commit)
    return item if there == item.commit else replace(item, commit=there)


def settled(run: Run, answers: dict[str, str], by: str) -> dict[str, Doubt]:
    return {
        name: replace(run.asking.doubts[name], answer=said, by=by)
        for name, said in answers.items()
        if name in run.asking.doubts
    }


def _filed(now: FilingRecord, event: ev.Filed) -> FilingRecord:
    filed = {move.item for move in event.moves}
    unfiled = {n: why for n, why in {**now.unfiled, **event.failed}.items() if n not in filed}
    return replace(now, unfiled=unfiled, owed={**now.owed, **event.owed})
