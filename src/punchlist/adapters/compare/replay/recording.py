"""Run tests with a recorder that writes down the calls they make of the code under review."""

import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from punchlist.adapters.checks.environment import CheckoutContext, LaunchSpec, prepare_launch
from punchlist.adapters.checks.junit import read_untrusted
from punchlist.adapters.checks.test_ids import ModuleNames
from punchlist.adapters.checks.test_runners import DIALECTS, CheckSession
from punchlist.adapters.folders.look import path_exists
from punchlist.adapters.process.run import Origin, run
from punchlist.model.checks.check import Check, CheckKind, TestOutcome
from punchlist.model.finding.guarded_text import parse_json
from punchlist.ports.tree import Tree

HERE = Path(__file__).parent
VALUES = HERE / "child_values.py"
_RECORDER = HERE / "child_record.py"
_LIMIT = 64 << 20
_LONGEST = 300.0


class RecordedCall(Struct, frozen=True):
    """A call that a test made. `arranged`: what the test arranged around it, or ''."""

    test: str
    file: str
    module: str
    name: str
    key: str
    input: str = ""
    shown: str = ""
    answer: tuple[str, str] | None = None
    arranged: str = ""
    path: tuple[str, ...] = ()

    @property
    def repeatable(self) -> bool:
        return bool(self.input) and not self.arranged and "<locals>" not in self.name

    @property
    def function(self) -> tuple[str, str]:
        return self.module, self.name


class Recording(Struct, frozen=True, kw_only=True):
    """The calls and outcomes of the tests in one tree, or in `trouble` why there are none."""

    calls: tuple[RecordedCall, ...] = ()
    tests: dict[str, TestOutcome] = {}
    planted: dict[str, TestOutcome] = {}
    """By test: what became of the copy of it that must fail."""
    cut: bool = False
    """Whether tests may be missing: the run ended early, or a file could not be imported."""
    trouble: str = ""


class RecordPlan(Struct, frozen=True, kw_only=True):
    """Which tests to record. `state`: whether globals that the tests set are noticed. `plants`: the
    files to run after them, with the tests that they are copies of.
    """

    check: Check
    tests: tuple[str, ...]
    code: tuple[str, ...]
    state: bool
    plants: dict[str, str] = {}
    data: tuple[str, ...] = ()
    """Files of the tests that are not code; no other process sees them."""


async def record_calls(
    plan: RecordPlan, tree: Tree, ground: CheckoutContext, folder: Path
) -> Recording:
    check, beside = plan.check, folder / "beside"
    beside.mkdir()
    session = CheckSession(
        check=check,
        reports=folder,
        root=tree.root,
        names=ModuleNames((*tree.files(), *plan.plants)),
        only=(*plan.tests, *plan.plants),
    )
    name = f"r{secrets.token_hex(4)}"
    shutil.copyfile(_RECORDER, beside / f"{name}.py")
    shutil.copyfile(VALUES, beside / f"{name}_values.py")
    job = {"files": plan.code, "state": plan.state, "data": plan.data}
    command = _add_recorder(session, name)
    if not command:
        return Recording(trouble=f"{check.name} cannot be run with a recorder")
    with prepare_launch(tree, ground, folder, command) as stage:
        (beside / "job.json").write_bytes(msgspec.json.encode({**job, "root": str(stage.cwd)}))
        ran = await run(
            command,
            origin=Origin.THEIRS,
            cwd=stage.cwd,
            env=_extend_path(stage, beside),
            walls=stage.sandbox,
            timeout=min(check.timeout, _LONGEST),
            limit=1 << 20,
            trim=True,
        )
    parsed = DIALECTS[check.kind].parse_results(session, ran)
    if ran.trouble or not parsed.tests:
        return Recording(trouble=ran.trouble or parsed.trouble or "no test ran")
    stems = {_stem(plant): _stem(test) for plant, test in plan.plants.items()}
    planted = {
        test.replace(stem, stems[stem], 1): outcome
        for test, outcome in parsed.tests.items()
        for stem in stems
        if stem in test
    }
    calls = _read_calls(beside / "calls.jsonl")
    return Recording(
        calls=tuple(call for call in calls if not _has_any(call.test, stems)),
        tests={test: seen for test, seen in parsed.tests.items() if not _has_any(test, stems)},
        planted=planted,
        cut=bool(parsed.trouble or parsed.unloaded),
    )


def _stem(path: str) -> str:
    return PurePosixPath(path).stem


def _has_any(test: str, stems: Iterable[str]) -> bool:
    return any(stem in test for stem in stems)


def _add_recorder(session: CheckSession, name: str) -> list[str]:
    """Return the check's command with the recorder, or [] if the runner has no place for it."""
    command, folder = DIALECTS[session.check.kind].build_command(session), session.reports
    if session.check.kind is CheckKind.PYTEST:
        # Python's own tracebacks: to write others, pytest parses the test file for every failure.
        return [*command, "-p", name, "--tb=native"]
    if session.check.kind is not CheckKind.UNITTEST or not path_exists(folder / "tell.py"):
        return []
    (folder / "tell.py").rename(folder / "told.py")
    told = str(folder / "told.py")
    start = f"import runpy, {name}\nrunpy.run_path({told!r}, None, '__main__')\n"
    (folder / "tell.py").write_text(start)
    return command


def _extend_path(stage: LaunchSpec, beside: Path) -> dict[str, str]:
    """Return the environment in which the recorder can be imported, after all else."""
    known = stage.env.get("PYTHONPATH", "")
    return {**stage.env, "PYTHONPATH": f"{known}:{beside}" if known else str(beside)}


def _read_calls(file: Path) -> tuple[RecordedCall, ...]:
    try:
        lines = read_untrusted(file, _LIMIT).splitlines()
        return tuple(parse_json(line, RecordedCall) for line in lines)
    except (OSError, msgspec.DecodeError, ValueError):
        return ()
