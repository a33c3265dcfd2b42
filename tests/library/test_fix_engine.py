"""The fix engine: an agent fixes given findings, commands judge, and every cycle is reported."""

import asyncio
import dis
import inspect
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
import workbench
from workbench import CHANGE, EDITS, FAULTS

from punchlist.library import (
    Finding,
    FindingCategory,
    FixEngine,
    FixEvents,
    FixOpts,
    FixPromptBuilder,
    FunctionAgent,
    ReviewFinding,
    Severity,
    UsageError,
    VerificationRunner,
    VerificationStatus,
    fix_engine,
)

PASSED, FAILED, UNVERIFIED = (
    VerificationStatus.PASSED, VerificationStatus.FAILED, VerificationStatus.UNVERIFIED,
)  # fmt: skip
TESTS = VerificationRunner([[sys.executable, "-m", "unittest"]])
SECRET = "AKIAIOSFODNN7EXAMPLE"


def finding(name: str, number: str = "F001") -> Finding:
    title, path, line, severity = FAULTS[name]
    return Finding(number, path, str(line), title, severity, "correctness", "look again")


MEAN = finding("mean")


def find_engine() -> list[Path]:
    """The files of the engine."""
    return sorted(Path(fix_engine.__file__).parent.glob("fix_*.py"))


def list_lines(code: CodeType) -> set[int]:
    """The lines of the functions in a module."""
    inside = [list_lines(each) for each in code.co_consts if isinstance(each, CodeType)]
    own = {line for _, line in dis.findlinestarts(code) if line}
    return (own if code.co_flags & inspect.CO_OPTIMIZED else set()).union(*inside)


@pytest.fixture(scope="module", autouse=True)
def executed() -> Iterator[dict[str, set[int]]]:
    """The lines of the engine that the tests of this file execute, by file."""
    lines: dict[str, set[int]] = {str(path): set() for path in find_engine()}

    def enter(frame: FrameType, event: str, _: object) -> Any:
        return step(frame, event, _) if frame.f_code.co_filename in lines else None

    def step(frame: FrameType, event: str, _: object) -> Any:
        lines[frame.f_code.co_filename].add(frame.f_lineno)
        return step

    threading.settrace(enter)
    sys.settrace(enter)
    yield lines
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]


@pytest.fixture
def bench(repo, tmp_path, monkeypatch) -> workbench.Workbench:
    workbench.homes(tmp_path, monkeypatch)
    return workbench.Workbench(repo, tmp_path).play()


class Player:
    """An agent that plays one step per call, and remembers what it was asked."""

    def __init__(self, *steps) -> None:
        self.steps = list(steps)
        self.prompts: list[str] = []

    async def answer(self, prompt: str, folder: Path) -> str:
        self.prompts.append(prompt)
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        await step(folder)
        return json.dumps({"outcomes": [{"id": "F001", "outcome": "fixed", "explanation": "ok"}]})


def edit(folder: Path, name: str) -> None:
    path, old, new = EDITS[name]
    text = (folder / path).read_text()
    assert old in text
    (folder / path).write_text(text.replace(old, new))


async def fix_mean(folder: Path) -> None:
    edit(folder, "mean")


async def fix_and_more(folder: Path) -> None:
    edit(folder, "mean")
    (folder / "shop/pages.py").write_text(CHANGE["shop/pages.py"] + "\n# seen\n")
    (folder / "shop/fresh.py").write_text("WHY = 1\n")


async def break_total(folder: Path) -> None:
    edit(folder, "mean")
    text = (folder / "shop/prices.py").read_text()
    (folder / "shop/prices.py").write_text(text.replace("sum(prices)", "sum(prices) + 1", 1))


async def change_nothing(folder: Path) -> None: ...


async def crash(folder: Path) -> None:
    raise RuntimeError("exit code 3")


def work(bench, player: Player, cycles: int = 3, events=None, **opts):
    engine = FixEngine(FunctionAgent("helper", player.answer), TESTS, cycles, events)
    asked = FixOpts(**{"findings": [MEAN], "repository": bench.repo.root, **opts})
    return asyncio.run(engine.fix(asked))


def test_one_cycle_that_passes_is_reported_with_its_events(bench):
    player, heard = Player(fix_and_more), []
    report = work(bench, player, events=heard.append, review_report=f"# Seen\n\nkey {SECRET}")
    assert (report.total_cycles, report.final_status, report.fixes_applied) == (1, PASSED, True)
    assert (report.fixed, report.unresolved) == (("F001",), ())
    (cycle,) = report.cycles
    assert "+WHY = 1" in cycle.diff_after_fix
    assert set(cycle.files) == {"shop/prices.py", "shop/pages.py", "shop/fresh.py"}
    assert any("shop/pages.py" in note for note in cycle.agent_result.noted)
    assert (cycle.agent_result.agent, cycle.agent_result.failed) == ("helper", "")
    assert cycle.duration > 0
    assert [(event.type.value, event.cycle) for event in heard] == [
        ("fix_started", 0), ("cycle_started", 1), ("agent_invoked", 1), ("verification_started", 1),
        ("verification_result", 1), ("cycle_completed", 1), ("fix_completed", 1),
    ]  # fmt: skip
    assert heard[4].message.startswith("passed")
    (prompt,) = player.prompts
    for shown in ("mean() fails for no prices", "shop/prices.py:9", "unittest", "look again",
                  "Use plain functions.", "# Seen", "break nothing"):  # fmt: skip
        assert shown in prompt
    assert SECRET not in prompt
    assert "if prices else None" in bench.repo.git("show", f"{report.branch}:shop/prices.py")
    assert (bench.repo.root / "shop/prices.py").read_text() == CHANGE["shop/prices.py"]
    assert json.loads(report.to_json())["final_status"] == "passed"


def test_a_failing_cycle_is_told_in_the_next_prompt_and_the_second_passes(bench):
    player, events = Player(break_total, fix_mean), FixEvents()

    async def follow():
        engine = FixEngine(FunctionAgent("helper", player.answer), TESTS, 3, events)
        opts = FixOpts([MEAN], base_branch="main", repository=bench.repo.root)
        task = asyncio.create_task(engine.fix(opts))
        return [event.type.value async for event in events], await task

    heard, report = asyncio.run(follow())
    assert [cycle.verification.status for cycle in report.cycles] == [FAILED, PASSED]
    assert (report.total_cycles, report.final_status) == (2, PASSED)
    assert "test_total" in player.prompts[1]
    assert "test_total" not in player.prompts[0]
    assert heard.count("cycle_started") == heard.count("cycle_completed") == 2
    assert (heard[0], heard[-1]) == ("fix_started", "fix_completed")
    again = FixPromptBuilder().build([MEAN], "", report.cycles[:1])
    assert "test_total" in again


def test_crashing_changing_nothing_and_breaking_tests_are_three_failed_cycles(bench):
    player = Player(crash, change_nothing, break_total)
    report = work(bench, player, 3)
    assert (report.total_cycles, report.final_status, report.fixes_applied) == (3, FAILED, False)
    crashed, idle, broke = report.cycles
    assert "RuntimeError: exit code 3" in crashed.agent_result.failed
    assert crashed.verification.status is FAILED
    assert (idle.note, idle.diff_after_fix, idle.verification.status) == (
        "no changes applied", "", UNVERIFIED,
    )  # fmt: skip
    assert any("test_total" in why for why in broke.verification.failures)
    assert (report.fixed, report.unresolved) == ((), ("F001",))
    assert "test_total" in report.reasons["F001"]


def test_a_failing_test_that_turns_green_is_a_cycle_that_passed(repo, tmp_path, monkeypatch):
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    test = "import unittest\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n"
    test += "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n"
    repo.commit({"calc.py": "def add(a, b):\n    return a - b\n", "test_calc.py": test})

    async def fix_add(prompt: str, folder: Path) -> str:
        (folder / "calc.py").write_text("def add(a, b):\n    return a + b\n")
        return '{"outcomes": [{"id": "F001", "outcome": "fixed", "explanation": "plus"}]}'

    found = ReviewFinding(Severity.CRITICAL, FindingCategory.CORRECTNESS, "add() subtracts")
    engine = FixEngine(FunctionAgent("helper", fix_add), TESTS, 1)
    report = asyncio.run(engine.fix(FixOpts([found], repository=repo.root)))
    assert (report.fixed, report.final_status) == (("F001",), PASSED)


def test_one_cycle_may_be_all_there_is(bench):
    report = work(bench, Player(break_total), 3, max_cycles=1)
    assert (report.total_cycles, report.final_status) == (1, FAILED)


def test_a_command_that_cannot_run_passes_nothing(bench):
    engine = FixEngine(
        FunctionAgent("helper", Player(fix_mean).answer), VerificationRunner(["no-such-program"])
    )
    report = asyncio.run(engine.fix(FixOpts([MEAN], repository=bench.repo.root, max_cycles=1)))
    assert report.final_status is not PASSED
    assert not report.fixes_applied


def test_cancelling_while_the_agent_works_returns_what_was_done(bench):
    async def cancelled():
        hang = asyncio.Event()

        async def wait(folder: Path) -> None:
            edit(folder, "mean")
            await hang.wait()

        def stop(event) -> None:
            if event.type == "agent_invoked":
                task.get_loop().call_soon(task.cancel)

        player = Player(wait)
        engine = FixEngine(FunctionAgent("helper", player.answer), TESTS, 3, stop)
        task = asyncio.create_task(engine.fix(FixOpts([MEAN], repository=bench.repo.root)))
        return await task

    report = asyncio.run(cancelled())
    assert (report.interrupted, report.final_status, report.fixes_applied) == (
        True, UNVERIFIED, False,
    )  # fmt: skip
    assert report.unresolved == ("F001",)


def test_without_findings_or_cycles_nothing_is_started_and_nothing_has_passed(bench):
    player = Player(fix_mean)
    for report in (work(bench, player, findings=[]), work(bench, player, max_cycles=0)):
        assert (report.cycles, report.total_cycles, report.final_status) == ((), 0, UNVERIFIED)
        assert not report.fixes_applied
    assert work(bench, player, 0).unresolved == ("F001",)
    shown = work(bench, player, dry_run=True)
    assert "mean() fails for no prices" in shown.prompt
    assert "unittest" in shown.prompt
    assert player.prompts == []
    with pytest.raises(UsageError, match="max_cycles is -1"):
        work(bench, player, -1)
    with pytest.raises(UsageError, match="two findings are called F001"):
        work(bench, player, findings=[MEAN, MEAN])
    with pytest.raises(UsageError, match="F002 does not say what is wrong"):
        work(bench, player, findings=[Finding("F002", "a.py", "1", " ", "minor", "style")])
    gone = work(bench, player, findings=[Finding("G", "gone.py", "1", "x", "minor", "style")])
    assert (gone.cycles, gone.reasons) == ((), {"G": "Referenced file deleted"})
    assert player.prompts == []


@pytest.mark.pure
def test_the_prompt_has_all_findings_files_conventions_commands_and_no_secret():
    builder = FixPromptBuilder(["Use CommandRunner."], ["pytest -q", ["ruff", "check", "a b"]])
    other = ReviewFinding(
        Severity.MAJOR,
        FindingCategory.SECURITY,
        "SQL injection",
        f"the key {SECRET} is in the log",
        "src/api/users.py",
        87,
        92,
        "Use parameterized queries",
    )
    diff = "".join(
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-old\n+{path}!\n"
        for path in ("src/api/users.py", "elsewhere.py")
    )
    prompt = builder.build([MEAN, other], diff)
    for shown in ("mean() fails for no prices", "shop/prices.py:9", "src/api/users.py:87-92",
                  "Use parameterized queries", "Use CommandRunner.", "`pytest -q`",
                  "`ruff check 'a b'`", "+src/api/users.py!"):  # fmt: skip
        assert shown in prompt
    assert SECRET not in prompt
    assert "+elsewhere.py!" not in prompt


@pytest.mark.pure
def test_a_prompt_too_long_keeps_the_worst_findings_and_names_the_others():
    found = [
        Finding(f"N{at}", "a.py", str(at), f"fault {at} " + "x" * 300, "minor", "style")
        for at in range(40)
    ]
    found.append(Finding("C1", "a.py", "1", "the worst of all", "critical", "security"))
    prompt = FixPromptBuilder(limit=9_000).build(found)
    assert len(prompt) <= 9_000
    assert "the worst of all" in prompt
    assert "did not fit" in prompt


def test_a_played_agent_covers_at_least_85_per_cent(executed, request):
    chosen = request.config
    if chosen.option.keyword or any("::" in each for each in chosen.args):
        pytest.skip("only some of the tests were run")
    there = {
        str(path): list_lines(compile(path.read_text(), path, "exec")) for path in find_engine()
    }
    missed = {name: sorted(lines - executed[name]) for name, lines in there.items()}
    share = 1 - sum(map(len, missed.values())) / sum(map(len, there.values()))
    assert share >= 0.85, missed
