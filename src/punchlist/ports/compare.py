"""Port that compares old and new code on generated inputs."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from punchlist.model.checks.check import Check
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
    lacking: str = ""
    """Why the fix is partial: the finding asks for an error that nothing brings about."""
    blind: str = ""
    """Why equal behaviour says nothing: not all of the change was reached."""
    unreached: bool = False
    """Blind only because new lines were not reached, or are run by making an object."""
    inner: bool = False
    """Changed lines are in a function inside of another, and no call reached them."""
    unusable: str = ""
    """Why nothing was compared."""


class ReplayRequest(Struct, frozen=True, kw_only=True):
    """Which calls to make again: those that `tests`, files of `check`, make of the code. `paths`
    are the changed files, `spots` the places of the findings, `words` what they say.
    `asks_change`: the findings ask for other answers.
    """

    check: Check
    tests: tuple[str, ...]
    paths: tuple[str, ...]
    spots: tuple[tuple[str, int | None], ...] = ()
    words: str = ""
    asks_change: bool = False


class ReplayResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of making the calls of tests again in processes without a test runner."""

    refuted: str = ""
    """Why the answers speak against the patch."""
    functions: tuple[str, ...] = ()
    """What was called again, and says something."""
    calls: int = 0
    compared: int = 0
    effects: int = 0
    """Of the compared inputs, those that old and new code treat differently."""
    additive: bool = False
    """All that old code can be asked for is there as it was, but for what functions do."""
    whole: bool = False
    """Every call of the tests that turned green was made again, or the patch is refuted."""
    unusable: str = ""
    """Why nothing was called again."""


class Comparer(Protocol):
    async def compare(
        self, before: Tree, after: Tree, paths: Sequence[str], *, words: str = ""
    ) -> CompareResult:
        """Compare the functions that differ in these files and can be called alone; crashes and
        timeouts are values. `words`: the text of the findings, whose examples are tried.
        """
        ...

    async def replay(self, before: Tree, after: Tree, request: ReplayRequest) -> ReplayResult:
        """Record the calls that tests make in both trees, and make them again outside of the
        runner.
        """
        ...
