"""Forms of the plan files: the order of work in steps, and one sheet per item."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from punchlist.model.item.batch import Batch
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Item
from punchlist.model.item.todo import Approach, Related, Todo
from punchlist.model.ledger.run import Run

MASTER = "master_todo.json"
_FIXER = "fixer-single"


def item_code(number: int) -> str:
    """Return an item's name for agents and in files."""
    return f"F{number:03}"


def issue_code(run: Run, number: int) -> str:
    """Return the code of an item as the client that chose it has it, else punchlist's (F007)."""
    own = run.items[number].lead.issue_code if run.started.issue_ids else ""
    return own or item_code(number)


def issue_id(run: Run, number: int) -> str:
    """Return the id of an item as the client that chose it has it, else its fingerprint."""
    item = run.items[number]
    return item.lead.label if run.started.issue_ids else item.fingerprint


def sheet_name(code: str) -> str:
    return f"fix_todo_{code}.json"


class Blueprint(Struct, frozen=True, kw_only=True):
    """What the files are made from and read against. `folder`: where they are written."""

    run: str
    branch: str
    folder: str
    batches: tuple[Batch, ...]
    items: Mapping[int, Item]
    todos: Mapping[int, Todo] = {}
    doubts: tuple[Doubt, ...] = ()
    after: Mapping[int, tuple[int, ...]] = {}
    """By batch: those whose work must be done before it begins."""
    codes: Mapping[int, str] = {}
    ids: Mapping[int, str] = {}
    """By item: its code and id as the client that chose it has them, else punchlist's."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The items that are planned, in the order of their batches."""
        numbers = dict.fromkeys(number for batch in self.batches for number in batch.items)
        return tuple(number for number in numbers if number in self.items)

    def todo(self, number: int) -> Todo:
        return self.todos.get(number) or Todo(item=number)


def make_blueprint(
    run: Run,
    batches: Iterable[Batch],
    folder: str = "",
    after: Mapping[int, tuple[int, ...]] | None = None,
) -> Blueprint:
    """Collect what a run knows of the items in these batches."""
    known = tuple(batches)
    numbers = dict.fromkeys(n for batch in known for n in batch.items if n in run.items)
    return Blueprint(
        run=run.id,
        branch=run.landing.branch,
        folder=folder,
        batches=known,
        items=run.items,
        todos=run.by_item.todos,
        doubts=tuple(run.asking.doubts.values()),
        after=after or {},
        codes={number: issue_code(run, number) for number in numbers},
        ids={number: issue_id(run, number) for number in numbers},
    )


class Issue(Struct, frozen=True):
    code: str
    todo_file: str = ""
    agent_type: str = _FIXER


class Step(Struct, frozen=True):
    step: int
    reason: str = ""
    issues: tuple[Issue, ...] = ()


class Total(Struct, frozen=True):
    total_issues: int = 0
    total_steps: int = 0


class Master(Struct, frozen=True):
    """master_todo.json. Issues of one step run in parallel, after the step before it."""

    session_id: str = ""
    branch_name: str = ""
    execution_steps: tuple[Step, ...] = ()
    summary: Total = Total()


class Clarification(Struct, frozen=True):
    question_id: str
    question: str = ""
    answer: str = ""
    context: str = ""


class Surroundings(Struct, frozen=True):
    file_content_snippet: str = ""
    related_files: tuple[Related, ...] = ()
    existing_patterns: tuple[str, ...] = ()


class Way(Struct, frozen=True):
    approach: Approach = Approach.PATCH
    steps: tuple[str, ...] = ()
    estimated_lines_changed: int = 0
    risks: tuple[str, ...] = ()
    verification: str = ""


class Sheet(Struct, frozen=True):
    """fix_todo_F001.json. The first five say which item it is about, and are not read back."""

    issue_code: str
    issue_id: str = ""
    file: str = ""
    line: int | None = None
    title: str = ""
    clarifications: tuple[Clarification, ...] = ()
    context: Surroundings = Surroundings()
    plan: Way = Way()


def assign_steps(plan: Blueprint) -> dict[int, int]:
    """Return each item's step: after earlier items that share a file, and batches it waits for."""
    batch_of = {number: batch.number for batch in plan.batches for number in batch.items}
    known: dict[int, int] = {}
    last_of_file: dict[str, int] = {}
    last_of_batch: dict[int, int] = {}
    for number in plan.numbers:
        files, batch = find_touched(plan, number), batch_of[number]
        before = [last_of_file.get(path, 0) for path in files]
        before += [last_of_batch.get(other, 0) for other in plan.after.get(batch, ())]
        known[number] = max(before, default=0) + 1
        last_of_file |= dict.fromkeys(files, known[number])
        last_of_batch[batch] = max(known[number], last_of_batch.get(batch, 0))
    return known


def find_touched(plan: Blueprint, number: int) -> tuple[str, ...]:
    """Return the files an item's fix will touch: its location, and those of its plan."""
    files = (plan.items[number].current.spot.path, *plan.todo(number).files)
    return tuple(dict.fromkeys(path for path in files if path))


def make_master(plan: Blueprint) -> Master:
    known = assign_steps(plan)
    numbers = range(1, max(known.values(), default=0) + 1)
    drawn = tuple(
        _make_step(plan, each, [number for number, step in known.items() if step == each], known)
        for each in numbers
    )
    return Master(plan.run, plan.branch, drawn, Total(len(known), len(drawn)))


def _make_step(
    plan: Blueprint, step: int, numbers: Sequence[int], known: Mapping[int, int]
) -> Step:
    folder = PurePosixPath(plan.folder)
    codes = (plan.codes[number] for number in numbers)
    issues = tuple(Issue(code, str(folder / sheet_name(code))) for code in codes)
    return Step(step, _step_reason(plan, step, numbers, known), issues)


def _step_reason(
    plan: Blueprint, step: int, numbers: Sequence[int], known: Mapping[int, int]
) -> str:
    if step == 1 and len(numbers) > 1:
        return "Issues on different files - can run in parallel"
    if step == 1:
        return "Nothing has to be done before it"
    earlier = {
        path for number, each in known.items() if each < step for path in find_touched(plan, number)
    }
    shared = sorted({path for number in numbers for path in find_touched(plan, number)} & earlier)
    if not shared:
        return f"The plan wants it so - must run after step {step - 1}"
    files = ", ".join(shared[:3]) + (f" and {len(shared) - 3} more" if len(shared) > 3 else "")
    return f"Issues on same file ({files}) - must run after step {step - 1}"


def make_sheet(plan: Blueprint, number: int) -> Sheet:
    """Return an item's sheet before the user edits it."""
    item, todo = plan.items[number], plan.todo(number)
    found = item.current
    return Sheet(
        issue_code=plan.codes[number],
        issue_id=plan.ids[number],
        file=found.spot.path,
        line=found.spot.line,
        title=found.title,
        clarifications=tuple(
            Clarification(doubt.id, doubt.question, doubt.answer, doubt.context)
            for doubt in plan.doubts
            if doubt.item == number
        ),
        context=Surroundings(todo.snippet or found.code, todo.related, todo.patterns),
        plan=Way(todo.approach, todo.steps, todo.lines_changed, todo.risks, todo.verification),
    )
