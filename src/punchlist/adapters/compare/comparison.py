"""Calls what a patch changed in both trees, behind walls, with the same inputs, and says where the
answers differ.
"""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from punchlist.adapters.checks.environment import Ground, staged
from punchlist.adapters.checks.junit import untrusted
from punchlist.adapters.checks.untracked_needs import leftovers
from punchlist.adapters.compare.call_plan import Plan, planned
from punchlist.adapters.compare.outcomes import Side, differences, read
from punchlist.adapters.process.run import run
from punchlist.adapters.process.sandbox import Rlimits, available
from punchlist.model.checks.check import Check
from punchlist.model.checks.protected import Protected
from punchlist.ports.compare import Compared
from punchlist.ports.tree import Tree

_SCRIPT = Path(__file__).with_name("child_calls.py")
_SECONDS = 8.0
_EACH = 0.4
_MEMORY = 2 << 30
_LIMIT = 64 << 20


class Comparison:
    """Compares trees of one checkout, in the Python that its checks run in. `hidden` is what no
    code may look into.
    """

    def __init__(
        self,
        checkout: Path,
        *,
        checks: Sequence[Check] = (),
        hidden: Sequence[Path] = (),
        protected: Protected | None = None,
    ) -> None:
        self._ground = Ground(checkout=checkout.resolve(), hidden=tuple(hidden))
        self._python = _interpreter(checks)
        self._protected = protected or Protected()

    async def compare(
        self, before: Tree, after: Tree, paths: Sequence[str], *, words: str = ""
    ) -> Compared:
        if available() == "none":
            return Compared(
                unusable=(
                    "there is no sandbox here (bubblewrap) in which code could be called with"
                    " made-up inputs"
                )
            )
        plan = await asyncio.to_thread(
            planned, before, after, [p for p in paths if not self._protected.holds(p)], words
        )
        if not plan.targets:
            return Compared(
                unusable=plan.apart[0] if plan.apart else "no Python function changed",
                blind="nothing was called",
            )
        ground = replace(self._ground, leftovers=await leftovers(self._ground.checkout))
        old, new = await asyncio.gather(
            self._side(plan, before, "old", ground), self._side(plan, after, "new", ground)
        )
        found = differences(plan, old, new)
        if (
            found.differing
        ):  # what the old code does not even do twice in the same way says nothing about the new
            again = await self._side(plan, before, "old", ground)
            found = differences(plan, old, new, again)
        return found

    async def _side(self, plan: Plan, tree: Tree, side: str, ground: Ground) -> Side:
        with tempfile.TemporaryDirectory(
            prefix="punchlist-compare-", ignore_cleanup_errors=True
        ) as made:
            folder = Path(made).resolve()  # a folder of our own, just made
            shutil.copyfile(_SCRIPT, folder / "calls.py")
            told = {
                "side": side,
                "seconds": _SECONDS,
                "each": _EACH,
                "folders": _folders(plan, ground),
                "targets": plan.targets,
            }
            (folder / "plan.json").write_bytes(msgspec.json.encode(told))
            command = [self._python, str(folder / "calls.py")]
            with staged(tree, ground, folder, command) as stage:
                walls = replace(stage.walls, rlimits=Rlimits(memory=_MEMORY, file_size=_LIMIT))
                ran = await run(
                    command,
                    cwd=stage.cwd,
                    env=stage.env,
                    walls=walls,
                    timeout=_SECONDS * 2 + 4,
                    limit=1 << 20,
                    trim=True,
                )
            try:
                return read(untrusted(folder / "told.jsonl", _LIMIT), ran.trouble)
            except OSError:
                said = ran.stderr.decode(errors="replace").strip().splitlines()
                return Side(
                    trouble=ran.trouble
                    or (said[-1] if said else f"it ended with exit code {ran.exit_code}")
                )


def _folders(plan: Plan, ground: Ground) -> list[str]:
    """Where the packages of the changed files begin, as the child sees it: the tree lies in the
    checkout's place.
    """
    return list(dict.fromkeys(str(ground.checkout / target.folder) for target in plan.targets))


def _interpreter(checks: Sequence[Check]) -> str:
    """The Python that runs the checks, where one is named; the project's modules are installed for
    that one.
    """
    named = (
        check.command[0]
        for check in checks
        if check.command and Path(check.command[0]).name.startswith("python")
    )
    return next(named, sys.executable)
