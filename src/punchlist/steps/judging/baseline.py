"""Baselines: each check runs on the base, and must notice a planted failure; results are cached."""

from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.changed_lines import ExecutedLines
from punchlist.model.checks.check import Check, CheckKind, CheckResult, CoveredRun, TestOutcome
from punchlist.model.checks.coverage import find_families
from punchlist.model.checks.failure_cause import find_cause, find_lack, find_python, suggest_remedy
from punchlist.model.checks.loads import join_loads
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Baselined
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.ports.checks import NOTHING_PLANTED
from punchlist.ports.tree import Pristine, Tree
from punchlist.ports.world import World
from punchlist.steps.judging.executed_lines import lines_artifact
from punchlist.steps.support.files import read_files, write_files
from punchlist.steps.verb import Action

_RERUNS = 2
_FEW = 200
_SEEN = "a planted failure was seen"


class Measure(Struct, frozen=True):
    check: Check


class Measurement(Struct, frozen=True, kw_only=True):
    """What the cache keeps of a baseline."""

    result: CheckResult
    unusable: str = ""
    sentinel: str = ""
    judges: tuple[str, ...] = ()
    runs: int = 1
    cause: str = ""
    remedy: str = ""
    lines: ExecutedLines = ExecutedLines()


async def measure_baseline(task: Measure, run: Run, world: World) -> Baselined:
    check = task.check
    key = await baseline_key(check, world)
    began = world.clock()
    kept = await _load_kept(check, key, world)
    known = kept or await measure_check(check, world)
    if not kept and not known.unusable:
        world.cache.put(key, msgspec.json.encode(known))
    known = _require_passed_test(check, known)
    tests, unloaded = known.result.tests, known.result.unloaded
    outcomes = [outcome for test, outcome in tests.items() if test not in unloaded]
    result, lines = msgspec.json.encode(known.result), msgspec.json.encode(known.lines)
    files = {_artifact_name(check): result, lines_artifact(check.name): lines}
    artifact, _ = await write_files(files, world)
    return Baselined(
        check=check.name,
        exit_code=known.result.exit_code,
        passed=outcomes.count(TestOutcome.PASSED),
        failed=outcomes.count(TestOutcome.FAILED),
        skipped=outcomes.count(TestOutcome.SKIPPED),
        unusable=known.unusable,
        sentinel=known.sentinel,
        judges=known.judges,
        artifact=artifact,
        cached=bool(kept),
        unloaded=unloaded,
        cause=known.cause,
        remedy=known.remedy,
        lines_unknown=known.lines.unknown,
        gate=check.is_gate,
        pins={name: sha256(content).hexdigest() for name, content in files.items()},
        usage=Usage(seconds=world.clock() - began, checks=_count_runs(known, kept)),
    )


async def _load_kept(check: Check, key: str, world: World) -> Measurement | None:
    """Return the measurement in the cache if it still holds. A failure may have been temporary, and
    would then excuse every fix that breaks that test: the tests that failed are run again, and if
    one does not fail now, all is measured anew.
    """
    found = world.cache.get(key)
    if not found:
        return None
    known = parse_json(found, Measurement)
    failing = failed_tests(known.result)
    if failing:
        async with world.trees.open_tree(
            world.change.head, pristine=check_view(check, world)
        ) as tree:
            again = await world.checks.run(check, tree, only=sorted(failing))
        if again.trouble or not failing <= failed_tests(again):
            return None
    return known


def _count_runs(known: Measurement, kept: Measurement | None) -> int:
    """Return how often the check was run for its baseline."""
    return known.runs if kept is None else int(bool(failed_tests(kept.result)))


async def baseline_key(check: Check, world: World) -> str:
    """Hash the check, the commits, protected patterns and environment to a cache key."""
    ground = await world.checks.hash_environment(check)
    change = world.change
    known = "loads"  # what is kept beside the outcomes; without it an older baseline is of no use
    basis = msgspec.json.encode((check, change.head, change.base, world.protected, ground, known))
    return f"baseline/{sha256(basis).hexdigest()}"


async def find_disagreement(run: Run, world: World) -> str:
    """Return which check says of the base, on this machine, something else than the ledger has, or
    '': what is seen here can then stand beside what was seen there.
    """
    for check in run.started.checks:
        kept = await read_files([_artifact_name(check)], world)
        if check.name not in run.checks.baselines or not kept:
            continue
        known = parse_json(kept[_artifact_name(check)], CheckResult)
        cached = world.cache.get(await baseline_key(check, world))
        here = parse_json(cached, Measurement) if cached else None
        found = (here or await measure_check(check, world)).result
        if (found.tests, found.exit_code) != (known.tests, known.exit_code):
            return f"{check.name} says something else of the base on this machine"
    return ""


def _artifact_name(check: Check) -> str:
    return f"baseline-{check.name}.json"


async def measure_check(check: Check, world: World) -> Measurement:
    async with world.trees.open_tree(world.change.head, pristine=check_view(check, world)) as tree:
        kinds = find_families(tree.files(), world.protected)
        covered = CoveredRun(ExecutedLines())
        if not check.is_gate:
            covered = await world.checks.run_covered(check, tree)
        result, runs = await rerun_failing(check, tree, world, first=covered.result)
    known = Measurement(result=result, runs=runs)
    if check.kind is CheckKind.GATE and not result.green:
        said = _first_lines(result.output)
        why = f"it could not be run: {result.trouble}" if result.trouble else "it is red"
        return replace(known, unusable=f"{why} on the base: {said}" if said else why)
    if result.trouble:
        return _add_cause(check, replace(known, unusable=f"on the base, {result.trouble}"))
    if check.is_gate:
        return known
    if not result.green and not result.tests:
        why = f"exits {result.exit_code} on the base and tells nothing per test"
        return _add_cause(check, replace(known, unusable=why))
    known = await _plant_sentinels(check, kinds, known, world)
    judged = not known.unusable and ".py" in known.judges
    return replace(known, lines=covered.lines) if judged else known


def _first_lines(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return "; ".join(lines[:2])[:_FEW]


def _require_passed_test(check: Check, known: Measurement) -> Measurement:
    """Return the measurement as unusable if it lists tests and none of them passed, or if some
    failed because the project is not installed as its files say.

    `judges` stays: such a check can still be seen to turn from red to green.
    """
    result = known.result
    if check.kind is CheckKind.GATE:
        return known
    if result.trouble or not result.tests or TestOutcome.PASSED in result.tests.values():
        lacking = not known.unusable and find_lack(result.output)
        failed = failed_tests(result) if lacking else ()
        if failed and check.lacks:
            lacks = f"its Python lacks {', '.join(check.lacks)}, which the project's files name"
            tests = pluralize(len(failed), "test")
            known = replace(known, unusable=f"{lacks}, and {tests} failed on the base")
        return _add_cause(check, known) if result.unloaded or failed else known
    real = {test: seen for test, seen in result.tests.items() if test not in result.unloaded}
    counts = {
        "could not be loaded": len(result.unloaded),
        "failed": list(real.values()).count(TestOutcome.FAILED),
        "skipped": list(real.values()).count(TestOutcome.SKIPPED),
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return _add_cause(check, replace(known, unusable=f"no test passed on the base ({said})"))


def _add_cause(check: Check, known: Measurement) -> Measurement:
    """Add what the runner printed as the cause, the Python it used, and the remedy."""
    output = known.result.output
    ran = TestOutcome.PASSED in known.result.tests.values() and not known.result.unloaded
    cause = find_lack(output) if ran else find_cause(output)
    if known.unusable:
        python = find_python(check.command)
        used = f"; the Python used is {python}" if python and cause else ""
        unusable = f"{known.unusable}: {cause}{used}" if cause else known.unusable
        known = replace(known, unusable=unusable)
    return replace(known, cause=cause, remedy=suggest_remedy(cause, check))


async def rerun_failing(
    check: Check, tree: Tree, world: World, *, first: CheckResult | None = None
) -> tuple[CheckResult, int]:
    """Run the check, unless the `first` result is known, once more if it is red and lists no test;
    rerun failing tests, and the whole check if they pass alone. Return the result and the number
    of runs.
    """
    known = first or await world.checks.run(check, tree)
    runs = 1
    if known.trouble or not (known.green or known.tests):
        known = await world.checks.run(check, tree)
        runs += 1
    if check.kind is CheckKind.GATE:
        return known, runs
    for _ in range(_RERUNS):
        failing = failed_tests(known)
        if known.trouble or not failing:
            break
        again = await world.checks.run(check, tree, only=sorted(failing))
        runs += 1
        if failing <= failed_tests(again):
            continue
        if not known.tests.keys() <= again.tests.keys():
            again = await world.checks.run(check, tree)
            runs += 1
        known = merge_results(known, again)
    return known, runs


def merge_results(one: CheckResult, other: CheckResult) -> CheckResult:
    """Merge two whole runs of one tree: a test that passed in either counts as passing."""
    if other.trouble:
        return one
    both = [*one.tests.items(), *other.tests.items()]
    passed = {test: outcome for test, outcome in both if outcome is TestOutcome.PASSED}
    tests = {**one.tests, **other.tests, **passed}
    if not other.green:
        return replace(one, tests=tests)
    # A failure that a green run does not list, such as a file that could not be imported, is no
    # test.
    kept = {test: outcome for test, outcome in tests.items() if outcome is not TestOutcome.FAILED}
    return replace(other, tests=kept, loads=join_loads([one.loads, other.loads]))


async def _plant_sentinels(
    check: Check, kinds: tuple[tuple[str, ...], ...], known: Measurement, world: World
) -> Measurement:
    """Plant a failure per language; the check judges those languages in which it fails."""
    said: dict[tuple[str, ...], str] = {}
    for family in kinds or ((),):
        # With the base's tests: a change that empties its tests must not make the check unusable.
        async with world.trees.open_tree(world.change.head, pristine=judge_view(world)) as tree:
            said[family] = await world.checks.run_sentinel(check, tree, family)
    judges = tuple(kind for family, blind in said.items() if not blind for kind in family)
    blind = "" if "" in said.values() else _join_reasons(said)
    partly = f" in {', '.join(judges)} files only" if any(said.values()) else ""
    sentinel = "" if blind else f"{_SEEN}{partly}"
    runs = known.runs + sum(not why.startswith(NOTHING_PLANTED) for why in said.values())
    return replace(known, unusable=blind, sentinel=sentinel, judges=judges, runs=runs)


def _join_reasons(said: Mapping[tuple[str, ...], str]) -> str:
    if len(said) == 1:
        return next(iter(said.values()))
    return "; ".join(f"{', '.join(family)}: {blind}" for family, blind in said.items())


def load_baseline(check: Check, world: World) -> CheckResult:
    """Load the stored baseline of a check. Raises FileNotFoundError."""
    kept = world.artifacts.read(_artifact_name(check))
    if kept is None:
        raise FileNotFoundError(_artifact_name(check))
    return parse_json(kept, CheckResult)


def judge_view(world: World, opened: Iterable[str] = ()) -> Pristine:
    """Return a view with the base's configuration only, and the base's tests plus the change's new
    ones; `opened` files are exempt.
    """
    protected = world.protected
    return Pristine(
        origin=world.change.base,
        alone=protected.configuration,
        kept=protected.tests,
        opened=frozenset(opened),
    )


def check_view(check: Check, world: World, opened: Iterable[str] = ()) -> Pristine:
    """Return what a check sees: a linter or formatter sees the tests as the analyzers do."""
    if check.kind is CheckKind.GATE:
        return Pristine(origin=world.change.base, alone=world.protected.steering)
    return judge_view(world, opened)


def allowed_checks(run: Run) -> tuple[Check, ...]:
    return run.started.checks if run.started.checks_allowed else ()


def usable_checks(run: Run) -> tuple[Check, ...]:
    """Return the allowed checks whose baseline is usable."""
    usable = {name for name, baseline in run.checks.baselines.items() if not baseline.unusable}
    return tuple(check for check in allowed_checks(run) if check.name in usable)


def usable_gates(run: Run) -> tuple[Check, ...]:
    """Return the allowed gates that are green on the base."""
    usable = {name for name, baseline in run.checks.gates.items() if not baseline.unusable}
    return tuple(check for check in allowed_checks(run) if check.name in usable)


def unmeasured_checks(run: Run, *, gates: bool = False) -> list[Action]:
    """Return an action for each allowed check, or gate, that has no baseline."""
    return [
        Action(f"baseline {check.name}", Measure(check), f"{check.name} on the base")
        for check in allowed_checks(run)
        if check.is_gate is gates and run.checks.find_baseline(check.name) is None
    ]


def failed_tests(result: CheckResult) -> frozenset[str]:
    tests = result.tests.items()
    return frozenset(test for test, outcome in tests if outcome is TestOutcome.FAILED)
