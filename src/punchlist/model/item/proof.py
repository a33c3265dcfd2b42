"""What stands behind the word "fixed": seen by punchlist itself, weakest to strongest."""

from enum import StrEnum

from msgspec import Struct


class ProofClass(StrEnum):
    """CLAIM: an agent's word and a real diff. REVIEWED: a challenger, or a fresh reviewer who no
    longer sees it. CHECKED: the project's checks, against the baseline, with files the fixer could
    not touch. RECHECKED: the analyzer that found it is silent and nothing else got louder.
    WITNESSED: a test, the fixer's or the project's, that fails without the fix and passes with it.
    REPRODUCED: a test that somebody else wrote before the fix, failed then, was never shown to the
    fixer, and passes now.
    """

    CLAIM = "claim"
    REVIEWED = "reviewed"
    CHECKED = "checked"
    RECHECKED = "rechecked"
    WITNESSED = "witnessed"
    REPRODUCED = "reproduced"

    @property
    def strength(self) -> int:
        return list(ProofClass).index(self)


class Proof(Struct, frozen=True, omit_defaults=True):
    """One thing that was seen, in words, and the artifact that holds the evidence."""

    kind: ProofClass
    said: str
    artifact: str = ""


def strongest(proofs: tuple[Proof, ...]) -> Proof | None:
    return max(proofs, key=lambda proof: proof.kind.strength, default=None)
