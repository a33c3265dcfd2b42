"""Proofs that an item is fixed, weakest to strongest."""

from enum import StrEnum

from msgspec import Struct


class ProofClass(StrEnum):
    """CLAIM: an agent's word and a real diff. REVIEWED: a challenger approves, or a new reviewer no
    longer reports it. CHECKED: the project's checks pass against the baseline, with files the
    fixer could not touch. RECHECKED: its analyzer no longer reports it, and nothing worse.
    WITNESSED: a test, of the fixer or the project, fails without the fix and passes with it.
    REPRODUCED: another agent's test from before the fix, never shown to the fixer, failed then
    and passes now.
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


TESTED = frozenset({ProofClass.CHECKED, ProofClass.WITNESSED, ProofClass.REPRODUCED})
"""Proofs for which tests ran."""


class FileTests(Struct, frozen=True):
    """Tests of one file, by the ids that its check gives them."""

    path: str
    tests: tuple[str, ...]


class Proof(Struct, frozen=True, omit_defaults=True):
    """One observation in words, and what is needed to make it again."""

    kind: ProofClass
    said: str
    artifact: str = ""
    check: str = ""
    """The check that ran the tests."""
    tests: tuple[FileTests, ...] = ()
    """The tests that turned from red to green."""


def has_test(proofs: tuple[Proof, ...]) -> bool:
    """Return whether a test ran for one of the proofs."""
    return any(proof.kind in TESTED for proof in proofs)


def strongest_proof(proofs: tuple[Proof, ...]) -> Proof | None:
    return max(proofs, key=lambda proof: proof.kind.strength, default=None)
