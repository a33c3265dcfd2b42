"""Read what reviewers and fixers answered, in any spelling that punchlist knows."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from punchlist.errors import UsageError
from punchlist.intake.source_files import Sources
from punchlist.model.item.claim import ClaimOutcome, ItemClaim
from punchlist.roles.answers.fix_answer import parse_statements
from punchlist.roles.answers.review_answer import ReviewAnswer, parse_review
from punchlist.steps.support.agent_fix import NO_STATUS

_CONTRADICTED = "two answers contradict each other"


class _NoFiles(Struct, frozen=True):
    """A tree without files: places are taken as the answer names them."""

    root: Path = Path()

    def text(self, path: str) -> str | None:
        return None

    def files(self) -> Sequence[str]:
        return ()


def parse_review_answer(text: str, source: str) -> ReviewAnswer:
    """Return the findings in a reviewer's answer; raise UsageError if it has none and does not
    say so in an empty list.
    """
    answer = parse_review(text, source, Sources(_NoFiles()))
    if answer.failed:
        why = f"the review cannot be used: {answer.failed}"
        raise UsageError(why, hint='ask again; without findings the answer is {"findings": []}')
    return answer


def list_problems(answer: ReviewAnswer) -> tuple[str, ...]:
    """Return what of the answer could not be read, one sentence each."""
    refused = (f"an entry {each.reason}: {each.raw[:200]}" for each in answer.refused)
    cut = (f"the answer breaks off: {answer.incomplete}",) if answer.incomplete else ()
    return (*refused, *cut)


def parse_claims(text: str, ids: Sequence[str]) -> list[ItemClaim]:
    """Return one claim per id, in their order, with its number from 0: an id that the answer does
    not mention, or contradicts itself about, is deferred. Raise UsageError if it has no outcome.
    """
    numbers = {name.strip().casefold(): number for number, name in enumerate(ids)}

    def read_code(name: str) -> tuple[int, str] | None:
        number = numbers.get(name.strip().strip("[]()`*\"'").casefold())
        return None if number is None else (number, "")

    said = parse_statements(text, range(len(ids)), "", read_code)
    if said.failed and ids:
        why = f"the fixer's answer cannot be used: {said.failed}"
        raise UsageError(why, hint='ask again for {"outcomes": [{"id": ..., "outcome": ...}]}')
    claims = {claim.item: claim for claim in said.reports}
    silent = dict.fromkeys(range(len(ids)), NO_STATUS)
    silent |= dict.fromkeys(said.contradicted, _CONTRADICTED)
    missing = {
        number: ItemClaim(number, ClaimOutcome.DEFERRED, why) for number, why in silent.items()
    }
    return [claims.get(number, missing[number]) for number in range(len(ids))]
