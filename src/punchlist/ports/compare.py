"""Port that compares old and new code on generated inputs."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from punchlist.ports.tree import Tree


class CompareResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of calling the changed functions of both trees with the same inputs."""

    functions: tuple[str, ...] = ()
    inputs: int = 0
    differing: int = 0
    departing: int = 0
    """Differing inputs for which both give an answer."""
    slight: int = 0
    """Other inputs, for which only the message of an exception differs."""
    examples: tuple[str, ...] = ()
    """A few inputs with what old and new make of them, in words."""
    suspicious: str = ""
    """Why the difference looks made for the tests alone: only their inputs show it."""
    blind: str = ""
    """Why equal behaviour says nothing: not all of the change was reached."""
    unusable: str = ""
    """Why nothing was compared."""


class Comparer(Protocol):
    async def compare(
        self, before: Tree, after: Tree, paths: Sequence[str], *, words: str = ""
    ) -> CompareResult:
        """Compare the functions that differ in these files and can be called alone; crashes and
        timeouts are values. `words`: the text of the findings, whose examples are tried.
        """
        ...
