"""The demanded test coverage: measured over the project's tests, before and with the fixes."""

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from punchlist.model.checks.coverage import find_plantable
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Reviewed
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import allowed_checks, judge_view

REVIEWER = "test-coverage"
_LEAST = 5


class MeasureCoverage(Struct, frozen=True):
    commit: str
    place: str


class Coverage(Struct, frozen=True):
    """How many lines of the project's Python files its tests execute, by file; `unknown`: why that
    is not known.
    """

    files: dict[str, tuple[int, int]] = {}
    unknown: str = ""
    runs: int = 0

    @property
    def counts(self) -> tuple[int, int]:
        """The executed lines, and all that can be."""
        return sum(ran for ran, _ in self.files.values()), sum(of for _, of in self.files.values())

    def reaches(self, figure: float) -> bool:
        ran, of = self.counts
        return not self.unknown and ran * 100 >= figure * of

    @property
    def words(self) -> str:
        ran, of = self.counts
        share = math.floor(1000 * ran / of) / 10  # never shown as higher than it is
        return f"{share:g}% ({ran:,} of {of:,} lines)"


async def review_coverage(task: MeasureCoverage, run: Run, world: World) -> Reviewed:
    """Report a must-fix finding if the coverage is under the figure; fail if it is not known."""
    began, figure = world.clock(), run.started.coverage
    seen = await measure_coverage(task.commit, {}, run, world)
    finding = Finding(
        id=f"{task.place}/{REVIEWER}:0",
        source=REVIEWER,
        title=f"Test coverage is under the demanded {figure:g}%",
        spot=Spot(""),
        severity=Severity.MAJOR,
        rule=REVIEWER,
        category="testing",
        detail="" if seen.unknown else f"It is {seen.words}. Least covered: {_list_least(seen)}.",
        suggestion="Write tests, in new test files, for the lines that no test executes.",
    )
    found = () if seen.unknown or seen.reaches(figure) else (finding,)
    return Reviewed(
        reviewer=REVIEWER,
        commit=task.commit,
        findings=found,
        caused=tuple(each.id for each in found),
        looked_at=len(seen.files),
        failed=seen.unknown
        and f"{figure:g}% is demanded, and could not be measured: {seen.unknown}",
        usage=Usage(seconds=world.clock() - began, checks=seen.runs),
    )


async def find_uncovered(batches: Sequence[int], run: Run, world: World) -> dict[int, str]:
    """Return why these batches may not land together: with them the coverage is under the figure,
    or it could not be measured.
    """
    figure = run.started.coverage
    if not figure or not batches:
        return {}
    patches = {number: run.work.patches[number] for number in batches}
    seen = await measure_coverage(run.landing.tip, patches, run, world)
    if seen.reaches(figure):
        return {}
    why = f"could not be measured: {seen.unknown}" if seen.unknown else f"would be {seen.words}"
    said = f"test coverage {why}, and at least {figure:g}% is demanded"
    return dict.fromkeys(batches, said)


async def measure_coverage(
    commit: str, patches: Mapping[int, Patch], run: Run, world: World
) -> Coverage:
    """Run the checks under coverage.py over a commit with patches; tests are as checks see them."""
    checks = [check for check in allowed_checks(run) if not check.is_gate]
    if not checks:
        return Coverage(unknown=_explain_no_checks(run))
    protected = [number for number in patches if run.work.batches[number].protected]
    opened = {path for number in protected for path in patches[number].paths}
    view = judge_view(world, opened)
    async with world.trees.open_tree(commit, patches.values(), pristine=view) as tree:
        plantable = find_plantable(tree.files(), world.protected)
        sources = [path for path in plantable if path.endswith(".py")]
        if not sources:
            return Coverage(unknown="there is no Python code outside of the tests")
        runs = [await world.checks.run_covered(each, tree, sources=sources) for each in checks]
    seen = [each.lines for each in runs]
    known = [each for each in seen if not each.unknown]
    if not known:
        reasons = (
            f"{check.name}: {each.unknown}" for check, each in zip(checks, seen, strict=True)
        )
        return Coverage(unknown="; ".join(reasons))
    files: dict[str, tuple[int, int]] = {}
    for path in {path for each in known for path in each.statements}:
        lines = {line for each in known for line in each.statements.get(path, ())}
        ran = {line for each in known for line in each.files.get(path, ())}
        files[path] = (len(lines & ran), len(lines))
    if not any(of for _, of in files.values()):
        return Coverage(unknown="no line of the project's Python files can be executed")
    return Coverage(files, runs=len(known))


def _explain_no_checks(run: Run) -> str:
    if any(not check.is_gate for check in run.started.checks):
        return "the checks were not allowed to run; `punchlist allow` or --yes lets them"
    return "no checks are configured or were found"


def _list_least(seen: Coverage) -> str:
    """Return the files with the most lines that no test executes."""
    missed = sorted(seen.files.items(), key=lambda each: (each[1][0] - each[1][1], each[0]))
    return ", ".join(f"{path} ({of - ran} of {of} lines)" for path, (ran, of) in missed[:_LEAST])
