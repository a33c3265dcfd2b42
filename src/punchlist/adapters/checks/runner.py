"""Run a check over a work tree and return its results, output and trouble."""

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.checks import kept_output as evidence
from punchlist.adapters.checks import sentinel
from punchlist.adapters.checks.environment import CheckoutContext, find_leftovers, prepare_launch
from punchlist.adapters.checks.environment_stamp import compute_stamp
from punchlist.adapters.checks.junit import LIMIT, read_untrusted
from punchlist.adapters.checks.test_ids import ModuleNames
from punchlist.adapters.checks.test_runners import DIALECTS, CheckSession
from punchlist.adapters.checks.watch_loads import prepare_watch, read_loads
from punchlist.adapters.folders.look import path_exists, resolve_path
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.process.fixed_addresses import find_prefix
from punchlist.adapters.process.run import Origin, ProcessResult, run
from punchlist.adapters.sandbox.sandbox import SandboxWishes
from punchlist.model.checks.changed_lines import ExecutedLines
from punchlist.model.checks.check import Check, CheckKind, CheckResult, CoveredRun
from punchlist.model.checks.failure_cause import find_python
from punchlist.model.checks.protected import Protected
from punchlist.model.finding.guarded_text import parse_json
from punchlist.ports.checks import NOTHING_PLANTED
from punchlist.ports.tree import Tree

_CHILD_LINES = Path(__file__).with_name("child_lines.py")
_NOT_INSTALLED = 70
_PYTHON_TESTS = (CheckKind.PYTEST, CheckKind.UNITTEST)
_DISPLACED = "trace function changed"
"""What coverage.py warns of when another tool measures in the same process."""
_FEW = 300
_SENTINEL_FAILURES = 25
"""After so many failures the planted one was seen, or will not be; a few may be older than it."""


class CheckRunOutput(Struct, frozen=True):
    """A result, and all output and reports before trimming."""

    result: CheckResult
    text: str


class LocalCheckRunner:
    """Runs the checks of one checkout; no check can read the folders in `hidden`."""

    def __init__(
        self,
        checkout: Path,
        *,
        hidden: Sequence[Path] = (),
        protected: Protected | None = None,
        wishes: SandboxWishes | None = None,
    ) -> None:
        self._ground = CheckoutContext(
            checkout=resolve_path(checkout), hidden=tuple(hidden), sandbox=wishes or SandboxWishes()
        )
        self._protected = protected or Protected()
        self._surveyed = asyncio.Lock()
        self._survey: CheckoutContext | None = None

    async def run(self, check: Check, tree: Tree, *, only: Sequence[str] = ()) -> CheckResult:
        return (await self._run_check(check, tree, only=tuple(only))).result

    async def run_sentinel(self, check: Check, tree: Tree, kinds: Sequence[str]) -> str:
        """Plant failures and run the check; the caller must throw the tree away."""
        planted = sentinel.plant(tree, self._protected, kinds)
        if not planted.files:
            why = "the tree has no source file outside its tests and configuration"
            return f"{NOTHING_PLANTED}: {why}"
        seen = await self._run_check(check, tree, stop_after=_SENTINEL_FAILURES)
        return sentinel.judge_result(planted, seen.result, seen.text)

    async def run_covered(
        self, check: Check, tree: Tree, *, sources: Sequence[str] = ()
    ) -> CoveredRun:
        """Run the check under coverage.py, if the Python that runs it has that."""
        python = find_python(check.command)
        if not python:
            return CoveredRun(ExecutedLines(unknown="its command does not begin with a Python"))
        with self._make_session(check, tree) as session:
            (session.reports / "sources.json").write_bytes(msgspec.json.encode(sources))
            return await _run_covered(session, tree, await self._load_context())

    async def hash_environment(self, check: Check) -> str:
        return await asyncio.to_thread(compute_stamp, check, await self._load_context())

    async def _run_check(
        self, check: Check, tree: Tree, *, only: tuple[str, ...] = (), stop_after: int = 0
    ) -> CheckRunOutput:
        ground = await self._load_context()
        if check.given and not check.given.select(tree.files()):
            return CheckRunOutput(CheckResult(check=check.name, exit_code=0, seconds=0), "")
        with self._make_session(check, tree) as session:
            limited = replace(session, only=only, stop_after=stop_after)
            return await _run_session(limited, tree, ground)

    @contextmanager
    def _make_session(self, check: Check, tree: Tree) -> Iterator[CheckSession]:
        """Make a session with a report folder of its own."""
        with temporary_folder("punchlist-check-") as folder:
            names = ModuleNames(tree.files())
            reports = resolve_path(folder)
            yield CheckSession(
                check=check,
                reports=reports,
                root=tree.root,
                checkout=self._ground.checkout,
                names=names,
            )

    async def _load_context(self) -> CheckoutContext:
        """Return the context with the checkout's untracked files, looked up once."""
        async with self._surveyed:
            if self._survey is None:
                self._survey = await find_leftovers(self._ground)
        return self._survey


async def _run_session(
    session: CheckSession, tree: Tree, ground: CheckoutContext
) -> CheckRunOutput:
    gate = session.check.kind is CheckKind.GATE
    whole = not session.only and not session.stop_after and not gate
    watched = session.reports / "watched" if whole else None
    command = DIALECTS[session.check.kind].build_command(session)
    return _read_result(session, await _start(command, session, tree, ground, watched=watched))


def _read_result(session: CheckSession, ran: ProcessResult) -> CheckRunOutput:
    check = session.check
    parsed = DIALECTS[check.kind].parse_results(session, ran)
    printed = evidence.join_streams(ran)
    result = CheckResult(
        check=check.name,
        exit_code=ran.exit_code,
        seconds=ran.seconds,
        tests=parsed.tests,
        output=evidence.trim_output(printed),
        trouble=ran.trouble or parsed.trouble,
        unloaded=parsed.unloaded,
        failures=parsed.failures,
        loads=read_loads(session.reports / "watched"),
    )
    return CheckRunOutput(result, printed + _read_report(session.reports / "junit.xml"))


async def _start(
    command: Sequence[str],
    session: CheckSession,
    tree: Tree,
    ground: CheckoutContext,
    *,
    watched: Path | None = None,
) -> ProcessResult:
    """Run the command; the files that Python loads are noted in `watched`."""
    with prepare_launch(tree, ground, session.reports, command) as stage:
        env = prepare_watch(watched, stage.cwd, stage.env) if watched else stage.env
        # Of a program that is missing, only what starts it by itself says so.
        there = "/" in command[0] and path_exists(Path(command[0]))
        fixed = find_prefix() if there and session.check.kind in _PYTHON_TESTS else ()
        if session.check.kind is CheckKind.GATE:  # no module of the tree may pass for the tool
            env = {name: value for name, value in env.items() if name != "PYTHONPATH"}
        return await run(
            [*fixed, *command],
            origin=Origin.THEIRS,
            cwd=stage.cwd,
            env=env,
            walls=stage.sandbox,
            timeout=session.check.timeout,
            limit=evidence.LIMIT,
            trim=True,
        )


async def _run_covered(session: CheckSession, tree: Tree, ground: CheckoutContext) -> CoveredRun:
    python, *rest = DIALECTS[session.check.kind].build_command(session)
    child = session.reports / _CHILD_LINES.name
    shutil.copyfile(_CHILD_LINES, child)
    watched = session.reports / "watched"
    ran = await _start([python, str(child), *rest], session, tree, ground, watched=watched)
    if ran.exit_code == _NOT_INSTALLED:
        return CoveredRun(ExecutedLines(unknown=f"coverage.py is not installed for {python}"))
    return CoveredRun(_read_lines(session, ran), _read_result(session, ran).result)


def _read_lines(session: CheckSession, ran: ProcessResult) -> ExecutedLines:
    printed = evidence.join_streams(ran)
    if ran.trouble or _DISPLACED in printed:
        why = ran.trouble or "the check itself measures coverage"
        return ExecutedLines(unknown=f"coverage.py could not measure it: {why}")
    try:
        files, statements = (
            parse_json(read_untrusted(session.reports / name, LIMIT), dict[str, tuple[int, ...]])
            for name in ("lines.json", "statements.json")
        )
    except (OSError, msgspec.DecodeError):
        last = " ".join(printed.split())[-_FEW:]
        return ExecutedLines(unknown=f"coverage.py wrote no report: ... {last}")
    executed = {path: lines for path, lines in files.items() if lines}
    return ExecutedLines(files=executed, statements=statements)


def _read_report(path: Path) -> str:
    try:
        return read_untrusted(path, LIMIT).decode(errors="replace")
    except OSError:
        return ""
