"""Reviewers: one that sends out experts, one for the specification, a technical and an adversarial
one.
"""

import asyncio
from collections.abc import Sequence

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
        sources = Sources(tree)

        async def ask_agent(seat: RoleSeat) -> tuple[Opinion, ParsedAnswer[ReviewAnswer]]:
            prompt = await asyncio.to_thread(_prompt, seat, self._lens, told, paths)
            ask = Ask(
                role=self.name,
                label=label,
                prompt=prompt.text,
                folder=tree.root,
                schema=self._lens.schema,
            )
            answer = await ask_and_parse(
                seat, ask, lambda text: parse_review(text, self.name, sources)
            )
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
    return tuple(
        dict.fromkeys((*left.get("diff", ()), *shown.get("paths", ()), *left.get("paths", ())))
    )


def _prompt(
    seat: RoleSeat, lens: Lens, told: Background, paths: Sequence[str] | None
) -> RenderedPrompt:
    sections = [
        brief.build_diff(told, lens.diff, paths),
        brief.build_files(
            "specification", told.specification if lens.specification else {}, lens.specification
        ),
        brief.build_files("conventions", told.conventions, lens.conventions),
        _build_paths(told, paths),
    ]
    return render_template(seat.prompt, brief.build_values(told), sections, seat.limit)


def _build_paths(told: Background, paths: Sequence[str] | None) -> Section:
    """Return the files to review that have no diff to show."""
    shown = {piece.name for piece in brief.build_diff(told, 1, paths).pieces}
    return Section(
        "paths",
        tuple(
            PromptPiece(path, f"- `{clean_attribute(path)}`")
            for path in paths or ()
            if path not in shown
        ),
        0.05,
    )
