"""The fix engine: an agent fixes given findings, commands judge, cycle by cycle, as one run."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from hashlib import sha256
from pathlib import Path

import msgspec

from punchlist.app.session import Session
from punchlist.app.start.dry_run import rehearse_run
from punchlist.app.start.findings_files import keep_findings
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Prepared, Request
from punchlist.app.start.start import start_run
from punchlist.app.state_folder import write_state
from punchlist.errors import UsageError
from punchlist.library.fix_events import FixEvents, StageWatcher
from punchlist.library.fix_prompt import FixPromptBuilder
from punchlist.library.fix_values import (
    AgentResult,
    AnyFinding,
    CommandResult,
    FixCycleResult,
    FixEvent,
    FixEventType,
    FixOpts,
    FixReport,
    VerificationReport,
    VerificationRunner,
    VerificationStatus,
)
from punchlist.model.item.item import Status
from punchlist.model.ledger.run import Run
from punchlist.ports.agent import OUTSIDE, Agent
from punchlist.roles.prompting.fencing import fence_text
from punchlist.views import fix_report as views
from punchlist.views.item_words import unfixed_reason
from punchlist.views.plans.plan_forms import item_code
from punchlist.workflow.loader import load_builtin, with_options, with_rounds

__all__ = [
    "AgentResult",
    "CommandResult",
    "FixCycleResult",
    "FixEngine",
    "FixEvent",
    "FixEventType",
    "FixEvents",
    "FixOpts",
    "FixPromptBuilder",
    "FixReport",
    "VerificationReport",
    "VerificationRunner",
    "VerificationStatus",
]

_ALL = 1000
"""Findings that one call of the agent gets at most."""


class FixEngine:
    """Lets an agent fix findings and commands judge, in at most `max_cycles` cycles.

    `agent` is the name of one in the settings, or an object of your own. Without a `verifier` the
    project's own checks judge, if they are allowed. Each call of `fix` is a run of the workflow
    `verified` with a ledger and a branch; the checkout is not touched.
    """

    def __init__(
        self,
        agent: str | Agent,
        verifier: VerificationRunner | None = None,
        max_cycles: int = 3,
        events: Callable[[FixEvent], None] | None = None,
        *,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._agent = agent
        self._verifier = verifier
        self._max_cycles = max_cycles
        self._events = events
        self._settings = dict(settings or {})

    async def fix(self, opts: FixOpts) -> FixReport:
        """Run the cycles and return their report. Cancelling ends the present cycle and returns
        what was done by then. Raise PunchlistError if the run cannot begin.
        """
        watcher = StageWatcher(self._events)
        findings = name_findings(opts.findings)
        watcher.send(FixEventType.FIX_STARTED, f"{len(findings)} findings")
        report = FixReport(unresolved=tuple(findings))
        try:
            report = await self._fix_findings(findings, opts, watcher, report)
        except asyncio.CancelledError:
            report = msgspec.structs.replace(report, interrupted=True)
        finally:
            watcher.send(FixEventType.FIX_COMPLETED, str(report.final_status))
        return report

    async def _fix_findings(
        self,
        findings: Mapping[str, AnyFinding],
        opts: FixOpts,
        watcher: StageWatcher,
        nothing: FixReport,
    ) -> FixReport:
        if opts.dry_run:
            return msgspec.structs.replace(nothing, prompt=await self.dry_run(opts))
        if not findings or self._count_cycles(opts) == 0:
            return nothing
        async with self._prepare(findings, opts) as (session, ready):
            run = await start_run(session, ready, watcher)
        return make_report(run, tuple(findings))

    async def dry_run(self, opts: FixOpts) -> str:
        """Return the prompt that the agent would get; no agent and no command is started."""
        findings = name_findings(opts.findings)
        if not findings:
            return ""
        async with self._prepare(findings, opts) as (session, ready):
            prompts = await rehearse_run(session, ready, StageWatcher(None))
        return next((prompt.text for prompt in prompts if prompt.role == "fixer"), "")

    def _count_cycles(self, opts: FixOpts) -> int:
        cycles = self._max_cycles if opts.max_cycles is None else opts.max_cycles
        if cycles < 0:
            raise UsageError(f"max_cycles is {cycles}", hint="0 fixes nothing; at least 1 does")
        return cycles

    @asynccontextmanager
    async def _prepare(
        self, findings: Mapping[str, AnyFinding], opts: FixOpts
    ) -> AsyncIterator[tuple[Session, Prepared]]:
        name = self._agent if isinstance(self._agent, str) else self._agent.name
        flags = {"agents.use": name, "role.fixer.agents": name, **self._settings}
        if not isinstance(self._agent, str):
            flags[f"agent.{name}.kind"] = OUTSIDE
        with closing(await Session.open(Path(opts.repository), flags)) as session:
            if not isinstance(self._agent, str):
                session.own_agents[name] = self._agent
            entries = [{**each.to_dict(), "id": name} for name, each in findings.items()]
            content = msgspec.json.encode(entries)
            report = opts.review_report
            request = Request(
                base=opts.base_branch,
                findings=(keep_findings(session.home, "findings.json", content),),
                workflow=_write_workflow(session.home, max(self._count_cycles(opts), 1)),
                checks=self._verifier.to_checks() if self._verifier else (),
                notes=fence_text("review report", report) if report else "",
            )
            yield session, await prepare_run(session, request)


def name_findings(findings: Sequence[AnyFinding]) -> dict[str, AnyFinding]:
    """Return the findings by id; one without an id gets a number. Raise UsageError for an id that
    two of them have.
    """
    named: dict[str, AnyFinding] = {}
    for number, finding in enumerate(findings, 1):
        name = finding.id or item_code(number)
        if name in named:
            hint = "give each finding an id of its own"
            raise UsageError(f"two findings are called {name}", hint=hint)
        if not finding.to_finding(name, "").title.strip():
            raise UsageError(f"{name} does not say what is wrong", hint="give it an issue or title")
        named[name] = finding
    return named


def _write_workflow(home: Path, cycles: int) -> str:
    """Write the workflow `verified` for given findings only, and return its path."""
    options: dict[str, dict[str, object]] = {
        "review": {"by": [], "analyzers": False},
        "plan": {"attempts": cycles, "group": "hint", "size": _ALL},
        "fix": {"mode": "single"},
    }
    workflow = with_rounds(with_options(load_builtin("verified"), options), cycles)
    content = workflow.text.encode()
    folder = f"requests/workflows/{sha256(content).hexdigest()[:16]}"
    return str(write_state(home, f"{folder}/{workflow.name}.yaml", content))


def make_report(run: Run, ids: tuple[str, ...]) -> FixReport:
    """Return the report of a run over the findings with these ids."""
    told = views.fix_report(run)
    fixed = {
        finding.label
        for item in run.items.values()
        if item.status is Status.FIXED
        for finding in item.findings
    }
    return FixReport(
        cycles=tuple(map(_make_cycle, told.cycles)),
        final_status=told.final_status,
        total_cycles=told.total_cycles,
        fixes_applied=told.fixes_applied > 0,
        duration=told.seconds,
        fixed=tuple(name for name in ids if name in fixed),
        unresolved=tuple(name for name in ids if name not in fixed),
        reasons={
            finding.label: unfixed_reason(item)
            for item in run.items.values()
            for finding in item.findings
            if finding.label not in fixed
        },
        run=run.id,
        branch=run.landing.branch,
        interrupted=run.interrupted,
    )


def _make_cycle(cycle: views.Cycle) -> FixCycleResult:
    told = cycle.verification
    commands = (
        CommandResult(each.check, each.passed, each.why, each.seconds) for each in told.checks
    )
    return FixCycleResult(
        cycle=cycle.cycle,
        verification=VerificationReport(
            told.status, tuple(commands), told.failures, told.unverified
        ),
        agent_results=tuple(map(_make_agent_result, cycle.agents)),
        diff_after_fix=cycle.diff,
        files=cycle.files,
        note=cycle.note,
        duration=cycle.seconds,
    )


def _make_agent_result(turn: views.Turn) -> AgentResult:
    return AgentResult(turn.agent, turn.claims, turn.failed, turn.noted, turn.usage.seconds)
