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
from punchlist.steps.judging.baseline import Measure, measure_baseline, unmeasured_checks
from punchlist.steps.judging.witness import confirm_red, per_test_checks
from punchlist.steps.support.project_context import load_background, open_tip
from punchlist.steps.verb import Action, Verb, VerbOptions, select_pending

_ENDING = re.compile(r"(?:_test\.go|\.(?:test|spec)\.\w+|_test\.\w+|_spec\.rb)$")
_PYTHON = ".py"


class Options(VerbOptions, frozen=True):
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
    if unmeasured := unmeasured_checks(run):
        return select_pending(run, *unmeasured)
    if not per_test_checks(run):
        return ()
    who = started.crew["reproducer"][0]
    tasks = [
        Reproduce(item.number, f"{place} reproducer {item.number}")
        for item in wanted[: max(options.width, 1)]
    ]
    actions = [
        Action(f"item {task.item}", task, f"{who} reproduces {task.item}", role="reproducer")
        for task in tasks
    ]
    return select_pending(run, *actions)


def _select_items(run: Run, options: Options) -> list[Item]:
    items = [
        item
        for item in run.find_items(*ACTIONABLE)
        if item.in_scope
        and item.number not in run.by_item.reproductions
        and (item.must_fix or not options.must_fix)
    ]
    return sorted(items, key=reading_order)


async def reproduce_item(task: Reproduce, run: Run, world: World) -> Reproduced:
    """Ask for a test and run it on the tip; it counts only if it fails there."""
    began = world.clock()
    reproducer = world.crew.reproducer
    if reproducer is None:
        return Reproduced(item=task.item, why="no agent plays the reproducer any more")
    background = await load_background(run, world)
    asked = RoleTask(label=task.label, items=(run.items[task.item],), told=background)
    async with open_tip("reproducer", run, world) as tree:
        said = await reproducer.reproduce(asked, tree)
        offered = _find_test(said, task.item)
        path = choose_path(offered, run.id, tree, world.protected) if offered else ""
    why = said.failed
    if not why and offered is None:
        why = "no test was written"
    elif not why and not path:
        why = "its test is of a kind that no check here runs"
    elif not why and offered is not None:
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
    token = _make_token(run_id, offered.item, offered.content)
    place = PurePosixPath(offered.path.replace("\\", "/"))
    folder = str(place.parent)
    inside = not place.is_absolute() and ".." not in place.parts
    if place.suffix == _PYTHON:
        fits = inside and matches_any(str(place), protected.tests) and _has_folder(tree, folder)
        folder = folder if fits else _find_folder(tree.files(), protected)
        return _join_path(folder, f"test_{token}.py")
    ending = _ENDING.search(place.name)
    return _join_path(folder, f"p{token}{ending[0]}") if ending and inside else ""


def _make_token(run_id: str, item: int, content: str) -> str:
    basis = f"{run_id}/{item}/{content}".encode(errors="surrogateescape")
    return sha256(basis).hexdigest()[:16]


def is_private_path(test: Reproduced, run_id: str) -> bool:
    """Return whether a recorded private test has the name that `choose_path` gives it, inside the
    tree; another might be a file that a test runner loads by itself.
    """
    place, token = PurePosixPath(test.path), _make_token(run_id, test.item, test.content)
    inside = not place.is_absolute() and ".." not in place.parts and ".git" not in place.parts
    named = place.name == f"test_{token}.py" or (
        place.name.startswith(f"p{token}") and bool(_ENDING.search(place.name))
    )
    return inside and named and "\\" not in test.path


def _has_folder(tree: Tree, folder: str) -> bool:
    return any(str(PurePosixPath(path).parent) == folder for path in tree.files())


def _find_folder(files: Sequence[str], protected: Protected) -> str:
    """Return the folder with the most tests."""
    tests = [
        path for path in files if path.endswith(_PYTHON) and matches_any(path, protected.tests)
    ]
    places = [PurePosixPath(path) for path in tests]
    folders = Counter(str(place.parent) for place in places if "test" in place.name)
    return min(folders, key=lambda folder: (-folders[folder], folder)) if folders else "tests"


def _join_path(folder: str, name: str) -> str:
    return name if folder in ("", ".") else f"{folder}/{name}"


VERB = Verb(
    "private tests are written before the fixing",
    Options,
    step,
    {Measure: measure_baseline, Reproduce: reproduce_item},
    announced=True,
    portable=frozenset({Reproduce}),
)
