"""verify: analyzers and checks judge the patches; group testing finds the culprits."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, takewhile

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.changed_lines import LineCount
from punchlist.model.checks.check import CheckVerdict
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
from punchlist.model.item.item import Fact, Item, Move
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.events import Covered, Rechecked, Tried, Verified
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.model.patch.patch import Patch, ReservedSpans
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import (
    Measure,
    measure_baseline,
    unmeasured_checks,
    usable_checks,
)
from punchlist.steps.judging.examine import Examine, examine_batch
from punchlist.steps.judging.executed_lines import count_executed
from punchlist.steps.judging.gates.coverage import find_uncovered
from punchlist.steps.judging.recheck import Recheck, recheck_batches
from punchlist.steps.judging.refutations import remember_refutations
from punchlist.steps.judging.trial import Try, run_trial
from punchlist.steps.support.batching import current_fix_key, tried_key
from punchlist.steps.support.wording import join_few
from punchlist.steps.verb import Action, Verb, VerbOptions, select_pending

_OVERLAPPING = "it changes what another fix of this round changes; it is tried again on top of that"
_DISPLACED = (
    "it changes what another fix of this round changes, which was refused; it is asked for again"
)


class Options(VerbOptions, frozen=True):
    """`unsafe-needs`: the proof that a tool's unsafe fix needs, also in tests and configuration,
    which no check judges. `trials`: the most check runs.
    """

    unsafe_needs: ProofClass = ProofClass.CHECKED
    trials: int = 200


_COVERAGE = "coverage"
_EVIDENCE = 4000
"""Characters of what a failing check printed, that the next fixer is shown."""


class Cover(Struct, frozen=True):
    """Count which changed lines of these batches the checks execute."""

    batches: tuple[int, ...]
    options: Options = Options()


class Conclude(Struct, frozen=True):
    """Result of the search, and the batches that analyzers refused."""

    found: SearchResult
    refused: dict[int, str] = {}
    unverified: str = ""
    options: Options = Options()


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    """Return the next actions; after a limit of the run only the verdict, and what it needs."""
    if not run.work.patches or run.work.verified is not None:
        return ()
    actions = _plan_actions(run, options)
    if not run.halted:
        return actions
    verdict = tuple(action for action in actions if isinstance(action.input, Conclude))
    closing = None if verdict else _close_at_limit(run, options)
    return select_pending(run, closing) if closing else verdict


def _plan_actions(run: Run, options: Options) -> tuple[Action, ...]:
    first = run.position.here.get("recheck")
    if not isinstance(first, Rechecked):
        if gates := select_pending(run, *unmeasured_checks(run, gates=True)):
            return gates
        conflicts = find_conflicts(run)
        apart = tuple(number for number in run.work.patches if number not in conflicts)
        return select_pending(run, _recheck_action(1, apart))
    candidates = _sort_batches(run, first.passed)
    displaced = _sort_batches(run, _find_displaced(run, first))
    if (candidates or displaced) and (unmeasured := unmeasured_checks(run)):
        return select_pending(run, *unmeasured)
    examinations = [
        Action(f"examine {batch.number}", Examine(batch.number), f"a look at: {batch.title}")
        for batch in (*candidates, *displaced)
        if batch.uses_agent and batch.number not in run.work.examined
    ]
    if examinations:
        return select_pending(run, *examinations)
    so_far = Conclude(SearchResult(), _find_refused(run, first), options=options)
    sound = [batch for batch in candidates if batch.number not in so_far.refused]
    if sound and usable_checks(run) and _COVERAGE not in run.position.here:
        about = "which changed lines the checks execute"
        task = Cover(tuple(batch.number for batch in sound), options)
        return select_pending(run, Action(_COVERAGE, task, about))
    untried = _find_coverage(run).untried
    sound = [batch for batch in sound if batch.number not in untried]
    return select_pending(run, _next_action(run, sound, so_far, looked=len(first.passed)))


def _find_coverage(run: Run) -> Covered:
    covered = run.position.here.get(_COVERAGE)
    return covered if isinstance(covered, Covered) else Covered()


def _find_refused(run: Run, first: Rechecked) -> dict[int, str]:
    """Return the batches that analyzers, other patches or the examination speak against."""
    displaced = dict.fromkeys(_find_displaced(run, first), _DISPLACED)
    overlapping = dict.fromkeys(find_conflicts(run), _OVERLAPPING)
    return {**first.failed, **overlapping, **displaced, **_find_refuted(run)}


def _find_refuted(run: Run) -> dict[int, str]:
    return {number: seen.refuted for number, seen in run.work.examined.items() if seen.refuted}


def _find_displaced(run: Run, first: Rechecked) -> tuple[int, ...]:
    """Return the batches that overlap only batches which are refused themselves: they are
    examined, so that their own faults are said.
    """
    refused = first.failed.keys() | _find_refuted(run).keys()
    conflicts = find_conflicts(run).items()
    return tuple(number for number, others in conflicts if others and refused.issuperset(others))


def _close_at_limit(run: Run, options: Options) -> Action | None:
    """Return the next action of a run at its limit that has seen fixes green, or None."""
    first = run.position.here.get("recheck")
    if not isinstance(first, Rechecked):
        return None
    so_far = Conclude(SearchResult(), _find_refused(run, first), options=options)
    return _land_largest(run, so_far, run.halted)


def _land_largest(run: Run, so_far: Conclude, limit: str) -> Action | None:
    """Return the verdict that lets the largest set of fixes pass that whole checks were green
    with; before it, the analyzers look at that set, unless they just did. None if there is none.
    """
    tried = [event for event in run.position.here.values() if isinstance(event, Tried)]
    green = {event.batches for event in tried if event.complete and event.green and event.batches}
    why = f"not judged: {limit}"
    for turn, batches in enumerate(sorted(green, key=lambda each: (-len(each), each)), 1):
        latest = run.work.rechecked
        if latest is not None and set(latest.passed) == set(batches):
            found = replace(so_far.found, good=batches, gave_up=why)
            return Action("verdict", replace(so_far, found=found))
        key = f"recheck at the limit {turn}"
        if key not in run.position.here:
            about = f"analyzers look again at {len(batches)} fixes that are green"
            return Action(key, Recheck(batches), about)
    return None


def find_conflicts(run: Run) -> dict[int, tuple[int, ...]]:
    """Return agents' batches whose patch overlaps earlier ones, with these."""
    taken = ReservedSpans()
    found: dict[int, tuple[int, ...]] = {}
    earlier: list[int] = []
    batches = _sort_batches(run, run.work.patches)
    for batch in batches if any(batch.uses_agent for batch in batches) else ():
        patch = run.work.patches[batch.number]
        if not batch.uses_agent or taken.admits(patch):
            taken.reserve(patch)
            earlier.append(batch.number)
        else:
            patches = {number: run.work.patches[number] for number in earlier}
            found[batch.number] = tuple(_find_overlapped(patch, patches))
    return found


def _find_overlapped(patch: Patch, earlier: Mapping[int, Patch]) -> Iterator[int]:
    """Yield the numbers of the patches that this one overlaps."""
    for number, other in earlier.items():
        taken = ReservedSpans()
        taken.reserve(other)
        if not taken.admits(patch):
            yield number


def _recheck_action(turn: int, batches: tuple[int, ...]) -> Action:
    key = "recheck" if turn == 1 else f"recheck {turn}"
    return Action(key, Recheck(batches), f"analyzers look again at {len(batches)} fixes")


def _next_action(run: Run, candidates: Sequence[Batch], so_far: Conclude, *, looked: int) -> Action:
    """Return the next trial of the search, the next recheck of what passed, or the verdict.
    `looked`: how many batches the analyzers looked at together.
    """
    if not candidates or not usable_checks(run):
        found = SearchResult(good=tuple(batch.number for batch in candidates))
        return Action("verdict", replace(so_far, found=found, unverified=_unverified_reason(run)))
    tried = [event for event in run.position.here.values() if isinstance(event, Tried)]
    results = [_trial_result(event) for event in tried]
    culprits: dict[int, tuple[str, ...]] = {}
    for turn in count(2):
        stands, used = replay_search(_search_culprits(candidates), results)
        if isinstance(stands, GroupTrial):
            so_far = replace(so_far, found=SearchResult(culprits=culprits))
            return _trial_action(stands, tried, so_far, run)
        results = results[used:]
        found = replace(stands, culprits=culprits | stands.culprits)
        again = run.position.here.get(_recheck_action(turn, ()).key)
        if not found.good or len(found.good) == looked:
            break
        if not isinstance(again, Rechecked):  # fewer batches are left than were rechecked
            return _recheck_action(turn, found.good)
        if not again.failed:
            break
        culprits = found.culprits
        so_far = replace(so_far, refused=so_far.refused | again.failed)
        candidates = _sort_batches(run, again.passed)
        looked = len(candidates)
    return Action("verdict", replace(so_far, found=found))


def _trial_action(trial: GroupTrial, tried: Sequence[Tried], so_far: Conclude, run: Run) -> Action:
    limit = so_far.options.trials
    if len(tried) >= limit:
        spent = f"{limit} check runs were spent"
        nothing = replace(so_far.found, gave_up=f"not judged: {spent}")
        largest = _land_largest(run, so_far, spent)
        return largest or Action("verdict", replace(so_far, found=nothing))
    only = f", {len(trial.only)} tests" if trial.only else ""
    about = f"checks over {pluralize(len(trial.batches), 'fix', 'fixes')}{only}"
    return Action(f"trial {len(tried) + 1}", Try(trial), about)


def _trial_result(event: Tried) -> TrialResult:
    failing = tuple(test for verdict in event.verdicts for test in verdict.failing)
    troubles = (f"{each.check}: {each.trouble}" for each in event.verdicts if each.trouble)
    trial = GroupTrial(event.batches, only=() if event.complete else ("some",))
    return TrialResult(event.green, failing, "; ".join(troubles), trial)


def _sort_batches(run: Run, numbers: Iterable[int]) -> list[Batch]:
    batches = (run.work.batches[number] for number in numbers)
    return sorted(batches, key=lambda batch: (batch.level, batch.number))


def _search_culprits(candidates: Sequence[Batch]) -> Search:
    """Search the batches that edit no protected files, then, on top of the good ones, the rest.
    Where only tools' safe fixes edit tests, all are tried together first.
    """
    open_files = [batch for batch in candidates if not batch.protected]
    if 0 < len(open_files) < len(candidates) and all(map(_may_edit_tests, candidates)):
        every = tuple(batch.number for batch in (*open_files, *_find_protected(candidates)))
        together = yield GroupTrial(every, repeat=False)
        if together.green:
            return SearchResult(good=every)
    safe = takewhile(lambda batch: not batch.uses_agent and batch.safety is Safety.SAFE, open_files)
    trusted = len(list(safe))
    plain = yield from search([batch.number for batch in open_files], trusted=trusted)
    if plain.gave_up:
        return plain
    both = yield from search(
        [batch.number for batch in _find_protected(candidates)], plain.good, plain.unstable
    )
    culprits, noise = plain.culprits | both.culprits, plain.noise or both.noise
    return SearchResult(both.good, culprits, both.unstable, both.gave_up, noise)


def _find_protected(candidates: Sequence[Batch]) -> list[Batch]:
    return [batch for batch in candidates if batch.protected]


def _may_edit_tests(batch: Batch) -> bool:
    """Return whether a batch edits no tests, or only as a tool does that calls it safe."""
    return not batch.uses_agent and (not batch.protected or batch.safety is Safety.SAFE)


def _unverified_reason(run: Run) -> str:
    started = run.started
    checks = [check for check in started.checks if not check.is_gate]
    if not checks:
        return "no checks are configured or were found"
    if not started.checks_allowed:
        names = ", ".join(" ".join(check.command) for check in checks)
        return (
            f"the checks found here were not allowed to run ({names}); `punchlist allow` or --yes"
            " lets them"
        )
    baselines = run.checks.baselines.items()
    return "; ".join(f"{name}: {each.unusable}" for name, each in baselines if each.unusable)


async def cover_batches(task: Cover, run: Run, world: World) -> Covered:
    """Count the executed lines of the batches, and say which no check can prove."""
    batches = [run.work.batches[number] for number in task.batches]
    lines = await count_executed(batches, run, world)
    lacking = {
        batch.number: _find_lack(batch, task.options, "", run, lines.get(batch.number))
        for batch in batches
    }
    return Covered(lines=lines, untried={number: why for number, why in lacking.items() if why})


async def conclude(task: Conclude, run: Run, world: World) -> Verified:
    """Return which batches passed, and why the others failed."""
    covered = _find_coverage(run)
    failed = {**task.refused, **covered.untried}
    standing = [run.work.batches[number] for number in task.found.good if number not in failed]
    lines = {} if task.unverified else await count_executed(standing, run, world)
    for number in run.work.patches:
        batch = run.work.batches.get(number)
        if batch and number not in failed and (why := _find_objection(batch, task, run, lines)):
            failed[number] = why
    culprits = task.found.culprits.items()
    doubtful = {number for number, tests in culprits if _is_doubtful(tests, task.found, run)}
    unread = failed.keys() - task.refused.keys() - task.found.culprits.keys()
    alike = {number for number in unread if not _may_differ_apart(number, run, covered)}
    landing = [batch.number for batch in standing if batch.number not in failed]
    failed |= await find_uncovered(landing, run, world)
    moves = tuple(
        Move(
            item,
            Fact.REJECTED,
            by="verify",
            why=why,
            ref=""
            if number in doubtful
            else _make_key(run.work.batches[number], run.items[item], whole=number not in alike),
            evidence=_quote_failure(number, run) if number in task.found.culprits else "",
        )
        for number, why in sorted(failed.items())
        for item in run.claimed_items(run.work.batches[number])
    )
    broken = {
        number: failed[number]
        for number, tests in task.found.culprits.items()
        if tests and number not in doubtful
    }
    await remember_refutations(broken, run, world)
    passed = tuple(number for number in run.work.patches if number not in failed)
    return Verified(
        passed=passed,
        failed=failed,
        unverified=task.unverified,
        unstable=task.found.unstable,
        noise=task.found.noise,
        lines=lines,
        moves=moves,
    )


def _explain_culprit(number: int, found: SearchResult, run: Run) -> str:
    """Return what a fix breaks, as far as it is known."""
    broken = found.culprits[number]
    if _is_doubtful(broken, found, run):
        return f"not judged: {join_few(broken)}: red at one time and green at another"
    return f"breaks {join_few(broken)}" if broken else _explain_red(number, run)


def _is_doubtful(broken: Sequence[str], found: SearchResult, run: Run) -> bool:
    """Return whether all tests that speak against a fix were seen to change with the same fixes."""
    return bool(broken) and run.checks.flaky.union(found.unstable).issuperset(broken)


def _may_differ_apart(number: int, run: Run, covered: Covered) -> bool:
    """Return whether a part of a batch that lacks a proof might have one alone. Where no check
    executes or judges anything of the whole, it judges no part of it.
    """
    batch, count = run.work.batches[number], covered.lines.get(number, LineCount())
    unread = bool(count.of) and not count.executed
    return len(batch.items) > 1 and not batch.protected and not unread


def _make_key(batch: Batch, item: Item, *, whole: bool) -> str:
    """Return the key of the failure: of the batch as it was tried, or of the item's own fix."""
    return tried_key(batch, item) if whole else current_fix_key(item)


def _find_objection(batch: Batch, task: Conclude, run: Run, lines: Mapping[int, LineCount]) -> str:
    """Return why a batch may not be committed, or ''."""
    found = task.found
    if batch.number in found.culprits:
        return _explain_culprit(batch.number, found, run)
    if batch.number not in found.good:
        return found.gave_up or "not judged"
    return _find_lack(batch, task.options, task.unverified, run, lines.get(batch.number))


def _find_lack(
    batch: Batch, options: Options, unverified: str, run: Run, count: LineCount | None
) -> str:
    """Return which proof a tool's fix lacks even if all checks stay green, or ''."""
    if batch.uses_agent:
        return ""  # the commit step decides, after the challenger
    count = count or LineCount()
    silent = run.work.rechecked is not None and batch.number in run.work.rechecked.silent
    unread = f"no test executes {count.missing}" if count.missing else ""
    blind = unverified or _unjudged_reason(batch, run)
    blind = blind or (unread if not count.executed else "")
    if blind and not silent:
        return f"nothing could prove it: no analyzer to ask again, and no check judged it: {blind}"
    if batch.safety is Safety.SAFE:
        return ""
    blind = blind or unread
    missing = _missing_proof(options.unsafe_needs, blind, silent=silent)
    called = "suggested" if batch.safety is Safety.DISPLAY else batch.safety
    return f"{called} fix, not applied: {missing}" if missing else ""


def _missing_proof(needs: ProofClass, blind: str, *, silent: bool) -> str:
    """Return what an unsafe fix lacks, or ''; `blind` is why no check judged it."""
    match needs:
        case ProofClass.CLAIM | ProofClass.REVIEWED:
            return ""
        case ProofClass.CHECKED:
            return blind
        case ProofClass.RECHECKED:
            why = "its analyzer must no longer report it, and no analyzer could look again"
            return "" if silent else why
        case ProofClass.WITNESSED | ProofClass.REPRODUCED:
            return f"it needs to be {needs}, and no tool's fix can be"


def _unjudged_reason(batch: Batch, run: Run) -> str:
    """Return why no check judges these files, or ''."""
    if batch.protected:
        return "it changes tests or CI configuration, which no check judges"
    return explain_unjudged(batch.paths, run.checks.baselines)


def _explain_red(number: int, run: Run) -> str:
    """Return which check turned red with the batch, and why, where no single test is to blame."""
    red = _find_red(number, run)
    return "turns the checks red" + (f": {red.check}: {red.why}" if red else "")


def _quote_failure(number: int, run: Run) -> str:
    """Return the command that failed with the batch, the reason and what it printed, trimmed."""
    red = _find_red(number, run)
    if red is None:
        return ""
    commands = (check.command for check in run.started.checks if check.name == red.check)
    program, *rest = next(commands, (red.check,))
    typed = shlex.join([program.rpartition("/")[2], *rest])
    return f"$ {typed}\n{red.why}\n{red.evidence[-_EVIDENCE:]}".rstrip()


def _find_red(number: int, run: Run) -> CheckVerdict | None:
    """Return the red verdict of the smallest trial with the batch, or None."""
    tried = [event for event in run.position.here.values() if isinstance(event, Tried)]
    with_it = sorted((event for event in tried if number in event.batches), key=_count_batches)
    return next((each for event in with_it for each in event.verdicts if not each.passed), None)


def _count_batches(event: Tried) -> int:
    return len(event.batches)


VERB = Verb(
    "analyzers and checks judge the patches",
    Options,
    step,
    {
        Recheck: recheck_batches,
        Measure: measure_baseline,
        Examine: examine_batch,
        Cover: cover_batches,
        Try: run_trial,
        Conclude: conclude,
    },
    closes=True,
    announced=True,
    portable=frozenset({Examine}),
)
