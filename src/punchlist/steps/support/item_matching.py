"""Which findings are new items, which are known ones seen again, and which items are gone."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from punchlist.model.dedup.identity import fingerprint, matched
from punchlist.model.dedup.merge import MergeRule, groups
from punchlist.model.finding.finding import Finding
from punchlist.model.item.item import ACTIONABLE, Fact, Item, Move, Status
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger.events import Consolidated, Sighting
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change
from punchlist.model.patch.patch import fix_key
from punchlist.ports.world import World


class Sort(Struct, frozen=True):
    rule: MergeRule


async def sort(task: Sort, run: Run, world: World) -> Consolidated:
    return consolidated(run, world.change, task.rule)


def consolidated(run: Run, change: Change, rule: MergeRule) -> Consolidated:
    same, lost = _recognised(run)
    adopted = _adopted(run, lost, same)
    known = same | adopted
    known |= _undone(run, known)
    merged = groups(run.reviewing.fresh, rule)
    for group in merged:
        owner = next((known[finding.id] for finding in group if finding.id in known), None)
        if owner is not None:
            known.update((finding.id, owner) for finding in group if finding.id not in known)
    new = [group for group in merged if group[0].id not in known]
    sightings = sorted(
        (
            Sighting(
                known[finding.id],
                finding,
                ours=finding.id in adopted and _in_scope(finding, run, change),
            )
            for finding in run.reviewing.fresh
            if finding.id in known
        ),
        key=lambda sighting: (sighting.item, sighting.finding.id),
    )
    seen = {sighting.item for sighting in sightings}
    return Consolidated(
        items=tuple(_items(new, run, change)),
        sightings=tuple(sightings),
        rule=rule.value,
        moves=(*_reopened(run, seen), *_gone(run, seen), *_confirmed(run, seen)),
    )


def _recognised(run: Run) -> tuple[dict[str, int], list[tuple[int, Finding]]]:
    """Fresh findings that are known items, by finding id; and the sightings, with their items, that
    no fresh one is like.
    """
    living = [item for item in run.items.values() if item.status is not Status.FIXED]
    old = [(item.number, finding) for item in living for finding in item.sighted]
    pairs = matched([finding for _, finding in old], run.reviewing.fresh)
    found = set(pairs.values())
    lost = [each for index, each in enumerate(old) if index not in found]
    return {run.reviewing.fresh[new].id: old[index][0] for new, index in pairs.items()}, lost


def _undone(run: Run, known: dict[str, int]) -> dict[str, int]:
    """A fixed item is only seen again where the very code of old is back; something alike nearby is
    news. One for one.
    """
    fixed: dict[tuple[str, str], list[int]] = defaultdict(list)
    for item in run.having(Status.FIXED):
        for finding in item.sighted:
            fixed[_code(finding)].append(item.number)
    undone = {}
    for finding in run.reviewing.fresh:
        waiting = fixed.get(_code(finding)) if finding.id not in known else None
        if waiting:
            undone[finding.id] = waiting.pop(0)
    return undone


def _code(finding: Finding) -> tuple[str, str]:
    """What is found and what would be done about it: the next `elif` of a chain is like the last
    one, and not the same.
    """
    return fingerprint(finding), fix_key(finding.fix) if finding.fix else ""


def _adopted(
    run: Run, lost: Sequence[tuple[int, Finding]], known: dict[str, int]
) -> dict[str, int]:
    """Where a tool still reports a rule in a file, its lost items are taken to be those: a doubt
    must never make a "fixed". In a file that it could not read nothing is lost, and what it says of
    it all the same is news.
    """
    spare: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, finding in sorted(lost, key=lambda each: not run.items[each[0]].in_scope):
        if run.items[number].status in ACTIONABLE:
            spare[_kind(finding)].append(number)
    adopted = {}
    for finding in run.reviewing.fresh:
        waiting = spare.get(_kind(finding))
        if finding.id not in known and waiting and _saw(run, finding):
            adopted[finding.id] = waiting.pop(0)
    return adopted


def _saw(run: Run, finding: Finding) -> bool:
    """Whether the finding's reviewer, when it last looked, could read the file."""
    review = run.reviewing.reviews.get(finding.source)
    return review is not None and review.saw(finding.spot.path)


def _kind(finding: Finding) -> tuple[str, str, str]:
    return (finding.source, finding.rule or finding.title, finding.spot.path)


def _items(new: Sequence[tuple[Finding, ...]], run: Run, change: Change) -> Iterator[Item]:
    ordered = sorted(
        new,
        key=lambda group: (
            group[0].severity.rank,
            group[0].spot.path,
            group[0].spot.line or 0,
            group[0].id,
        ),
    )
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
            in_scope=any(_in_scope(finding, run, change) for finding in group),
        )
        twins[plain] += 1


def _in_scope(finding: Finding, run: Run, change: Change) -> bool:
    """After the first fixes landed, whatever is new was brought about by them, and is ours. An
    agent is asked about the change: what it says of a file as a whole, of a changed one, or of
    something that is missing, is about it.
    """
    spot = finding.spot
    given = finding.source in run.started.documents
    asked = finding.source in run.started.crew and (not spot.path or spot.path in change.files)
    return (
        bool(run.landing.landed)
        or given
        or asked
        or change.covers(spot.path, spot.line, spot.last_line)
    )


def _reopened(run: Run, seen: set[int]) -> Iterator[Move]:
    for number in sorted(seen):
        if run.items[number].status is Status.FIXED:
            yield Move(number, Fact.SEEN_AGAIN, by="review", why="reported again after its fix")


def _gone(run: Run, seen: set[int]) -> Iterator[Move]:
    """Items that every tool which had reported them no longer reports of a file that it could read,
    after our own commits.
    """
    if not run.landing.landed:
        return
    crew = run.started.crew  # an agent that says nothing of it may have overlooked it
    silent = {
        reviewer
        for reviewer, commit in run.reviewing.fresh_from.items()
        if commit == run.landing.tip and reviewer not in crew
    }
    for item in run.items.values():
        if item.number in seen or item.status not in ACTIONABLE:
            continue
        if not all(finding.source in silent and _saw(run, finding) for finding in item.sighted):
            continue
        sources = {finding.source for finding in item.sighted}
        said = f"no longer reported by {', '.join(sorted(sources))}, after other fixes of this run"
        yield Move(item.number, Fact.SAID_FIXED, by="review", why=said)
        proof = Proof(ProofClass.RECHECKED, said)
        yield Move(
            item.number, Fact.COMMITTED, by="review", why=said, proofs=(proof,), ref=run.landing.tip
        )


def _confirmed(run: Run, seen: set[int]) -> Iterator[Move]:
    """Fixed items that the agent which had found them, asked afresh, no longer reports: one more
    proof, and a weak one. Who fixed them in the same conversation is not asked afresh.
    """
    crew = run.started.crew
    biased = set(run.started.outside).intersection(crew.get("fixer", ()))
    able = {role for role, players in crew.items() if biased.isdisjoint(players)}
    fresh = {
        reviewer
        for reviewer, commit in run.reviewing.fresh_from.items()
        if commit == run.landing.tip and reviewer in able
    }
    for item in run.having(Status.FIXED):
        sources = {finding.source for finding in item.findings} & fresh
        known = any(proof.kind is ProofClass.REVIEWED for proof in item.proofs)
        saw = all(_saw(run, finding) for finding in item.findings if finding.source in sources)
        if sources and saw and not known and item.number not in seen:
            said = f"no longer reported by a fresh {', '.join(sorted(sources))} reviewer"
            yield Move(
                item.number,
                Fact.CONFIRMED,
                by="review",
                why=said,
                proofs=(Proof(ProofClass.REVIEWED, said),),
            )
