"""What a run waits to be told, as a panel in which it is told: questions of agents, and choices
that only a person makes.
"""

from msgspec import Struct

from punchlist.model.ledger.events import Planned
from punchlist.model.ledger.run import Run
from punchlist.views.issue_text import place
from punchlist.views.plan_forms import code

FIELD = "answer-"
"""What the names of the fields begin with in which answers come back."""


class Asked(Struct, frozen=True, kw_only=True):
    """One question of an agent, about one item."""

    id: str
    question: str
    context: str
    number: int
    code: str
    title: str
    where: str
    answer: str = ""
    by: str = ""

    @property
    def field(self) -> str:
        return f"{FIELD}{self.id}"


class Choice(Struct, frozen=True):
    key: str
    text: str


class Intended(Struct, frozen=True, kw_only=True):
    """What the plan says of one item."""

    number: int
    code: str
    title: str
    approach: str
    steps: tuple[str, ...]
    files: tuple[str, ...]


class Panel(Struct, frozen=True, kw_only=True):
    """`question` has choices; `open` are questions that are answered in words. `plan` is the plan,
    where that is asked about.
    """

    question: str
    choices: tuple[Choice, ...]
    open: tuple[Asked, ...]
    answered: tuple[Asked, ...]
    plan: tuple[Intended, ...] = ()

    @property
    def waits(self) -> bool:
        return bool(self.question or self.open)


def panel(run: Run) -> Panel:
    question = run.waiting_for
    asked = [_asked(run, name) for name in run.asking.doubts]
    return Panel(
        question=question.question if question else "",
        choices=tuple(Choice(key, text) for key, text in question.choices.items())
        if question
        else (),
        open=tuple(each for each in asked if not each.answer),
        answered=tuple(each for each in asked if each.answer),
        plan=_plan(run) if question else (),
    )


def answers(form: dict[str, str]) -> dict[str, str]:
    """What was written into the fields, by the questions' ids; a field that was left empty leaves
    its question open.
    """
    given = {
        name.removeprefix(FIELD): text.strip()
        for name, text in form.items()
        if name.startswith(FIELD)
    }
    return {name: text for name, text in given.items() if text}


def _asked(run: Run, name: str) -> Asked:
    doubt = run.asking.doubts[name]
    item = run.items.get(doubt.item)
    return Asked(
        id=doubt.id,
        question=doubt.question,
        context=doubt.context,
        number=doubt.item,
        code=code(doubt.item),
        title=item.lead.title if item else "",
        where=place(item.lead) if item else "",
        answer=doubt.answer,
        by=doubt.by,
    )


def _plan(run: Run) -> tuple[Intended, ...]:
    arranged = run.position.here.get("batches")
    if not isinstance(arranged, Planned):
        return ()
    numbers = dict.fromkeys(
        number for batch in arranged.batches if batch.by_agent for number in batch.items
    )
    return tuple(_intended(run, number) for number in numbers if number in run.items)


def _intended(run: Run, number: int) -> Intended:
    todo = run.by_item.todos.get(number)
    return Intended(
        number=number,
        code=code(number),
        title=run.items[number].lead.title,
        approach=todo.approach if todo else "",
        steps=todo.steps if todo else (),
        files=todo.files if todo else (),
    )
