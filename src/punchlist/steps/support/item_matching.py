"""Which findings are new items, which are known ones seen again, and which items are gone."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from punchlist.model.dedup.identity import fingerprint, match_findings
from punchlist.model.dedup.merge import MergeRule, group_findings
from punchlist.model.finding.finding import Finding
from punchlist.model.item.item import ACTIONABLE, Fact, Item, Move, Status
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger.events import Consolidated, Sighting
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change
from punchlist.model.patch.patch import fix_key
from punchlist.ports.world import World
from punchlist.steps.support.batching import GONE
from punchlist.steps.support.left_out import find_left_out
from punchlist.steps.support.side_effects import attribute_commits


class Sort(Struct, frozen=True):
    rule: MergeRule


async def sort_findings(task: Sort, run: Run, world: World) -> Consolidated:
    event = consolidate_findings(run, world.change, task.rule)
    return await attribute_commits(event, run, world)


def consolidate_findings(run: Run, change: Change, rule: MergeRule) -> Consolidated:
    same, lost = _match_known(run)
    adopted = _adopt_lost(run, lost, same)
    known = same | adopted
    known |= _match_fixed(run, known)
    left_out = find_left_out(run, change)
    merged = _merge_findings(run, rule, left_out)
    for group in merged:
        owner = _find_owner(group, known, run)
        if owner is not None:
            known.update((finding.id, owner) for finding in group if finding.id not in known)
    unknown = (tuple(each for each in group if each.id not in known) for group in merged)
    new = [group for group in unknown if group]
    sightings = [
        Sighting(
            known[finding.id],
            finding,
            ours=not run.items[known[finding.id]].left_out
            and (
                _is_about_change(finding, run)
                or (finding.id in adopted and _is_in_scope(finding, run, change))
            ),
        )
        for finding in run.reviewing.fresh
        if finding.id in known
    ]
    sightings.sort(key=lambda sighting: (sighting.item, sighting.finding.id))
    seen = {sighting.item for sighting in sightings}
    return Consolidated(
        items=tuple(_build_items(new, run, change, left_out)),
        sightings=tuple(sightings),
        rule=rule.value,
        moves=(*_reopen_fixed(run, seen), *_close_gone(run, seen), *_confirm_fixed(run, seen)),
    )


def _merge_findings(
    run: Run, rule: MergeRule, left_out: Mapping[str, str]
) -> list[tuple[Finding, ...]]:
    """Group the fresh findings; those that are left out are merged only with each other, by what
    leaves them out, or they would take others with them.
    """
    fresh = run.reviewing.fresh
    if run.started.issue_ids:  # each issue that was chosen is an item
        return [(finding,) for finding in fresh]
    apart: dict[str, list[Finding]] = defaultdict(list)
    for finding in fresh:
        apart[left_out.get(finding.id, "")].append(finding)
    return [group for each in apart.values() for group in group_findings(each, rule)]


def _find_owner(group: Sequence[Finding], known: dict[str, int], run: Run) -> int | None:
    """Return the known item that a group belongs to; what was left out before takes none along."""
    owners = (known[finding.id] for finding in group if finding.id in known)
    return next((number for number in owners if not run.items[number].left_out), None)


def _match_known(run: Run) -> tuple[dict[str, int], list[tuple[int, Finding]]]:
    """Return the item numbers of known fresh findings by id, and the (item, finding) pairs that
    no fresh finding matches.
    """
    living = [item for item in run.items.values() if item.status is not Status.FIXED]
    old = [(item.number, finding) for item in living for finding in item.sighted]
    pairs = match_findings([finding for _, finding in old], run.reviewing.fresh)
    found = set(pairs.values())
    lost = [each for index, each in enumerate(old) if index not in found]
    return {run.reviewing.fresh[new].id: old[index][0] for new, index in pairs.items()}, lost


def _match_fixed(run: Run, known: dict[str, int]) -> dict[str, int]:
    """Match fresh findings to fixed items, one to one, if code and fix are the same as before."""
    fixed: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for item in run.find_items(Status.FIXED):
        for finding in item.sighted:
            fixed[_code_key(finding)].append(item.number)
    undone = {}
    for finding in run.reviewing.fresh:
        waiting = fixed.get(_code_key(finding)) if finding.id not in known else None
        if waiting:
            undone[finding.id] = waiting.pop(0)
    return undone


def _code_key(finding: Finding) -> tuple[str, str, str]:
    """Return what is found, its fix and the code after it, which tells apart the `elif`s of a
    chain: each is reported only when the one before it is fixed.
    """
    if finding.fix is None:
        return fingerprint(finding), "", ""
    return fingerprint(finding), fix_key(finding.fix), finding.context.after


def _adopt_lost(
    run: Run, lost: Sequence[tuple[int, Finding]], known: dict[str, int]
) -> dict[str, int]:
    """Match unmatched findings to lost items of the same tool, rule and file, so that no item
    counts as fixed by mistake. Files the tool could not read are left out.
    """
    spare: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, finding in sorted(lost, key=lambda each: not run.items[each[0]].in_scope):
        if run.items[number].status in ACTIONABLE and not run.items[number].left_out:
            spare[_rule_key(finding)].append(number)
    adopted = {}
    for finding in run.reviewing.fresh:
        waiting = spare.get(_rule_key(finding))
        if finding.id not in known and waiting and _could_read(run, finding):
            adopted[finding.id] = waiting.pop(0)
    return adopted


def _could_read(run: Run, finding: Finding) -> bool:
    """Return whether the finding's reviewer could read the file in its last review."""
    review = run.reviewing.reviews.get(finding.source)
    return review is not None and review.has_seen(finding.spot.path)


def _rule_key(finding: Finding) -> tuple[str, str, str]:
    return (finding.source, finding.rule or finding.title, finding.spot.path)


def _build_items(
    new: Sequence[tuple[Finding, ...]], run: Run, change: Change, left_out: Mapping[str, str]
) -> Iterator[Item]:
    ordered = sorted(new, key=lambda group: _reading_key(group[0]))
    twins: dict[str, int] = defaultdict(int)
    for item in run.items.values():
        twins[fingerprint(item.lead)] += 1
    first = max(run.items, default=0) + 1
    for number, group in enumerate(ordered, first):
        plain = fingerprint(group[0])
        yield Item(
            number=number,
            fingerprint=fingerprint(group[0], twins[plain]) if twins[plain] else plain,
            findings=group,
            in_scope=group[0].id not in left_out
            and any(_is_in_scope(finding, run, change) for finding in group),
            left_out=left_out.get(group[0].id, ""),
            made=_is_made_by_fixes(group, run),
        )
        twins[plain] += 1


def _is_made_by_fixes(group: Sequence[Finding], run: Run) -> bool:
    """Return whether analyzers report it only since fixes landed; an agent may have overlooked
    before what it reports now.
    """
    analyzers = set(run.started.reviewers) - set(run.started.documents)
    return bool(run.landing.landed) and all(each.source in analyzers for each in group)


def _reading_key(finding: Finding) -> tuple[int, str, int, str]:
    return finding.severity.rank, finding.spot.path, finding.spot.line or 0, finding.id


def _is_in_scope(finding: Finding, run: Run, change: Change) -> bool:
    """After the first commit every new finding is in scope; before it, what an analyzer reports
    must touch the changed lines, unless the change brought it about.
    """
    spot = finding.spot
    if run.landing.landed or _is_about_change(finding, run):
        return True
    return change.covers(spot.path, spot.line, spot.last_line)


def _is_about_change(finding: Finding, run: Run) -> bool:
    """Return whether the finding is in scope wherever it lies: an agent or a document reports it,
    or the change brought it about.
    """
    started = run.started
    told = finding.source in started.crew or finding.source in started.documents
    return told or finding.id in run.reviewing.caused


def _reopen_fixed(run: Run, seen: set[int]) -> Iterator[Move]:
    for number in sorted(seen):
        if run.items[number].status is Status.FIXED:
            yield Move(number, Fact.SEEN_AGAIN, by="review", why="reported again after its fix")


def _reviewers_of_tip(run: Run) -> set[str]:
    fresh, tip = run.reviewing.fresh_from, run.landing.tip
    return {reviewer for reviewer, commit in fresh.items() if commit == tip}


def _close_gone(run: Run, seen: set[int]) -> Iterator[Move]:
    """Yield moves that close items which, after commits of this run, all tools that reported them
    could look for and no longer report.
    """
    if not run.landing.landed:
        return
    # An agent that does not report an item may have overlooked it.
    silent = _reviewers_of_tip(run) - run.started.crew.keys()
    for item in run.find_items(*ACTIONABLE, Status.BLOCKED):
        reports = item.sighted
        if (
            item.number in seen
            or _is_gone(item)
            or not all(
                finding.source in silent and _could_read(run, finding) for finding in reports
            )
        ):
            continue
        sources = ", ".join(sorted({finding.source for finding in reports}))
        why = f"no longer reported by {sources}, after other fixes of this run"
        if item.status is Status.BLOCKED:
            yield Move(item.number, Fact.REOPENED, by="review", why=why)
        yield Move(item.number, Fact.SAID_FIXED, by="review", why=why)
        yield _proven_move(item, Fact.COMMITTED, ProofClass.RECHECKED, why, ref=run.landing.tip)


def _is_gone(item: Item) -> bool:
    """Return whether it is blocked because its file is not there: that is no cure."""
    blocks = [each.why for each in item.attempts if each.fact is Fact.SAID_BLOCKED]
    return item.status is Status.BLOCKED and bool(blocks) and blocks[-1] == GONE


def _proven_move(item: Item, fact: Fact, kind: ProofClass, why: str, ref: str = "") -> Move:
    proofs = (Proof(kind, why),)
    return Move(item.number, fact, by="review", why=why, proofs=proofs, ref=ref)


def _confirm_fixed(run: Run, seen: set[int]) -> Iterator[Move]:
    """Yield moves with a REVIEWED proof for fixed items that the reviewing agent, asked in a new
    conversation, no longer reports; not if the same agent also made the fix.
    """
    crew = run.started.crew
    biased = set(run.started.outside).intersection(crew.get("fixer", ()))
    able = {role for role, players in crew.items() if biased.isdisjoint(players)}
    fresh = _reviewers_of_tip(run) & able
    for item in run.find_items(Status.FIXED):
        reports = [
            finding
            for finding in item.findings
            if finding.source in fresh and not _fixed_itself(run, finding.source, item)
        ]
        known = any(proof.kind is ProofClass.REVIEWED for proof in item.proofs)
        if not reports or known or item.number in seen:
            continue
        if all(_could_read(run, finding) for finding in reports):
            sources = ", ".join(sorted({finding.source for finding in reports}))
            why = f"no longer reported by a fresh {sources} reviewer"
            yield _proven_move(item, Fact.CONFIRMED, ProofClass.REVIEWED, why)


def _fixed_itself(run: Run, role: str, item: Item) -> bool:
    """Return whether the agent that played the reviewer also made the item's fix."""
    review = run.reviewing.reviews[role]
    return run.is_self_review(role, review.agent, item)
