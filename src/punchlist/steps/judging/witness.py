"""Tests as witnesses: a single test file laid into a tree and run, and what its failing or passing
is worth.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.check import Check, CheckKind, CheckResult, TestOutcome
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import FileChange, Patch
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import judge_view
from punchlist.steps.judging.excused_tests import is_of

_TELLING = frozenset({CheckKind.PYTEST, CheckKind.UNITTEST, CheckKind.JUNIT})
_ERROR = re.compile(
    r"^(?:E\s+)?((?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Exit|Warning|Failed|Interrupt))\b(?::|$)"
    r"|^E\s+(assert\b|fixture ')",
    re.MULTILINE,
)
_OWN_FAULT = frozenset(
    {
        "ImportError",
        "ModuleNotFoundError",
        "SyntaxError",
        "IndentationError",
        "TabError",
        "NameError",
        "fixture '",
    }
)
"""Ways in which a test fails all by itself; whether the code is wrong cannot be seen behind them.
"""
_UNTOLD = "no check that tells what became of each test can be run"


class Heard(Struct, frozen=True):
    """What the tests of one file came to. `vain` is why that says nothing."""

    tests: dict[str, TestOutcome] = {}
    vain: str = ""
    output: str = ""

    @property
    def failed(self) -> frozenset[str]:
        return frozenset(
            test for test, outcome in self.tests.items() if outcome is TestOutcome.FAILED
        )

    @property
    def passed(self) -> frozenset[str]:
        return frozenset(
            test for test, outcome in self.tests.items() if outcome is TestOutcome.PASSED
        )


class Witness(Struct, frozen=True):
    """What a fixer's own test says: a proof, or why it is none."""

    proof: Proof | None = None
    noted: str = ""
    bad: str = ""
    """Why the file is not seen to pass with the fix in, if it is not."""
    runs: int = 0


def telling(run: Run) -> tuple[Check, ...]:
    """The usable checks that tell what became of each test."""
    started = run.started
    checks = started.checks if started.checks_allowed else ()
    known = [
        check
        for check in checks
        if check.name in run.checks.baselines and not run.checks.baselines[check.name].unusable
    ]
    return tuple(check for check in known if check.kind in _TELLING)


async def heard(check: Check, path: str, patches: Sequence[Patch], run: Run, world: World) -> Heard:
    """Runs one test file on the tip with patches on it; the rest of the judge is the base's."""
    opened = {path, *(each for patch in patches for each in patch.paths)}
    async with world.trees.at(run.landing.tip, patches, pristine=judge_view(world, opened)) as tree:
        return _heard(await world.checks.run(check, tree, only=(path,)), path)


def _heard(result: CheckResult, path: str) -> Heard:
    own = {
        test: outcome for test, outcome in result.tests.items() if test == path or is_of(test, path)
    }
    ran: dict[str, TestOutcome] = {
        test: outcome
        for test, outcome in own.items()
        if test != path and outcome is not TestOutcome.SKIPPED
    }
    if own.get(path) is TestOutcome.FAILED:
        return Heard(vain="it cannot be collected", output=result.output)
    if not ran:
        return Heard(vain=result.trouble or "none of its tests ran", output=result.output)
    # Trouble with failing tests beside it is a red run that ended badly; with passing ones it is no
    # green one.
    if result.trouble and not any(outcome is TestOutcome.FAILED for outcome in ran.values()):
        return Heard(vain=result.trouble, output=result.output)
    return Heard(ran, output=result.output)


def own_fault(output: str) -> str:
    """Why a failure is the test's own and shows nothing, or an empty string."""
    errors = [
        (name or word).rpartition(".")[2] if name else word for name, word in _ERROR.findall(output)
    ]
    return (
        f"it fails by itself ({errors[0].rstrip(chr(39)).strip()})"
        if errors and set(errors) <= _OWN_FAULT
        else ""
    )


def laid(path: str, content: str) -> Patch:
    """A file of ours as a patch."""
    return Patch(
        files=(FileChange(path, content.encode("utf-8", "surrogateescape").decode("latin-1")),)
    )


def split(patch: Patch, tests: Iterable[str]) -> tuple[Patch, Patch]:
    """The new tests of a patch, and the rest of it."""
    named = frozenset(tests)

    def part(*, ours: bool) -> Patch:
        return Patch(
            splices=tuple(splice for splice in patch.splices if (splice.path in named) is ours),
            files=tuple(change for change in patch.files if (change.path in named) is ours),
        )

    return part(ours=True), part(ours=False)


async def witnessed(
    path: str, patch: Patch, new_tests: Sequence[str], run: Run, world: World
) -> Witness:
    """What the first check that can run the file says of it."""
    found = Witness(noted=f"{path} is no witness: {_UNTOLD}", bad=_UNTOLD)
    runs = 0
    for check in telling(run):
        found = await _asked(check, path, (patch, split(patch, new_tests)[0]), run, world)
        runs += found.runs
        if not found.bad:
            break
    return replace(found, runs=runs)


async def _asked(
    check: Check, path: str, patches: tuple[Patch, Patch], run: Run, world: World
) -> Witness:
    """With the fix it must pass, without it fail, and fail once more: a test that does as it likes
    is no witness.
    """
    patch, tests = patches
    after = await heard(check, path, [patch], run, world)
    if bad := _bad(after, _failing_anyway(check, world)):
        return Witness(noted=f"{path} is no witness: {bad}", bad=bad, runs=1)
    before = await heard(check, path, [tests], run, world)
    seen = before.failed & after.passed
    if why := _unconvincing(seen, before):
        return Witness(noted=f"{path} is no witness: {why}", runs=2)
    again = await heard(check, path, [tests], run, world)
    if seen <= again.failed:
        return Witness(Proof(ProofClass.WITNESSED, _said(path, check, seen)), runs=3)
    return Witness(
        noted=f"{path} is no witness: it failed without the fix once, and then passed", runs=3
    )


def _bad(after: Heard, known: frozenset[str]) -> str:
    if after.vain:
        return f"with the fix, {after.vain}"
    failed = after.failed - known
    return f"it fails with the fix: {min(failed)}" if failed else ""


def _failing_anyway(check: Check, world: World) -> frozenset[str]:
    """Tests that were red on the base, before anybody did anything: a file that is added to may
    have some.
    """
    kept = world.artifacts.read(f"baseline-{check.name}.json")
    tests = msgspec.json.decode(kept, type=CheckResult).tests if kept else {}
    return frozenset(test for test, outcome in tests.items() if outcome is TestOutcome.FAILED)


def _unconvincing(seen: frozenset[str], before: Heard) -> str:
    """Why failing without the fix shows nothing, or was not seen."""
    if before.vain:
        return f"without the fix, {before.vain}"
    if not before.failed:
        return "it passes without the fix, too, and so says nothing"
    return own_fault(before.output) or (
        "" if seen else "none of the tests that fail without the fix passes with it"
    )


def _said(path: str, check: Check, seen: frozenset[str]) -> str:
    count = f"{len(seen)} tests" if len(seen) > 1 else "a test"
    return f"{count} in {path} ({check.name}): failing without the fix, passing with it"


async def red(check: Check, path: str, content: str, run: Run, world: World) -> str:
    """Empty if a private test was seen to fail on the tip, twice, and not by its own fault; else
    why it does not count.

    What was seen of a tip once holds for good.
    """
    ground = await world.checks.ground(check)
    basis = msgspec.json.encode(
        (run.landing.tip, world.change.base, world.protected, check, ground, path, content)
    )
    key = f"red/{sha256(basis).hexdigest()}"
    if world.cache.get(key):
        return ""
    for _ in range(2):
        seen = await heard(check, path, [laid(path, content)], run, world)
        why = (
            seen.vain
            or ("" if seen.failed else "it passes while the finding stands")
            or own_fault(seen.output)
        )
        if why:
            return why
    world.cache.put(key, b"red")
    return ""
