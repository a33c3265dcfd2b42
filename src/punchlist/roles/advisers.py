"""Those who read and write nothing before a fix: the clarifier, the planner, and the reproducer with its private tests."""

from punchlist.ports.agent import Ask
from punchlist.ports.crew import Doubts, Plans, Reproduction, Reproductions, Task
from punchlist.ports.tree import Tree
from punchlist.roles import brief, schemas
from punchlist.roles.asking import Seat, heard
from punchlist.roles.plans import Asked, Planned, Written, asked_in, planned_in, written_in
from punchlist.roles.prompt import Rendered, rendered
from punchlist.roles.schemas import Schema


class AgentClarifier:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def clarify(self, task: Task, tree: Tree) -> Doubts:
        prompt = _prompt(task, self._seat, history=True)
        ask = _ask(task, self._seat, prompt, tree, schemas.QUESTIONS)
        numbers = frozenset(item.number for item in task.items)
        answer = await heard(self._seat, ask, lambda text: asked_in(text, numbers, task.doubts))
        said = answer.reading or Asked()
        return Doubts(**answer.about, cut=prompt.cut, doubts=said.doubts, ready=said.ready and not answer.failed)


class AgentPlanner:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def plan(self, task: Task, tree: Tree) -> Plans:
        prompt = _prompt(task, self._seat, history=True)
        ask = _ask(task, self._seat, prompt, tree, schemas.TODOS)
        numbers = frozenset(item.number for item in task.items)
        answer = await heard(self._seat, ask, lambda text: planned_in(text, numbers, str(tree.root)))
        said = answer.reading or Planned()
        return Plans(**answer.about, cut=prompt.cut, todos=said.todos, after=said.after)


class AgentReproducer:
    """Never sees a fix, nor what was tried: its test is about the fault alone."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def reproduce(self, task: Task, tree: Tree) -> Reproductions:
        prompt = _prompt(task, self._seat, history=False)
        ask = _ask(task, self._seat, prompt, tree, schemas.TESTS)
        numbers = frozenset(item.number for item in task.items)
        answer = await heard(self._seat, ask, lambda text: written_in(text, numbers, str(tree.root)))
        said = answer.reading or Written()
        tests = tuple(Reproduction(item, path, content) for item, path, content in said.tests)
        return Reproductions(**answer.about, cut=(*prompt.cut, *said.odd), tests=tests)


def _ask(task: Task, seat: Seat, prompt: Rendered, tree: Tree, schema: Schema) -> Ask:
    return Ask(
        role=seat.role,
        label=task.label,
        prompt=prompt.text,
        folder=tree.root,
        schema=schema,
        session=task.session,
        fork=task.fork,
    )


def _prompt(task: Task, seat: Seat, *, history: bool) -> Rendered:
    told = task.told
    sections = [
        brief.items(task.items, seat.limit, history=history),
        brief.answers(task.doubts, 0.1),
        brief.change_near(told, task.items, 0.2),
        brief.files("conventions", told.conventions, 0.1),
        brief.files("specification", told.specification, 0.1),
    ]
    return rendered(seat.prompt, brief.values(told), sections, seat.limit)
