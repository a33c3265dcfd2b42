"""Old and new code side by side on generated inputs."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from punchlist.ports.tree import Tree


class Compared(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of calling the changed functions of both trees with the same inputs."""

    functions: tuple[str, ...] = ()
    inputs: int = 0
    differing: int = 0
    examples: tuple[str, ...] = ()
    """A few inputs with what old and new make of them, in words."""
    suspicious: str = ""
    """Why the difference looks made for the tests alone: it shows only for inputs that stand in them."""
    unusable: str = ""
    """Why nothing was compared, if nothing was."""


class Comparer(Protocol):
    async def compare(self, before: Tree, after: Tree, paths: Sequence[str]) -> Compared:
        """The functions that differ in these files and can be called alone; code that hangs or crashes is a value."""
        ...
