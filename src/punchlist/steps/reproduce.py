"""reproduce: before an item is fixed, another agent writes a failing test that no fixer sees."""

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import PurePosixPath

from msgspec import Struct

from punchlist.model.checks.protected import Protected, matches_any
from punchlist.model.item.item import ACTIONABLE, Item, reading_order
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Reproduced
from punchlist.model.ledger.run import Run
from punchlist.ports.roles import Reproduction, Reproductions, RoleTask
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import Measure, measure_baseline
from punchlist.steps.judging.witness import confirm_red, per_test_checks
from punchlist.steps.support.project_context import load_background
from punchlist.steps.verb import Action, Verb, select_pending

_ENDING = re.compile(r"(?:_test\.go|\.(?:test|spec)\.\w+|_test\.\w+|_spec\.rb)$")
_PYTHON = ".py"


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`must-fix`: only for must-fix items. `width`: how many run in parallel."""

    must_fix: bool = True
    width: int = 4


class Reproduce(Struct, frozen=True):
    item: int
    label: str


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    """Return nothing without a reproducer, or without a check that can run its tests."""
    started = run.started
    wanted = _select_items(run, options)
    if not started.checks_allowed or "reproducer" not in started.crew or not wanted:
        return ()
    unmeasured = [check for check in started.checks if check.name not in run.checks.baselines]
    if unmeasured:
        return select_pending(
            run,
            *(
                Action(f"baseline {c.name}", Measure(c), f"{c.name} on the base")
                for c in unmeasured
            ),
        )
    if not per_test_checks(run):
        return ()
    who = started.crew["reproducer"][0]
    actions = (
        Action(
            f"item {item.number}",
            Reproduce(item.number, f"{place} reproducer {item.number}"),
            f"{who} reproduces {item.number}",
        )
        for item in wanted[: max(options.width, 1)]
    )
    return select_pending(run, *actions)


def _select_items(run: Run, options: Options) -> list[Item]:
    items = [
        item
        for item in run.find_items(*ACTIONABLE)
        if item.in_scope and item.number not in run.by_item.reproductions
    ]
    return sorted(
        (item for item in items if item.must_fix or not options.must_fix), key=reading_order
    )


async def reproduce_item(task: Reproduce, run: Run, world: World) -> Reproduced:
    """Ask for a test and run it on the tip; it counts only if it fails there."""
    began = world.clock()
    reproducer = world.crew.reproducer
    if reproducer is None:
        return Reproduced(item=task.item, why="no agent plays the reproducer any more")
    asked = RoleTask(
        label=task.label, items=(run.items[task.item],), told=await load_background(run, world)
    )
    async with world.trees.open_tree(
        run.landing.tip, apart=run.has_outside_agent("reproducer")
    ) as tree:
        said = await reproducer.reproduce(asked, tree)
        offered = _find_test(said, task.item)
        path = choose_path(offered, run.id, tree, world.protected) if offered else ""
    why = (
        said.failed
        or ("" if offered else "no test was written")
        or ("" if path else "its test is of a kind that no check here runs")
    )
    if not why and offered is not None:
        why = await _unseen_reason(path, offered.content, run, world)
    spent = said.usage + Usage(seconds=world.clock() - began)
    return Reproduced(
        item=task.item,
        path=path,
        content=offered.content if offered else "",
        red=not why,
        why=why or "seen to fail on the tip, twice",
        agent=said.agent,
        transcript=said.transcript,
        usage=spent,
    )


def _find_test(said: Reproductions, item: int) -> Reproduction | None:
    return next((test for test in said.tests if test.item == item and test.content.strip()), None)


async def _unseen_reason(path: str, content: str, run: Run, world: World) -> str:
    """Return why no check saw the test fail, or '' if one did."""
    why = "no check could run it"
    for check in per_test_checks(run):
        why = await confirm_red(check, path, content, run, world)
        if not why:
            return ""
    return why


def choose_path(offered: Reproduction, run_id: str, tree: Tree, protected: Protected) -> str:
    """Return a path where checks find tests, with a name that cannot be guessed; '' if no check
    runs it.
    """
    token = sha256(
        f"{run_id}/{offered.item}/{offered.content}".encode(errors="surrogateescape")
    ).hexdigest()[:16]
    place = PurePosixPath(offered.path.replace("\\", "/"))
    inside = not place.is_absolute() and ".." not in place.parts
    if place.suffix == _PYTHON:
        folder = (
            str(place.parent)
            if inside
            and matches_any(str(place), protected.tests)
            and _has_folder(tree, str(place.parent))
            else ""
        )
        return _join_path(folder or _find_folder(tree.files(), protected), f"test_{token}.py")
    ending = _ENDING.search(place.name)
    return _join_path(str(place.parent), f"p{token}{ending[0]}") if ending and inside else ""


def _has_folder(tree: Tree, folder: str) -> bool:
    return any(str(PurePosixPath(path).parent) == folder for path in tree.files())


def _find_folder(files: Sequence[str], protected: Protected) -> str:
    """Return the folder with the most tests."""
    names = (
        path
        for path in files
        if path.endswith(_PYTHON)
        and matches_any(path, protected.tests)
        and "test" in PurePosixPath(path).name
    )
    folders = Counter(str(PurePosixPath(path).parent) for path in names)
    return min(folders, key=lambda folder: (-folders[folder], folder)) if folders else "tests"


def _join_path(folder: str, name: str) -> str:
    return name if folder in ("", ".") else f"{folder}/{name}"


VERB = Verb(
    "private tests are written before the fixing",
    Options,
    step,
    {Measure: measure_baseline, Reproduce: reproduce_item},
)
