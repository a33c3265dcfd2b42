"""verify: the analyzers look again, then the project's checks judge; group testing names who spoils them."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from punchlist.model.check import Check
from punchlist.model.events import Rechecked, Tried, Verified
from punchlist.model.finding import Safety
from punchlist.model.grouptest import Found, Result, Search, replayed, search
from punchlist.model.item import Fact, Move
from punchlist.model.plan import Batch
from punchlist.model.proof import ProofClass
from punchlist.model.run import Run
from punchlist.ports import World
from punchlist.steps.baseline import Measure, measure
from punchlist.steps.fix import key_of
from punchlist.steps.recheck import Recheck, recheck
from punchlist.steps.trial import Try, attempt
from punchlist.steps.verb import Action, Verb, missing

_NAMED = 3


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`unsafe-needs`: the proof without which a tool's unsafe fix does not land. `trials`: how many check runs at most."""

    unsafe_needs: ProofClass = ProofClass.CHECKED
    trials: int = 200


class Conclude(Struct, frozen=True):
    found: Found
    unverified: str = ""
    options: Options = Options()


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:  # noqa: ARG001 - the signature of every step
    if not run.work.patches or run.work.verified is not None:
        return ()
    first = missing(
        run, Action("recheck", Recheck(tuple(run.work.patches)), f"analyzers look again at {len(run.work.patches)} fixes")
    )
    if first or run.work.rechecked is None:
        return first
    candidates = _ordered(run, run.work.rechecked.passed)
    if not candidates:
        return missing(run, Action("verdict", Conclude(Found(), options=options)))
    unmeasured = [check for check in allowed(run) if check.name not in run.baselines]
    if unmeasured:
        return missing(run, *(Action(f"baseline {c.name}", Measure(c), f"{c.name} on the base") for c in unmeasured))
    return missing(run, _next(run, candidates, options))


def allowed(run: Run) -> tuple[Check, ...]:
    return run.started.checks if run.started is not None and run.started.checks_allowed else ()


def usable(run: Run) -> tuple[Check, ...]:
    return tuple(check for check in allowed(run) if not run.baselines[check.name].unusable)


def _next(run: Run, candidates: Sequence[Batch], options: Options) -> Action:
    """The next trial of the search, or its end."""
    if not usable(run):
        found = Found(good=tuple(batch.number for batch in candidates))
        return Action("verdict", Conclude(found, _why_unverified(run), options))
    tried = [event for event in run.here.values() if isinstance(event, Tried)]
    here = replayed(_search(candidates), (Result(event.green, _failing(event)) for event in tried))
    if isinstance(here, Found):
        return Action("verdict", Conclude(here, options=options))
    if len(tried) >= options.trials:
        return Action("verdict", Conclude(Found(gave_up=f"not judged: {options.trials} check runs were spent"), options=options))
    about = f"checks over {len(here.batches)} fixes" + (f", {len(here.only)} tests" if here.only else "")
    return Action(f"trial {len(tried) + 1}", Try(here, options.trials), about)


def _failing(event: Tried) -> tuple[str, ...]:
    return tuple(test for verdict in event.verdicts for test in verdict.failing)


def _ordered(run: Run, numbers: Iterable[int]) -> list[Batch]:
    return sorted((run.work.batches[number] for number in numbers), key=lambda batch: (batch.level, batch.number))


def _search(candidates: Sequence[Batch]) -> Search:
    """First what the judge's own files are not touched by; then, on top of what is good, the rest."""
    plain = yield from search([batch.number for batch in candidates if not batch.protected])
    if plain.gave_up:
        return plain
    both = yield from search([batch.number for batch in candidates if batch.protected], plain.good, plain.unstable)
    return Found(both.good, plain.culprits | both.culprits, both.unstable, both.gave_up)


def _why_unverified(run: Run) -> str:
    started = run.started
    if started is None or not started.checks:
        return "no checks are configured or were found"
    if not started.checks_allowed:
        names = ", ".join(" ".join(check.command) for check in started.checks)
        return f"the checks found here were not allowed to run ({names}); `punchlist allow` or --yes lets them"
    return "; ".join(f"{name}: {baseline.unusable}" for name, baseline in run.baselines.items() if baseline.unusable)


async def conclude(task: Conclude, run: Run, world: World) -> Verified:  # noqa: ARG001 - the signature of every performer
    return concluded(task, run)


def concluded(task: Conclude, run: Run) -> Verified:
    """Who passed, and why the others did not."""
    rechecked = run.work.rechecked or Rechecked()
    failed = dict(rechecked.failed)
    for number in rechecked.passed:
        if why := _objection(run.work.batches[number], task, rechecked):
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
        for item in run.work.batches[number].items
    )
    passed = tuple(number for number in rechecked.passed if number not in failed)
    return Verified(passed=passed, failed=failed, unverified=task.unverified, moves=moves)


def _objection(batch: Batch, task: Conclude, rechecked: Rechecked) -> str:
    """Why a batch may not land, or an empty string."""
    found, unverified = task.found, task.unverified
    if batch.number in found.culprits:
        broken = found.culprits[batch.number]
        more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
        return f"breaks {', '.join(broken[:_NAMED])}{more}" if broken else "turns the checks red"
    if batch.number not in found.good:
        return found.gave_up or "not judged"
    if unverified and batch.number not in rechecked.silent:
        return f"nothing could prove it: no analyzer to ask again, and no check judged it: {unverified}"
    if unverified and batch.safety is not Safety.SAFE and task.options.unsafe_needs is ProofClass.CHECKED:
        return f"its tool calls it {batch.safety}, so it needs the checks, and none judged it: {unverified}"
    return ""


def _evidence(run: Run) -> str:
    """What the checks said, trimmed, the first time they went red."""
    red = next((v for event in run.here.values() if isinstance(event, Tried) for v in event.verdicts if not v.passed), None)
    return red.evidence[-4000:] if red else ""


VERB = Verb(
    "analyzers and checks judge the patches",
    Options,
    step,
    {Recheck: recheck, Measure: measure, Try: attempt, Conclude: conclude},
)
