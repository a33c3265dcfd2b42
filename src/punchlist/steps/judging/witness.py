"""Tests as witnesses: runs a single test file in a tree and judges its result."""

import re
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.check import Check, CheckKind, CheckResult, TestOutcome
from punchlist.model.item.proof import FileTests, Proof, ProofClass
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import FileChange, Patch
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import allowed_checks, failed_tests, judge_view, load_baseline
from punchlist.steps.judging.excused_tests import is_in_file

_TELLING = frozenset({CheckKind.PYTEST, CheckKind.UNITTEST, CheckKind.JUNIT})
_ERROR = re.compile(
    r"^(?:E\s+)?((?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Exit|Warning|Failed|Interrupt))\b(?::|$)"
    r"|^E\s+(assert\b|fixture ')",
    re.MULTILINE,
)
_OWN_FAULT = frozenset(
    {
        *("ImportError", "ModuleNotFoundError", "NameError"),
        *("SyntaxError", "IndentationError", "TabError", "fixture '"),
    }
)
"""Errors of a test itself; they do not tell whether the code is wrong."""
_UNTOLD = "no check that tells what became of each test can be run"


class WitnessRun(Struct, frozen=True):
    """Result of the tests of one file. `vain` is why it proves nothing."""

    tests: dict[str, TestOutcome] = {}
    vain: str = ""
    output: str = ""
    failures: dict[str, str] = {}
    blind: bool = False
    """Whether a test passed that must fail."""

    @property
    def failed(self) -> frozenset[str]:
        return self._tests_with(TestOutcome.FAILED)

    @property
    def passed(self) -> frozenset[str]:
        return self._tests_with(TestOutcome.PASSED)

    def _tests_with(self, wanted: TestOutcome) -> frozenset[str]:
        return frozenset(test for test, outcome in self.tests.items() if outcome is wanted)


class TurnedTests(Struct, frozen=True):
    """Tests of one file that were red before a fix and are green with it. `extra` brings the file,
    if it is neither in the tree nor in the fix.
    """

    check: Check
    path: str
    tests: frozenset[str]
    extra: Patch = Patch()


class Witness(Struct, frozen=True):
    """A proof by a fixer's own test, or why it is none."""

    proof: Proof | None = None
    turned: TurnedTests | None = None
    noted: str = ""
    bad: str = ""
    """Why the file is not seen to pass with the fix in, if it is not."""
    vacuous: bool = False
    """All of it passes without the fix, too."""
    runs: int = 0


def per_test_checks(run: Run) -> tuple[Check, ...]:
    """Return the checks that report each test and were seen to notice a planted failure, also
    those in which no test passed on the base: a test that turns green in them counts.
    """
    baselines = run.checks.baselines
    noticing = {name for name, seen in baselines.items() if not seen.unusable or seen.judges}
    return tuple(
        check for check in allowed_checks(run) if check.kind in _TELLING and check.name in noticing
    )


async def run_test_file(
    check: Check, path: str, patches: Sequence[Patch], run: Run, world: World
) -> WitnessRun:
    """Run one test file on the patched tip; other protected files are the base's."""
    return await run_with_copies(check, (path,), patches, run, world)


async def run_with_copies(
    check: Check, paths: tuple[str, ...], patches: Sequence[Patch], run: Run, world: World
) -> WitnessRun:
    """Run one test file, and after it copies of it that must fail."""
    path, *copies = paths
    opened = {path, *(each for patch in patches for each in patch.paths)}
    async with world.trees.open_tree(
        run.landing.tip, patches, pristine=judge_view(world, opened)
    ) as tree:
        result = await world.checks.run(check, tree, only=paths)
    passed = result.find_tests(TestOutcome.PASSED)
    blind = any(is_in_file(test, copy) for copy in copies for test in passed)
    return replace(_read_result(result, path), blind=blind)


def _read_result(result: CheckResult, path: str) -> WitnessRun:
    ran: dict[str, TestOutcome] = {
        test: outcome
        for test, outcome in result.tests.items()
        if test != path and is_in_file(test, path) and outcome is not TestOutcome.SKIPPED
    }
    vain = ""
    if result.tests.get(path) is TestOutcome.FAILED:
        vain = "it cannot be collected"
    elif not ran:
        vain = result.trouble or "none of its tests ran"
    elif TestOutcome.FAILED not in ran.values():
        vain = result.trouble  # with failing tests it is a red run that ended badly
    return WitnessRun({} if vain else ran, vain, result.output, result.failures)


def own_error_reason(output: str) -> str:
    """Return why the test itself is broken (import error, syntax error, missing fixture), or ''."""
    errors = [name.rpartition(".")[2] or word for name, word in _ERROR.findall(output)]
    if not errors or not set(errors) <= _OWN_FAULT:
        return ""
    return f"it fails by itself ({errors[0].rstrip(chr(39)).strip()})"


def make_file_patch(path: str, content: str) -> Patch:
    """Return a patch that writes one file."""
    raw = content.encode("utf-8", "surrogateescape")
    return Patch(files=(FileChange(path, raw.decode("latin-1")),))


def select_paths(patch: Patch, paths: Collection[str]) -> Patch:
    """Return the part of a patch that is about these files."""
    return Patch(
        splices=tuple(splice for splice in patch.splices if splice.path in paths),
        files=tuple(change for change in patch.files if change.path in paths),
    )


async def run_witness(
    path: str, patch: Patch, new_tests: Sequence[str], run: Run, world: World
) -> Witness:
    """Return the result of the first check that can run the file."""
    found = Witness(noted=f"{path} is no witness: {_UNTOLD}", bad=_UNTOLD)
    runs = 0
    patches = (patch, select_paths(patch, new_tests))
    for check in per_test_checks(run):
        found = await _try_witness(check, path, patches, run, world)
        runs += found.runs
        if not found.bad:
            break
    return replace(found, runs=runs)


async def _try_witness(
    check: Check, path: str, patches: tuple[Patch, Patch], run: Run, world: World
) -> Witness:
    """The test must pass with the fix, and fail twice without it."""
    patch, tests = patches
    after = await run_test_file(check, path, [patch], run, world)
    if bad := _failure_reason(after, _failed_on_base(check, world)):
        return Witness(noted=f"{path} is no witness: {bad}", bad=bad, runs=1)
    before = await run_test_file(check, path, [tests], run, world)
    seen = before.failed & after.passed
    if why := _doubt_reason(seen, before):
        vacuous = not before.vain and not before.failed
        return Witness(noted=f"{path} is no witness: {why}", vacuous=vacuous, runs=2)
    again = await run_test_file(check, path, [tests], run, world)
    if seen <= again.failed:
        said, turned = _describe_proof(path, check, seen), (FileTests(path, tuple(sorted(seen))),)
        proof = Proof(ProofClass.WITNESSED, said, check=check.name, tests=turned)
        return Witness(proof, TurnedTests(check, path, seen), runs=3)
    why = "it failed without the fix once, and then passed"
    return Witness(noted=f"{path} is no witness: {why}", runs=3)


def _failure_reason(after: WitnessRun, known: frozenset[str]) -> str:
    if after.vain:
        return f"with the fix, {after.vain}"
    failed = after.failed - known
    return f"it fails with the fix: {min(failed)}" if failed else ""


def _failed_on_base(check: Check, world: World) -> frozenset[str]:
    """Return the tests that were red on the base."""
    try:
        return failed_tests(load_baseline(check, world))
    except FileNotFoundError:
        return frozenset()


def _doubt_reason(seen: frozenset[str], before: WitnessRun) -> str:
    """Return why the failure without the fix proves nothing or was not seen, or ''."""
    if before.vain:
        return f"without the fix, {before.vain}"
    if not before.failed:
        return "it passes without the fix, too, and so says nothing"
    why = "" if seen else "none of the tests that fail without the fix passes with it"
    return own_error_reason(before.output) or why


def _describe_proof(path: str, check: Check, seen: frozenset[str]) -> str:
    count = f"{len(seen)} tests" if len(seen) > 1 else "a test"
    return f"{count} in {path} ({check.name}): failing without the fix, passing with it"


async def confirm_red(check: Check, path: str, content: str, run: Run, world: World) -> str:
    """Return '' if a private test fails twice on the tip, not by an error of its own, else why not.

    A positive result is cached.
    """
    ground = await world.checks.hash_environment(check)
    commits = (run.landing.tip, world.change.base)
    basis = msgspec.json.encode((*commits, world.protected, check, ground, path, content))
    key = f"red/{sha256(basis).hexdigest()}"
    if world.cache.get(key):
        return ""
    for _ in range(2):
        seen = await run_test_file(check, path, [make_file_patch(path, content)], run, world)
        passes = "" if seen.failed else "it passes while the finding stands"
        if why := seen.vain or passes or own_error_reason(seen.output):
            return why
    world.cache.put(key, b"red")
    return ""


def drop_witnesses(
    proofs: Mapping[int, tuple[Proof, ...]], items: Collection[int]
) -> dict[int, tuple[Proof, ...]]:
    """Return the proofs without those of which a test of project or fixer is the witness."""
    left = {
        item: tuple(
            proof for proof in known if item not in items or proof.kind is not ProofClass.WITNESSED
        )
        for item, known in proofs.items()
    }
    return {item: known for item, known in left.items() if known}
