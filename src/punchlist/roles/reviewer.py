"""Reviewers: one that sends out experts, one for the specification, one for the technique, one
adversary who knows nothing.
"""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from punchlist.intake.source_files import Sources
from punchlist.ports.agent import Ask
from punchlist.ports.roles import Background, Opinion
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import Heard, Seat, fitting, heard
from punchlist.roles.answers.review_answer import Review, review_of
from punchlist.roles.answers.schemas import Schema
from punchlist.roles.prompting import sections as brief
from punchlist.roles.prompting.budget import Piece, Section
from punchlist.roles.prompting.fencing import attribute
from punchlist.roles.prompting.template import Rendered, rendered


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
    """Always a conversation of its own: no reviewer knows what others, or it
    itself, said before.
    """

    def __init__(self, seat: Seat, lens: Lens) -> None:
        self._seat = seat
        self._lens = lens

    @property
    def name(self) -> str:
        return self._seat.role

    async def review(
        self, tree: Tree, paths: Sequence[str] | None, told: Background, label: str
    ) -> Opinion:
        sources = Sources(tree)

        async def attempt(seat: Seat) -> tuple[Opinion, Heard[Review]]:
            prompt = await asyncio.to_thread(_prompt, seat, self._lens, told, paths)
            ask = Ask(
                role=self.name,
                label=label,
                prompt=prompt.text,
                folder=tree.root,
                schema=self._lens.schema,
            )
            answer = await heard(seat, ask, lambda text: review_of(text, self.name, sources))
            return _opinion(answer, prompt), answer

        return await fitting(self._seat, attempt)


def _opinion(answer: Heard[Review], prompt: Rendered) -> Opinion:
    review = answer.reading or Review()
    return Opinion(
        **answer.about,
        cut=prompt.cut,
        findings=review.findings,
        refused=review.refused,
        groups=review.groups,
        opened=answer.reply.opened,
        unshown=_unshown(prompt),
        incomplete=review.incomplete,
    )


def _unshown(prompt: Rendered) -> tuple[str, ...]:
    """Also files that are only named: who does not open them has seen nothing of them."""
    left, shown = prompt.left, prompt.shown
    return tuple(
        dict.fromkeys((*left.get("diff", ()), *shown.get("paths", ()), *left.get("paths", ())))
    )


def _prompt(seat: Seat, lens: Lens, told: Background, paths: Sequence[str] | None) -> Rendered:
    sections = [
        brief.change(told, lens.diff, paths),
        brief.files(
            "specification", told.specification if lens.specification else {}, lens.specification
        ),
        brief.files("conventions", told.conventions, lens.conventions),
        _to_read(told, paths),
    ]
    return rendered(seat.prompt, brief.values(told), sections, seat.limit)


def _to_read(told: Background, paths: Sequence[str] | None) -> Section:
    """Files that are to be reviewed and of which there is no diff to show."""
    shown = {piece.name for piece in brief.change(told, 1, paths).pieces}
    return Section(
        "paths",
        tuple(Piece(path, f"- `{attribute(path)}`") for path in paths or () if path not in shown),
        0.05,
    )
