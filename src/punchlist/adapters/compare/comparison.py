"""Call the changed functions of both trees in the sandbox, and report differing answers."""

import asyncio
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from punchlist.adapters.checks.environment import CheckoutContext, find_leftovers, prepare_launch
from punchlist.adapters.checks.junit import read_untrusted
from punchlist.adapters.compare.call_plan import CallPlan, plan_calls
from punchlist.adapters.compare.outcomes import SideResult, compare_sides, parse_calls
from punchlist.adapters.compare.replay.replayer import Sides, replay_calls
from punchlist.adapters.folders.look import resolve_path
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.process.run import Origin, run
from punchlist.adapters.sandbox.profiles import ChildKind
from punchlist.adapters.sandbox.sandbox import Rlimits, SandboxWishes
from punchlist.adapters.sandbox.support import sandbox_kind
from punchlist.model.checks.check import Check
from punchlist.model.checks.protected import Protected
from punchlist.ports.compare import CompareResult, ReplayRequest, ReplayResult
from punchlist.ports.tree import Tree

_SCRIPT = Path(__file__).with_name("child_calls.py")
_SECONDS = 8.0
_EACH = 0.4
_MEMORY = 2 << 30
_LIMIT = 64 << 20
_NO_SANDBOX = (
    "there is no sandbox here (bubblewrap) in which code could be called with made-up inputs"
)


class Comparison:
    """Compares trees of one checkout, in the Python of its checks; no code can read `hidden`."""

    def __init__(
        self,
        checkout: Path,
        *,
        checks: Sequence[Check] = (),
        hidden: Sequence[Path] = (),
        protected: Protected | None = None,
        wishes: SandboxWishes | None = None,
    ) -> None:
        self._ground = CheckoutContext(
            checkout=resolve_path(checkout),
            hidden=tuple(hidden),
            kind=ChildKind.REPRODUCER,
            sandbox=wishes or SandboxWishes(),
        )
        self._python = _find_interpreter(checks)
        self._protected = protected or Protected()

    async def compare(
        self, before: Tree, after: Tree, paths: Sequence[str], *, words: str = ""
    ) -> CompareResult:
        if sandbox_kind() != "bubblewrap":
            return CompareResult(unusable=_NO_SANDBOX)
        code = [path for path in paths if not self._protected.holds(path)]
        plan = await asyncio.to_thread(plan_calls, before, after, code, words)
        if not plan.targets:
            why = plan.apart[0] if plan.apart else "no Python function changed"
            return CompareResult(unusable=why, blind="nothing was called")
        ground = await find_leftovers(self._ground)
        old, new = await asyncio.gather(
            self._run_side(plan, before, "old", ground), self._run_side(plan, after, "new", ground)
        )
        found = compare_sides(plan, old, new)
        if not found.differing:
            return found
        # Inputs for which the old code gives two different answers say nothing about the new code.
        again = await self._run_side(plan, before, "old", ground)
        return compare_sides(plan, old, new, again)

    async def replay(self, before: Tree, after: Tree, request: ReplayRequest) -> ReplayResult:
        if sandbox_kind() != "bubblewrap":
            return ReplayResult(unusable=_NO_SANDBOX)
        ground = await find_leftovers(self._ground)
        sides = Sides(before, after, ground, self._python, self._protected)
        return await replay_calls(sides, request)

    async def _run_side(
        self, plan: CallPlan, tree: Tree, side: str, ground: CheckoutContext
    ) -> SideResult:
        with temporary_folder("punchlist-compare-") as made:
            folder = resolve_path(made)
            shutil.copyfile(_SCRIPT, folder / "calls.py")
            # The import folders of the changed files, as paths inside the sandbox.
            folders = dict.fromkeys(str(ground.checkout / each.folder) for each in plan.targets)
            child_plan = {
                "side": side,
                "seconds": _SECONDS,
                "each": _EACH,
                "folders": list(folders),
                "targets": plan.targets,
            }
            (folder / "plan.json").write_bytes(msgspec.json.encode(child_plan))
            command = [self._python, str(folder / "calls.py")]
            with prepare_launch(tree, ground, folder, command) as stage:
                limits = Rlimits(memory=_MEMORY, file_size=_LIMIT)
                ran = await run(
                    command,
                    origin=Origin.THEIRS,
                    cwd=stage.cwd,
                    env=stage.env,
                    walls=replace(stage.sandbox, rlimits=limits),
                    timeout=_SECONDS * 2 + 4,
                    limit=1 << 20,
                    trim=True,
                )
            try:
                return parse_calls(read_untrusted(folder / "outcomes.jsonl", _LIMIT), ran.trouble)
            except OSError:
                lines = ran.stderr.decode(errors="replace").strip().splitlines()
                last = lines[-1] if lines else f"it ended with exit code {ran.exit_code}"
                return SideResult(trouble=ran.trouble or last)


def _find_interpreter(checks: Sequence[Check]) -> str:
    """Return the Python that runs the checks, or our own if none is named."""
    programs = (check.command[0] for check in checks if check.command)
    pythons = (name for name in programs if Path(name).name.startswith("python"))
    return next(pythons, sys.executable)
