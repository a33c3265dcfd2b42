"""verify: analyzers and checks judge the patches; group testing finds the culprits."""

from collections.abc import Iterable, Sequence
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.coverage import explain_unjudged
from punchlist.model.checks.group_testing import (
    GroupTrial,
    Search,
    SearchResult,
    TrialResult,
    replay_search,
    search,
)
from punchlist.model.finding.finding import Safety
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Move
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.events import Rechecked, Tried, Verified
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import ReservedSpans
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import (
    Measure,
    allowed_checks,
    measure_baseline,
    usable_checks,
)
from punchlist.steps.judging.examine import Examine, examine_batch
from punchlist.steps.judging.recheck import Recheck, recheck_batches
from punchlist.steps.judging.trial import Try, run_trial
from punchlist.steps.support.batching import current_fix_key
from punchlist.steps.verb import Action, Verb, select_pending

_NAMED = 3


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`unsafe-needs`: the proof a tool's unsafe fix needs. `trials`: the most check runs."""

    unsafe_needs: ProofClass = ProofClass.CHECKED
    trials: int = 200


class Conclude(Struct, frozen=True):
    """Result of the search, and the batches that analyzers refused."""

    found: SearchResult
    refused: dict[int, str] = {}
    unverified: str = ""
    options: Options = Options()


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    if not run.work.patches or run.work.verified is not None:
        return ()
    first = run.position.here.get("recheck")
    if not isinstance(first, Rechecked):
        clashing = find_conflicts(run)
        return select_pending(
            run,
            _recheck_action(
                1, tuple(number for number in run.work.patches if number not in clashing)
            ),
        )
    candidates = _sort_batches(run, first.passed)
    unmeasured = (
        [check for check in allowed_checks(run) if check.name not in run.checks.baselines]
        if candidates
        else []
    )
    if unmeasured:
        return select_pending(
            run,
            *(
                Action(f"baseline {c.name}", Measure(c), f"{c.name} on the base")
                for c in unmeasured
            ),
        )
    unexamined = [
        batch for batch in candidates if batch.uses_agent and batch.number not in run.work.examined
    ]
    if unexamined:
        return select_pending(run, *(_examine_action(batch) for batch in unexamined))
    refuted = {number: seen.refuted for number, seen in run.work.examined.items() if seen.refuted}
    sound = [batch for batch in candidates if batch.number not in refuted]
    so_far = Conclude(
        SearchResult(), {**first.failed, **find_conflicts(run), **refuted}, options=options
    )
    return select_pending(run, _next_action(run, sound, so_far))


def _examine_action(batch: Batch) -> Action:
    return Action(f"examine {batch.number}", Examine(batch.number), f"a look at: {batch.title}")


def find_conflicts(run: Run) -> dict[int, str]:
    """Return agents' batches whose patch overlaps an earlier one, with the reason."""
    taken = ReservedSpans()
    found: dict[int, str] = {}
    for batch in _sort_batches(run, run.work.patches):
        patch = run.work.patches[batch.number]
        if not batch.uses_agent or taken.admits(patch):
            taken.reserve(patch)
        else:
            found[batch.number] = (
                "it changes what another fix of this round changes; it is tried again on top of"
                " that"
            )
    return found


def _recheck_action(turn: int, batches: tuple[int, ...]) -> Action:
    key = "recheck" if turn == 1 else f"recheck {turn}"
    return Action(key, Recheck(batches), f"analyzers look again at {len(batches)} fixes")


def _next_action(run: Run, candidates: Sequence[Batch], so_far: Conclude) -> Action:
    """Return the next trial of the search, the next recheck of what passed, or the verdict."""
    if not candidates or not usable_checks(run):
        found = SearchResult(good=tuple(batch.number for batch in candidates))
        return Action("verdict", replace(so_far, found=found, unverified=_unverified_reason(run)))
    tried = [event for event in run.position.here.values() if isinstance(event, Tried)]
    results = [
        TrialResult(event.green, _failing_tests(event), _join_trouble(event)) for event in tried
    ]
    culprits: dict[int, tuple[str, ...]] = {}
    for turn in count(2):
        stands, used = replay_search(_search_culprits(candidates), results)
        if isinstance(stands, GroupTrial):
            return _trial_action(
                stands, tried, replace(so_far, found=SearchResult(culprits=culprits))
            )
        results = results[used:]
        found = replace(stands, culprits=culprits | stands.culprits)
        again = run.position.here.get(_recheck_action(turn, ()).key)
        if not found.good or len(found.good) == len(candidates):
            break
        if not isinstance(again, Rechecked):  # what lands is less than what was looked at
            return _recheck_action(turn, found.good)
        if not again.failed:
            break
        culprits = found.culprits
        so_far = replace(so_far, refused=so_far.refused | again.failed)
        candidates = _sort_batches(run, again.passed)
    return Action("verdict", replace(so_far, found=found))


def _trial_action(trial: GroupTrial, tried: Sequence[Tried], so_far: Conclude) -> Action:
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


def _failing_tests(event: Tried) -> tuple[str, ...]:
    return tuple(test for verdict in event.verdicts for test in verdict.failing)


def _join_trouble(event: Tried) -> str:
    return "; ".join(
        f"{verdict.check}: {verdict.trouble}" for verdict in event.verdicts if verdict.trouble
    )


def _sort_batches(run: Run, numbers: Iterable[int]) -> list[Batch]:
    return sorted(
        (run.work.batches[number] for number in numbers),
        key=lambda batch: (batch.level, batch.number),
    )


def _search_culprits(candidates: Sequence[Batch]) -> Search:
    """Search the batches that leave protected files alone, then, on top of the
    good ones, the rest.
    """
    plain = yield from search([batch.number for batch in candidates if not batch.protected])
    if plain.gave_up:
        return plain
    both = yield from search(
        [batch.number for batch in candidates if batch.protected], plain.good, plain.unstable
    )
    return SearchResult(both.good, plain.culprits | both.culprits, both.unstable, both.gave_up)


def _unverified_reason(run: Run) -> str:
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
    return conclude_batches(task, run)


def conclude_batches(task: Conclude, run: Run) -> Verified:
    """Return which batches passed, and why the others failed."""
    failed = dict(task.refused)
    for number in run.work.patches:
        if (
            number in run.work.batches
            and number not in failed
            and (why := _find_objection(run.work.batches[number], task, run))
        ):
            failed[number] = why
    evidence = _first_evidence(run)
    moves = tuple(
        Move(
            item,
            Fact.REJECTED,
            by="verify",
            why=why,
            ref=current_fix_key(run.items[item]),
            evidence=evidence if number in task.found.culprits else "",
        )
        for number, why in sorted(failed.items())
        for item in run.claimed_items(run.work.batches[number])
    )
    passed = tuple(number for number in run.work.patches if number not in failed)
    return Verified(
        passed=passed,
        failed=failed,
        unverified=task.unverified,
        unstable=task.found.unstable,
        moves=moves,
    )


def _find_objection(batch: Batch, task: Conclude, run: Run) -> str:
    """Return why a batch may not be committed, or ''."""
    found = task.found
    if batch.number in found.culprits:
        broken = found.culprits[batch.number]
        more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
        return f"breaks {', '.join(broken[:_NAMED])}{more}" if broken else "turns the checks red"
    if batch.number not in found.good:
        return found.gave_up or "not judged"
    if batch.uses_agent:
        # what it takes to land is the commit step's to say: a challenger may still be heard
        return ""
    silent = run.work.rechecked is not None and batch.number in run.work.rechecked.silent
    blind = task.unverified or _unjudged_reason(batch, run)
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


def _unjudged_reason(batch: Batch, run: Run) -> str:
    """Return why no check judges these files; '' for protected files, which the user is told to
    review.
    """
    return "" if batch.protected else explain_unjudged(batch.paths, run.checks.baselines)


def _first_evidence(run: Run) -> str:
    """Return the check output, trimmed, of the first red trial."""
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
    {
        Recheck: recheck_batches,
        Measure: measure_baseline,
        Examine: examine_batch,
        Try: run_trial,
        Conclude: conclude,
    },
)
