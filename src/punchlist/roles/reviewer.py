"""Reviewers: unified (sends out experts), by the specification, technical, adversarial."""

import asyncio
from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from punchlist.intake.source_files import Sources
from punchlist.ports.agent import Ask
from punchlist.ports.roles import Background, Opinion
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import ParsedAnswer, RoleSeat, ask_and_parse, retry_shorter
from punchlist.roles.answers.review_answer import ReviewAnswer, parse_review
from punchlist.roles.answers.schemas import Schema
from punchlist.roles.prompting import sections as brief
from punchlist.roles.prompting.budget import PromptPiece, Section
from punchlist.roles.prompting.fencing import clean_attribute
from punchlist.roles.prompting.template import RenderedPrompt, render_template


class Lens(Struct, frozen=True):
    """What a kind of reviewer is shown and asked for."""

    schema: Schema
    diff: float
    specification: float
    conventions: float = 0.1


LENSES = {
    "unified": Lens(schemas.GROUPED, 0.6, 0.2),
    "spec": Lens(schemas.FINDINGS, 0.5, 0.4),
    "technical": Lens(schemas.FINDINGS, 0.8, 0.0),
    "adversarial": Lens(schemas.FINDINGS, 0.6, 0.2),
}
"""By the name of the role."""


class AgentReviewer:
    """Always starts a new conversation: it knows no earlier review."""

    def __init__(self, seat: RoleSeat, lens: Lens) -> None:
        self._seat = seat
        self._lens = lens

    @property
    def name(self) -> str:
        return self._seat.role

    async def review(
        self, tree: Tree, paths: Sequence[str] | None, told: Background, label: str
    ) -> Opinion:
        read = partial(parse_review, name=self.name, sources=Sources(tree))

        async def ask_agent(seat: RoleSeat) -> tuple[Opinion, ParsedAnswer[ReviewAnswer]]:
            prompt = await asyncio.to_thread(_prompt, seat, self._lens, told, paths)
            ask = Ask(
                role=self.name,
                label=label,
                prompt=prompt.text,
                folder=tree.root,
                schema=self._lens.schema,
            )
            answer = await ask_and_parse(seat, ask, read)
            return _build_opinion(answer, prompt), answer

        return await retry_shorter(self._seat, ask_agent)


def _build_opinion(answer: ParsedAnswer[ReviewAnswer], prompt: RenderedPrompt) -> Opinion:
    review = answer.reading or ReviewAnswer()
    return Opinion(
        **answer.about,
        cut=prompt.cut,
        findings=review.findings,
        refused=review.refused,
        groups=review.groups,
        opened=answer.reply.opened,
        unshown=_find_unshown(prompt),
        incomplete=review.incomplete,
    )


def _find_unshown(prompt: RenderedPrompt) -> tuple[str, ...]:
    """Return files that were cut or only named in the prompt."""
    left, shown = prompt.left, prompt.shown
    paths = (*left.get("diff", ()), *shown.get("paths", ()), *left.get("paths", ()))
    return tuple(dict.fromkeys(paths))


def _prompt(
    seat: RoleSeat, lens: Lens, project: Background, paths: Sequence[str] | None
) -> RenderedPrompt:
    specification = project.specification if lens.specification else {}
    diff = brief.build_diff(project, lens.diff, paths)
    sections = [
        diff,
        brief.build_files("specification", specification, lens.specification),
        brief.build_files("conventions", project.conventions, lens.conventions),
        _build_paths(diff, paths or ()),
    ]
    return render_template(seat.prompt, brief.build_values(project), sections, seat.limit)


def _build_paths(diff: Section, paths: Sequence[str]) -> Section:
    """Return the files to review that have no diff to show."""
    shown = {piece.name for piece in diff.pieces}
    unshown = (path for path in paths if path not in shown)
    pieces = tuple(PromptPiece(path, f"- `{clean_attribute(path)}`") for path in unshown)
    return Section("paths", pieces, 0.05)
