"""Puts the finding's own file back and keeps the rest of a patch: is the cure elsewhere?"""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from punchlist.model.finding.python_source import parse_python
from punchlist.model.item.item import Item
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch
from punchlist.ports.world import World
from punchlist.steps.judging.patch_text_scan import PROSE
from punchlist.steps.judging.witness import TurnedTests, run_test_file, select_paths
from punchlist.steps.support.wording import join_few

_MOST = 300
"""Files that are read to find out what the finding's file imports."""


class Ablation(Struct, frozen=True):
    """A patch with the items that it cures, the tests it adds, and by item the tests that turned
    green with it.
    """

    items: tuple[Item, ...]
    patch: Patch
    new_tests: tuple[str, ...]
    turned: dict[int, tuple[TurnedTests, ...]]

    def list_code(self, own: str) -> list[str]:
        """Return the other files of the patch that could hold a cure."""
        others = (path for path in self.patch.paths if path != own and path not in self.new_tests)
        return [path for path in others if not path.endswith(PROSE)]


class AblationResult(Struct, frozen=True):
    """`refuted`: why the cure does not count. `elsewhere`: items whose turned tests do not need the
    change of their own file, in words.
    """

    refuted: str = ""
    elsewhere: dict[int, str] = {}
    runs: int = 0


async def ablate_patch(task: Ablation, run: Run, world: World) -> AblationResult:
    """Run each item's turned tests without the change of its own file. Without such a change, or
    without another, there is nothing to find out.
    """
    subjects = {item.current.spot.path for item in task.items}
    elsewhere: dict[int, str] = {}
    runs = 0
    for item in task.items:
        own, tests = item.current.spot.path, task.turned.get(item.number, ())
        code = task.list_code(own)
        if not tests or not code or own not in task.patch.paths:
            continue
        runs += len(tests)
        kept = select_paths(task.patch, {*task.patch.paths} - {own})
        if not await _stay_green(tests, kept, run, world):
            continue
        said = f"with {own} as it was before the fix, {_name_tests(tests)} would be green, too"
        beside = [path for path in code if path not in subjects]
        if strange := await _find_strange(own, beside, run, world):
            why = f"the cure is not where the finding is, but in {join_few(strange)}"
            return AblationResult(f"{said}: {why}", runs=runs)
        elsewhere[item.number] = f"{said}: the cure is in {join_few(code)}"
    return AblationResult(elsewhere=elsewhere, runs=runs)


def _name_tests(turned: Sequence[TurnedTests]) -> str:
    """Return the tests in words; the fixer, which reads them, must not know private ones."""
    shown = sorted({test for each in turned if not each.extra.paths for test in each.tests})
    return join_few(shown) or "a private test"


async def _stay_green(turned: Sequence[TurnedTests], kept: Patch, run: Run, world: World) -> bool:
    """Return whether all of these tests pass with the kept part of the patch."""
    for each in turned:
        patches = [kept, each.extra] if each.extra.paths else [kept]
        now = await run_test_file(each.check, each.path, patches, run, world)
        if not each.tests <= now.passed:
            return False
    return True


async def _find_strange(own: str, paths: Sequence[str], run: Run, world: World) -> list[str]:
    """Return the files that the finding's file does not import, also through others, before the
    fix.
    """
    async with world.trees.open_tree(run.landing.tip) as tree:
        files = [path for path in tree.files() if path.endswith(".py")]
        known = find_imported(own, files, lambda path: tree.text(path) or "")
    return [path for path in paths if path not in known]


def find_imported(start: str, files: Sequence[str], read: Callable[[str], str]) -> frozenset[str]:
    """Return the files of a tree that a Python file imports, also through others."""
    names: dict[str, list[str]] = {}
    for path in files:
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        for at in range(len(parts)):
            names.setdefault(".".join(parts[at:]), []).append(path)
    found: dict[str, None] = {start: None}
    for path in _grow_along(found):
        for choices in _list_imports(read(path)):
            files_of = next((names[name] for name in choices if name in names), [])
            found |= dict.fromkeys(files_of)
    return frozenset(found) - {start}


def _grow_along(found: Mapping[str, None]) -> Iterator[str]:
    """Yield the keys of a mapping that grows meanwhile, at most _MOST."""
    for at in range(_MOST):
        if at >= len(found):
            return
        yield list(found)[at]


def _list_imports(text: str) -> Iterator[tuple[str, ...]]:
    """Yield each import as the names that it may mean, the longest first."""
    tree = parse_python(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            yield from ((each.name,) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            for each in node.names:
                full = f"{module}.{each.name}" if module else each.name
                yield (full, module) if module else (full,)
