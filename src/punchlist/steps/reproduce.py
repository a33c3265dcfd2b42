"""reproduce: before anybody fixes an item, somebody else writes a test that fails because of it; no
fixer ever sees it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import PurePosixPath

from msgspec import Struct

from punchlist.model.checks.protected import Protected, matches
from punchlist.model.item.item import ACTIONABLE, Item, reading_order
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Reproduced
from punchlist.model.ledger.run import Run
from punchlist.ports.roles import Reproduction, Reproductions, Task
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import Measure, measure
from punchlist.steps.judging.witness import red, telling
from punchlist.steps.support.project_context import background
from punchlist.steps.verb import Action, Verb, missing

_ENDING = re.compile(r"(?:_test\.go|\.(?:test|spec)\.\w+|_test\.\w+|_spec\.rb)$")
_PYTHON = ".py"


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`must-fix`: only for items that must be fixed. `width`: how many are asked
    for side by side.
    """

    must_fix: bool = True
    width: int = 4


class Reproduce(Struct, frozen=True):
    item: int
    label: str


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    """Nothing without somebody to ask, or without a check that could run what they write."""
    started = run.started
    wanted = _wanted(run, options)
    if not started.checks_allowed or "reproducer" not in started.crew or not wanted:
        return ()
    unmeasured = [check for check in started.checks if check.name not in run.checks.baselines]
    if unmeasured:
        return missing(
            run,
            *(
                Action(f"baseline {c.name}", Measure(c), f"{c.name} on the base")
                for c in unmeasured
            ),
        )
    if not telling(run):
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
    return missing(run, *actions)


def _wanted(run: Run, options: Options) -> list[Item]:
    items = [
        item
        for item in run.having(*ACTIONABLE)
        if item.in_scope and item.number not in run.by_item.reproductions
    ]
    return sorted(
        (item for item in items if item.must_fix or not options.must_fix), key=reading_order
    )


async def reproduce(task: Reproduce, run: Run, world: World) -> Reproduced:
    """What counts is what we saw when we ran it ourselves, on the tip."""
    began = world.clock()
    reproducer = world.crew.reproducer
    if reproducer is None:
        return Reproduced(item=task.item, why="no agent plays the reproducer any more")
    asked = Task(label=task.label, items=(run.items[task.item],), told=await background(run, world))
    async with world.trees.at(run.landing.tip, apart=run.outside("reproducer")) as tree:
        said = await reproducer.reproduce(asked, tree)
        offered = _offered(said, task.item)
        path = private_path(offered, run.id, tree, world.protected) if offered else ""
    why = (
        said.failed
        or ("" if offered else "no test was written")
        or ("" if path else "its test is of a kind that no check here runs")
    )
    if not why and offered is not None:
        why = await _unseen(path, offered.content, run, world)
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


def _offered(said: Reproductions, item: int) -> Reproduction | None:
    return next((test for test in said.tests if test.item == item and test.content.strip()), None)


async def _unseen(path: str, content: str, run: Run, world: World) -> str:
    """Why no check saw the test fail, or an empty string if one did."""
    why = "no check could run it"
    for check in telling(run):
        why = await red(check, path, content, run, world)
        if not why:
            return ""
    return why


def private_path(offered: Reproduction, run_id: str, tree: Tree, protected: Protected) -> str:
    """A place where checks look for tests, under a name that nobody who has not seen the test can
    guess.
    """
    token = sha256(
        f"{run_id}/{offered.item}/{offered.content}".encode(errors="surrogateescape")
    ).hexdigest()[:16]
    place = PurePosixPath(offered.path.replace("\\", "/"))
    inside = not place.is_absolute() and ".." not in place.parts
    if place.suffix == _PYTHON:
        folder = (
            str(place.parent)
            if inside and matches(str(place), protected.tests) and _has(tree, str(place.parent))
            else ""
        )
        return _joined(folder or _test_folder(tree.files(), protected), f"test_{token}.py")
    ending = _ENDING.search(place.name)
    return _joined(str(place.parent), f"p{token}{ending[0]}") if ending and inside else ""


def _has(tree: Tree, folder: str) -> bool:
    return any(str(PurePosixPath(path).parent) == folder for path in tree.files())


def _test_folder(files: Sequence[str], protected: Protected) -> str:
    """The folder that most of the tests are in."""
    names = (
        path
        for path in files
        if path.endswith(_PYTHON)
        and matches(path, protected.tests)
        and "test" in PurePosixPath(path).name
    )
    folders = Counter(str(PurePosixPath(path).parent) for path in names)
    return min(folders, key=lambda folder: (-folders[folder], folder)) if folders else "tests"


def _joined(folder: str, name: str) -> str:
    return name if folder in ("", ".") else f"{folder}/{name}"


VERB = Verb(
    "private tests are written before the fixing",
    Options,
    step,
    {Measure: measure, Reproduce: reproduce},
)
