"""The port to the project's own checks."""

from collections.abc import Sequence
from typing import Protocol

from punchlist.model.checks.check import Check, CheckResult, CoveredRun
from punchlist.ports.tree import Tree

NOTHING_PLANTED = "nothing to plant a failure in"


class CheckRunner(Protocol):
    """Runs a check so that it judges the tree's code, and nothing else."""

    async def run(self, check: Check, tree: Tree, *, only: Sequence[str] = ()) -> CheckResult:
        """Run the check once; `only` limits it to these test ids if the runner can do that."""
        ...

    async def run_sentinel(self, check: Check, tree: Tree, kinds: Sequence[str]) -> str:
        """Plant a failure in source files with these suffixes and run the check. Return '' if the
        check failed, else why it cannot judge them: without a run, if that begins with
        NOTHING_PLANTED. The tree is unusable afterwards.
        """
        ...

    async def run_covered(
        self, check: Check, tree: Tree, *, sources: Sequence[str] = ()
    ) -> CoveredRun:
        """Run the check once and return, beside its result, which lines of which Python files it
        executes, and which lines of the `sources` can be executed.
        """
        ...

    async def hash_environment(self, check: Check) -> str:
        """Return a short hash of everything but the tree that a result depends on (runner,
        programs, environment, untracked files).
        """
        ...
