"""The port to the project's own checks."""

from collections.abc import Sequence
from typing import Protocol

from punchlist.model.checks.check import Check, CheckResult
from punchlist.ports.tree import Tree


class CheckRunner(Protocol):
    """Runs a check so that it judges the tree's code, and nothing else."""

    async def run(self, check: Check, tree: Tree, *, only: Sequence[str] = ()) -> CheckResult:
        """One run; `only` limits it to these test ids where the runner can."""
        ...

    async def sentinel(self, check: Check, tree: Tree, kinds: Sequence[str]) -> str:
        """Plants a failure in the tree's own sources with these suffixes and runs the check: empty
        if it was seen, else why the check cannot judge them. The tree is spent.
        """
        ...

    async def ground(self, check: Check) -> str:
        """What a result depends on besides the tree (runner, programs, environment, leftovers), as
        a short hash.
        """
        ...
