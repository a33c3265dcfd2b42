"""The panel with open questions: those of agents, and choices for the user."""

from msgspec import Struct

from punchlist.model.item.doubt import Doubt
from punchlist.model.item.todo import Todo
from punchlist.model.ledger.events import Planned
from punchlist.model.ledger.run import Run
from punchlist.views.issue_text import format_place
from punchlist.views.plans.plan_forms import issue_code

FIELD = "answer-"
"""Beginning of the names of form fields with answers."""


class QuestionView(Struct, frozen=True, kw_only=True):
    id: str
    question: str
    context: str
    number: int
    code: str
    title: str
    where: str

    @property
    def field(self) -> str:
        return f"{FIELD}{self.id}"


class AnswerChoice(Struct, frozen=True):
    key: str
    text: str


class PlannedItem(Struct, frozen=True, kw_only=True):
    number: int
    code: str
    title: str
    todo: Todo | None


class QuestionPanel(Struct, frozen=True, kw_only=True):
    """`question` has choices; `open` are questions to answer with text; `plan`: the plan, if the
    question is about it.
    """

    question: str
    choices: tuple[AnswerChoice, ...]
    open: tuple[QuestionView, ...]
    plan: tuple[PlannedItem, ...] = ()

    @property
    def waits(self) -> bool:
        return bool(self.question or self.open)


def build_panel(run: Run) -> QuestionPanel:
    question = run.waiting_for
    choices = question.choices if question else {}
    return QuestionPanel(
        question=question.question if question else "",
        choices=tuple(AnswerChoice(key, text) for key, text in choices.items()),
        open=tuple(_build_question(run, doubt) for doubt in run.unanswered),
        plan=_list_plan(run) if question else (),
    )


def parse_answers(form: dict[str, str]) -> dict[str, str]:
    """Return the texts by question id; empty fields are left out."""
    given = {
        name.removeprefix(FIELD): text.strip()
        for name, text in form.items()
        if name.startswith(FIELD)
    }
    return {name: text for name, text in given.items() if text}


def _build_question(run: Run, doubt: Doubt) -> QuestionView:
    item = run.items.get(doubt.item)
    return QuestionView(
        id=doubt.id,
        question=doubt.question,
        context=doubt.context,
        number=doubt.item,
        code=issue_code(run, doubt.item) if item else "",
        title=item.lead.title if item else "",
        where=format_place(item.lead) if item else "",
    )


def _list_plan(run: Run) -> tuple[PlannedItem, ...]:
    arranged = run.position.here.get("batches")
    if not isinstance(arranged, Planned):
        return ()
    numbers = dict.fromkeys(
        number for batch in arranged.batches if batch.uses_agent for number in batch.items
    )
    return tuple(
        PlannedItem(
            number=number,
            code=issue_code(run, number),
            title=run.items[number].lead.title,
            todo=run.by_item.todos.get(number),
        )
        for number in numbers
        if number in run.items
    )
