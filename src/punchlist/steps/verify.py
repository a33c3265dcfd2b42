"""verify: the analyzers look again, then the project's checks judge; group testing names who spoils
them.
"""

from collections.abc import Iterable, Sequence
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.coverage import unjudged
from punchlist.model.checks.group_testing import Found, Result, Search, Trial, replayed, search
from punchlist.model.finding.finding import Safety
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Move
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.events import Rechecked, Tried, Verified
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Taken
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import Measure, allowed, measure, usable
from punchlist.steps.judging.examine import Examine, examine
from punchlist.steps.judging.recheck import Recheck, recheck
from punchlist.steps.judging.trial import Try, attempt
from punchlist.steps.support.batching import key_of
from punchlist.steps.verb import Action, Verb, missing

_NAMED = 3


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`unsafe-needs`: the proof without which a tool's unsafe fix does not land. `trials`: how many
    check runs at most.
    """

    unsafe_needs: ProofClass = ProofClass.CHECKED
    trials: int = 200


class Conclude(Struct, frozen=True):
    """What the search found, and whom the analyzers refused on the way."""

    found: Found
    refused: dict[int, str] = {}
    unverified: str = ""
    options: Options = Options()


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    if not run.work.patches or run.work.verified is not None:
        return ()
    first = run.position.here.get("recheck")
    if not isinstance(first, Rechecked):
        clashing = conflicts(run)
        return missing(
            run, _look(1, tuple(number for number in run.work.patches if number not in clashing))
        )
    candidates = _ordered(run, first.passed)
    unmeasured = (
        [check for check in allowed(run) if check.name not in run.checks.baselines]
        if candidates
        else []
    )
    if unmeasured:
        return missing(
            run,
            *(
                Action(f"baseline {c.name}", Measure(c), f"{c.name} on the base")
                for c in unmeasured
            ),
        )
    unexamined = [
        batch for batch in candidates if batch.by_agent and batch.number not in run.work.examined
    ]
    if unexamined:
        return missing(run, *(_examination(batch) for batch in unexamined))
    refuted = {number: seen.refuted for number, seen in run.work.examined.items() if seen.refuted}
    sound = [batch for batch in candidates if batch.number not in refuted]
    so_far = Conclude(Found(), {**first.failed, **conflicts(run), **refuted}, options=options)
    return missing(run, _next(run, sound, so_far))


def _examination(batch: Batch) -> Action:
    return Action(f"examine {batch.number}", Examine(batch.number), f"a look at: {batch.title}")


def conflicts(run: Run) -> dict[int, str]:
    """Patches that cannot be laid beside one that was there first: agents may touch files that
    nobody planned for.
    """
    taken = Taken()
    found: dict[int, str] = {}
    for batch in _ordered(run, run.work.patches):
        patch = run.work.patches[batch.number]
        if not batch.by_agent or taken.admits(patch):
            taken.take(patch)
        else:
            found[batch.number] = (
                "it changes what another fix of this round changes; it is tried again on top of"
                " that"
            )
    return found


def _look(turn: int, batches: tuple[int, ...]) -> Action:
    key = "recheck" if turn == 1 else f"recheck {turn}"
    return Action(key, Recheck(batches), f"analyzers look again at {len(batches)} fixes")


def _next(run: Run, candidates: Sequence[Batch], so_far: Conclude) -> Action:
    """The next trial of the search, the next look of the analyzers at what it left, or the end of
    both.
    """
    if not candidates or not usable(run):
        found = Found(good=tuple(batch.number for batch in candidates))
        return Action("verdict", replace(so_far, found=found, unverified=_why_unverified(run)))
    tried = [event for event in run.position.here.values() if isinstance(event, Tried)]
    results = [Result(event.green, _failing(event), _trouble(event)) for event in tried]
    culprits: dict[int, tuple[str, ...]] = {}
    for turn in count(2):
        stands, used = replayed(_search(candidates), results)
        if isinstance(stands, Trial):
            return _trial(stands, tried, replace(so_far, found=Found(culprits=culprits)))
        results = results[used:]
        found = replace(stands, culprits=culprits | stands.culprits)
        again = run.position.here.get(_look(turn, ()).key)
        if not found.good or len(found.good) == len(candidates):
            break
        if not isinstance(again, Rechecked):  # what lands is less than what was looked at
            return _look(turn, found.good)
        if not again.failed:
            break
        culprits = found.culprits
        so_far = replace(so_far, refused=so_far.refused | again.failed)
        candidates = _ordered(run, again.passed)
    return Action("verdict", replace(so_far, found=found))


def _trial(trial: Trial, tried: Sequence[Tried], so_far: Conclude) -> Action:
    limit = so_far.options.trials
    if len(tried) >= limit:
        green = [event.batches for event in tried if event.complete and event.green]
        spent = replace(
            so_far.found,
            good=green[-1] if green else (),
            gave_up=f"not judged: {limit} check runs were spent",
        )
        return Action("verdict", replace(so_far, found=spent))
    about = f"checks over {len(trial.batches)} fixes" + (
        f", {len(trial.only)} tests" if trial.only else ""
    )
    return Action(f"trial {len(tried) + 1}", Try(trial), about)


def _failing(event: Tried) -> tuple[str, ...]:
    return tuple(test for verdict in event.verdicts for test in verdict.failing)


def _trouble(event: Tried) -> str:
    return "; ".join(
        f"{verdict.check}: {verdict.trouble}" for verdict in event.verdicts if verdict.trouble
    )


def _ordered(run: Run, numbers: Iterable[int]) -> list[Batch]:
    return sorted(
        (run.work.batches[number] for number in numbers),
        key=lambda batch: (batch.level, batch.number),
    )


def _search(candidates: Sequence[Batch]) -> Search:
    """First what the judge's own files are not touched by; then, on top of what is
    good, the rest.
    """
    plain = yield from search([batch.number for batch in candidates if not batch.protected])
    if plain.gave_up:
        return plain
    both = yield from search(
        [batch.number for batch in candidates if batch.protected], plain.good, plain.unstable
    )
    return Found(both.good, plain.culprits | both.culprits, both.unstable, both.gave_up)


def _why_unverified(run: Run) -> str:
    started = run.started
    if not started.checks:
        return "no checks are configured or were found"
    if not started.checks_allowed:
        names = ", ".join(" ".join(check.command) for check in started.checks)
        return (
            f"the checks found here were not allowed to run ({names}); `punchlist allow` or --yes"
            " lets them"
        )
    return "; ".join(
        f"{name}: {baseline.unusable}"
        for name, baseline in run.checks.baselines.items()
        if baseline.unusable
    )


async def conclude(task: Conclude, run: Run, world: World) -> Verified:
    return concluded(task, run)


def concluded(task: Conclude, run: Run) -> Verified:
    """Who passed, and why the others did not."""
    failed = dict(task.refused)
    for number in run.work.patches:
        if (
            number in run.work.batches
            and number not in failed
            and (why := _objection(run.work.batches[number], task, run))
        ):
            failed[number] = why
    evidence = _evidence(run)
    moves = tuple(
        Move(
            item,
            Fact.REJECTED,
            by="verify",
            why=why,
            ref=key_of(run.items[item]),
            evidence=evidence if number in task.found.culprits else "",
        )
        for number, why in sorted(failed.items())
        for item in run.claims(run.work.batches[number])
    )
    passed = tuple(number for number in run.work.patches if number not in failed)
    return Verified(
        passed=passed,
        failed=failed,
        unverified=task.unverified,
        unstable=task.found.unstable,
        moves=moves,
    )


def _objection(batch: Batch, task: Conclude, run: Run) -> str:
    """Why a batch may not land, or an empty string."""
    found = task.found
    if batch.number in found.culprits:
        broken = found.culprits[batch.number]
        more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
        return f"breaks {', '.join(broken[:_NAMED])}{more}" if broken else "turns the checks red"
    if batch.number not in found.good:
        return found.gave_up or "not judged"
    if batch.by_agent:
        # what it takes to land is the commit step's to say: a challenger may still be heard
        return ""
    silent = run.work.rechecked is not None and batch.number in run.work.rechecked.silent
    blind = task.unverified or _unjudged(batch, run)
    if not silent and (blind or batch.protected):
        reason = blind or "it changes tests or CI configuration"
        return f"nothing could prove it: no analyzer to ask again, and no check judged it: {reason}"
    if (
        blind
        and batch.safety is not Safety.SAFE
        and task.options.unsafe_needs is ProofClass.CHECKED
    ):
        return (
            f"its tool calls it {batch.safety}, so it needs the checks, and none judged it: {blind}"
        )
    return ""


def _unjudged(batch: Batch, run: Run) -> str:
    """Why no check speaks for these files; the judge's own are spoken for by a person, who is told
    to look.
    """
    return "" if batch.protected else unjudged(batch.paths, run.checks.baselines)


def _evidence(run: Run) -> str:
    """What the checks said, trimmed, the first time they went red."""
    red = next(
        (
            v
            for event in run.position.here.values()
            if isinstance(event, Tried)
            for v in event.verdicts
            if not v.passed
        ),
        None,
    )
    return red.evidence[-4000:] if red else ""


VERB = Verb(
    "analyzers and checks judge the patches",
    Options,
    step,
    {Recheck: recheck, Measure: measure, Examine: examine, Try: attempt, Conclude: conclude},
)
