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
    """Of the differing: those for which both give an answer, and not the same one."""
    slight: int = 0
    """Inputs for which only the message of an exception differs; not among the differing."""
    examples: tuple[str, ...] = ()
    """A few inputs with what old and new make of them, in words."""
    suspicious: str = ""
    """Why the difference looks made for the tests alone: it shows only for inputs that stand in
    them.
    """
    blind: str = ""
    """Why behaving the same on these inputs says nothing: the change was not reached, or is not all
    in what was called.
    """
    unusable: str = ""
    """Why nothing was compared, if nothing was."""


class Comparer(Protocol):
    async def compare(
        self, before: Tree, after: Tree, paths: Sequence[str], *, words: str = ""
    ) -> CompareResult:
        """Compare the functions that differ in these files and can be called alone; crashes and
        timeouts are values.

        `words` is the text of the findings: examples in it are tried.
        """
        ...
