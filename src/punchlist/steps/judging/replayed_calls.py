"""Calls of tests made again outside of the runner, as one look at an agent's patch."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec import Struct

from punchlist.model.checks.check import Check
from punchlist.model.checks.protected import matches_any
from punchlist.model.integrity.intent import join_words
from punchlist.model.item.item import Item
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch
from punchlist.ports.compare import ReplayRequest, ReplayResult
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import failed_tests, judge_view, load_baseline
from punchlist.steps.judging.excused_tests import is_in_file
from punchlist.steps.judging.witness import per_test_checks
from punchlist.steps.support.wording import join_few

_FILES = 8
"""Test files whose calls are recorded."""
_PYTHON = ".py"


class ReplaySubject(Struct, frozen=True):
    """The patch to look at. `code` are its files that are not tests, `new_tests` those that are."""

    items: tuple[Item, ...]
    patch: Patch
    code: tuple[str, ...]
    new_tests: tuple[str, ...]
    asks_change: bool = False
    turned: frozenset[str] = frozenset()
    """Test files in which tests turned green with the patch."""


async def replay_patch(subject: ReplaySubject, run: Run, world: World) -> ReplayResult | None:
    """Return what the calls of the tests say of a patch; None if there is nothing to ask."""
    checks = per_test_checks(run)
    code = tuple(path for path in subject.code if path.endswith(_PYTHON))
    if world.comparer is None or not code or not checks:
        return None
    tests = Patch(
        splices=tuple(each for each in subject.patch.splices if each.path in subject.new_tests),
        files=tuple(each for each in subject.patch.files if each.path in subject.new_tests),
    )
    view = judge_view(world, subject.new_tests)
    async with (
        world.trees.open_tree(run.landing.tip, [tests], pristine=view) as before,
        world.trees.open_tree(run.landing.tip, [subject.patch], pristine=view) as after,
    ):
        spots = tuple((item.current.spot.path, item.current.spot.line) for item in subject.items)
        paths = (*code, *(path for path, _ in spots))
        files = _select_tests(after, paths, checks[0], subject, world)[:_FILES]
        if not files:
            return ReplayResult(unusable="no test speaks of it")
        request = ReplayRequest(
            check=checks[0],
            tests=tuple(files),
            paths=subject.code,
            spots=spots,
            words=join_words(subject.items),
            asks_change=subject.asks_change,
        )
        return await world.comparer.replay(before, after, request)


def _select_tests(
    tree: Tree, paths: Iterable[str], check: Check, subject: ReplaySubject, world: World
) -> list[str]:
    """Return the test files that name the module of one of the files, those first in which tests
    turned green; if there are none, files with red tests that name its package.
    """
    parts = [PurePosixPath(path.removesuffix(_PYTHON)) for path in paths]
    modules = {part.parent.name if part.name == "__init__" else part.name for part in parts}
    packages = {folder for part in parts for folder in part.parts[:-1]}
    tests = [
        path
        for path in tree.files()
        if path.endswith(_PYTHON) and matches_any(path, world.protected.tests)
    ]
    try:
        red = failed_tests(load_baseline(check, world))
    except FileNotFoundError:
        red = frozenset()
    turning = {path for path in tests if any(is_in_file(test, path) for test in red)}
    first = subject.turned.union(subject.new_tests)
    near = [path for path in tests if path in first or _names_any(tree, path, modules)]
    near = near or [path for path in tests if path in turning and _names_any(tree, path, packages)]
    return sorted(near, key=lambda path: (path not in first, path not in turning, path))


def _names_any(tree: Tree, path: str, names: set[str]) -> bool:
    pattern = rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b"
    return bool(names) and re.search(pattern, tree.text(path) or "") is not None


def describe_replay(said: ReplayResult) -> str:
    """Return what is said beside the proofs of a patch that the calls do not refute."""
    if said.unusable:
        return f"its calls could not be made again outside of the tests: {said.unusable}"
    if not said.functions:
        why = "the code answers differently from one time to the next"
        return f"its calls, made again outside of the tests, say nothing: {why}"
    times = f"{said.calls} call{'s' if said.calls > 1 else ''} of {join_few(said.functions)}"
    return f"answers the same outside of the tests ({times})"
