"""The challenger: judges patches it did not make, knowing nothing of what their
maker says of them.
"""

import asyncio
from collections.abc import Sequence

from punchlist.model.item.item import Fact, Item
from punchlist.model.item.score import Score
from punchlist.ports.agent import Ask
from punchlist.ports.roles import Exhibit, Judgement, Task
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import Heard, Seat, fitting, heard
from punchlist.roles.answers.score_answer import Scores, scores_of
from punchlist.roles.prompting import sections as brief
from punchlist.roles.prompting.budget import Piece, Section
from punchlist.roles.prompting.diff_parts import parts
from punchlist.roles.prompting.fencing import fenced
from punchlist.roles.prompting.template import Rendered, rendered
from punchlist.views.plan_forms import code

UNSEEN = "it did not fit into the challenger's prompt"


class AgentChallenger:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def judge(self, task: Task, exhibits: Sequence[Exhibit], tree: Tree) -> Judgement:
        return await fitting(self._seat, lambda seat: _judged(seat, task, exhibits, tree))


async def _judged(
    seat: Seat, task: Task, exhibits: Sequence[Exhibit], tree: Tree
) -> tuple[Judgement, Heard[Scores] | None]:
    prompt = await asyncio.to_thread(prompt_for, task, exhibits, seat)
    shown = frozenset(prompt.shown.get("items", ()))
    asked = [item.number for item in task.items if code(item.number) in shown]
    unseen = tuple(
        Score(item.number, feedback=UNSEEN) for item in task.items if item.number not in asked
    )
    if not asked:
        return (
            Judgement(failed=UNSEEN if task.items else "there is nothing to judge", scores=unseen),
            None,
        )
    ask = Ask(
        role=seat.role,
        label=task.label,
        prompt=prompt.text,
        folder=tree.root,
        schema=schemas.scores(asked),
        session=task.session,
        fork=task.fork,
    )
    answer = await heard(seat, ask, lambda text: scores_of(text, asked))
    read = answer.reading or Scores(
        tuple(Score(number, feedback=answer.failed) for number in asked)
    )
    return Judgement(**answer.about, cut=prompt.cut, scores=(*read.scores, *unseen)), answer


def prompt_for(task: Task, exhibits: Sequence[Exhibit], seat: Seat) -> Rendered:
    told = task.told
    judged = {number for exhibit in exhibits for number in exhibit.items}
    sections = [
        brief.items(task.items, seat.limit, history=False),
        Section("exhibits", tuple(piece for exhibit in exhibits for piece in _patch(exhibit)), 0.4),
        _contested([item for item in task.items if item.number not in judged]),
        brief.answers(task.doubts, 0.05),
        brief.files("conventions", told.conventions, 0.05),
        brief.files("specification", told.specification, 0.05),
    ]
    return rendered(seat.prompt, brief.values(told), sections, seat.limit)


def _patch(exhibit: Exhibit) -> list[Piece]:
    """The patch hunk by hunk, each with the items it is for."""
    meant = ", ".join(map(code, exhibit.items))
    return [
        Piece(part.path, fenced(f"patch for {meant}: {part.path}", part.text))
        for part in parts(exhibit.diff)
    ]


def _contested(items: Sequence[Item]) -> Section:
    """Items of which somebody says that there is nothing to fix, with the reason: here it is the
    reason that is judged.
    """
    whys = {
        item.number: attempt.why
        for item in items
        for attempt in item.attempts
        if attempt.fact is Fact.CONTESTED
    }
    pieces = (
        Piece(code(number), f"{code(number)}:\n{fenced(f'why {code(number)} is contested', why)}")
        for number, why in whys.items()
    )
    return Section("contested", tuple(pieces), 0.1)
