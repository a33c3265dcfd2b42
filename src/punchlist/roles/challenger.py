"""The challenger: judges patches without seeing what the fixer says of them."""

import asyncio
from collections.abc import Sequence

from punchlist.model.item.item import Fact, Item
from punchlist.model.item.score import Score
from punchlist.ports.agent import Ask
from punchlist.ports.roles import Exhibit, Judgement, RoleTask
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import ParsedAnswer, RoleSeat, ask_and_parse, retry_shorter
from punchlist.roles.answers.score_answer import Scores, parse_scores
from punchlist.roles.prompting import sections as brief
from punchlist.roles.prompting.budget import PromptPiece, Section
from punchlist.roles.prompting.diff_parts import split_diff
from punchlist.roles.prompting.fencing import fence_text
from punchlist.roles.prompting.template import RenderedPrompt, render_template
from punchlist.views.plans.plan_forms import item_code

UNSEEN = "it did not fit into the challenger's prompt"


class AgentChallenger:
    def __init__(self, seat: RoleSeat) -> None:
        self._seat = seat

    async def judge(self, task: RoleTask, exhibits: Sequence[Exhibit], tree: Tree) -> Judgement:
        return await retry_shorter(
            self._seat, lambda seat: _judge_patches(seat, task, exhibits, tree)
        )


async def _judge_patches(
    seat: RoleSeat, task: RoleTask, exhibits: Sequence[Exhibit], tree: Tree
) -> tuple[Judgement, ParsedAnswer[Scores] | None]:
    prompt = await asyncio.to_thread(build_prompt, task, exhibits, seat)
    shown = frozenset(prompt.shown.get("items", ()))
    asked = [item.number for item in task.items if item_code(item.number) in shown]
    unseen = tuple(
        Score(item.number, feedback=UNSEEN) for item in task.items if item.number not in asked
    )
    if not asked:
        why = UNSEEN if task.items else "there is nothing to judge"
        return Judgement(failed=why, scores=unseen), None
    ask = Ask(
        role=seat.role,
        label=task.label,
        prompt=prompt.text,
        folder=tree.root,
        schema=schemas.build_scores(asked),
        session=task.session,
        fork=task.fork,
    )
    answer = await ask_and_parse(seat, ask, lambda text: parse_scores(text, asked))
    read = answer.reading or Scores(
        tuple(Score(number, feedback=answer.failed) for number in asked)
    )
    return Judgement(**answer.about, cut=prompt.cut, scores=(*read.scores, *unseen)), answer


def build_prompt(task: RoleTask, exhibits: Sequence[Exhibit], seat: RoleSeat) -> RenderedPrompt:
    project = task.told
    judged = {number for exhibit in exhibits for number in exhibit.items}
    patches = tuple(piece for exhibit in exhibits for piece in _split_exhibit(exhibit))
    sections = [
        brief.build_items(task.items, seat.limit, history=False),
        Section("exhibits", patches, 0.4),
        _build_contested([item for item in task.items if item.number not in judged]),
        brief.build_answers(task.doubts, 0.05),
        brief.build_files("conventions", project.conventions, 0.05),
        brief.build_files("specification", project.specification, 0.05),
    ]
    return render_template(seat.prompt, brief.build_values(project), sections, seat.limit)


def _split_exhibit(exhibit: Exhibit) -> list[PromptPiece]:
    """Return the hunks of the patch, each labelled with its items."""
    meant = ", ".join(map(item_code, exhibit.items))
    return [
        PromptPiece(part.path, fence_text(f"patch for {meant}: {part.path}", part.text))
        for part in split_diff(exhibit.diff)
    ]


def _build_contested(items: Sequence[Item]) -> Section:
    """Return the contested items with the reasons, which are to be judged."""
    whys = {
        item.number: attempt.why
        for item in items
        for attempt in item.attempts
        if attempt.fact is Fact.CONTESTED
    }
    pieces: list[PromptPiece] = []
    for number, why in whys.items():
        code = item_code(number)
        fenced = fence_text(f"why {code} is contested", why)
        pieces.append(PromptPiece(code, f"{code}:\n{fenced}"))
    return Section("contested", tuple(pieces), 0.1)
